"""Copies that appear whole or not at all, and the end of those whose process was killed."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl


def copy_whole(source: Path, target: Path) -> None:
    """Copy a file beside its target, locked while it is written, and rename it there. Raises OSError."""
    scratch = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with source.open("rb") as read, _open_locked(scratch) as written:
            shutil.copyfileobj(read, written, 1 << 20)
            written.flush()
            scratch.replace(target)
    finally:
        scratch.unlink(missing_ok=True)


def _open_locked(scratch: Path) -> BinaryIO:
    while True:
        file = scratch.open("wb")
        if sys.platform == "win32":
            return file
        fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # another build took it for abandoned before it was locked


def remove_abandoned(scratch: Path) -> None:
    """Remove a half-made copy if nobody is making it any more. On Windows, without such locks, it stays."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError), scratch.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        scratch.unlink(missing_ok=True)

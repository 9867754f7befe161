"""A folder for one build, and the end of folders whose builds were killed."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

if sys.platform != "win32":
    import fcntl


@contextlib.contextmanager
def build_folder(parent: Path) -> Iterator[tuple[Path, Sequence[int]]]:
    """Make a folder that is locked for as long as any process of the build lives.

    Yields the folder and the descriptors to hand down to the build's processes: the lock is theirs too.
    So a build that was killed leaves a folder which the next one may remove exactly when the last of its
    commands has ended. On Windows, without such locks, a killed build's folder stays.
    """
    parent.mkdir(parents=True, exist_ok=True)
    for abandoned in parent.iterdir():
        _remove_if_abandoned(abandoned)
    folder, lock = _locked_folder(parent)
    try:
        yield folder, () if sys.platform == "win32" else (lock,)
    finally:
        os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)


def _locked_folder(parent: Path) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(dir=parent))
        lock = os.open(folder / "lock", os.O_CREAT | os.O_RDWR, 0o600)
        if sys.platform == "win32":
            return folder, lock
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.fstat(lock).st_nlink:
            return folder, lock
        os.close(lock)  # another build took it for abandoned before it was locked


def _remove_if_abandoned(folder: Path) -> None:
    if sys.platform == "win32":
        return
    try:
        lock = os.open(folder / "lock", os.O_RDWR)
    except OSError:
        return  # just being made, or just being removed
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        return  # its build lives
    finally:
        os.close(lock)

"""A lock between processes that the system gives back when its holder dies."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from polywheel_variants.errors import MissingError

_POLL_S = 0.05

if sys.platform == "win32":
    import msvcrt

    def _try_lock(stream: BinaryIO) -> bool:
        try:
            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(stream: BinaryIO) -> bool:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextmanager
def locked(path: Path, *, timeout_s: float) -> Iterator[None]:
    """Hold the lock file `path`, made when absent, for the length of a `with` block.

    Raises MissingError when the file cannot be made or another process holds it for `timeout_s` seconds.
    """
    try:
        stream = path.open("ab")
    except OSError as error:
        raise MissingError(f"{path}: cannot be written: {error.strerror or error}") from None
    with stream:
        end = time.monotonic() + timeout_s
        while not _try_lock(stream):
            if time.monotonic() >= end:
                raise MissingError(f"{path}: held by another process for {timeout_s:g} seconds")
            time.sleep(_POLL_S)
        yield  # closing the stream gives the lock back

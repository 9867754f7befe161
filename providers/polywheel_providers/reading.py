# ruff: noqa: PTH113, PTH115, PTH116, PTH118, PTH208
# Without pathlib, which would cost a third of this package's import budget.
"""Reading files and folders of the operating system without ever raising or blocking."""

from __future__ import annotations

import os
import stat

from .machine import TEXT_LIMIT

_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def read_bytes(path: str, limit: int = TEXT_LIMIT) -> bytes | None:
    """Return at most `limit` bytes of a regular file; a pipe or a device is never waited for."""
    try:
        descriptor = os.open(path, _OPEN)
    except (OSError, ValueError):  # ValueError: a null character in the path
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        found = bytearray()
        # Files in /proc and /sys are read in short pieces and report no size.
        while len(found) < limit and (piece := os.read(descriptor, limit - len(found))):
            found += piece
        return bytes(found)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def read_text(path: str, limit: int = TEXT_LIMIT) -> str | None:
    """Return at most `limit` bytes of a regular file as text."""
    found = read_bytes(path, limit)
    return None if found is None else found.decode("utf-8", "replace")


def list_dir(path: str) -> tuple[str, ...]:
    """Return the sorted names in a folder, or none."""
    try:
        return tuple(sorted(os.listdir(path)))
    except (OSError, ValueError):
        return ()


def read_link(path: str) -> str | None:
    """Return where a symbolic link points, as written."""
    try:
        return os.readlink(path)
    except (OSError, ValueError):
        return None


def exists(path: str) -> bool:
    """Say whether something is at `path`; what may not be looked at counts as absent."""
    try:
        os.stat(path)
    except (OSError, ValueError):
        return False
    return True


def find_executable(name: str, folders: list[str]) -> str | None:
    """Return the first executable file called `name` (or `name.exe`) in `folders`."""
    for folder in folders:
        for spelling in (name, f"{name}.exe") if os.name == "nt" else (name,):
            path = os.path.join(folder, spelling)
            if folder and os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    return None

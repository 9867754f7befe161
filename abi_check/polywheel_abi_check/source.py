"""Where a binary's bytes come from: random access, and nothing else."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING, Protocol

from polywheel_variants.errors import BadInputError

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType


class Source(Protocol):
    """Random access to the bytes of one binary."""

    @property
    def size(self) -> int:
        """The number of bytes."""

    def read(self, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, fewer only where the source ends (as os.pread does).

        Both numbers are at least 0.
        """


class MemorySource:
    """A source over bytes that are already in memory."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self._data)

    def read(self, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, fewer only at the end."""
        return self._data[offset : offset + length]


class FileSource:
    """A source over a memory-mapped file: only the pages that are read are loaded. A context manager.

    Raises BadInputError when the path cannot be opened or is no regular file.
    """

    def __init__(self, path: Path) -> None:
        self._map: mmap.mmap | None = None
        try:
            with path.open("rb") as file:
                self._size = file.seek(0, 2)
                # An empty file cannot be mapped.
                if self._size:
                    self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise BadInputError(
                f"{path}: cannot be read ({reason}), expected a binary file; check the path"
            ) from error

    @property
    def size(self) -> int:
        """The number of bytes when the file was opened."""
        return self._size

    def read(self, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, fewer only at the end."""
        return b"" if self._map is None else self._map[offset : offset + length]

    def close(self) -> None:
        """Unmap the file; reading after that is an error of the caller."""
        if self._map is not None:
            self._map.close()

    def __enter__(self) -> FileSource:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

"""A file on an HTTP server, read in ranges as if it were on disk."""

from __future__ import annotations

import io
from collections import deque
from dataclasses import dataclass
from urllib.parse import urlsplit

from polywheel_index.http_client import HttpClient, Part
from polywheel_variants.errors import MissingError

_READ_AHEAD = 64 * 1024
"""The fewest bytes worth a round trip; holds a zip archive's end records whole."""
_WINDOWS = 4


@dataclass(frozen=True)
class _Window:
    start: int
    data: bytes

    def holds(self, start: int, stop: int) -> bool:
        return self.start <= start and stop <= self.start + len(self.data)


class RemoteFile(io.RawIOBase):
    """Read-only, seekable, buffered: `zipfile.ZipFile` takes it. Memory is four windows of what was read.

    `size` in bytes spares a request where the index states it. Raises MissingError when the server
    cannot be reached, ignores ranges, or when the file changes while it is read.
    """

    def __init__(self, client: HttpClient, url: str, size: int | None = None) -> None:
        super().__init__()
        self._client = client
        self._url = url
        self._position = 0
        self._etag: str | None = None
        self._windows: deque[_Window] = deque(maxlen=_WINDOWS)
        self._size = client.get_range(url, 0, 1).total if size is None else size

    @property
    def name(self) -> str:
        """The URL."""
        return self._url

    @property
    def size(self) -> int:
        """The whole file's size in bytes."""
        return self._size

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position in bytes from the start."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to an offset; a negative result raises OSError as a disk file does."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise OSError(f"{self._url}: seek before the start")
        self._position = base + offset
        return self._position

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Fill the buffer, unless the file ends first."""
        view = memoryview(buffer).cast("B")
        start = self._position
        stop = min(start + len(view), self._size)
        if stop <= start:
            return 0
        window = self._window(start, stop)
        view[: stop - start] = window.data[start - window.start : stop - window.start]
        self._position = stop
        return stop - start

    def prefetch(self, start: int, stop: int) -> None:
        """Read a range ahead in one request, so that the small reads inside it cost none."""
        self._window(start, min(stop, self._size))

    def _window(self, start: int, stop: int) -> _Window:
        for window in self._windows:
            if window.holds(start, stop):
                return window
        # A read near the end takes the tail whole: an archive's directory is read backwards.
        tail = max(0, self._size - _READ_AHEAD)
        first = min(start, tail) if stop > tail and stop - start < _READ_AHEAD else start
        last = min(max(stop, start + _READ_AHEAD), self._size)
        window = _Window(first, self._checked(self._client.get_range(self._url, first, last)).data)
        self._windows.append(window)
        return window

    def _checked(self, part: Part) -> Part:
        changed = part.total != self._size or (self._etag is not None and part.etag != self._etag)
        if changed:
            raise MissingError(
                f"{urlsplit(self._url).netloc}: {self._url.rpartition('/')[2]} is {part.total} bytes, "
                f"expected {self._size}, or changed while it was read; try again"
            )
        self._etag = part.etag
        return part

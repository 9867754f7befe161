"""Single members of a zip archive on a server, many of them in few requests."""

from __future__ import annotations

import struct
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, cast

from polywheel_index.remote_file import RemoteFile
from polywheel_variants.errors import BadInputError

GAP = 512 * 1024
"""Bytes read for nothing rather than asked round: at 5 MB/s they cost what a round trip of 0.1 s does."""
LARGEST_RANGE = 32 * 1024 * 1024
"""One request's most bytes, so that memory stays flat."""
LARGEST_MEMBER = 256 * 1024 * 1024
"""The most a member may say it inflates to."""

_UNSOUND = (zipfile.BadZipFile, zlib.error, struct.error, ValueError, OSError, EOFError, RuntimeError)
"""What zipfile raises for damaged archives; for a method it does not know, a kind of RuntimeError."""


@dataclass(frozen=True)
class Span:
    """Members that lie close together in the archive, and the bytes that hold them all."""

    start: int
    stop: int
    """Exclusive."""
    members: tuple[zipfile.ZipInfo, ...]


class RemoteArchive:
    """A zip archive read through a RemoteFile or a file on disk.

    Raises BadInputError, naming the archive, when it is not a sound zip.
    """

    def __init__(self, file: RemoteFile | BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        try:
            self._zip = zipfile.ZipFile(cast("BinaryIO", file))
        except _UNSOUND as error:
            raise BadInputError(f"{name}: not a sound zip archive: {error}") from None

    @property
    def names(self) -> tuple[str, ...]:
        """The members' names, as the directory lists them."""
        return tuple(self._zip.namelist())

    def read_members(self, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield each wanted member's name and bytes, in the order they lie in the archive.

        Neighbours are read in one request. Raises BadInputError for a name that is not there, a member
        over LARGEST_MEMBER bytes, or one whose CRC is wrong.
        """
        for span in spans(self._wanted(names), self._ends()):
            if isinstance(self._file, RemoteFile):
                self._file.prefetch(span.start, span.stop)
            for member in span.members:
                yield member.filename, self._read(member)

    def _wanted(self, names: Iterable[str]) -> list[zipfile.ZipInfo]:
        listed = self._zip.NameToInfo
        wanted = list(names)
        absent = next((name for name in wanted if name not in listed), None)
        if absent is not None:
            raise BadInputError(f"{self._name}: no member {absent!r}")
        return [listed[name] for name in wanted]

    def _ends(self) -> list[int]:
        """Where members end: where the next one starts, or the directory does."""
        return sorted({*(one.header_offset for one in self._zip.infolist()), self._zip.start_dir})

    def _read(self, member: zipfile.ZipInfo) -> bytes:
        if member.file_size > LARGEST_MEMBER:
            raise BadInputError(f"{self._name}: {member.filename} inflates to {member.file_size} bytes")
        try:
            return self._zip.read(member)
        except _UNSOUND as error:
            raise BadInputError(f"{self._name}: {member.filename}: {error}") from None


def spans(members: Iterable[zipfile.ZipInfo], ends: list[int]) -> Iterator[Span]:
    """Group members whose gaps are at most GAP into ranges of at most LARGEST_RANGE bytes.

    `ends` is the sorted list of offsets at which a member can end.
    """
    group: list[zipfile.ZipInfo] = []
    start = stop = 0
    for member in sorted(members, key=lambda one: one.header_offset):
        first = member.header_offset
        after = bisect_right(ends, first)
        last = ends[after] if after < len(ends) else first + member.compress_size
        if group and (first - stop > GAP or last - start > LARGEST_RANGE):
            yield Span(start, stop, tuple(group))
            group = []
        start = start if group else first
        stop = last
        group.append(member)
    if group:
        yield Span(start, stop, tuple(group))

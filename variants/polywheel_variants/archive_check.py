"""What makes a wheel one thing for every reader: its archive's layout, its members' names, its RECORD.

Some installers read an archive from the front, some from its directory at the end, some remove what RECORD
lists. Where the three differ, a wheel is another wheel to each of them. See astral-sh/uv#15136
(CVE-2025-54368), GHSA-pjjw-68hj-v9mw, pypa/wheel#675 (CVE-2026-24049) and CVE-2026-1703 of pip.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
import stat
import struct
import zipfile
from collections.abc import Iterator, Mapping
from typing import IO

_CHUNK = 1 << 20
_LOCAL = struct.Struct("<4s2xHH4xIIIHH")
"""Signature, flags, method, CRC, sizes, lengths of name and extra field (APPNOTE 4.3.7)."""
_END = struct.Struct("<4s8xIIH")
"""Signature, size and offset of the directory, length of the comment (APPNOTE 4.3.16)."""
_ZIP64_ENDS = 56 + 20
"""The record and the locator of ZIP64 before it, without extensible data (APPNOTE 4.3.14, 4.3.15)."""
_BIG = 0xFFFFFFFF
_DESCRIBED = 0x08
_DESCRIPTORS = (12, 16, 20, 24)
"""How long a data descriptor is: with or without signature, in 32 or 64 bits (APPNOTE 4.3.9)."""
_OUTSIDE = re.compile(r"^[A-Za-z]:|\\|(?:^|/)\.{0,2}(?:/|$)")
_UNHASHED = ("RECORD", "RECORD.jws", "RECORD.p7s")
"""What of .dist-info has no hash in RECORD (binary distribution format, "The .dist-info directory")."""


def problems(archive: zipfile.ZipFile, stream: IO[bytes], dist_info: str, record: bytes) -> Iterator[str]:
    """Yield, in words, all that is wrong with a wheel; `stream` is the file itself, `record` its RECORD.

    Raises as zipfile and csv do for what cannot be read.
    """
    yield from _misplaced(archive)
    yield from _ambiguous(archive, stream)
    yield from _misrecorded(archive, dist_info, record)


def _misplaced(archive: zipfile.ZipFile) -> Iterator[str]:
    """Find members that an installer would write elsewhere than below the folder it installs to."""
    for info in archive.infolist():
        if _OUTSIDE.search(info.orig_filename.removesuffix("/")) or not info.orig_filename.isprintable():
            yield f"the member {info.orig_filename!r} is no plain path below the wheel"
        elif stat.S_ISLNK(info.external_attr >> 16):
            yield f"the member {info.orig_filename!r} is a symbolic link"


def _ambiguous(archive: zipfile.ZipFile, stream: IO[bytes]) -> Iterator[str]:
    """Find bytes and headers that the directory does not account for."""
    end = 0
    gaps: tuple[int, ...] = (0,)
    for info in sorted(archive.infolist(), key=lambda one: one.header_offset):
        if info.header_offset - end not in gaps:
            yield f"the member {info.orig_filename!r} does not begin where the one before it ends"
        stream.seek(info.header_offset)
        header = stream.read(_LOCAL.size)
        if len(header) < _LOCAL.size:
            yield f"the member {info.orig_filename!r} lies past the end"
            return
        signature, flags, method, crc, packed, size, name, extra = _LOCAL.unpack(header)
        described = bool(flags & _DESCRIBED)
        sizes = (
            described or {packed, size} == {_BIG} or (packed, size) == (info.compress_size, info.file_size)
        )
        if (
            signature != b"PK\3\4"
            or (flags, method) != (info.flag_bits, info.compress_type)
            or not (sizes and (described or crc == info.CRC))
            or stream.read(name) != _encoded(info)
        ):
            yield f"the member {info.orig_filename!r} has a header of its own that the directory contradicts"
        end = info.header_offset + _LOCAL.size + name + extra + info.compress_size
        gaps = _DESCRIPTORS if described else (0,)
    if archive.start_dir - end not in gaps:
        yield "between the last member and the directory lie bytes that belong to neither"
    yield from _trailing(archive, stream)


def _encoded(info: zipfile.ZipInfo) -> bytes:
    return info.orig_filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437")


def _trailing(archive: zipfile.ZipFile, stream: IO[bytes]) -> Iterator[str]:
    """Find bytes after the directory's end record, which must be the file's last."""
    at = stream.seek(0, io.SEEK_END) - _END.size - len(archive.comment)
    stream.seek(max(at, 0))
    signature, size, _, comment = _END.unpack(stream.read(_END.size).ljust(_END.size, b"\0"))
    if signature != b"PK\5\6" or comment != len(archive.comment):
        yield "after the directory lie bytes that belong to nothing"
    elif size != _BIG and archive.start_dir + size not in (at, at - _ZIP64_ENDS):
        yield "the directory does not end where the archive does"


def _misrecorded(archive: zipfile.ZipFile, dist_info: str, record: bytes) -> Iterator[str]:
    """Find differences between RECORD and what is there."""
    unhashed = {f"{dist_info}/{name}" for name in _UNHASHED}
    rows: dict[str, tuple[str, str]] = {}
    for row in csv.reader(io.StringIO(record.decode("utf-8"))):
        path, stated, size = (*row, "", "", "")[:3]
        if path in rows:
            yield f"RECORD lists {path!r} twice"
        rows[path] = (stated, size)
    members = {info.filename: info for info in archive.infolist() if not info.is_dir()}
    for path in sorted(rows.keys() - members.keys()):
        yield f"RECORD lists {path!r}, which the wheel does not hold"
    for path, info in members.items():
        if path not in unhashed:
            yield from _differing(archive, info, rows)


def _differing(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, rows: Mapping[str, tuple[str, str]]
) -> Iterator[str]:
    if info.filename not in rows:
        yield f"RECORD does not list {info.filename!r}"
        return
    stated, size = rows[info.filename]
    algorithm, _, digest = stated.partition("=")
    if algorithm not in {"sha256", "sha384", "sha512"}:
        yield f"RECORD has no SHA-256 or better of {info.filename!r}"
        return
    hashed = hashlib.new(algorithm)
    with archive.open(info) as member:
        while chunk := member.read(_CHUNK):
            hashed.update(chunk)
    if base64.urlsafe_b64encode(hashed.digest()).rstrip(b"=") != digest.encode() or size not in (
        "",
        str(info.file_size),
    ):
        yield f"{info.filename!r} is not what RECORD says"

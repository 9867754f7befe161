"""The wheel as a file: a reader for what a release needs, and a reproducible, atomic writer."""

from __future__ import annotations

import csv
import hashlib
import io
import lzma
import stat
import struct
import time
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

from polywheel_variants.archive_check import problems
from polywheel_variants.atomic_file import replacing
from polywheel_variants.errors import BadInputError
from polywheel_variants.metadata import VariantMetadata
from polywheel_variants.record import RecordRow, to_csv
from polywheel_variants.wheel_name import WheelName

_CHUNK = 1 << 20
_EARLIEST = 315532800  # 1980-01-01T00:00:00Z, the first moment a ZIP archive can state
_TEXT_LIMIT = 16 << 20  # no METADATA or variant.json is larger; a larger one is a decompression bomb

_DAMAGE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error,
    EOFError, OverflowError, RuntimeError, ValueError,
)  # fmt: skip
"""What zipfile and the decompressors below it raise on bytes that are no sound archive."""


@dataclass(frozen=True)
class Member:
    """One file to put into a wheel."""

    path: str
    """Inside the archive, with forward slashes."""
    content: bytes | Path
    """The bytes, or the file on disk that holds them."""
    executable: bool = False

    def open(self) -> IO[bytes]:
        """Open the content for reading."""
        return io.BytesIO(self.content) if isinstance(self.content, bytes) else self.content.open("rb")


def write_wheel(folder: Path, name: WheelName, members: Iterable[Member], *, epoch: int = _EARLIEST) -> Path:
    """Write `folder/name`: the same members give the same bytes, and the file appears whole or not at all.

    Files come sorted, those of `.dist-info` last (binary distribution format, "Recommended archiver
    features"), RECORD closes the list. `epoch` is the time every entry states, in seconds since 1970.
    """
    target = folder / name.filename
    in_order = sorted(members, key=lambda one: (one.path.startswith(f"{name.dist_info}/"), one.path))
    with replacing(target) as stream, zipfile.ZipFile(stream, "w") as archive:
        rows = [_add(archive, member, epoch) for member in in_order]
        record = f"{name.dist_info}/RECORD"
        rows.append(RecordRow(record, None, None))
        _add(archive, Member(record, to_csv(rows)), epoch)
    return target


def _add(archive: zipfile.ZipFile, member: Member, epoch: int) -> RecordRow:
    """Stream one member in, hashing on the way."""
    info = zipfile.ZipInfo(member.path, time.gmtime(max(epoch, _EARLIEST))[:6])
    info.create_system = 3  # Unix, on every host, so that modes mean the same and bytes stay equal
    info.external_attr = (stat.S_IFREG | (0o755 if member.executable else 0o644)) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    digest, size = hashlib.sha256(), 0
    with member.open() as source, archive.open(info, "w", force_zip64=_is_huge(member)) as sink:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
            sink.write(chunk)
    return RecordRow(member.path, digest.digest(), size)


def _is_huge(member: Member) -> bool:
    return isinstance(member.content, Path) and member.content.stat().st_size >= zipfile.ZIP64_LIMIT


class WheelArchive:
    """A wheel opened for reading.

    Use it as a context manager. Every method raises BadInputError, naming the wheel, for an archive
    that is malformed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = WheelName.parse(path.name)
        if path.exists() and not path.is_file():  # a pipe would be waited for, a device read for ever
            raise BadInputError(f"{path}: cannot be read: no regular file")
        try:
            self._archive = zipfile.ZipFile(path)
        except OSError as error:
            raise BadInputError(f"{path}: cannot be read: {error.strerror or error}") from None
        except _DAMAGE as error:
            raise BadInputError(f"{path}: not a ZIP archive: {error}") from None
        names = self._archive.namelist()
        if len(set(names)) != len(names):
            self._archive.close()
            twice = next(name for name in names if names.count(name) > 1)
            raise BadInputError(f"{path}: holds {twice!r} twice, so two readers could see two wheels")

    def __enter__(self) -> WheelArchive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._archive.close()

    @property
    def members(self) -> tuple[str, ...]:
        """The paths inside, in the archive's order."""
        return tuple(self._archive.namelist())

    def read(self, member: str) -> bytes:
        """Return one member's bytes, at most 16 MiB: meant for metadata, not for libraries."""
        try:
            with self._archive.open(member) as stream:
                data = stream.read(_TEXT_LIMIT + 1)
        except KeyError:
            raise BadInputError(f"{self.path}: holds no {member}") from None
        except (*_DAMAGE, OSError) as error:
            raise BadInputError(f"{self.path}: {member} cannot be read: {error}") from None
        if len(data) > _TEXT_LIMIT:
            raise BadInputError(f"{self.path}: {member} is larger than {_TEXT_LIMIT} bytes")
        return data

    def require_sound(self) -> None:
        """Read the whole wheel, and require that it is one thing for every reader (`archive_check`).

        Raises BadInputError with the first thing that is wrong.
        """
        dist_info = self.name.dist_info
        record = self.read(f"{dist_info}/RECORD")
        try:
            with self.path.open("rb") as stream:
                wrong = next(problems(self._archive, stream, dist_info, record), None)
        except (*_DAMAGE, OSError, csv.Error) as error:
            wrong = f"it cannot be read: {error}"
        if wrong is not None:
            raise BadInputError(f"{self.path}: {wrong}; build it again")

    def metadata(self) -> bytes:
        """Return METADATA as it stands (core metadata specification)."""
        return self.read(f"{self.name.dist_info}/METADATA")

    def variant(self) -> VariantMetadata | None:
        """Return what variant.json says, or None for a wheel that holds none.

        Raises BadInputError unless it states exactly the label of the file name (PEP 825).
        """
        member = f"{self.name.dist_info}/variant.json"
        if member not in self._archive.namelist():
            if self.name.label is not None:
                raise BadInputError(
                    f"{self.path}: labelled {self.name.label!r}, but it holds no variant.json"
                )
            return None
        metadata = VariantMetadata.parse(self.read(member), source=f"{self.path}: variant.json")
        stated = sorted(metadata.variants)
        if self.name.label is not None and stated != [self.name.label]:
            raise BadInputError(
                f"{self.path}: variant.json states {stated}, the file name {self.name.label!r}"
            )
        return metadata

"""Bounds-checked reading of a binary: a wrong offset is a typed error, never an exception of Python's own."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polywheel_abi_check.image import UnreadableImageError

if TYPE_CHECKING:
    from polywheel_abi_check.source import Source

_DAMAGED = "the file is damaged or cut short, build or download it again"


@dataclass(frozen=True)
class ImageBytes:
    """The bytes of one binary in one byte order."""

    source: Source
    place: str
    """What error messages call the binary."""
    order: str = "<"
    """The byte order as `struct` writes it: `<` little-endian, `>` big-endian."""

    def read(self, offset: int, length: int, what: str) -> bytes:
        """Return exactly `length` bytes at `offset`.

        Raises UnreadableImageError, naming `what` was to be read, when the file does not hold them.
        """
        end = self.source.size
        if offset + length <= end:
            data = self.source.read(offset, length)
            if len(data) == length:
                return data
        raise self.broken(
            what, offset, f"{max(0, end - offset)} bytes to the end of the file", f"{length} bytes"
        )

    def unpack(self, layout: str, offset: int, what: str) -> tuple[Any, ...]:
        """Return the fields of `layout` (a `struct` format without byte order) at `offset`."""
        fields = struct.Struct(self.order + layout)
        return fields.unpack(self.read(offset, fields.size, what))

    def table(self, layout: str, offset: int, count: int, what: str) -> list[tuple[Any, ...]]:
        """Return `count` consecutive rows of `layout` at `offset`."""
        fields = struct.Struct(self.order + layout)
        return list(fields.iter_unpack(self.read(offset, fields.size * count, what)))

    def broken(
        self, what: str, offset: int, found: str, expected: str, hint: str = _DAMAGED
    ) -> UnreadableImageError:
        """Return the error that says what is wrong at `offset` (bytes from the start of the file)."""
        return UnreadableImageError(
            f"{self.place}: {what} at offset {offset:#x}: found {found}, expected {expected}; {hint}"
        )

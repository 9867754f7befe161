"""One binary as the checks see it, whatever file format it came in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from polywheel_variants.errors import BadInputError

if TYPE_CHECKING:
    from collections.abc import Mapping


class UnreadableImageError(BadInputError):
    """A binary's bytes break its format; the message says at which offset, what was found and expected."""


class ImportedSymbol(NamedTuple):
    """A symbol that the loader must find in another library."""

    name: str
    """The name as linked: mangled, without version."""
    version: str | None
    """The symbol version asked for (`GLIBC_2.29`), None where the import is unversioned."""
    library: str | None
    """The library that the version is asked of (`libm.so.6`), None where the format does not say."""
    weak: bool
    """Whether the library still loads when nothing defines the symbol."""


class ByteRange(NamedTuple):
    """A place in the file, in bytes."""

    offset: int
    size: int


@dataclass(frozen=True)
class Image:
    """What one shared library or program says about itself."""

    place: str
    """Where the bytes came from, as the caller named it; findings repeat it."""
    format: str
    """`elf`."""
    machine: str
    """The architecture as Linux wheel tags spell it: `x86_64`, `i686`, `aarch64`, `armv7l`, `ppc64le` ..."""
    soname: str | None
    """The name other libraries ask for it by."""
    needed: tuple[str, ...]
    """The libraries it asks the loader for, in order."""
    imported: tuple[ImportedSymbol, ...]
    """The undefined symbols, in the order of the symbol table."""
    exported: frozenset[str]
    """The symbols it defines for others: global, weak and unique ones, hidden ones left out."""
    version_needs: Mapping[str, frozenset[str]]
    """Library to the symbol versions asked of it, also those that no symbol carries."""
    version_definitions: frozenset[str]
    """The symbol versions it defines itself."""
    sections: Mapping[str, tuple[ByteRange, ...]]
    """Section name to its places in the file (formats allow a name twice), empty when stripped of them."""

"""Symbol versions of an ELF file: which versions it asks of which library, and which it defines.

Source: the LSB core specification, "Symbol Versioning", and glibc's elf/link.h structures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from polywheel_abi_check.elf_file import ElfFile
    from polywheel_abi_check.elf_names import NameTable

DT_VERDEF, DT_VERDEFNUM = 0x6FFFFFFC, 0x6FFFFFFD
DT_VERNEED, DT_VERNEEDNUM = 0x6FFFFFFE, 0x6FFFFFFF

INDEX_MASK = 0x7FFF
"""The bits of a version index; the highest bit of the 16 hides a definition."""
FIRST_NAMED_INDEX = 2
"""Indices 0 and 1 stand for local and unversioned."""

# A version index has 15 bits, so no file can use more records than that.
_MOST_RECORDS = INDEX_MASK
_FLAG_BASE = 1

_NEED, _NEED_VERSION = "HHIII", "IHHII"
_DEFINITION, _DEFINITION_NAME = "HHHHIII", "II"


@dataclass(frozen=True)
class Versions:
    """The version tables, resolved to names."""

    needs: Mapping[str, frozenset[str]]
    """Library to the versions asked of it."""
    definitions: frozenset[str]
    by_index: Mapping[int, tuple[str, str | None]]
    """Version index to (version, library asked for it; None for an own definition)."""


def read_versions(elf: ElfFile, names: NameTable) -> Versions:
    """Read the version needs and definitions that the dynamic table points to.

    Raises UnreadableImageError when a chain is broken, endless or longer than version indices can tell apart.
    """
    by_index: dict[int, tuple[str, str | None]] = {}
    definitions: set[str] = set()
    for index, version in _definitions(elf, names):
        by_index[index] = (version, None)
        definitions.add(version)
    needs: dict[str, set[str]] = {}
    for index, version, library in _needs(elf, names):
        by_index[index] = (version, library)
        needs.setdefault(library, set()).add(version)
    frozen = {library: frozenset(versions) for library, versions in needs.items()}
    return Versions(frozen, frozenset(definitions), by_index)


def _needs(elf: ElfFile, names: NameTable) -> Iterator[tuple[int, str, str]]:
    address = elf.dynamic_value(DT_VERNEED)
    if address is None:
        return
    start = elf.offset_of(address, "version needs")
    total = 0
    for offset, need in _chain(elf, _NEED, start, elf.dynamic_value(DT_VERNEEDNUM), "version need"):
        _, count, library_at, first, _ = need
        total += count
        if total > _MOST_RECORDS:
            raise elf.data.broken("version needs", offset, f"{total} versions", f"at most {_MOST_RECORDS}")
        library = names.name(library_at)
        for _, version in _chain(elf, _NEED_VERSION, offset + first, count, "needed version"):
            yield version[2] & INDEX_MASK, names.name(version[3]), library


def _definitions(elf: ElfFile, names: NameTable) -> Iterator[tuple[int, str]]:
    address = elf.dynamic_value(DT_VERDEF)
    if address is None:
        return
    start = elf.offset_of(address, "version definitions")
    count = elf.dynamic_value(DT_VERDEFNUM)
    for offset, definition in _chain(elf, _DEFINITION, start, count, "version definition"):
        _, flags, index, _, _, first, _ = definition
        # The base definition is the library's own name, not a version.
        if not flags & _FLAG_BASE:
            name_at, _ = elf.data.unpack(_DEFINITION_NAME, offset + first, "version definition name")
            yield index & INDEX_MASK, names.name(name_at)


def _chain(
    elf: ElfFile, layout: str, start: int, count: int | None, what: str
) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield `count` linked records with their offsets (all there are when `count` is None).

    The last field of each record is the distance to the next one, 0 at the end.
    """
    if count is not None and count > _MOST_RECORDS:
        raise elf.data.broken(f"{what} count", start, str(count), f"at most {_MOST_RECORDS}")
    offset = start
    for done in range(1, (_MOST_RECORDS if count is None else count) + 1):
        record = elf.data.unpack(layout, offset, what)
        yield offset, record
        distance = record[-1]
        if done == count or (count is None and distance == 0):
            return
        if distance == 0:
            raise elf.data.broken(what, offset, f"the end of the chain after {done}", f"{count} records")
        offset += distance

"""The dynamic symbol table of an ELF file, decoded in bulk.

Source: the System V gABI, "Symbol Table"; https://sourceware.org/gnu-gabi for DT_GNU_HASH.
"""

from __future__ import annotations

import sys
from array import array
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING

from polywheel_abi_check.elf_file import SHT_DYNSYM
from polywheel_abi_check.elf_versions import FIRST_NAMED_INDEX, INDEX_MASK
from polywheel_abi_check.image import ImportedSymbol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polywheel_abi_check.elf_file import ElfFile
    from polywheel_abi_check.elf_names import NameTable
    from polywheel_abi_check.elf_versions import Versions

DT_HASH, DT_SYMTAB, DT_SYMENT = 4, 6, 11
DT_GNU_HASH, DT_VERSYM = 0x6FFFFEF5, 0x6FFFFFF0

# Dynamic tags whose values are addresses, of which one follows the symbol table in every linker's layout.
_ADDRESS_TAGS = (4, 5, 7, 12, 13, 17, 23, 25, 26, 36, 0x6FFFFEF5, 0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFE)

_ENTRY_SIZE = {32: 16, 64: 24}
_INFO_AT = {32: 12, 64: 4}
# On these machines DT_HASH is made of 8-byte words in 64-bit files (Elf_Symndx in glibc).
_WIDE_HASH_MACHINES = (22, 0x9026)

_WEAK = 2
# Tables for bytes.translate. st_info's upper half: STB_GLOBAL, STB_WEAK, STB_GNU_UNIQUE;
# st_other's lower bits: all but STV_INTERNAL and STV_HIDDEN.
_GLOBAL = bytes(info >> 4 in (1, 2, 10) for info in range(256))
_VISIBLE = bytes(other & 3 in (0, 3) for other in range(256))
_ZERO = bytes(value == 0 for value in range(256))
_NOT = b"\1\0" + bytes(254)

# libtorch_cpu.so has 75 thousand; the bound holds memory on damaged files.
_MOST_SYMBOLS = 1 << 21
_CHAIN_BATCH = 64


@dataclass(frozen=True)
class Symbols:
    """The dynamic symbols that other libraries matter to."""

    imported: tuple[ImportedSymbol, ...]
    exported: frozenset[str]


def read_symbols(elf: ElfFile, names: NameTable, versions: Versions) -> Symbols:
    """Read the dynamic symbols; an ELF file without a symbol table has none.

    Raises UnreadableImageError when the table, its names or its versions break the format.
    """
    address = elf.dynamic_value(DT_SYMTAB)
    if address is None:
        return Symbols((), frozenset())
    bits = elf.header.bits
    start = elf.offset_of(address, "dynamic symbol table")
    entry_size = elf.dynamic_value(DT_SYMENT) or _ENTRY_SIZE[bits]
    if entry_size != _ENTRY_SIZE[bits]:
        raise elf.data.broken("symbol size", start, str(entry_size), str(_ENTRY_SIZE[bits]))
    count = _symbol_count(elf, address)
    if count > _MOST_SYMBOLS:
        raise elf.data.broken("symbol count", start, str(count), f"at most {_MOST_SYMBOLS}")
    table = _SymbolTable(
        elf.data.read(start, count * entry_size, "dynamic symbol table"), bits, elf.data.order
    )
    undefined = list(compress(range(count), table.imported()))
    name_offsets = table.name_offsets()
    imported = tuple(
        ImportedSymbol(name, version, library, table.binding(index) == _WEAK)
        for index, name, (version, library) in zip(
            undefined,
            names.names([name_offsets[index] for index in undefined]),
            _versions(elf, versions, undefined, count),
            strict=True,
        )
        if name
    )
    exported = frozenset(names.names(list(compress(name_offsets, table.exported()))))
    return Symbols(imported, exported - {""} if "" in exported else exported)


@dataclass(frozen=True)
class _SymbolTable:
    """The table's bytes, read column by column: strided slices cost little beside a Python loop."""

    raw: bytes
    bits: int
    order: str

    def name_offsets(self) -> array[int]:
        return _integers(self.raw, "I", self.order)[:: _ENTRY_SIZE[self.bits] // 4]

    def binding(self, index: int) -> int:
        return self.raw[index * _ENTRY_SIZE[self.bits] + _INFO_AT[self.bits]] >> 4

    def imported(self) -> bytes:
        """Return 1 for each symbol another library must define, else 0."""
        return _both(self._column(0, _GLOBAL), self._undefined())

    def exported(self) -> bytes:
        """Return 1 for each symbol that other libraries can bind to, else 0."""
        visible = self._column(1, _VISIBLE)
        return _both(_both(self._column(0, _GLOBAL), visible), self._undefined().translate(_NOT))

    def _undefined(self) -> bytes:
        # st_shndx is SHN_UNDEF: both of its bytes are 0.
        return _both(self._column(2, _ZERO), self._column(3, _ZERO))

    def _column(self, place: int, meaning: bytes) -> bytes:
        """Return the byte `place` after st_info (then st_other, st_shndx) of every symbol, translated."""
        return self.raw[_INFO_AT[self.bits] + place :: _ENTRY_SIZE[self.bits]].translate(meaning)


def _both(left: bytes, right: bytes) -> bytes:
    return (int.from_bytes(left, "little") & int.from_bytes(right, "little")).to_bytes(len(left), "little")


def _integers(raw: bytes, code: str, order: str) -> array[int]:
    """Return the unsigned integers of array type `code` that `raw` holds in byte order `order`."""
    integers = array(code)
    integers.frombytes(raw)
    if (order == "<") != (sys.byteorder == "little"):
        integers.byteswap()
    return integers


def _versions(
    elf: ElfFile, versions: Versions, symbols: Sequence[int], count: int
) -> list[tuple[str | None, str | None]]:
    """Return (version, library) of each symbol index in `symbols`."""
    address = elf.dynamic_value(DT_VERSYM)
    if address is None:
        return [(None, None)] * len(symbols)
    start = elf.offset_of(address, "symbol version table")
    indices = _integers(elf.data.read(start, 2 * count, "symbol version table"), "H", elf.data.order)
    result: list[tuple[str | None, str | None]] = []
    for symbol in symbols:
        index = indices[symbol] & INDEX_MASK
        version = versions.by_index.get(index) if index >= FIRST_NAMED_INDEX else (None, None)
        if version is None:
            at = start + 2 * symbol
            raise elf.data.broken(
                "symbol version", at, f"index {index}", "an index that the version tables define"
            )
        result.append(version)
    return result


def _symbol_count(elf: ElfFile, address: int) -> int:
    """Return the number of dynamic symbols; the dynamic table itself does not say it."""
    size = _ENTRY_SIZE[elf.header.bits]
    for section in elf.sections:
        if section.kind == SHT_DYNSYM and section.address == address:
            return section.size // size
    if elf.dynamic_value(DT_HASH) is not None:
        return _count_by_hash(elf)
    counted = _count_by_gnu_hash(elf) if elf.dynamic_value(DT_GNU_HASH) is not None else None
    return _count_by_layout(elf, address) if counted is None else counted


def _count_by_hash(elf: ElfFile) -> int:
    start = elf.offset_of(elf.dynamic_value(DT_HASH) or 0, "symbol hash table")
    wide = elf.header.bits == 64 and elf.header.machine in _WIDE_HASH_MACHINES
    _, count = elf.data.unpack("QQ" if wide else "II", start, "symbol hash table")
    return int(count)


def _count_by_gnu_hash(elf: ElfFile) -> int | None:
    """Return the number of symbols up to the last hashed one; None when nothing is hashed.

    A library that exports nothing has an empty table whose first index says nothing about its imports.
    """
    start = elf.offset_of(elf.dynamic_value(DT_GNU_HASH) or 0, "GNU symbol hash table")
    bucket_count, first, bloom_count, _ = elf.data.unpack("IIII", start, "GNU symbol hash table")
    buckets_at = start + 16 + bloom_count * elf.header.bits // 8
    raw = elf.data.read(buckets_at, 4 * bucket_count, "GNU symbol hash buckets")
    last = max(_integers(raw, "I", elf.data.order), default=0)
    if last == 0:
        return None
    chains_at = buckets_at + 4 * bucket_count
    if last < first:
        raise elf.data.broken(
            "GNU symbol hash bucket", buckets_at, f"symbol {last}", f"symbol {first} or later"
        )
    return last + 1 + _chain_length(elf, chains_at + 4 * (last - first))


def _chain_length(elf: ElfFile, start: int) -> int:
    """Return how many words stand before the first odd one, which ends a chain of DT_GNU_HASH."""
    for done in range(0, _MOST_SYMBOLS, _CHAIN_BATCH):
        at = start + 4 * done
        # Chains are short, but the last one may stand at the end of the file.
        batch = max(1, min(_CHAIN_BATCH, (elf.data.source.size - at) // 4))
        raw = elf.data.read(at, 4 * batch, "GNU symbol hash chain")
        for place, word in enumerate(_integers(raw, "I", elf.data.order)):
            if word & 1:
                return done + place
    raise elf.data.broken("GNU symbol hash chain", start, "no end", f"at most {_MOST_SYMBOLS} symbols")


def _count_by_layout(elf: ElfFile, address: int) -> int:
    """Return how many symbols fit before the next table that the dynamic table points to."""
    pointers = (elf.dynamic_value(tag) for tag in _ADDRESS_TAGS)
    following = [pointer for pointer in pointers if pointer is not None and pointer > address]
    if not following:
        start = elf.offset_of(address, "dynamic symbol table")
        raise elf.data.broken(
            "dynamic symbol table", start, "no table after it", "a hash table or sections to size it"
        )
    return (min(following) - address) // _ENTRY_SIZE[elf.header.bits]

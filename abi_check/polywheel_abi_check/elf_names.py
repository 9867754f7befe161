"""The dynamic string table of an ELF file: names by offset, in bulk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polywheel_abi_check.elf_file import ElfFile
    from polywheel_abi_check.image_bytes import ImageBytes

DT_STRTAB, DT_STRSZ = 5, 10

# Generous for real libraries (libtorch_cpu.so has 5 MB), and a bound on memory for damaged ones.
_LARGEST_TABLE = 1 << 26
# Names may share their tails, so their sum may exceed the table, but in real files hardly does.
_MOST_SHARING = 8
# Small, so that a table of one endless name is noticed after few searches of it.
_BATCH = 256


@dataclass(frozen=True)
class NameTable:
    """A table of NUL-terminated names."""

    data: ImageBytes
    start: int
    text: str
    """The bytes as Latin-1, so that an index is an offset."""
    ascii: bool

    def name(self, offset: int) -> str:
        """Return the one name at `offset` in the table."""
        return self.names((offset,))[0]

    def names(self, offsets: Sequence[int]) -> list[str]:
        """Return the names at `offsets`, in their order.

        Raises UnreadableImageError for an offset outside the table, and for names that overlap so much
        that listing them would take memory out of all proportion to the file.
        """
        budget = _MOST_SHARING * (len(self.text) + 1)
        result: list[str] = []
        for batch in _batches(offsets):
            ends = self._ends(batch)
            budget -= sum(ends) - sum(batch)
            if budget < 0:
                raise self.data.broken(
                    "dynamic string table", self.start, "names that overlap", "names side by side"
                )
            text = self.text
            result += [text[start:end] for start, end in zip(batch, ends, strict=True)]
        return result if self.ascii else [_from_latin1(name) for name in result]

    def _ends(self, starts: Sequence[int]) -> list[int]:
        find = self.text.find
        ends = [find("\0", start) for start in starts]
        if ends and min(ends) < 0:
            bad = starts[ends.index(-1)]
            found = f"offset {bad:#x}, where no name ends"
            raise self.data.broken(
                "name", self.start, found, f"a name inside the table of {len(self.text)} bytes"
            )
        return ends


def read_names(elf: ElfFile) -> NameTable:
    """Read the dynamic string table; an ELF file without one has an empty table.

    Raises UnreadableImageError when the dynamic table points outside the file.
    """
    address, size = elf.dynamic_value(DT_STRTAB), elf.dynamic_value(DT_STRSZ) or 0
    if address is None:
        return NameTable(elf.data, 0, "", ascii=True)
    start = elf.offset_of(address, "dynamic string table")
    if size > _LARGEST_TABLE:
        raise elf.data.broken(
            "dynamic string table size", start, str(size), f"at most {_LARGEST_TABLE} bytes"
        )
    raw = elf.data.read(start, size, "dynamic string table")
    return NameTable(elf.data, start, raw.decode("latin-1"), raw.isascii())


def _batches(offsets: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(offsets), _BATCH):
        yield offsets[start : start + _BATCH]


def _from_latin1(name: str) -> str:
    return name.encode("latin-1").decode("utf-8", "backslashreplace")

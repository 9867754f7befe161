"""The frame of an ELF file: header, segments, sections and the dynamic table.

Source: the System V gABI, chapters 4 and 5 (https://gabi.xinuos.com), and elf(5).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from polywheel_abi_check.image_bytes import ImageBytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polywheel_abi_check.source import Source

PT_LOAD, PT_DYNAMIC = 1, 2
SHT_NULL, SHT_NOBITS, SHT_DYNSYM = 0, 8, 11

_IDENT_SIZE = 16
_FILE_KINDS = {1: "ET_REL, an object file", 2: "ET_EXEC", 3: "ET_DYN", 4: "ET_CORE, a memory dump"}
_LOADABLE = (2, 3)
# Numbers that do not fit their 16-bit header field stand in section 0 (gABI, "ELF Header").
_PN_XNUM, _SHN_XINDEX = 0xFFFF, 0xFFFF

# No linker output comes near these; they bound time and memory on damaged files.
_MOST_SECTIONS = 1 << 17
_MOST_DYNAMIC_ENTRIES = 1 << 16

_HEADER = {32: "HHIIIIIHHHHHH", 64: "HHIQQQIHHHHHH"}
_SEGMENT = {32: "IIIIIIII", 64: "IIQQQQQQ"}
_SECTION = {32: "IIIIIIIIII", 64: "IIQQQQIIQQ"}
_DYNAMIC = {32: "II", 64: "QQ"}
_SEGMENT_SIZE = {32: 32, 64: 56}
_SECTION_SIZE = {32: 40, 64: 64}
_DYNAMIC_SIZE = {32: 8, 64: 16}


class Segment(NamedTuple):
    """One program header."""

    kind: int
    offset: int
    address: int
    file_size: int


class Section(NamedTuple):
    """One section header, its name resolved."""

    name: str
    kind: int
    address: int
    offset: int
    size: int


class Header(NamedTuple):
    """The fields of the ELF header that reading needs."""

    bits: int
    machine: int
    segments_at: int
    segment_size: int
    segment_count: int
    sections_at: int
    section_size: int
    section_count: int
    section_names: int


@dataclass(frozen=True)
class ElfFile:
    """An ELF file whose frame has been read; the tables inside are read on demand."""

    data: ImageBytes
    header: Header
    segments: tuple[Segment, ...]
    sections: tuple[Section, ...]
    dynamic: Mapping[int, tuple[int, ...]]
    """Dynamic tag to its values in order, empty in a static file."""

    def offset_of(self, address: int, what: str) -> int:
        """Return the file offset that the loader maps at `address`."""
        for segment in self.segments:
            if segment.kind == PT_LOAD and 0 <= address - segment.address < segment.file_size:
                return segment.offset + address - segment.address
        raise self.data.broken(
            what, address, "an address outside every segment", "an address inside a PT_LOAD segment"
        )

    def dynamic_value(self, tag: int) -> int | None:
        """Return the first value of a dynamic tag, None where the table has none."""
        values = self.dynamic.get(tag)
        return values[0] if values else None


def open_elf(source: Source, place: str) -> ElfFile:
    """Read the frame of the ELF file in `source`.

    Raises UnreadableImageError when the bytes are no ELF shared library or program, or break the format.
    """
    data, bits = _identify(source, place)
    header = _read_header(data, bits)
    first_section = _section_rows(data, header, 1)[0] if header.sections_at else None
    segments = _read_segments(data, header, first_section)
    sections = _read_sections(data, header, first_section) if first_section else ()
    return ElfFile(data, header, segments, sections, _read_dynamic(data, bits, segments))


def _identify(source: Source, place: str) -> tuple[ImageBytes, int]:
    data = ImageBytes(source, place)
    ident = data.read(0, _IDENT_SIZE, "ELF identification")
    if ident[:4] != b"\x7fELF":
        raise data.broken("ELF magic", 0, ident[:4].hex(" "), "7f 45 4c 46", "give an ELF library")
    bits = {1: 32, 2: 64}.get(ident[4])
    if bits is None:
        raise data.broken("ELF class", 4, str(ident[4]), "1 (32-bit) or 2 (64-bit)")
    order = {1: "<", 2: ">"}.get(ident[5])
    if order is None:
        raise data.broken("ELF byte order", 5, str(ident[5]), "1 (little-endian) or 2 (big-endian)")
    if ident[6] != 1:
        raise data.broken("ELF version", 6, str(ident[6]), "1")
    return ImageBytes(source, place, order), bits


def _read_header(data: ImageBytes, bits: int) -> Header:
    fields = data.unpack(_HEADER[bits], _IDENT_SIZE, "ELF header")
    kind, machine, _, _, segments_at, sections_at, _, _ = fields[:8]
    if kind not in _LOADABLE:
        found = _FILE_KINDS.get(kind, f"type {kind}")
        expected = "a shared library or a program (ET_DYN, ET_EXEC)"
        raise data.broken("ELF file type", _IDENT_SIZE, found, expected, "give the linked library")
    segment_size, segment_count, section_size, section_count, section_names = fields[8:]
    if segments_at and segment_size != _SEGMENT_SIZE[bits]:
        raise data.broken("program header size", 0, str(segment_size), str(_SEGMENT_SIZE[bits]))
    if sections_at and section_size != _SECTION_SIZE[bits]:
        raise data.broken("section header size", 0, str(section_size), str(_SECTION_SIZE[bits]))
    return Header(
        bits,
        machine,
        segments_at,
        segment_size,
        segment_count,
        sections_at,
        section_size,
        section_count,
        section_names,
    )


class _SectionRow(NamedTuple):
    name_at: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


def _section_rows(data: ImageBytes, header: Header, count: int) -> list[_SectionRow]:
    rows = data.table(_SECTION[header.bits], header.sections_at, count, "section header table")
    return [_SectionRow(*row) for row in rows]


def _read_segments(
    data: ImageBytes, header: Header, first_section: _SectionRow | None
) -> tuple[Segment, ...]:
    if not header.segments_at:
        return ()
    count = header.segment_count
    if count == _PN_XNUM and first_section:
        count = first_section.info
    rows = data.table(_SEGMENT[header.bits], header.segments_at, count, "program header table")
    if header.bits == 64:
        return tuple(Segment(row[0], row[2], row[3], row[5]) for row in rows)
    return tuple(Segment(row[0], row[1], row[2], row[4]) for row in rows)


def _read_sections(data: ImageBytes, header: Header, first: _SectionRow) -> tuple[Section, ...]:
    count = header.section_count or first.size
    if count > _MOST_SECTIONS:
        raise data.broken("section count", header.sections_at, str(count), f"at most {_MOST_SECTIONS}")
    rows = _section_rows(data, header, count)
    names_index = first.link if header.section_names == _SHN_XINDEX else header.section_names
    names = _section_names(data, rows, names_index)
    return tuple(
        Section(_section_name(data, names, row), row.kind, row.address, row.offset, row.size) for row in rows
    )


def _section_names(data: ImageBytes, rows: list[_SectionRow], index: int) -> bytes:
    # Index 0 says that sections have no names.
    if index == 0:
        return b"\0"
    if index >= len(rows):
        raise data.broken(
            "section name table index", 0, str(index), f"below the {len(rows)} sections there are"
        )
    return data.read(rows[index].offset, rows[index].size, "section name table")


def _section_name(data: ImageBytes, names: bytes, row: _SectionRow) -> str:
    end = names.find(b"\0", row.name_at, row.name_at + 4096)
    if end < 0:
        raise data.broken(
            "section name", row.name_at, "no end of the name", "a name inside the section name table"
        )
    return names[row.name_at : end].decode("utf-8", "backslashreplace")


def _read_dynamic(data: ImageBytes, bits: int, segments: tuple[Segment, ...]) -> dict[int, tuple[int, ...]]:
    segment = next((segment for segment in segments if segment.kind == PT_DYNAMIC), None)
    if segment is None:
        return {}
    count = min(segment.file_size // _DYNAMIC_SIZE[bits], _MOST_DYNAMIC_ENTRIES)
    table: dict[int, list[int]] = {}
    for tag, value in data.table(_DYNAMIC[bits], segment.offset, count, "dynamic table"):
        if tag == 0:
            return {tag: tuple(values) for tag, values in table.items()}
        table.setdefault(tag, []).append(value)
    raise data.broken(
        "dynamic table", segment.offset, f"{count} entries without DT_NULL", "a DT_NULL entry at its end"
    )

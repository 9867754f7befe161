from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polywheel_abi_check.elf import read_elf
from polywheel_abi_check.image import ByteRange, Image, ImportedSymbol, UnreadableImageError
from polywheel_abi_check.source import MemorySource

BASE = 0x40000
"""Where the written images are loaded, so that an address is never a file offset."""
MACHINES = {
    (32, "<"): (3, "i686"),
    (32, ">"): (20, "ppc"),
    (64, "<"): (62, "x86_64"),
    (64, ">"): (22, "s390x"),
}


@dataclass(frozen=True)
class Plan:
    """A small shared library to be written, and what a reader must find in it."""

    bits: Literal[32, 64]
    order: Literal["<", ">"]
    hashes: frozenset[str]
    sections: bool
    soname: str | None
    needed: tuple[str, ...]
    imported: tuple[ImportedSymbol, ...]
    exported: tuple[str, ...]


class Strings:
    """A string table under construction."""

    def __init__(self) -> None:
        self.data = bytearray(b"\0")

    def add(self, text: str) -> int:
        offset = len(self.data)
        self.data += text.encode() + b"\0"
        return offset


def symbol_entry(plan: Plan, name: int, info: int, section: int) -> bytes:
    if plan.bits == 64:
        return struct.pack(plan.order + "IBBHQQ", name, info, 0, section, 0, 0)
    return struct.pack(plan.order + "IIIBBH", name, 0, 0, info, 0, section)


def version_tables(plan: Plan, strings: Strings) -> tuple[bytes, bytes, int]:
    """Return the version table, the version needs and how many libraries they name."""
    asked: dict[str, list[str]] = {}
    for symbol in plan.imported:
        if symbol.library and symbol.version and symbol.version not in asked.setdefault(symbol.library, []):
            asked[symbol.library].append(symbol.version)
    index = {pair: at for at, pair in enumerate(((n, v) for n in asked for v in asked[n]), start=2)}
    needs = b""
    for place, (library, versions) in enumerate(asked.items()):
        last = place == len(asked) - 1
        size = 16 + 16 * len(versions)
        needs += struct.pack(
            plan.order + "HHIII", 1, len(versions), strings.add(library), 16, 0 if last else size
        )
        for number, version in enumerate(versions):
            following = 16 if number + 1 < len(versions) else 0
            at = index[library, version]
            needs += struct.pack(plan.order + "IHHII", 0, 0, at, strings.add(version), following)
    indices = [0]
    indices += [index[s.library, s.version] if s.library and s.version else 1 for s in plan.imported]
    indices += [1] * len(plan.exported)
    return struct.pack(f"{plan.order}{len(indices)}H", *indices), needs, len(asked)


def hash_tables(plan: Plan) -> dict[int, bytes]:
    count = 1 + len(plan.imported) + len(plan.exported)
    tables = {}
    if "sysv" in plan.hashes:
        word = "Q" if MACHINES[plan.bits, plan.order][0] == 22 and plan.bits == 64 else "I"
        tables[4] = struct.pack(f"{plan.order}{3 + count}{word}", 1, count, 0, *([0] * count))
    if "gnu" in plan.hashes:
        # GNU ld writes an empty table as one that starts at symbol 1, whatever is imported.
        first = 1 + len(plan.imported) if plan.exported else 1
        chain = [2] * (len(plan.exported) - 1) + [3] if plan.exported else []
        bloom = "Q" if plan.bits == 64 else "I"
        tables[0x6FFFFEF5] = struct.pack(
            f"{plan.order}IIII{bloom}I{len(chain)}I", 1, first, 1, 0, 0, first if chain else 0, *chain
        )
    return tables


def write(plan: Plan) -> bytes:
    strings = Strings()
    dynamic = [(1, strings.add(name)) for name in plan.needed]
    if plan.soname is not None:
        dynamic.append((14, strings.add(plan.soname)))
    symbols = symbol_entry(plan, 0, 0, 0)
    for symbol in plan.imported:
        symbols += symbol_entry(plan, strings.add(symbol.name), (2 if symbol.weak else 1) << 4, 0)
    for place, name in enumerate(plan.exported):
        symbols += symbol_entry(plan, strings.add(name), (1, 2, 10)[place % 3] << 4, 7)
    versions, needs, need_count = version_tables(plan, strings)

    header_size, segment_size = (64, 56) if plan.bits == 64 else (52, 32)
    body = bytearray()

    def place_table(data: bytes) -> int:
        at = header_size + 2 * segment_size + len(body)
        body.extend(data)
        return at

    symbols_at = place_table(symbols)
    strings_at = place_table(bytes(strings.data))
    dynamic += [(5, BASE + strings_at), (10, len(strings.data)), (6, BASE + symbols_at)]
    dynamic += [(tag, BASE + place_table(table)) for tag, table in hash_tables(plan).items()]
    if needs:
        dynamic += [(0x6FFFFFF0, BASE + place_table(versions)), (0x6FFFFFFE, BASE + place_table(needs))]
        dynamic += [(0x6FFFFFFF, need_count)]
    word = "Q" if plan.bits == 64 else "I"
    table = b"".join(struct.pack(f"{plan.order}2{word}", *entry) for entry in [*dynamic, (0, 0)])
    dynamic_at = place_table(table)

    sections_at = section_count = 0
    if plan.sections:
        names = b"\0.dynsym\0.dynstr\0.shstrtab\0"
        names_at = place_table(names)
        rows = [
            (0, 0, 0, 0, 0),
            (1, 11, BASE + symbols_at, symbols_at, len(symbols)),
            (9, 3, BASE + strings_at, strings_at, len(strings.data)),
            (17, 3, 0, names_at, len(names)),
        ]
        layout = plan.order + ("IIQQQQIIQQ" if plan.bits == 64 else "10I")
        section_count = len(rows)
        sections_at = place_table(
            b"".join(struct.pack(layout, n, k, 0, a, o, s, 0, 0, 0, 0) for n, k, a, o, s in rows)
        )

    size = header_size + 2 * segment_size + len(body)
    segments = b""
    for kind, at, length in ((1, 0, size), (2, dynamic_at, len(table))):
        if plan.bits == 64:
            segments += struct.pack(plan.order + "IIQQQQQQ", kind, 0, at, BASE + at, 0, length, length, 0)
        else:
            segments += struct.pack(plan.order + "8I", kind, at, BASE + at, 0, length, length, 0, 0)
    ident = b"\x7fELF" + bytes((2 if plan.bits == 64 else 1, 1 if plan.order == "<" else 2, 1)) + bytes(9)
    machine = MACHINES[plan.bits, plan.order][0]
    header = struct.pack(
        plan.order + ("HHIQQQIHHHHHH" if plan.bits == 64 else "HHIIIIIHHHHHH"),
        *(3, machine, 1, 0, header_size, sections_at, 0, header_size, segment_size, 2),
        *(64 if plan.bits == 64 else 40, section_count, 3 if plan.sections else 0),
    )
    return ident + header + segments + bytes(body)


NAMES = st.text(st.sampled_from("abzAZ019_.$é漢"), min_size=1, max_size=12)
LIBRARIES = st.sampled_from(["libc.so.6", "libm.so.6", "libstdc++.so.6"])


@st.composite
def imports(draw: st.DrawFn) -> ImportedSymbol:
    versioned = draw(st.booleans())
    library = draw(LIBRARIES) if versioned else None
    version = f"V_{draw(st.integers(0, 5))}" if versioned else None
    return ImportedSymbol(draw(NAMES), version, library, draw(st.booleans()))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    return Plan(
        bits=draw(st.sampled_from([32, 64])),
        order=draw(st.sampled_from(["<", ">"])),
        hashes=draw(st.sampled_from([frozenset({"sysv"}), frozenset({"gnu"}), frozenset({"sysv", "gnu"})])),
        sections=draw(st.booleans()),
        soname=draw(st.none() | NAMES),
        needed=tuple(draw(st.lists(NAMES, max_size=3))),
        imported=tuple(draw(st.lists(imports(), max_size=6))),
        exported=tuple(draw(st.lists(NAMES, max_size=6, unique=True))),
    )


def read(data: bytes) -> Image:
    return read_elf(MemorySource(data), "lib.so")


@given(plans())
def test_reads_what_was_written(plan: Plan) -> None:
    image = read(write(plan))
    assert image.format == "elf"
    assert image.machine == MACHINES[plan.bits, plan.order][1]
    assert image.soname == plan.soname
    assert image.needed == plan.needed
    assert image.imported == plan.imported
    assert image.exported == set(plan.exported)
    needs: dict[str, set[str]] = {}
    for symbol in plan.imported:
        if symbol.library and symbol.version:
            needs.setdefault(symbol.library, set()).add(symbol.version)
    assert image.version_needs == needs
    assert set(image.sections) == ({".dynsym", ".dynstr", ".shstrtab"} if plan.sections else set())


def outcome(data: bytes) -> str:
    """Return the place of the image that was read, or the refusal's message; nothing else may be raised."""
    try:
        return read(data).place
    except UnreadableImageError as error:
        return str(error)


WORDS = st.sampled_from([0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x40000])
EDITS = st.lists(
    st.tuples(st.floats(0, 1, exclude_max=True), WORDS, st.sampled_from("BHI")), min_size=1, max_size=4
)


@settings(max_examples=400)
@given(plans(), EDITS, st.floats(0, 1))
def test_damaged_files_are_read_or_refused_never_anything_else(
    plan: Plan, edits: list[tuple[float, int, str]], kept: float
) -> None:
    data = bytearray(write(plan))
    for where, value, width in edits:
        size = struct.calcsize(width)
        at = int(where * (len(data) - size))
        struct.pack_into(plan.order + width, data, at, value & (1 << 8 * size) - 1)
    # Two times of three the length stays.
    end = len(data) if kept < 2 / 3 else int(len(data) * (kept - 2 / 3) * 3)
    said = outcome(bytes(data[:end]))
    assert said.startswith("lib.so")
    assert "\n" not in said


@given(st.binary(max_size=300))
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(UnreadableImageError):
        read(b"\x7fELF" + data if len(data) % 2 else data)


PLAIN = Plan(
    bits=64,
    order="<",
    hashes=frozenset({"gnu"}),
    sections=True,
    soname="libplain.so",
    needed=("libm.so.6",),
    imported=(ImportedSymbol("exp", "GLIBC_2.29", "libm.so.6", weak=False),),
    exported=("plain",),
)


def edited(plan: Plan, layout: str, at: int, value: int) -> bytes:
    data = bytearray(write(plan))
    struct.pack_into(layout, data, at, value)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "ELF identification at offset 0x0: found 0 bytes to the end of the file, expected 16 bytes"),
        (b"/* GNU ld script */\n", "ELF magic at offset 0x0: found 2f 2a 20 47, expected 7f 45 4c 46"),
        (edited(PLAIN, "B", 4, 3), "ELF class at offset 0x4: found 3"),
        (edited(PLAIN, "B", 5, 0), "ELF byte order at offset 0x5: found 0"),
        (edited(PLAIN, "B", 6, 2), "ELF version at offset 0x6: found 2"),
        (edited(PLAIN, "<H", 16, 1), "found ET_REL, an object file, expected a shared library"),
        (edited(PLAIN, "<H", 54, 57), "program header size at offset 0x0: found 57, expected 56"),
        (edited(PLAIN, "<H", 62, 9), "section name table index at offset 0x0: found 9, expected below the 4"),
        (write(PLAIN)[:-1], "section header table at offset"),
    ],
)
def test_message_says_where_what_was_found_and_expected(data: bytes, says: str) -> None:
    with pytest.raises(UnreadableImageError) as caught:
        read(data)
    assert says in str(caught.value)


def test_names_that_overlap_out_of_proportion_are_refused() -> None:
    # Each symbol's name is a tail of one long name: all of them together are 180 MB from a small file.
    long = "x" * 60_000
    plan = replace(PLAIN, exported=(long, *(f"n{number}" for number in range(3000))))
    data = bytearray(write(plan))
    symbols_at = 64 + 2 * 56
    start = data.index(long.encode()) - (symbols_at + 24 * (2 + len(plan.exported)))
    for number in range(3000):
        struct.pack_into("<I", data, symbols_at + 24 * (3 + number), start + number)
    with pytest.raises(UnreadableImageError, match="names that overlap"):
        read(bytes(data))


def test_a_tail_of_another_name_is_a_name() -> None:
    data = bytearray(write(replace(PLAIN, exported=("plain", "explain"))))
    symbols_at = 64 + 2 * 56
    (name_at,) = struct.unpack_from("<I", data, symbols_at + 24 * 3)
    struct.pack_into("<I", data, symbols_at + 24 * 2, name_at + 2)
    assert read(bytes(data)).exported == {"explain", "plain"}


def test_sections_are_listed_with_their_bytes() -> None:
    data = write(PLAIN)
    (place,) = read(data).sections[".dynsym"]
    assert place == ByteRange(64 + 2 * 56, 3 * 24)


def test_more_sections_and_segments_than_the_header_can_count() -> None:
    data = bytearray(write(PLAIN))
    (sections_at,) = struct.unpack_from("<Q", data, 40)
    struct.pack_into("<H", data, 56, 0xFFFF)
    struct.pack_into("<H", data, 60, 0)
    struct.pack_into("<H", data, 62, 0xFFFF)
    # Section 0 holds the real numbers: its size the sections, its link the names, its info the segments.
    struct.pack_into("<Q", data, sections_at + 32, 4)
    struct.pack_into("<II", data, sections_at + 40, 3, 2)
    assert read(bytes(data)) == read(write(PLAIN))


def test_endless_version_chain_is_refused() -> None:
    data = bytearray(write(replace(PLAIN, sections=False)))
    dynamic_count_at = data.index(struct.pack("<QQ", 0x6FFFFFFF, 1)) + 8
    struct.pack_into("<Q", data, dynamic_count_at, 1 << 40)
    with pytest.raises(UnreadableImageError, match="version need count"):
        read(bytes(data))
    struct.pack_into("<Q", data, dynamic_count_at, 3)
    with pytest.raises(UnreadableImageError, match="the end of the chain after 1"):
        read(bytes(data))


def test_library_without_dynamic_table_needs_nothing() -> None:
    data = bytearray(write(replace(PLAIN, sections=False)))
    struct.pack_into("<I", data, 64 + 56, 0)
    image = read(bytes(data))
    assert (image.needed, image.imported, image.exported) == ((), (), frozenset())

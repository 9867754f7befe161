"""Read an ELF shared library or program into an `Image`.

Everything comes from the program headers and the dynamic table, as the loader reads it, so a library
without section headers or stripped of its symbols reads the same. Sections are listed where there are any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polywheel_abi_check.elf_file import SHT_NOBITS, SHT_NULL, open_elf
from polywheel_abi_check.elf_names import read_names
from polywheel_abi_check.elf_symbols import read_symbols
from polywheel_abi_check.elf_versions import read_versions
from polywheel_abi_check.image import ByteRange, Image

if TYPE_CHECKING:
    from polywheel_abi_check.elf_file import ElfFile, Header
    from polywheel_abi_check.source import Source

DT_NEEDED, DT_SONAME = 1, 14

# (e_machine, bits, byte order) to the architecture of Linux wheel tags; numbers from the gABI.
_MACHINES = {
    (3, 32, "<"): "i686",
    (20, 32, ">"): "ppc",
    (21, 64, "<"): "ppc64le",
    (21, 64, ">"): "ppc64",
    (22, 64, ">"): "s390x",
    (40, 32, "<"): "armv7l",
    (62, 32, "<"): "x32",
    (62, 64, "<"): "x86_64",
    (183, 64, "<"): "aarch64",
    (243, 64, "<"): "riscv64",
    (258, 64, "<"): "loongarch64",
}


def read_elf(source: Source, place: str) -> Image:
    """Return what the ELF file in `source` needs and offers; `place` is its name in messages.

    Raises UnreadableImageError when the bytes are no ELF shared library or program, or break the format.
    """
    elf = open_elf(source, place)
    names = read_names(elf)
    versions = read_versions(elf, names)
    symbols = read_symbols(elf, names, versions)
    soname = elf.dynamic_value(DT_SONAME)
    return Image(
        place=place,
        format="elf",
        machine=_machine(elf.header, elf.data.order),
        soname=None if soname is None else names.name(soname),
        needed=tuple(names.names(elf.dynamic.get(DT_NEEDED, ()))),
        imported=symbols.imported,
        exported=symbols.exported,
        version_needs=versions.needs,
        version_definitions=versions.definitions,
        sections=_sections_by_name(elf),
    )


def _machine(header: Header, order: str) -> str:
    return _MACHINES.get((header.machine, header.bits, order), f"elf-machine-{header.machine}")


def _sections_by_name(elf: ElfFile) -> dict[str, tuple[ByteRange, ...]]:
    places: dict[str, list[ByteRange]] = {}
    for section in elf.sections:
        if section.kind not in (SHT_NULL, SHT_NOBITS):
            places.setdefault(section.name, []).append(ByteRange(section.offset, section.size))
    return {name: tuple(ranges) for name, ranges in places.items()}

"""A wheel's platform tag as far as a binary can contradict it: file format, C library, architecture.

Source: PEP 425, 600 (manylinux), 656 (musllinux), and packaging's tags module.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from polywheel_variants.errors import BadInputError

_LINUX = re.compile(r"(linux|manylinux(?:1|2010|2014)|(?:many|musl)linux_[0-9]+_[0-9]+)_(\w+)")
_MACOS = re.compile(r"macosx_[0-9]+_[0-9]+_(\w+)")
_WINDOWS = {"win32": "i686", "win_amd64": "x86_64", "win_arm64": "aarch64"}
# macOS's own spellings, and its tags for several architectures, which one thin binary cannot fill alone.
_MACOS_MACHINES = {"arm64": "aarch64", "i386": "i686"}
_MACOS_FAT = frozenset({"universal2", "universal", "intel", "fat", "fat3", "fat32", "fat64"})


@dataclass(frozen=True)
class PlatformTag:
    """One platform tag of a wheel."""

    text: str
    system: str
    """`manylinux`, `musllinux`, `linux`, `macosx` or `win`; `any` for a wheel without binaries."""
    format: str | None
    """The binary format of the system (`elf`, `macho`, `pe`), None for `any`."""
    machine: str | None
    """The architecture, spelt as `Image.machine`; None where the tag names none or several."""

    @classmethod
    def parse(cls, text: str) -> PlatformTag:
        """Read one platform tag. Raises BadInputError for a tag of no known form."""
        if text == "any":
            return cls(text, "any", None, None)
        if text in _WINDOWS:
            return cls(text, "win", "pe", _WINDOWS[text])
        linux = _LINUX.fullmatch(text)
        if linux:
            return cls(text, re.split(r"[0-9_]", linux[1])[0], "elf", linux[2])
        macos = _MACOS.fullmatch(text)
        if macos:
            machine = None if macos[1] in _MACOS_FAT else _MACOS_MACHINES.get(macos[1], macos[1])
            return cls(text, "macosx", "macho", machine)
        raise BadInputError(
            f"platform tag {text!r}: expected a tag such as manylinux_2_28_x86_64, win_amd64 or "
            "macosx_14_0_arm64; mend the tag"
        )


def parse_platform_tags(text: str) -> tuple[PlatformTag, ...]:
    """Read a wheel name's platform part, a set of tags joined by dots (PEP 425)."""
    return tuple(PlatformTag.parse(tag) for tag in text.split("."))

"""AMD GPU targets: `gfx90a:sramecc+:xnack-`, `gfx9-4-generic`, and which code runs on which.

Source: LLVM's AMDGPU usage manual (https://llvm.org/docs/AMDGPUUsage.html), "Processors", "Generic
Processors" and "Target ID".
"""

from __future__ import annotations

import re

from polywheel_providers.frozen import dataclass

_TARGET = re.compile(
    r"(?:amdgcn-amd-amdhsa-(?:unknown)?-)?(gfx(?:\d+(?:-\d+)*-generic|\d[0-9a-f]{2,3}))((?::[a-z]+[+-])*)"
)
_NAME = re.compile(r"gfx(?:\d+(?:[-_]\d+)*[-_]generic|\d[0-9a-f]{2,3})")

GENERIC: dict[str, tuple[str, ...]] = {
    "gfx9-generic": ("gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"),
    "gfx9-4-generic": ("gfx940", "gfx941", "gfx942", "gfx950"),
    "gfx10-1-generic": ("gfx1010", "gfx1011", "gfx1012", "gfx1013"),
    "gfx10-3-generic": ("gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"),
    "gfx11-generic": (
        *("gfx1100", "gfx1101", "gfx1102", "gfx1103"),
        *("gfx1150", "gfx1151", "gfx1152", "gfx1153"),
    ),
    "gfx12-generic": ("gfx1200", "gfx1201"),
    "gfx12-5-generic": ("gfx1250", "gfx1251"),
}
"""Each generic target and the processors that run its code."""

OTHERS = ("gfx801", "gfx802", "gfx803", "gfx805", "gfx810", "gfx908", "gfx90a")
"""Processors without a generic target."""

INTEGRATED = frozenset(
    {
        *("gfx801", "gfx810", "gfx902", "gfx909", "gfx90c", "gfx1013", "gfx1033", "gfx1035", "gfx1036"),
        *("gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"),
    }
)
"""Processors that exist only inside APUs. MI300A's gfx942 is not here: it is the machine's accelerator."""


@dataclass(frozen=True)
class Target:
    """One processor and the settings its code may depend on."""

    name: str
    """`gfx942`, or a generic target, `gfx9-4-generic`."""
    sramecc: str = ""
    """`+`, `-`, or empty for any."""
    xnack: str = ""
    """`+`, `-`, or empty for any."""


def parse_target(text: str) -> Target | None:
    """Parse a target ID, with or without its triple; `None` for anything else and for gfx000, a CPU."""
    match = _TARGET.fullmatch(text.strip())
    if match is None or match[1] == "gfx000":
        return None
    settings = {part[:-1]: part[-1] for part in match[2].split(":") if part}
    return Target(match[1], settings.get("sramecc", ""), settings.get("xnack", ""))


def name_of_version(version: int) -> str:
    """Return the name of KFD's `gfx_target_version`: 90402 is gfx942, 110501 is gfx1151; 0 is a CPU.

    Source: the kernel's amdkfd: major x 10000 + minor x 100 + stepping, the last two hexadecimal in names.
    """
    major, minor, stepping = version // 10000, version // 100 % 100, version % 100
    if not (7 <= major <= 99 and minor <= 15 and stepping <= 15):
        return ""
    return f"gfx{major}{minor:x}{stepping:x}"


def generic_of(name: str) -> str:
    """Return the generic target whose code a processor runs, or an empty text."""
    return next((generic for generic, members in GENERIC.items() if name in members), "")


def as_value(name: str) -> str:
    """Return a target as a property value, which has no hyphens: `gfx9_4_generic`."""
    return name.replace("-", "_")


def values_of(name: str) -> tuple[str, ...]:
    """Return the `gfx_arch` values whose code runs on a processor, the exact one first."""
    generic = generic_of(name)
    return (as_value(name), as_value(generic)) if generic else (as_value(name),)


def is_known(name: str) -> bool:
    """Say whether a processor or generic target is in the tables above."""
    return name in OTHERS or name in GENERIC or generic_of(name) != ""


def is_name(text: str) -> bool:
    """Say whether a text names a processor or a generic target, with either separator."""
    return _NAME.fullmatch(text) is not None

"""Compute capabilities: `9.0` as text and as numbers, and which of them are Tegra's."""

from __future__ import annotations

import re

Capability = tuple[int, int]
"""Major and minor, `(9, 0)`."""

OLDEST_NAMED: Capability = (5, 0)
"""The oldest capability that a variant's `sm_arch` can name."""

TEGRA = frozenset({(3, 2), (5, 3), (6, 2), (7, 2), (8, 7), (8, 8), (10, 1), (11, 0)})
"""Capabilities of integrated Tegra GPUs (TK1, TX1, TX2, Xavier, Orin, Thor under CUDA 12 and 13).

CUDA C++ programming guide, "Binary Compatibility": SASS is compatible within a major version on the
desktop only, not on Tegra, and not between the two.
"""

_TEXT = r"(?a)\s*(\d{1,2})\.(\d)\s*"
_OVERRIDE = r"(?a)\s*\+?(\d{1,9})\s*\.\s*\+?(\d{1,9})\s*"


def parse(text: str) -> Capability | None:
    """Parse `8.9`; `None` for anything else, `[N/A]` and numbers no GPU has included."""
    match = re.fullmatch(_TEXT, text)
    if match is None:
        return None
    return checked(int(match[1]), int(match[2]))


def checked(major: int, minor: int) -> Capability | None:
    """Return the pair when a GPU could have it, else `None`."""
    return (major, minor) if 1 <= major <= 29 and 0 <= minor <= 9 else None


def parse_override(text: str) -> Capability | None:
    """Parse a `*_FORCE_SM_ARCH` as released uv does: two numbers up to 255 round a dot."""
    match = re.fullmatch(_OVERRIDE, text)
    if match is None:
        return None
    major, minor = int(match[1]), int(match[2])
    return (major, minor) if max(major, minor) <= 255 else None


def text(capability: Capability) -> str:
    """Return `8.9`."""
    return f"{capability[0]}.{capability[1]}"

"""GPU code targets as variants name them (`90a_real`, `80_virtual`), and which devices run them.

`real` is SASS, machine code; `virtual` is PTX, which the driver compiles on the spot. Sources: CUDA C++
programming guide, "Binary Compatibility" and "PTX Compatibility"; nvcc manual, "GPU Feature List"
(architecture-specific `a` and family-specific `f` targets).
"""

from __future__ import annotations

import re

from polywheel_providers.frozen import dataclass

from .capability import TEGRA, Capability

_VALUE = re.compile(r"(\d{1,2})(\d)([af]?)_(real|virtual)", re.ASCII)


@dataclass(frozen=True)
class Architecture:
    """One GPU code target."""

    capability: Capability
    """The capability it was compiled for."""
    suffix: str
    """Empty, `a` (this capability only) or `f` (this family only)."""
    virtual: bool
    """PTX rather than SASS."""


def parse_architecture(value: str) -> Architecture | None:
    """Parse an `sm_arch` value, `100f_real`; `None` when it is none."""
    match = _VALUE.fullmatch(value)
    if match is None:
        return None
    return Architecture((int(match[1]), int(match[2])), match[3], match[4] == "virtual")


def runs_on(target: Architecture, device: Capability) -> bool:
    """Say whether code for `target` runs on a GPU of capability `device`."""
    built = target.capability
    if target.suffix == "a":
        return device == built
    if target.suffix == "f":
        return device == built or (_same_line(built, device) and device >= built)
    if target.virtual:
        return device >= built
    return device == built or (_same_line(built, device) and device >= built)


def _same_line(built: Capability, device: Capability) -> bool:
    """Say whether two capabilities share SASS: one major version, and neither is a Tegra."""
    return built[0] == device[0] and built not in TEGRA and device not in TEGRA

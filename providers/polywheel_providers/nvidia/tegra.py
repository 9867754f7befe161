"""Tegra systems (Jetson, Thor, DRIVE): their release files, chips and CUDA versions.

Sources: Jetson Linux release notes (https://developer.nvidia.com/embedded/jetson-linux-archive) for the CUDA
version of each release; the kernel's device tree bindings for the chips' names.
"""

from __future__ import annotations

import re

from .capability import Capability
from .cuda_version import CudaVersion

_RELEASE = re.compile(r"#\s*R(\d{1,3})\b.*?REVISION:\s*(\d{1,3})")
_CHIP = re.compile(r"nvidia,tegra(\d{3})")

_CHIPS: dict[str, tuple[Capability, str]] = {
    "124": ((3, 2), "Tegra K1"),
    "210": ((5, 3), "Tegra X1"),
    "186": ((6, 2), "Tegra X2"),
    "194": ((7, 2), "Xavier"),
    "234": ((8, 7), "Orin"),
    "239": ((8, 8), "T239"),
    "264": ((11, 0), "Thor"),
}
_RELEASES: tuple[tuple[tuple[int, int], CudaVersion], ...] = (
    ((28, 1), (8, 0)),
    ((28, 2), (9, 0)),
    ((31, 0), (10, 0)),
    ((32, 3), (10, 2)),
    ((34, 0), (11, 4)),
    ((36, 0), (12, 2)),
    ((36, 4), (12, 6)),
    ((38, 0), (13, 0)),
    ((39, 0), (13, 2)),
)
"""The first release of each CUDA version, oldest first."""


def parse_release(text: str) -> tuple[int, int] | None:
    """Return the Jetson Linux release from /etc/nv_tegra_release, `(36, 4)`, or `None`."""
    match = _RELEASE.search(text)
    return (int(match[1]), int(match[2])) if match else None


def cuda_of_release(release: tuple[int, int]) -> CudaVersion | None:
    """Return the CUDA version of a Jetson Linux release, or `None` for an older one."""
    supported: CudaVersion | None = None
    for first, cuda in _RELEASES:
        if release < first:
            break
        supported = cuda
    return supported


def parse_compatible(text: str) -> tuple[Capability, str] | None:
    """Return the GPU's capability and name from /proc/device-tree/compatible (NUL-separated)."""
    for number in _CHIP.findall(text):
        if number in _CHIPS:
            return _CHIPS[number]
    return None

"""Which CUDA version a display driver supports, from its version number alone.

Linux and Windows number their drivers by the same branches. Sources: the CUDA toolkit release notes, table
"CUDA Toolkit and Corresponding Driver Versions"
(https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/), and nvidia-smi of R565 and R615, which shipped
without a toolkit of their own.
"""

from __future__ import annotations

import re

from .cuda_version import CudaVersion

_FIRST_DRIVERS: tuple[tuple[tuple[int, int], CudaVersion], ...] = (
    ((346, 46), (7, 0)),
    ((352, 31), (7, 5)),
    ((367, 48), (8, 0)),
    ((384, 81), (9, 0)),
    ((387, 0), (9, 1)),
    ((396, 26), (9, 2)),
    ((410, 48), (10, 0)),
    ((418, 39), (10, 1)),
    ((440, 33), (10, 2)),
    ((450, 36), (11, 0)),
    ((455, 23), (11, 1)),
    ((460, 27), (11, 2)),
    ((465, 19), (11, 3)),
    ((470, 42), (11, 4)),
    ((495, 29), (11, 5)),
    ((510, 39), (11, 6)),
    ((515, 43), (11, 7)),
    ((520, 61), (11, 8)),
    ((525, 60), (12, 0)),
    ((530, 30), (12, 1)),
    ((535, 54), (12, 2)),
    ((545, 23), (12, 3)),
    ((550, 54), (12, 4)),
    ((555, 42), (12, 5)),
    ((560, 28), (12, 6)),
    ((565, 57), (12, 7)),
    ((570, 26), (12, 8)),
    ((575, 51), (12, 9)),
    ((580, 65), (13, 0)),
    ((590, 44), (13, 1)),
    ((595, 45), (13, 2)),
    ((610, 43), (13, 3)),
    ((615, 71), (13, 4)),
)
"""The first driver of each CUDA version, oldest first."""

NEWEST_BRANCH = _FIRST_DRIVERS[-1][0][0]
"""The newest branch in the table; a newer driver supports at least the newest CUDA version here."""
_LAST_PLAUSIBLE_BRANCH = NEWEST_BRANCH + 200
"""NVIDIA opens some fifty numbers a year; what lies further ahead is no driver's."""

_VERSION = re.compile(r"\s*(\d{3})\.(\d{1,3})(?:\.(\d{1,3}))?\s*", re.ASCII)


def normalise(text: str) -> str:
    """Return a plausible driver version as it stands (`570.86.10`), or an empty text."""
    return text.strip() if _VERSION.fullmatch(text) else ""


def branch(driver: str) -> int | None:
    """Return the branch of a driver version, `570` for `570.86.10`."""
    match = _VERSION.fullmatch(driver)
    return int(match[1]) if match else None


def cuda_of_driver(driver: str) -> CudaVersion | None:
    """Return the CUDA version a driver supports, or `None` for an older or implausible driver.

    A driver between two entries supports what the older of them does.
    """
    match = _VERSION.fullmatch(driver)
    if match is None or int(match[1]) > _LAST_PLAUSIBLE_BRANCH:
        return None
    number = (int(match[1]), int(match[2]))
    supported: CudaVersion | None = None
    for first, cuda in _FIRST_DRIVERS:
        if number < first:
            break
        supported = cuda
    return supported

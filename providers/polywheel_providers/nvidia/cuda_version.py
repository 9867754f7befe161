"""The CUDA version a driver supports: decoding, parsing, and what is believable."""

from __future__ import annotations

import re

CudaVersion = tuple[int, int]
"""Major and minor, `(12, 8)`."""

LAST_MAJOR = 24
"""The highest major number that is taken for a CUDA version rather than for garbage."""
LAST_MINOR = 20
"""The highest minor number variant properties can name; CUDA itself never passed 9."""

_TEXT = r"\s*(\d{1,2})\.(\d{1,2})(?:\.\d{1,3})*\s*"
# The release segment of a version as PEP 440 spells it. uv reads the overrides with its PEP 440 parser, so
# `13`, `v12.8` and `12.8rc1` are versions to it, and only the first two numbers of the release count.
_PEP440 = (
    r"(?ai)\s*v?(?:\d+!)?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?:a|b|c|rc|alpha|beta|pre|preview)[-_.]?\d*)?"
    r"(?:-\d+|[-_.]?(?:post|rev|r)[-_.]?\d*)?"
    r"(?:[-_.]?dev[-_.]?\d*)?"
    r"(?:\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?\s*"
)


def plausible(version: CudaVersion) -> bool:
    """Say whether a driver could really support this version; the oldest nvidia-smi names is 7.0."""
    major, minor = version
    return 5 <= major <= LAST_MAJOR and 0 <= minor <= LAST_MINOR


def decode(number: int) -> CudaVersion | None:
    """Decode what `cuDriverGetVersion` and NVML return: 12080 is 12.8; `None` when implausible.

    Source: CUDA driver API, version management: 1000 x major + 10 x minor.
    """
    version = (number // 1000, number % 1000 // 10)
    return version if number % 10 == 0 and plausible(version) else None


def parse(text: str) -> CudaVersion | None:
    """Parse `12.8` as nvidia-smi prints it; `None` when it is no version or implausible."""
    match = re.fullmatch(_TEXT, text)
    if match is None:
        return None
    version = (int(match[1]), int(match[2]))
    return version if plausible(version) else None


def parse_override(text: str) -> CudaVersion | None:
    """Parse a `*_FORCE_CUDA_DRIVER_VERSION` as released uv does: PEP 440, two numbers, 13 means 13.0."""
    match = re.fullmatch(_PEP440, text)
    if match is None or len(match["release"]) > 40:
        return None
    numbers = [int(part) for part in match["release"].split(".")]
    return (numbers[0], numbers[1] if len(numbers) > 1 else 0)


def text(version: CudaVersion) -> str:
    """Return `12.8`."""
    return f"{version[0]}.{version[1]}"

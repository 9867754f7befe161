"""The installed ROCm's version, and which versions' wheels a system runs."""

from __future__ import annotations

import re

from .facts import RocmVersion

_VERSION = re.compile(r"\s*(\d{1,2})\.(\d{1,2})(?:[.-]\S*)?\s*", re.ASCII)

_LAST_MINORS = {5: 7, 6: 4, 7: 20, 8: 20}
"""The last minor version of each major; generous where a major is still growing."""
NEWEST: RocmVersion = (7, 20)
"""The newest version assumed to exist, for a system without ROCm."""


def parse_rocm_version(text: str) -> RocmVersion | None:
    """Parse `7.1.0` or `6.4.1-83`, as `.info/version` holds it; `None` for anything else."""
    match = _VERSION.fullmatch(text)
    return (int(match[1]), int(match[2])) if match and 3 <= int(match[1]) <= 20 else None


def all_versions() -> tuple[str, ...]:
    """Return every version there may be, newest first."""
    return tuple(
        f"{major}.{minor}"
        for major, last in sorted(_LAST_MINORS.items(), reverse=True)
        for minor in range(last, -1, -1)
    )


def compatible_versions(installed: RocmVersion | None) -> tuple[str, ...]:
    """Return the ROCm versions whose wheels run, the closest first.

    A wheel carries its user-space ROCm and needs the kernel driver alone, which runs this major version up to
    the installed minor and the major before it. Without an installed ROCm nothing narrows the choice. Source:
    ROCm's "User and kernel-space support matrix".
    """
    major, minor = installed or NEWEST
    older = range(_LAST_MINORS.get(major - 1, -1), -1, -1)
    return (*(f"{major}.{each}" for each in range(minor, -1, -1)), *(f"{major - 1}.{each}" for each in older))

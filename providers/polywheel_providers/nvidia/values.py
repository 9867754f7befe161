"""The values of the `nvidia` features: which bounds and architectures a version or a GPU stands for. Pure.

The lists and their order are those of uv 0.13.9 and nvidia-variant-provider 0.0.1.
"""

from __future__ import annotations

from .architecture import parse_architecture, runs_on
from .capability import OLDEST_NAMED, Capability
from .cuda_version import LAST_MAJOR, LAST_MINOR, CudaVersion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

LOWER_BOUND, UPPER_BOUND, SM_ARCH = "cuda_version_lower_bound", "cuda_version_upper_bound", "sm_arch"
"""The features, in order of preference."""
FIRST_MAJOR = 11
"""The oldest CUDA major version that a bound can name."""

_LAST_UPPER_MAJOR = 15


def versions_of_major(major: int, last_minor: int) -> list[str]:
    """Return `M.m` down to `M.0`, then the bare `M`."""
    return [*(f"{major}.{minor}" for minor in range(last_minor, -1, -1)), str(major)]


def all_values() -> dict[str, tuple[str, ...]]:
    """Return every value that any machine could support, by feature in order."""
    majors = range(LAST_MAJOR, FIRST_MAJOR - 1, -1)
    bounds = tuple(value for major in majors for value in versions_of_major(major, LAST_MINOR))
    numbers = [f"{major}{minor}" for major in range(29, 4, -1) for minor in range(9, -1, -1)]
    architectures = tuple(f"{number}_{kind}" for kind in ("real", "virtual") for number in numbers)
    return {LOWER_BOUND: bounds, UPPER_BOUND: bounds, SM_ARCH: architectures}


def lower_bounds(cuda: CudaVersion) -> tuple[str, ...]:
    """Return the bounds at or below a version, the closest first; empty below CUDA 11."""
    major, minor = cuda
    if major < FIRST_MAJOR:
        return ()
    older = range(major - 1, FIRST_MAJOR - 1, -1)
    values = versions_of_major(major, minor)
    return tuple(values + [value for each in older for value in versions_of_major(each, LAST_MINOR)])


def upper_bounds(cuda: CudaVersion) -> tuple[str, ...]:
    """Return the bounds above a version, the furthest first."""
    major, minor = cuda
    if major > _LAST_UPPER_MAJOR:
        return ()
    newer = range(_LAST_UPPER_MAJOR, max(major, FIRST_MAJOR - 1), -1)
    values = [value for each in newer for value in versions_of_major(each, LAST_MINOR)]
    return tuple(values + [f"{major}.{each}" for each in range(LAST_MINOR, minor, -1)])


def architectures_of(capability: Capability) -> tuple[str, ...]:
    """Return the `sm_arch` values of one kind of GPU: its minor and below as SASS, its major's PTX."""
    major, minor = capability
    if capability < OLDEST_NAMED:
        return ()
    return (*(f"{major}{each}_real" for each in range(minor, -1, -1)), f"{major}0_virtual")


def common_architectures(kinds: Iterable[Capability]) -> tuple[str, ...]:
    """Return the values that run on every one of several kinds of GPU, the newest kind's first."""
    ordered = sorted(set(kinds), reverse=True)
    offered = dict.fromkeys(value for kind in ordered for value in architectures_of(kind))
    return tuple(value for value in offered if all(_runs(value, kind) for kind in ordered))


def _runs(value: str, kind: Capability) -> bool:
    target = parse_architecture(value)
    return target is not None and runs_on(target, kind)

"""From facts to the properties of the `nvidia` namespace, and to the question lists cannot answer. Pure.

The lists and their order are those of uv 0.13.9 and nvidia-variant-provider 0.0.1: for one kind of GPU they
are identical. They differ on purpose where those are wrong: several kinds of GPU get only the values that
run on all of them, and a Tegra only what runs on a Tegra.
"""

from __future__ import annotations

from polywheel_providers.verdict import Verdict

from . import capability as capabilities
from . import cuda_version
from .architecture import parse_architecture, runs_on
from .capability import OLDEST_NAMED, Capability
from .cuda_version import LAST_MAJOR, LAST_MINOR, CudaVersion
from .facts import NvidiaFacts
from .overrides import FORCE_CUDA, FORCE_SM
from .visibility import MASK, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from polywheel_providers.vendor import Device

    from .facts import NvidiaDevice

LOWER_BOUND, UPPER_BOUND, SM_ARCH = "cuda_version_lower_bound", "cuda_version_upper_bound", "sm_arch"

_FIRST_MAJOR = 11
_LAST_UPPER_MAJOR = 15
_MOST_VALUES = 1024
"""uv skips the provider when an override would make a longer list."""


def versions_of_major(major: int, last_minor: int) -> list[str]:
    """Return `M.m` down to `M.0`, then the bare `M`."""
    return [*(f"{major}.{minor}" for minor in range(last_minor, -1, -1)), str(major)]


def all_values() -> dict[str, tuple[str, ...]]:
    """Return every value that any machine could support, by feature in order."""
    majors = range(LAST_MAJOR, _FIRST_MAJOR - 1, -1)
    bounds = tuple(value for major in majors for value in versions_of_major(major, LAST_MINOR))
    numbers = [f"{major}{minor}" for major in range(29, 4, -1) for minor in range(9, -1, -1)]
    architectures = tuple(f"{number}_{kind}" for kind in ("real", "virtual") for number in numbers)
    return {LOWER_BOUND: bounds, UPPER_BOUND: bounds, SM_ARCH: architectures}


def lower_bounds(cuda: CudaVersion) -> tuple[str, ...]:
    """Return the bounds at or below a version, the closest first; empty below CUDA 11."""
    major, minor = cuda
    if major < _FIRST_MAJOR:
        return ()
    older = range(major - 1, _FIRST_MAJOR - 1, -1)
    values = versions_of_major(major, minor)
    return tuple(values + [value for each in older for value in versions_of_major(each, LAST_MINOR)])


def upper_bounds(cuda: CudaVersion) -> tuple[str, ...]:
    """Return the bounds above a version, the furthest first."""
    major, minor = cuda
    if major > _LAST_UPPER_MAJOR:
        return ()
    newer = range(_LAST_UPPER_MAJOR, max(major, _FIRST_MAJOR - 1), -1)
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


def supported(facts: NvidiaFacts, *, discrete_elsewhere: bool = False) -> dict[str, tuple[str, ...]]:
    """Feature -> values, both best first; see `vendor.Vendor`."""
    cuda = _effective_cuda(facts)
    if cuda is None or cuda[0] > _MOST_VALUES or cuda[1] > _MOST_VALUES:
        return {}
    lower = lower_bounds(cuda)
    if len(lower) > _MOST_VALUES:
        return {}
    architectures = _architectures(facts, discrete_elsewhere)
    if architectures is None:
        return {}
    found = {LOWER_BOUND: lower, UPPER_BOUND: upper_bounds(cuda), SM_ARCH: architectures}
    return {feature: values for feature, values in found.items() if values}


def _effective_cuda(facts: NvidiaFacts) -> CudaVersion | None:
    """Return the override's version, or the driver's own where the properties can name it."""
    if forced := facts.env.get(FORCE_CUDA):
        return cuda_version.parse_override(forced)
    if facts.cuda is None or facts.cuda[0] < _FIRST_MAJOR:
        return None
    return facts.cuda


def _architectures(facts: NvidiaFacts, discrete_elsewhere: bool) -> tuple[str, ...] | None:
    """Return `sm_arch`'s values, none when the GPUs are unknown, `None` when there is no GPU to serve."""
    if forced := facts.env.get(FORCE_SM):
        capability = capabilities.parse_override(forced)
        return None if capability is None else architectures_of(capability)
    served = _served(facts, discrete_elsewhere)
    if not served:
        return None if facts.devices or (facts.devices_known and not facts.env.get(FORCE_CUDA)) else ()
    kinds = {device.capability for device in served if device.capability is not None}
    if len(kinds) == 1 and not _tegra(facts, kinds):
        return architectures_of(*kinds)
    return common_architectures(kinds)


def _tegra(facts: NvidiaFacts, kinds: set[Capability]) -> bool:
    return facts.tegra or bool(kinds & capabilities.TEGRA)


def _served(facts: NvidiaFacts, discrete_elsewhere: bool) -> list[NvidiaDevice]:
    """Return the visible, usable devices: those every variant must serve."""
    places = visible(facts).places
    return [facts.devices[place] for place in places if not _unusable(facts, place, discrete_elsewhere)]


def _unusable(facts: NvidiaFacts, place: int, discrete_elsewhere: bool) -> str:
    """Return why variants are not chosen for a device, or an empty text.

    A GPU of unknown capability counts when there is no other, and never hides one that is known.
    """
    device = facts.devices[place]
    if device.problem:
        return device.problem
    others = [facts.devices[each] for each in visible(facts).places if each != place]
    known = [other for other in others if other.capability is not None]
    if device.integrated and (discrete_elsewhere or any(not other.integrated for other in known)):
        return "integrated, beside a discrete GPU"
    if device.capability is None:
        return "no source told its compute capability" if known else ""
    if device.capability < OLDEST_NAMED:
        return "compute capability below 5.0, the oldest that variants can name"
    return ""


def serves(facts: NvidiaFacts, values: Iterable[str], *, discrete_elsewhere: bool = False) -> Verdict:
    """Say whether code for these `sm_arch` values runs on every visible, usable GPU.

    Unlike the lists, this knows PTX of any age, `a` and `f` targets and Tegra.
    """
    kinds = _kinds_to_serve(facts, discrete_elsewhere)
    if not kinds:
        return Verdict(False, "no visible, usable NVIDIA GPU of known compute capability")
    given = tuple(values)
    targets = [target for target in map(parse_architecture, given) if target is not None]
    by_ptx = False
    for name, kind in kinds:
        running = [target for target in targets if runs_on(target, kind)]
        if not running:
            code = ", ".join(given) or "none"
            place = f"{name} (compute capability {capabilities.text(kind)})"
            return Verdict(False, f"no code for {place} among {code}")
        by_ptx = by_ptx or all(target.virtual for target in running)
    names = " and ".join(dict.fromkeys(f"{name} ({capabilities.text(kind)})" for name, kind in kinds))
    return Verdict(True, f"runs on {names}{', by PTX' if by_ptx else ''}", by_ptx)


def _kinds_to_serve(facts: NvidiaFacts, discrete_elsewhere: bool) -> list[tuple[str, Capability]]:
    if forced := facts.env.get(FORCE_SM):
        capability = capabilities.parse_override(forced)
        return [] if capability is None else [("the GPU given by override", capability)]
    served = _served(facts, discrete_elsewhere)
    return [(device.name, device.capability) for device in served if device.capability is not None]


def devices(facts: NvidiaFacts, *, discrete_elsewhere: bool = False) -> tuple[Device, ...]:
    """List every GPU, the visible ones in CUDA's numbering and the hidden ones after them."""
    seen = visible(facts).places
    hidden = [place for place in range(len(facts.devices)) if place not in seen]
    return tuple(_listed(facts, place, place in seen, discrete_elsewhere) for place in [*seen, *hidden])


def _listed(facts: NvidiaFacts, place: int, is_visible: bool, discrete_elsewhere: bool) -> Device:
    from polywheel_providers.vendor import Device  # noqa: PLC0415 (only where there is a device)

    device = facts.devices[place]
    unusable = _unusable(facts, place, discrete_elsewhere)
    why = unusable if is_visible or device.problem else _hidden_by(facts)
    capability = "" if device.capability is None else capabilities.text(device.capability)
    name = f"{device.name} (MIG)" if device.mig_mode else device.name
    return Device("nvidia", name, capability, device.integrated, is_visible, is_visible and not unusable, why)


def _hidden_by(facts: NvidiaFacts) -> str:
    if MASK in facts.env:
        return f"hidden by {MASK}={facts.env[MASK]}"
    return "hidden by CUDA, which enumerates a single MIG instance and no whole GPU beside it"

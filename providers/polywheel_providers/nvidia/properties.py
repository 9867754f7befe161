"""From facts to the properties of the `nvidia` namespace, and to the question lists cannot answer. Pure.

For one kind of GPU the lists are uv's. They differ on purpose where those are wrong: several kinds of GPU get
only the values that run on all of them, and a Tegra only what runs on a Tegra.
"""

from __future__ import annotations

from polywheel_providers.verdict import Verdict

from . import capability as capabilities
from . import cuda_version
from .architecture import parse_architecture, runs_on
from .capability import OLDEST_NAMED, Capability
from .cuda_version import CudaVersion
from .facts import NvidiaFacts
from .overrides import FORCE_CUDA, FORCE_SM
from .values import (
    FIRST_MAJOR,
    LOWER_BOUND,
    SM_ARCH,
    UPPER_BOUND,
    architectures_of,
    common_architectures,
    lower_bounds,
    upper_bounds,
)
from .visibility import MASK, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from polywheel_providers.vendor import Device

    from .facts import NvidiaDevice

_MOST_VALUES = 1024
"""uv skips the provider when an override would make a longer list."""


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
    if facts.cuda is None or facts.cuda[0] < FIRST_MAJOR:
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

"""From facts to the properties of the `amd` namespace. Pure."""

from __future__ import annotations

import re

from polywheel_providers.vendor import Device
from polywheel_providers.verdict import Verdict

from .facts import AmdDevice, AmdFacts, RocmVersion
from .gfx import GENERIC, OTHERS, as_value, is_known, is_name, values_of
from .rocm_version import all_versions, compatible_versions, parse_rocm_version
from .visibility import ROCR, hip_mask, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FORCE_GFX = "AMD_VARIANT_PROVIDER_FORCE_GFX_ARCH"
"""Processors to take the machine's GPUs for, separated by commas, semicolons or spaces."""
FORCE_ROCM = "AMD_VARIANT_PROVIDER_FORCE_ROCM_VERSION"
"""`7.1.0`: the version to take the installed ROCm's for."""
HSA_OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
"""Makes ROCm's runtime and programs report another processor than the GPU is."""

GFX_ARCH, ROCM_VERSION = "gfx_arch", "rocm_version"


def all_values() -> dict[str, tuple[str, ...]]:
    """Return every value that any machine could support, by feature in order."""
    exact = {*OTHERS, *(name for members in GENERIC.values() for name in members)}
    return {GFX_ARCH: (*sorted(exact), *map(as_value, GENERIC)), ROCM_VERSION: all_versions()}


def forced_processors(env: dict[str, str]) -> tuple[str, ...]:
    """Return the override's processors; words that name none are left out."""
    words = re.split(r"[,;\s]+", env.get(FORCE_GFX, "").strip())
    return tuple(dict.fromkeys(word for word in words if is_name(word)))


def supported(facts: AmdFacts, *, discrete_elsewhere: bool = False) -> dict[str, tuple[str, ...]]:
    """Feature -> values, both best first; see `vendor.Vendor`.

    One kind of GPU gives its own name and its generic target's; several give what runs on all of them.
    """
    names = _processors(facts, discrete_elsewhere)
    if not names:
        return {}
    offered = dict.fromkeys(value for name in names for value in values_of(name))
    common = tuple(value for value in offered if all(value in values_of(name) for name in names))
    found = {GFX_ARCH: common, ROCM_VERSION: compatible_versions(_rocm(facts))}
    return {feature: values for feature, values in found.items() if values}


def _processors(facts: AmdFacts, discrete_elsewhere: bool) -> tuple[str, ...]:
    if facts.env.get(FORCE_GFX):
        return forced_processors(facts.env)
    return tuple(dict.fromkeys(device.gfx for device in _served(facts, discrete_elsewhere)))


def _rocm(facts: AmdFacts) -> RocmVersion | None:
    return parse_rocm_version(facts.env.get(FORCE_ROCM, "")) or facts.rocm


def _served(facts: AmdFacts, discrete_elsewhere: bool) -> list[AmdDevice]:
    places = visible(facts)
    return [facts.devices[place] for place in places if not _unusable(facts, place, discrete_elsewhere)]


def _unusable(facts: AmdFacts, place: int, discrete_elsewhere: bool) -> str:
    """Return why variants are not chosen for a device, or an empty text.

    A processor newer than our tables is served by its own name when it is alone, and never hides a known one.
    """
    device = facts.devices[place]
    others = [facts.devices[each] for each in visible(facts) if each != place]
    known = [other for other in others if is_known(other.gfx)]
    if device.integrated and (discrete_elsewhere or any(not other.integrated for other in known)):
        return "integrated, beside a discrete GPU"
    if not device.gfx or (known and not is_known(device.gfx)):
        return "its processor is not known to this version"
    return ""


def serves(facts: AmdFacts, values: Iterable[str], *, discrete_elsewhere: bool = False) -> Verdict:
    """Say whether code for these `gfx_arch` values runs on every visible, usable GPU."""
    given = frozenset(values)
    names = _processors(facts, discrete_elsewhere)
    if not names:
        return Verdict(False, "no visible, usable AMD GPU of known processor")
    for name in names:
        if not given.intersection(values_of(name)):
            return Verdict(False, f"no code for {name} among {', '.join(sorted(given)) or 'none'}")
    return Verdict(True, f"runs on {' and '.join(names)}")


def devices(facts: AmdFacts, *, discrete_elsewhere: bool = False) -> tuple[Device, ...]:
    """List every GPU, the visible ones in HIP's numbering and the hidden ones after them."""
    seen = visible(facts)
    hidden = [place for place in range(len(facts.devices)) if place not in seen]
    return tuple(_listed(facts, place, place in seen, discrete_elsewhere) for place in [*seen, *hidden])


def _listed(facts: AmdFacts, place: int, is_visible: bool, discrete_elsewhere: bool) -> Device:
    device = facts.devices[place]
    unusable = _unusable(facts, place, discrete_elsewhere)
    masks = [name for name in (ROCR, hip_mask(facts.env)) if name is not None and name in facts.env]
    hidden_by = "hidden by " + " and ".join(f"{name}={facts.env[name]}" for name in masks)
    return Device(
        vendor="amd",
        name=device.name,
        arch=device.gfx,
        integrated=device.integrated,
        visible=is_visible,
        usable=is_visible and not unusable,
        why=unusable if is_visible else hidden_by,
    )

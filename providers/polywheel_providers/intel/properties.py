"""From facts to the properties of the `intel` namespace. Pure."""

from __future__ import annotations

import re

from polywheel_providers.vendor import Device
from polywheel_providers.verdict import Verdict

from . import products as table
from .facts import IntelDevice, IntelFacts
from .visibility import MASK, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FORCE_IP = "INTEL_VARIANT_PROVIDER_FORCE_DEVICE_IP"
"""Device IPs to take the machine's GPUs for, separated by commas, semicolons or spaces."""

DEVICE_IP = "device_ip"


def all_values() -> dict[str, tuple[str, ...]]:
    """Return every value that any machine of a known kind could support."""
    return {DEVICE_IP: tuple(product.ip for product in table.PRODUCTS)}


def forced_ips(env: dict[str, str]) -> tuple[str, ...]:
    """Return the override's device IPs; words that are none are left out."""
    words = re.split(r"[,;\s]+", env.get(FORCE_IP, "").strip())
    return tuple(dict.fromkeys(word for word in words if table.numbers_of(word) is not None))


def _values_of(ip: str, base: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in (ip, base) if value))


def supported(facts: IntelFacts, *, discrete_elsewhere: bool = False) -> dict[str, tuple[str, ...]]:
    """Feature -> values, both best first; see `vendor.Vendor`.

    One kind of GPU gives its own IP and its base's; several give what runs on all of them.
    """
    kinds = [values for _, values in _kinds(facts, discrete_elsewhere)]
    offered = dict.fromkeys(value for values in kinds for value in values)
    common = tuple(value for value in offered if all(value in values for values in kinds))
    return {DEVICE_IP: common} if common else {}


def _kinds(facts: IntelFacts, discrete_elsewhere: bool) -> list[tuple[str, tuple[str, ...]]]:
    """Return each visible, usable GPU's name and the values whose code it runs."""
    if facts.env.get(FORCE_IP):
        return [(f"device IP {ip}", _values_of(ip, table.base_of(ip))) for ip in forced_ips(facts.env)]
    places = [place for place in visible(facts) if not _unusable(facts, place, discrete_elsewhere)]
    return [
        (device.name, _values_of(device.ip, device.base)) for device in map(facts.devices.__getitem__, places)
    ]


def _unusable(facts: IntelFacts, place: int, discrete_elsewhere: bool) -> str:
    """Return why variants are not chosen for a device, or an empty text.

    A device of no known family is served by its own IP when it is alone, and never hides a known one.
    """
    device = facts.devices[place]
    if device.problem:
        return device.problem
    others = [facts.devices[each] for each in visible(facts) if each != place]
    known = [other for other in others if _is_known(other)]
    if device.integrated and (discrete_elsewhere or any(not other.integrated for other in known)):
        return "integrated, beside a discrete GPU"
    if not device.ip and not device.base:
        return "its graphics IP is not known, so it may be older than Xe"
    return "its graphics IP is not known to this version" if known and not _is_known(device) else ""


def _is_known(device: IntelDevice) -> bool:
    return bool(device.base) or table.is_known(device.ip)


def serves(facts: IntelFacts, values: Iterable[str], *, discrete_elsewhere: bool = False) -> Verdict:
    """Say whether code for these `device_ip` values runs on every visible, usable GPU."""
    given = frozenset(values)
    kinds = _kinds(facts, discrete_elsewhere)
    if not kinds:
        return Verdict(False, "no visible, usable Intel GPU of known device IP")
    for name, runs in kinds:
        if not given.intersection(runs):
            said = ", ".join(sorted(given)) or "none"
            return Verdict(False, f"no code for {name} ({' or '.join(runs)}) among {said}")
    return Verdict(True, f"runs on {' and '.join(dict.fromkeys(name for name, _ in kinds))}")


def devices(facts: IntelFacts, *, discrete_elsewhere: bool = False) -> tuple[Device, ...]:
    """List every GPU, the visible ones in Level Zero's numbering and the hidden ones after them."""
    seen = visible(facts)
    hidden = [place for place in range(len(facts.devices)) if place not in seen]
    return tuple(
        _listed(facts, facts.devices[place], place in seen, _unusable(facts, place, discrete_elsewhere))
        for place in [*seen, *hidden]
    )


def _listed(facts: IntelFacts, device: IntelDevice, is_visible: bool, unusable: str) -> Device:
    hidden_by = device.problem or f"hidden by {MASK}={facts.env.get(MASK, '')}"
    return Device(
        vendor="intel",
        name=device.name,
        arch=device.ip,
        integrated=device.integrated,
        visible=is_visible,
        usable=is_visible and not unusable,
        why=unusable if is_visible else hidden_by,
    )

"""`CUDA_VISIBLE_DEVICES` and `CUDA_DEVICE_ORDER`: which GPUs a process would see. Pure.

Sources: CUDA C++ programming guide, "CUDA Environment Variables"; MIG user guide, "Device Enumeration";
the behaviour of driver 525 as recorded in PyTorch's tests (pytorch/pytorch#92315).
"""

from __future__ import annotations

import re

from polywheel_providers.frozen import dataclass

from .facts import NvidiaFacts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .facts import NvidiaDevice

MASK = "CUDA_VISIBLE_DEVICES"
"""The variable that names the devices a process sees, in order."""
ORDER = "CUDA_DEVICE_ORDER"
"""`FASTEST_FIRST` (the default) or `PCI_BUS_ID`."""

_NUMBER = r"(?a)[+-]?\d+"
_LEGACY_MIG = r"(?a)MIG-(GPU-[^/]+)/(\d+)/(\d+)"


@dataclass(frozen=True)
class Visibility:
    """What a mask leaves."""

    places: tuple[int, ...]
    """The places in `NvidiaFacts.devices` of the visible GPUs, in the process's numbering."""
    unresolved: bool = False
    """The mask names UUIDs no source gave, so every device counts as visible."""


def names_uuids(mask: str) -> bool:
    """Say whether a mask names GPUs or MIG instances by UUID."""
    return any(entry.strip().startswith(("GPU-", "MIG-")) for entry in mask.split(","))


def names_numbers(mask: str) -> bool:
    """Say whether a mask numbers devices, so that their order matters."""
    return any(re.match(_NUMBER, entry.strip()) for entry in mask.split(","))


def enumeration(facts: NvidiaFacts) -> tuple[int, ...]:
    """Return the places of all devices in the order CUDA numbers them, unmasked.

    Without libcuda's word, FASTEST_FIRST is taken to follow the compute capability, then the bus: CUDA
    promises only that device 0 is the fastest.
    """
    places = tuple(range(len(facts.devices)))
    if facts.env.get(ORDER) == "PCI_BUS_ID":
        return places
    if facts.cuda_order:
        return facts.cuda_order
    return tuple(sorted(places, key=lambda place: _slowness(facts.devices[place])))


def _slowness(device: NvidiaDevice) -> tuple[int, int, int]:
    major, minor = device.capability or (0, 0)
    return (int(device.integrated), -major, -minor)


def visible(facts: NvidiaFacts) -> Visibility:
    """Return the devices a process would see under the masks of the facts."""
    order = tuple(place for place in enumeration(facts) if _exists_for_cuda(facts.devices[place]))
    mask = facts.env.get(MASK)
    if mask is None:
        return Visibility(_one_mig(order, facts))
    if names_uuids(mask) and _uuids_unknown(mask, facts):
        return Visibility(order, unresolved=True)
    chosen: list[int] = []
    seen: set[object] = set()
    for entry in mask.split(","):
        found = _resolve(entry.strip(), order, facts)
        if found is None:
            break  # the first invalid entry hides itself and all after it
        place, identity = found
        if identity in seen:
            return Visibility(())
        seen.add(identity)
        if place not in chosen:
            chosen.append(place)
    return Visibility(_one_mig(tuple(chosen), facts))


def _exists_for_cuda(device: NvidiaDevice) -> bool:
    return not device.problem


def _one_mig(places: tuple[int, ...], facts: NvidiaFacts) -> tuple[int, ...]:
    """Keep one MIG device alone: CUDA enumerates a single compute instance, and no whole GPU beside it."""
    partitioned = [place for place in places if facts.devices[place].mig_mode]
    return tuple(partitioned[:1]) if partitioned else places


def _resolve(entry: str, order: tuple[int, ...], facts: NvidiaFacts) -> tuple[int, object] | None:
    """Return a device's place and what must not be named twice, or `None` for an invalid entry."""
    if entry.startswith("MIG-"):
        return _resolve_mig(entry, order, facts)
    if entry.startswith("GPU-"):
        matches = [place for place in order if facts.devices[place].uuid.startswith(entry)]
        return (matches[0], matches[0]) if len(matches) == 1 else None
    number = re.match(_NUMBER, entry)  # strtol: what follows the digits is ignored
    if number is None or len(number[0]) > 9 or not 0 <= int(number[0]) < len(order):
        return None
    return (order[int(number[0])], order[int(number[0])])


def _resolve_mig(entry: str, order: tuple[int, ...], facts: NvidiaFacts) -> tuple[int, object] | None:
    legacy = re.fullmatch(_LEGACY_MIG, entry)
    matches: list[tuple[int, object]] = []
    for place in order:
        device = facts.devices[place]
        if legacy is not None and device.mig_mode and device.uuid.startswith(legacy[1]):
            return (place, entry)
        # libcuda lists the instance itself as a device, and its UUID comes without the kind.
        names = [instance.uuid for instance in device.mig] or [f"MIG-{device.uuid.removeprefix('GPU-')}"]
        matches += [(place, name) for name in names if name.startswith(entry)]
    return matches[0] if len(matches) == 1 else _unlisted(entry, order, facts)


def _unlisted(entry: str, order: tuple[int, ...], facts: NvidiaFacts) -> tuple[int, object] | None:
    """Take a GPU that is or may be partitioned and whose instances no source listed, where all are alike.

    A mask that names an instance says more than a source that knows nothing of instances.
    """
    possible = [place for place in order if facts.devices[place].mig_mode is not False]
    blind = [place for place in possible if not facts.devices[place].mig]
    kinds = {facts.devices[place].capability for place in blind}
    return (blind[0], entry) if len(kinds) == 1 else None


def _uuids_unknown(mask: str, facts: NvidiaFacts) -> bool:
    return "GPU-" in mask.split(",", 1)[0][:4] and not any(device.uuid for device in facts.devices)

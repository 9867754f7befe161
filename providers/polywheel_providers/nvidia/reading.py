"""What one source said about the NVIDIA side of a machine, and how several sources add up."""

from __future__ import annotations

import re

from polywheel_providers.frozen import dataclass, replace

from .capability import Capability
from .cuda_version import CudaVersion
from .facts import MigInstance

_BUS = re.compile(r"\s*(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})\.([0-7])\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Seen:
    """One device as one source saw it; what the source does not say is empty or `None`."""

    bus: str = ""
    """The PCI address, `0000:82:00.0`."""
    uuid: str = ""
    """`GPU-...`."""
    name: str = ""
    """The product's name."""
    capability: Capability | None = None
    """The compute capability."""
    mig_mode: bool | None = None
    """Whether the GPU is partitioned."""
    mig: tuple[MigInstance, ...] = ()
    """Its compute instances, where the source lists them."""
    integrated: bool | None = None
    """Whether it shares the processor's memory."""
    problem: str = ""
    """Why the driver cannot use it."""


@dataclass(frozen=True)
class Reading:
    """What one source said about the machine."""

    source: str
    """`nvml`, `libcuda`, `proc`, `pci`, `nvidia-smi` ..."""
    driver: str = ""
    """The display driver's version."""
    cuda: CudaVersion | None = None
    """The CUDA version the driver supports."""
    devices: tuple[Seen, ...] | None = None
    """The devices, or `None` when the source could not list them; none at all is an answer."""
    problem: str = ""
    """What went wrong, one clause."""


def normalise_bus(text: str) -> str:
    """Return a PCI address as sysfs writes it, `0000:82:00.0`; empty when it is none."""
    match = _BUS.fullmatch(text)
    if match is None:
        return ""
    domain, bus, slot = int(match[1] or "0", 16), int(match[2], 16), int(match[3], 16)
    return f"{domain:04x}:{bus:02x}:{slot:02x}.{match[4]}"


def merge_devices(readings: tuple[Reading, ...]) -> tuple[Seen, ...] | None:
    """Take the first source's devices, in its order, and fill their gaps from the later ones."""
    lists = [reading.devices for reading in readings if reading.devices is not None]
    if not lists:
        return None
    merged = next((devices for devices in lists if devices), ())
    for others in lists:
        merged = tuple(_filled(place, device, merged, others) for place, device in enumerate(merged))
    return merged


def _filled(place: int, device: Seen, devices: tuple[Seen, ...], others: tuple[Seen, ...]) -> Seen:
    other = _counterpart(place, device, devices, others)
    if other is None:
        return device
    return replace(
        device,
        bus=device.bus or other.bus,
        uuid=device.uuid or other.uuid,
        name=device.name or other.name,
        capability=device.capability or other.capability,
        mig_mode=other.mig_mode if device.mig_mode is None else device.mig_mode,
        mig=device.mig or other.mig,
        integrated=other.integrated if device.integrated is None else device.integrated,
    )


def _counterpart(
    place: int, device: Seen, devices: tuple[Seen, ...], others: tuple[Seen, ...]
) -> Seen | None:
    """Find a device in another source's list: by UUID, by bus, or by place where neither is told."""
    for other in others:
        if device.uuid and device.uuid == other.uuid:
            return other
    for other in others:
        if device.bus and device.bus == other.bus:
            return other
    nameless = not any(other.uuid or other.bus for other in others) or not (device.uuid or device.bus)
    return others[place] if nameless and len(others) == len(devices) else None

"""Adding up what the sources said: one driver, one CUDA version, one list of devices. Pure."""

from __future__ import annotations

from .answers import UNSUPPORTED_COMPAT
from .driver_table import cuda_of_driver
from .facts import NvidiaDevice
from .reading import merge_devices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .cuda_version import CudaVersion
    from .reading import Reading, Seen

_TABLES = ("kernel module", "tegra release")
"""The sources whose CUDA version comes from a published table."""


def driver_of(readings: tuple[Reading, ...]) -> str:
    """Return the display driver's version, empty when no source told it."""
    return next((reading.driver for reading in readings if reading.driver), "")


def cuda_of(readings: tuple[Reading, ...]) -> CudaVersion | None:
    """Take libcuda's word where it works, since a cuda-compat library may stand before the driver's own.

    NVML repeats what that library says even where it does not work, so then the driver's number decides. A
    table's entry yields to what a library or program of the driver said.
    """
    libcuda = next((reading for reading in readings if reading.source == "libcuda"), None)
    if libcuda is not None and UNSUPPORTED_COMPAT in libcuda.problem:
        return _by_driver(readings)
    if libcuda is not None and libcuda.cuda is not None and not libcuda.problem:
        return libcuda.cuda
    told = [reading.cuda for reading in readings if reading.source not in _TABLES]
    looked_up = [reading.cuda for reading in readings if reading.source in _TABLES]
    known = next((cuda for cuda in (*told, *looked_up) if cuda is not None), None)
    return known or _by_driver(readings)


def _by_driver(readings: tuple[Reading, ...]) -> CudaVersion | None:
    """Look the driver's version up in the published table; a Tegra's has a numbering of its own."""
    if any(reading.source == "tegra release" for reading in readings):
        return None
    found = (cuda_of_driver(reading.driver) for reading in readings if reading.driver)
    return next((cuda for cuda in found if cuda is not None), None)


def devices_of(readings: tuple[Reading, ...], *, tegra: bool) -> tuple[NvidiaDevice, ...]:
    """Return the devices in PCI order where every address is known, as NVML and nvidia-smi list them."""
    seen = merge_devices(readings) or ()
    if all(device.bus for device in seen):
        seen = tuple(sorted(seen, key=lambda device: device.bus))
    return tuple(_device(device, tegra) for device in seen)


def _device(seen: Seen, tegra: bool) -> NvidiaDevice:
    """Turn what was seen into a fact. A Tegra's own GPU has no address, a card in its slot has one."""
    return NvidiaDevice(
        name=seen.name or "NVIDIA GPU",
        capability=seen.capability,
        bus=seen.bus,
        uuid=seen.uuid,
        integrated=bool(seen.integrated) or (tegra and not seen.bus),
        mig_mode=True if seen.mig else seen.mig_mode,
        mig=seen.mig,
        problem=seen.problem,
    )


def cuda_order_of(readings: tuple[Reading, ...], devices: tuple[NvidiaDevice, ...]) -> tuple[int, ...]:
    """Return libcuda's numbering as places in `devices`; empty when it is not known for all of them."""
    listed = next((each.devices for each in readings if each.source == "libcuda" and each.devices), ())
    order = []
    for seen in listed:
        for place, device in enumerate(devices):
            if (seen.uuid and seen.uuid == device.uuid) or (seen.bus and seen.bus == device.bus):
                order.append(place)
                break
    return tuple(order) if sorted(order) == list(range(len(devices))) else ()


def outcome_of(reading: Reading) -> str:
    """Say in a few words what a source gave."""
    said = []
    if reading.driver:
        said.append(f"driver {reading.driver}")
    if reading.cuda is not None:
        said.append(f"CUDA {reading.cuda[0]}.{reading.cuda[1]}")
    if reading.devices is not None:
        count = len(reading.devices)
        said.append("1 device" if count == 1 else f"{count} devices")
    return ", ".join([*said, reading.problem] if reading.problem else said) or "nothing"

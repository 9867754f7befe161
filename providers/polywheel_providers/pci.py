r"""Display and compute adapters as the operating system's buses list them, whoever made them.

Linux: `/sys/bus/pci/devices`, and `/sys/class/drm` where a container shows no more. Windows: the display
class key of the registry. No driver is loaded and no program is run.
"""

from __future__ import annotations

import re
from itertools import islice

from .frozen import dataclass
from .machine import DEVICE_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .machine import Machine

DISPLAY = "0x03"
"""The PCI base class of display controllers, those without a connector included."""
ACCELERATOR = "0x12"
"""The PCI base class of processing accelerators: AMD's Instinct MI300, but also Intel's NPUs."""
_DISPLAY_CLASS = r"SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}"
_MOST_WINDOWS_ADAPTERS = 16
_WINDOWS_ID = r"(?i)pci\\ven_([0-9a-f]{4})&dev_([0-9a-f]{4})"
_ADDRESS = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"


@dataclass(frozen=True)
class Adapter:
    """One PCI function that may compute."""

    address: str
    """`0000:03:00.0`; empty where the system does not say."""
    device: int
    """The PCI device id."""
    name: str
    """What the system calls it; empty on Linux."""
    folder: str
    """Its folder in sysfs, for what else it may hold; empty on Windows."""


def adapters(machine: Machine, vendor: int, classes: tuple[str, ...] = (DISPLAY,)) -> tuple[Adapter, ...]:
    """List a vendor's adapters of some base classes by PCI address."""
    if machine.uname.system == "Windows":
        return tuple(_windows_adapters(machine, vendor))
    if machine.uname.system != "Linux":
        return ()
    found = tuple(islice(_bus_adapters(machine, vendor, classes), DEVICE_LIMIT))
    return found or tuple(islice(_drm_adapters(machine, vendor), DEVICE_LIMIT))


def hexadecimal(text: str | None) -> int | None:
    """Parse sysfs's `0x10de`; `None` for anything else."""
    match = re.fullmatch(r"\s*0x([0-9a-fA-F]{1,8})\s*", text or "")
    return int(match[1], 16) if match else None


def _bus_adapters(machine: Machine, vendor: int, classes: tuple[str, ...]) -> Iterator[Adapter]:
    for address in machine.list_dir("/sys/bus/pci/devices"):
        folder = f"/sys/bus/pci/devices/{address}"
        if hexadecimal(machine.read_text(f"{folder}/vendor")) != vendor:
            continue
        if not (machine.read_text(f"{folder}/class") or DISPLAY).strip().startswith(classes):
            continue
        device = hexadecimal(machine.read_text(f"{folder}/device"))
        if device is not None:
            yield Adapter(address if re.fullmatch(_ADDRESS, address) else "", device, "", folder)


def _drm_adapters(machine: Machine, vendor: int) -> Iterator[Adapter]:
    for card in machine.list_dir("/sys/class/drm"):
        folder = f"/sys/class/drm/{card}/device"
        if not re.fullmatch(r"card\d+", card):
            continue
        device = hexadecimal(machine.read_text(f"{folder}/device"))
        if hexadecimal(machine.read_text(f"{folder}/vendor")) == vendor and device is not None:
            yield Adapter(_drm_address(machine, folder), device, "", folder)


def _drm_address(machine: Machine, folder: str) -> str:
    slot = re.search(r"^PCI_SLOT_NAME=(\S+)$", machine.read_text(f"{folder}/uevent") or "", re.MULTILINE)
    address = slot[1] if slot else (machine.read_link(folder) or "").rpartition("/")[2]
    return address if re.fullmatch(_ADDRESS, address) else ""


def _windows_adapters(machine: Machine, vendor: int) -> Iterator[Adapter]:
    for place in range(_MOST_WINDOWS_ADAPTERS):
        values = machine.registry(rf"{_DISPLAY_CLASS}\{place:04d}")
        match = re.search(_WINDOWS_ID, str(values.get("MatchingDeviceId", "")))
        if match is not None and int(match[1], 16) == vendor:
            yield Adapter("", int(match[2], 16), str(values.get("DriverDesc", "")), "")

"""Signs of a GPU vendor: a few look-ups that say whether asking any further is worth it.

A machine without GPUs then loads none of the vendors' probes. The signs are those that the probes
themselves start from, so a vendor without a sign has nothing its probe could find.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .machine import Machine

PCI_VENDORS = {"nvidia": "0x10de", "amd": "0x1002", "intel": "0x8086"}
"""The vendors' PCI ids as sysfs spells them."""

_PATHS = {
    "nvidia": ("/proc/driver/nvidia", "/sys/module/nvidia", "/etc/nv_tegra_release", "/dev/nvidiactl"),
    "amd": ("/sys/class/kfd/kfd/topology/nodes",),
    "intel": (),
}
_LIBRARIES = {
    "nvidia": ("libnvidia-ml.so.1", "libcuda.so.1"),
    "amd": (),
    "intel": ("libze_loader.so.1",),
}
_PROGRAMS = {"nvidia": ("nvidia-smi",), "amd": ("rocm_agent_enumerator", "rocminfo"), "intel": ()}

_GRAPHICS = ("0x03", "0x12")
"""The PCI base classes of display controllers and of processing accelerators."""


def graphics_vendors(machine: Machine) -> frozenset[str]:
    """Return the PCI vendor ids of every display controller and accelerator that sysfs shows."""
    folders = [f"/sys/bus/pci/devices/{name}" for name in machine.list_dir("/sys/bus/pci/devices")]
    # Where the class cannot be read the device may be one.
    found = [
        folder for folder in folders if (_word(machine, folder, "class") or "0x03").startswith(_GRAPHICS)
    ]
    # Containers and Tegras show cards that are on no bus.
    found += [f"/sys/class/drm/{name}/device" for name in machine.list_dir("/sys/class/drm")]
    return frozenset(_word(machine, folder, "vendor").lower() for folder in found)


def has_sign(machine: Machine, namespace: str, variables: tuple[str, ...], graphics: frozenset[str]) -> bool:
    """Say whether anything speaks of a vendor: a device, its driver, its tools, or a variable.

    `variables` are the vendor's masks and overrides, `graphics` is `graphics_vendors`' answer. Systems
    whose signs are not files always count.
    """
    return (
        machine.uname.system != "Linux"
        or (namespace == "nvidia" and machine.uname.release.endswith("-tegra"))
        or PCI_VENDORS[namespace] in graphics
        or any(name in machine.env for name in variables)
        or any(map(machine.exists, _PATHS[namespace]))
        or any(machine.find_library(name) is not None for name in _LIBRARIES[namespace])
        or any(machine.find_program(name) is not None for name in _PROGRAMS[namespace])
    )


def _word(machine: Machine, folder: str, name: str) -> str:
    return (machine.read_text(f"{folder}/{name}") or "").strip()

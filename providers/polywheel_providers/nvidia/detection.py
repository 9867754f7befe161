"""Reading the NVIDIA side of a machine, the cheapest and most trusted source first.

NVML, then libcuda, then the kernel module's files with the published driver table, then nvidia-smi; each is
asked only for what is still unknown, and a source that fails costs one note.
"""

from __future__ import annotations

from polywheel_providers.frozen import replace

from .facts import NvidiaFacts
from .visibility import MASK, ORDER, names_numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from polywheel_providers.machine import Machine

    from .reading import Reading, Seen

LIBRARIES = {
    "Linux": ("libnvidia-ml.so.1", "libcuda.so.1"),
    "Windows": ("nvml.dll", "nvcuda.dll"),
}
"""NVML's and the CUDA driver's file names, by system."""

_SIGNS = ("/proc/driver/nvidia", "/sys/module/nvidia", "/dev/nvidiactl")


def detect(machine: Machine, environment: tuple[str, ...]) -> NvidiaFacts:
    """Read the facts; `environment` names the variables that enter them."""
    env = {name: machine.env[name] for name in environment if name in machine.env}
    facts = NvidiaFacts("", None, (), False, (), _is_tegra(machine), _is_wsl(machine), {}, env, ())
    readings = _readings(machine, env) if machine.uname.system in LIBRARIES else ()
    return _with_readings(facts, readings, _compat(machine)) if readings or env else facts


def _with_readings(facts: NvidiaFacts, readings: tuple[Reading, ...], compat: bool) -> NvidiaFacts:
    from . import assembly, privacy, remarks  # noqa: PLC0415 (only where there is a driver or an override)

    devices = assembly.devices_of(readings, tegra=facts.tegra)
    facts = replace(
        facts,
        driver=assembly.driver_of(readings),
        cuda=assembly.cuda_of(readings),
        devices=devices,
        devices_known=any(reading.devices is not None for reading in readings),
        cuda_order=assembly.cuda_order_of(readings, devices),
        tried={reading.source: assembly.outcome_of(reading) for reading in readings},
    )
    notes = (*remarks.failures(readings), *remarks.remarks(facts, compat=compat))
    return privacy.without_needless_uuids(replace(facts, notes=notes))


def _readings(machine: Machine, env: dict[str, str]) -> tuple[Reading, ...]:
    """Ask the sources in turn until the CUDA version and every device's capability are known."""
    nvml, libcuda = (machine.find_library(name) for name in LIBRARIES[machine.uname.system])
    smi = machine.find_program("nvidia-smi") is not None
    tegra = _is_tegra(machine)
    if not (nvml or libcuda or smi or tegra or any(map(machine.exists, _SIGNS))):
        return _bus_alone(machine)
    from . import sources  # noqa: PLC0415 (as above)

    found: list[Reading] = []
    if nvml is not None:
        found.append(sources.ask_nvml(machine, nvml))
    if libcuda is not None and (_incomplete(found) or _order_matters(env, found) or _compat(machine)):
        found.append(sources.ask_libcuda(machine, libcuda))
    if (kernel := sources.read_kernel_module(machine)) is not None:
        # A Tegra's driver has a numbering of its own: 540.4 is CUDA 12.6 there.
        found.append(replace(kernel, cuda=None) if tegra else kernel)
    if tegra:
        found.append(sources.read_tegra(machine))
    instances = "MIG-" in env.get(MASK, "") and not any(each.mig for each in _merged(found))
    if smi and (_incomplete(found) or instances):
        found += sources.ask_smi(machine, tuple(found), instances=instances)
    if not any(reading.devices is not None for reading in found):
        found += _bus_alone(machine)
    return tuple(found)


def _bus_alone(machine: Machine) -> tuple[Reading, ...]:
    from polywheel_providers.pci import adapters  # noqa: PLC0415 (three vendors share it)

    if not adapters(machine, 0x10DE):
        return ()
    from . import sources  # noqa: PLC0415 (as above)

    reading = sources.read_bus(machine)
    return () if reading is None else (reading,)


def _merged(readings: list[Reading]) -> tuple[Seen, ...]:
    from .reading import merge_devices  # noqa: PLC0415 (as above)

    return merge_devices(tuple(readings)) or ()


def _incomplete(readings: list[Reading]) -> bool:
    if not any(reading.cuda for reading in readings):
        return True
    if not any(reading.devices is not None for reading in readings):
        return True
    return any(device.capability is None and not device.problem for device in _merged(readings))


def _order_matters(env: dict[str, str], readings: list[Reading]) -> bool:
    """Say whether a mask numbers unlike devices in CUDA's own order, which only libcuda knows."""
    kinds = {device.capability for device in _merged(readings)}
    return len(kinds) > 1 and names_numbers(env.get(MASK, "")) and env.get(ORDER) != "PCI_BUS_ID"


def _compat(machine: Machine) -> bool:
    """Say whether a cuda-compat libcuda comes before the driver's: it raises the CUDA version."""
    folders = machine.env.get("LD_LIBRARY_PATH", "").split(":")
    return any("compat" in folder and machine.exists(f"{folder}/libcuda.so.1") for folder in folders)


def _is_tegra(machine: Machine) -> bool:
    linux = machine.uname.system == "Linux"
    return linux and (machine.uname.release.endswith("-tegra") or machine.exists("/etc/nv_tegra_release"))


def _is_wsl(machine: Machine) -> bool:
    return machine.uname.system == "Linux" and "microsoft" in machine.uname.release.lower()

"""Reading the NVIDIA side of a machine, the cheapest and most trusted source first.

NVML, then libcuda, then the kernel module's files with the published driver table, then nvidia-smi; each is
asked only for what is still unknown, and a source that fails costs one note.
"""

from __future__ import annotations

from polywheel_providers.frozen import replace
from polywheel_providers.vendor import Note

from .facts import MigInstance, NvidiaDevice, NvidiaFacts
from .overrides import FORCE_CUDA, FORCE_SM
from .visibility import MASK, ORDER, names_numbers, names_uuids, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from polywheel_providers.machine import Machine

    from .cuda_version import CudaVersion
    from .reading import Reading, Seen

LIBRARIES = {
    "Linux": ("libnvidia-ml.so.1", "libcuda.so.1"),
    "Windows": ("nvml.dll", "nvcuda.dll"),
}
"""NVML's and the CUDA driver's file names, by system."""

_SIGNS = ("/proc/driver/nvidia", "/sys/module/nvidia", "/etc/nv_tegra_release", "/dev/nvidiactl")


def detect(machine: Machine, environment: tuple[str, ...]) -> NvidiaFacts:
    """Read the facts; `environment` names the variables that enter them."""
    env = {name: machine.env[name] for name in environment if name in machine.env}
    readings = _readings(machine, env) if machine.uname.system in LIBRARIES else ()
    if not readings:
        return _facts(machine, env, (), ())
    from .reading import as_device, merge_devices  # noqa: PLC0415 (only where there is a driver)

    seen = _by_bus(merge_devices(readings) or ())
    devices = tuple(as_device(each) for each in seen)
    if _is_tegra(machine):
        devices = tuple(replace(device, integrated=device.integrated or not device.bus) for device in devices)
    return _facts(machine, env, readings, devices)


def _readings(machine: Machine, env: dict[str, str]) -> tuple[Reading, ...]:
    """Ask the sources in turn until the CUDA version and every device's capability are known."""
    nvml, libcuda = (machine.find_library(name) for name in LIBRARIES[machine.uname.system])
    smi = machine.find_program("nvidia-smi") is not None
    if not (nvml or libcuda or smi or any(map(machine.exists, _SIGNS))):
        return _bus_alone(machine)
    from . import sources  # noqa: PLC0415 (as above)

    found: list[Reading] = []
    if nvml is not None:
        found.append(sources.ask_nvml(machine, nvml))
    if libcuda is not None and (_incomplete(found) or _order_matters(env, found) or _compat(machine)):
        found.append(sources.ask_libcuda(machine, libcuda))
    tegra = _is_tegra(machine)
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


def _by_bus(devices: tuple[Seen, ...]) -> tuple[Seen, ...]:
    """Put the devices in PCI order where every address is known, as NVML and nvidia-smi list them."""
    if all(device.bus for device in devices):
        return tuple(sorted(devices, key=lambda device: device.bus))
    return devices


def _cuda_version(readings: tuple[Reading, ...]) -> CudaVersion | None:
    """Take libcuda's word where it works, since a cuda-compat library may stand before the driver's own.

    NVML repeats what that library says even where it does not work, so then the driver's number decides. A
    table entry yields to a version that a program of the driver printed.
    """
    if not readings:
        return None
    from .answers import UNSUPPORTED_COMPAT  # noqa: PLC0415 (as above)

    by_source = {reading.source: reading.cuda for reading in readings if reading.cuda is not None}
    if any(each.source == "libcuda" and UNSUPPORTED_COMPAT in each.problem for each in readings):
        return _by_driver(readings)
    asked = [source for source in by_source if source not in ("kernel module", "tegra release")]
    works = any(each.source == "libcuda" and not each.problem for each in readings)
    if works and "libcuda" in by_source:
        return by_source["libcuda"]
    order = [*asked, *by_source]
    return by_source[order[0]] if order else _by_driver(readings)


def _by_driver(readings: tuple[Reading, ...]) -> CudaVersion | None:
    """Look the driver's version up in the published table; a Tegra's has a numbering of its own."""
    drivers = [reading.driver for reading in readings if reading.driver]
    if not drivers or any(reading.source == "tegra release" for reading in readings):
        return None
    from .driver_table import cuda_of_driver  # noqa: PLC0415 (as above)

    return next((cuda for cuda in map(cuda_of_driver, drivers) if cuda is not None), None)


def _cuda_order(readings: tuple[Reading, ...], devices: tuple[NvidiaDevice, ...]) -> tuple[int, ...]:
    """Return libcuda's numbering as places in `devices`; empty when it is not known for all of them."""
    listed = next((each.devices for each in readings if each.source == "libcuda" and each.devices), ())
    order = []
    for seen in listed:
        for place, device in enumerate(devices):
            if (seen.uuid and seen.uuid == device.uuid) or (seen.bus and seen.bus == device.bus):
                order.append(place)
                break
    return tuple(order) if sorted(order) == list(range(len(devices))) else ()


def _facts(
    machine: Machine,
    env: dict[str, str],
    readings: tuple[Reading, ...],
    devices: tuple[NvidiaDevice, ...],
) -> NvidiaFacts:
    facts = NvidiaFacts(
        driver=next((reading.driver for reading in readings if reading.driver), ""),
        cuda=_cuda_version(readings),
        devices=devices,
        devices_known=any(reading.devices is not None for reading in readings),
        cuda_order=_cuda_order(readings, devices),
        tegra=_is_tegra(machine),
        wsl=_is_wsl(machine),
        tried={reading.source: _outcome(reading) for reading in readings},
        env=env,
        notes=(),
    )
    facts = replace(facts, notes=(*_failures(readings), *_remarks(facts, _compat(machine))))
    return _without_needless_uuids(facts)


def _outcome(reading: Reading) -> str:
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


def _failures(readings: tuple[Reading, ...]) -> tuple[Note, ...]:
    """Return one note for each library or program that failed, about its first failure."""
    found: dict[str, Note] = {}
    for reading in readings:
        if reading.problem:
            code = f"nvidia-{reading.source.split()[0].removeprefix('nvidia-')}-failed"
            found.setdefault(code, Note(code, f"{reading.source}: {reading.problem}"))
    return tuple(found.values())


def _remarks(facts: NvidiaFacts, compat: bool) -> tuple[Note, ...]:
    """Say what a reader of the answer should know beside it."""
    said: list[tuple[str, str]] = [
        ("nvidia-forced", f"{name}={facts.env[name]} overrides what was found")
        for name in (FORCE_CUDA, FORCE_SM)
        if facts.env.get(name)
    ]
    if facts.tried:
        said += _about_the_machine(facts, compat)
    return tuple(Note(code, message) for code, message in said)


def _about_the_machine(facts: NvidiaFacts, compat: bool) -> list[tuple[str, str]]:
    said: list[tuple[str, str]] = []
    if facts.devices and facts.cuda is None:
        said.append(
            ("nvidia-no-driver", "an NVIDIA GPU is there, and no source told its driver's CUDA version")
        )
    if facts.devices_known and not facts.devices:
        said.append(("nvidia-no-device", "the driver is there and sees no GPU; a login node looks like this"))
    if facts.tegra:
        said.append(
            ("nvidia-tegra", "a Tegra system: it runs its own SASS or PTX, and SBSA wheels' SASS does not")
        )
    if facts.wsl:
        said.append(("nvidia-wsl", "WSL2: the driver is Windows' own, and lies in /usr/lib/wsl/lib"))
    if compat:
        said.append(("nvidia-cuda-compat", "a cuda-compat library on LD_LIBRARY_PATH sets the CUDA version"))
    if visible(facts).unresolved:
        said.append(
            ("nvidia-mask", f"{MASK} names UUIDs that no source gave, so every GPU counts as visible")
        )
    elif _order_is_guessed(facts):
        said.append(("nvidia-order", "libcuda was not asked: device 0 is taken to be the newest GPU"))
    return said


def _order_is_guessed(facts: NvidiaFacts) -> bool:
    kinds = {device.capability for device in facts.devices}
    guessed = not facts.cuda_order and facts.env.get(ORDER) != "PCI_BUS_ID"
    return guessed and len(kinds) > 1 and names_numbers(facts.env.get(MASK, ""))


def _without_needless_uuids(facts: NvidiaFacts) -> NvidiaFacts:
    """Drop the UUIDs that the mask does not name: they identify a machine, and a record may be published.

    Under a mask of UUIDs the kind alone is left of them, which tells a withheld one from an unknown one.
    """
    entries = [entry.strip() for entry in facts.env.get(MASK, "").split(",")]
    prefixes = tuple(entry.partition("/")[0].replace("MIG-GPU-", "GPU-") for entry in entries if "-" in entry)
    named = names_uuids(facts.env.get(MASK, ""))

    def kept(uuid: str) -> str:
        spellings = (uuid, f"MIG-{uuid.removeprefix('GPU-')}")
        if named and any(spelling.startswith(prefixes) for spelling in spellings):
            return uuid
        return uuid[:4] if named else ""

    devices = tuple(
        replace(
            device,
            uuid=kept(device.uuid),
            mig=tuple(MigInstance(kept(each.uuid), each.name) for each in device.mig),
        )
        for device in facts.devices
    )
    return replace(facts, devices=devices)

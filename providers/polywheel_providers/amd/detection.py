"""Reading the AMD side of a machine: KFD's topology first, then ROCm's programs, then the PCI bus."""

from __future__ import annotations

from polywheel_providers.frozen import replace
from polywheel_providers.machine import DEVICE_LIMIT
from polywheel_providers.vendor import Note

from .facts import AmdDevice, AmdFacts, RocmVersion
from .visibility import HIP, ROCR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from polywheel_providers.machine import Machine
    from polywheel_providers.pci import Adapter

    from .gfx import Target

NODES = "/sys/class/kfd/kfd/topology/nodes"
"""KFD's topology: one folder a node, processors included."""
VENDOR = 0x1002

_PROGRAMS = ("rocm_agent_enumerator", "rocminfo")


def detect(machine: Machine, environment: tuple[str, ...]) -> AmdFacts:
    """Read the facts; `environment` names the variables that enter them. Never raises."""
    env = {name: machine.env[name] for name in environment if name in machine.env}
    notes: list[Note] = []
    tried: dict[str, str] = {}
    devices = _devices(machine, tried, notes)
    rocm = _installed(machine, tried) if devices else None
    notes += _remarks(env, devices, rocm)
    return AmdFacts(_without_needless_uuids(devices, env), rocm, tried, env, tuple(notes))


def _without_needless_uuids(devices: tuple[AmdDevice, ...], env: dict[str, str]) -> tuple[AmdDevice, ...]:
    """Drop the ids that no mask names: they identify a machine, and a record may be published."""
    entries = f"{env.get(ROCR, '')},{env.get(HIP, '')}".lower().split(",")
    named = tuple(entry.strip() for entry in entries if entry.strip().startswith("gpu-"))
    return tuple(
        device if named and device.uuid.lower().startswith(named) else replace(device, uuid="")
        for device in devices
    )


def _devices(machine: Machine, tried: dict[str, str], notes: list[Note]) -> tuple[AmdDevice, ...]:
    """Take KFD's GPUs, ROCm's programs' where KFD is missing or knows a GPU by no name, else the bus's."""
    if machine.uname.system not in ("Linux", "Windows"):
        return ()
    found = _from_kfd(machine, tried)
    if not found or any(not device.gfx for device in found):
        asked = _from_programs(machine, tried, notes)
        found = asked if len(asked) >= len(found) else found
    return found or _from_bus(machine, tried)


def _from_kfd(machine: Machine, tried: dict[str, str]) -> tuple[AmdDevice, ...]:
    nodes = sorted(machine.list_dir(NODES), key=lambda name: (len(name), name))[:DEVICE_LIMIT]
    if not nodes:
        return ()
    from . import kfd, pci_ids  # noqa: PLC0415 (only where there is an AMD GPU)
    from .gfx import Target  # noqa: PLC0415

    devices = []
    for node in nodes:
        gpu = kfd.gpu_of_node(machine.read_text(f"{NODES}/{node}/properties") or "")
        if gpu is not None:
            gfx = gpu.gfx or pci_ids.processor_of(gpu.device)
            devices.append(_device(Target(gfx, gpu.sramecc), gpu.device, uuid=gpu.uuid))
    tried["kfd"] = _counted(len(devices))
    return tuple(devices)


def _counted(count: int) -> str:
    return "1 device" if count == 1 else f"{count} devices"


def _device(target: Target | None, device: int, *, name: str = "", uuid: str = "") -> AmdDevice:
    """Make a device; `target` is `None` where no source told the processor."""
    from .gfx import INTEGRATED, Target  # noqa: PLC0415 (as above)

    known = target or Target("")
    identified = f"AMD GPU [1002:{device:04x}]" if device else f"AMD GPU {known.name}".rstrip()
    # AMD gives APUs' GPUs the ids 0x13xx to 0x19xx, next to their processors' own.
    looks_integrated = not known.name and 0x1300 <= device <= 0x19FF
    return AmdDevice(
        name=name or identified,
        gfx=known.name,
        sramecc=known.sramecc,
        xnack=known.xnack,
        integrated=known.name in INTEGRATED or looks_integrated,
        uuid=uuid,
    )


def _from_programs(machine: Machine, tried: dict[str, str], notes: list[Note]) -> tuple[AmdDevice, ...]:
    """Ask the enumerator, the cheaper one, then rocminfo; a program that fails costs one note.

    They honour ROCR's mask, which `visibility` applies to all there is: it must not be applied twice.
    """
    for program, read in zip(_PROGRAMS, (_from_enumerator, _from_rocminfo), strict=True):
        completed = machine.run(program, unset=(ROCR,))
        if completed is None:
            continue
        devices = read(completed.stdout)[:DEVICE_LIMIT]
        tried[program] = _counted(len(devices))
        if completed.failure or (completed.returncode != 0 and not devices):
            said = completed.failure or f"exit status {completed.returncode}"
            tried[program] += f", {said}"
            notes.append(Note(f"amd-{program.replace('_', '-')}-failed", f"{program}: {said}"))
        if devices:
            return devices
    return ()


def _from_enumerator(text: str) -> tuple[AmdDevice, ...]:
    from .programs import parse_enumerator  # noqa: PLC0415 (as above)

    return tuple(_device(target, 0) for target in parse_enumerator(text))


def _from_rocminfo(text: str) -> tuple[AmdDevice, ...]:
    from .programs import parse_rocminfo  # noqa: PLC0415 (as above)

    return tuple(
        _device(agent.target, agent.chip, name=agent.name, uuid=agent.uuid) for agent in parse_rocminfo(text)
    )


def _from_bus(machine: Machine, tried: dict[str, str]) -> tuple[AmdDevice, ...]:
    from polywheel_providers.pci import ACCELERATOR, DISPLAY, adapters  # noqa: PLC0415 (three vendors share it)

    found = adapters(machine, VENDOR, (DISPLAY, ACCELERATOR))
    if found:
        tried["pci"] = _counted(len(found))
    return tuple(_from_adapter(machine, adapter) for adapter in found)


def _from_adapter(machine: Machine, adapter: Adapter) -> AmdDevice:
    from . import pci_ids  # noqa: PLC0415 (as above)
    from .gfx import Target  # noqa: PLC0415

    gfx = pci_ids.processor_of(adapter.device) or _graphics_ip(machine, adapter.folder)
    return _device(Target(gfx), adapter.device, name=adapter.name)


def _graphics_ip(machine: Machine, folder: str) -> str:
    """Ask amdgpu's ip_discovery for the graphics core's version, which names chips newer than our list."""
    if not folder:
        return ""
    from . import pci_ids  # noqa: PLC0415 (as above)

    core = f"{folder}/ip_discovery/die/0/GC/0"
    numbers = [(machine.read_text(f"{core}/{part}") or "").strip() for part in ("major", "minor", "revision")]
    if not all(number.isascii() and number.isdigit() and len(number) < 4 for number in numbers):
        return ""
    major, minor, revision = map(int, numbers)
    return pci_ids.processor_of_ip(major, minor, revision)


def _installed(machine: Machine, tried: dict[str, str]) -> RocmVersion | None:
    """Return the version of the system's ROCm: `ROCM_PATH`, /opt/rocm, then the newest /opt/rocm-X.Y.Z."""
    from .rocm_version import parse_rocm_version  # noqa: PLC0415 (as above)

    chosen = machine.env.get("ROCM_PATH", "").rstrip("/")
    for folder in (chosen, "/opt/rocm"):
        version = parse_rocm_version(machine.read_text(f"{folder}/.info/version") or "") if folder else None
        if version is not None:
            tried["rocm"] = f"ROCm {version[0]}.{version[1]}"
            return version
    beside = [name.removeprefix("rocm-") for name in machine.list_dir("/opt") if name.startswith("rocm-")]
    versions = [version for version in map(parse_rocm_version, beside) if version is not None]
    if versions:
        tried["rocm"] = f"ROCm {max(versions)[0]}.{max(versions)[1]}"
    return max(versions, default=None)


def _remarks(env: dict[str, str], devices: tuple[AmdDevice, ...], rocm: RocmVersion | None) -> list[Note]:
    """Say what a reader of the answer should know beside it."""
    if not (env or devices):
        return []
    from .gfx import is_known  # noqa: PLC0415 (as above)
    from .properties import (  # noqa: PLC0415
        FORCE_GFX,
        FORCE_ROCM,
        HSA_OVERRIDE,
        forced_processors,
    )
    from .rocm_version import parse_rocm_version  # noqa: PLC0415

    notes = [
        Note("amd-forced", f"{name}={env[name]} overrides what was found")
        for name in (FORCE_GFX, FORCE_ROCM)
        if env.get(name)
    ]
    if env.get(FORCE_GFX) and not forced_processors(env):
        notes.append(Note("amd-forced-unknown", f"{FORCE_GFX}={env[FORCE_GFX]} names no processor"))
    if env.get(FORCE_ROCM) and parse_rocm_version(env[FORCE_ROCM]) is None:
        notes.append(Note("amd-forced-unknown", f"{FORCE_ROCM}={env[FORCE_ROCM]} is no version: not used"))
    if env.get(HSA_OVERRIDE) and devices:
        said = f"{HSA_OVERRIDE}={env[HSA_OVERRIDE]}: ROCm's own programs report that processor, not the GPU's"
        notes.append(Note("amd-hsa-override", said))
    notes += [
        Note("amd-unknown-device", f"{device.name}: its processor is not known to this version")
        for device in devices
        if not is_known(device.gfx)
    ]
    if devices and rocm is None:
        notes.append(Note("amd-no-rocm", "no ROCm is installed, and none is needed: wheels carry their own"))
    return notes

"""Reading the Intel graphics side of a machine: the PCI bus, and Level Zero where it is installed."""

from __future__ import annotations

from polywheel_providers.pci import adapters
from polywheel_providers.vendor import Note

from .facts import IntelDevice, IntelFacts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from polywheel_providers.machine import Machine
    from polywheel_providers.pci import Adapter

    from .answers import ZeDevice

LIBRARIES = {"Linux": "libze_loader.so.1", "Windows": "ze_loader.dll"}
"""The Level Zero loader's file name, by system."""
VENDOR = 0x8086

_PROCESSOR_GRAPHICS = "0000:00:02.0"
"""Where a processor's own graphics sits on every Intel platform."""


def detect(machine: Machine, environment: tuple[str, ...]) -> IntelFacts:
    """Read the facts; `environment` names the variables that enter them. Never raises."""
    env = {name: machine.env[name] for name in environment if name in machine.env}
    system = machine.uname.system
    library = machine.find_library(LIBRARIES[system]) if system in LIBRARIES else None
    on_bus = adapters(machine, VENDOR)
    tried: dict[str, str] = {}
    notes: list[Note] = []
    if on_bus:
        tried["pci"] = "1 device" if len(on_bus) == 1 else f"{len(on_bus)} devices"
    listed = _ask(machine, library, tried, notes) if library is not None else ()
    devices = _combined(listed, on_bus) if listed or on_bus else ()
    notes += _remarks(env, devices)
    return IntelFacts(devices, tried, env, tuple(notes))


def _ask(machine: Machine, library: str, tried: dict[str, str], notes: list[Note]) -> tuple[ZeDevice, ...]:
    from .answers import read_devices  # noqa: PLC0415 (only where there is a driver)

    found, problem = read_devices(machine.driver("intel.level_zero_query", library))
    count = "1 device" if len(found) == 1 else f"{len(found)} devices"
    tried["level zero"] = f"{count}, {problem}" if problem else count
    if problem:
        notes.append(Note("intel-level-zero-failed", f"Level Zero: {problem}"))
    return found


def _combined(listed: tuple[ZeDevice, ...], on_bus: tuple[Adapter, ...]) -> tuple[IntelDevice, ...]:
    """Take Level Zero's list in its order, then what is on the bus and it does not list."""
    if not listed:
        devices = [_from_adapter(adapter, "") for adapter in on_bus]
        # The compute runtime numbers discrete GPUs before the processor's own.
        return tuple(sorted(devices, key=lambda device: device.integrated))
    known = {device.device for device in listed}
    unlisted = [adapter for adapter in on_bus if adapter.device not in known]
    return (
        *(_from_level_zero(device) for device in listed),
        *(_from_adapter(adapter, "Level Zero does not list it") for adapter in unlisted),
    )


def _from_level_zero(device: ZeDevice) -> IntelDevice:
    from . import products as table  # noqa: PLC0415 (as above)

    by_id, name = table.by_pci_id(device.device)
    ip = device.ip or by_id
    base, _, family = table.family_of_pci_id(device.device)
    return IntelDevice(
        name=device.name or name or family or f"Intel GPU [8086:{device.device:04x}]",
        ip=ip,
        base=table.base_of(ip) if ip else base,
        integrated=device.integrated,
        problem="",
    )


def _from_adapter(adapter: Adapter, problem: str) -> IntelDevice:
    from . import products as table  # noqa: PLC0415 (as above)

    ip, name = table.by_pci_id(adapter.device)
    base, integrated, family = table.family_of_pci_id(adapter.device)
    if ip:
        base, integrated = table.base_of(ip), table.integrated_by_ip(ip)
    unknown = f"Intel GPU [8086:{adapter.device:04x}]"
    return IntelDevice(
        name=adapter.name or name or (f"{family} [8086:{adapter.device:04x}]" if family else unknown),
        ip=ip,
        base=base,
        integrated=adapter.address == _PROCESSOR_GRAPHICS if integrated is None else integrated,
        problem=problem,
    )


def _remarks(env: dict[str, str], devices: tuple[IntelDevice, ...]) -> list[Note]:
    """Say what a reader of the answer should know beside it."""
    if not (env or devices):
        return []
    from .properties import FORCE_IP, forced_ips  # noqa: PLC0415 (as above)

    notes: list[Note] = []
    if env.get(FORCE_IP):
        notes.append(Note("intel-forced", f"{FORCE_IP}={env[FORCE_IP]} overrides what was found"))
        if not forced_ips(env):
            notes.append(Note("intel-forced-unknown", f"{FORCE_IP}={env[FORCE_IP]} names no device IP"))
    return notes + [note for device in devices if (note := _about(device)) is not None]


def _about(device: IntelDevice) -> Note | None:
    from .products import is_known  # noqa: PLC0415 (as above)

    if is_known(device.ip):
        return None
    said = device.ip or "its device IP"
    if device.base:
        return Note(
            "intel-unknown-device",
            f"{device.name}: {said} is not known, it is taken for {device.base}'s family",
        )
    return Note("intel-unknown-device", f"{device.name}: {said} is not known to this version")

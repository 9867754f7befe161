"""What this machine is: facts read off it, and the variant properties they support.

`probe` reads the facts and `supported` and `devices` say what they mean; `machine_named` makes or reads
the facts of another machine. Nothing here raises but the readers of what a person wrote, and those raise
`ValueError` with one line.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .cpu import CoreKind, CpuFacts
    from .facts import FACTS_VERSION, Facts, from_json, to_json
    from .folder import FolderMachine
    from .live import LiveMachine
    from .machine import Machine
    from .meaning import GPU_CODE, devices, serves, supported
    from .named import OVERRIDE, machine_named, this_machine
    from .probing import probe
    from .vendor import Device, Note
    from .verdict import Verdict

_HOMES = {
    "CoreKind": "cpu",
    "CpuFacts": "cpu",
    "Device": "vendor",
    "FACTS_VERSION": "facts",
    "Facts": "facts",
    "GPU_CODE": "meaning",
    "FolderMachine": "folder",
    "LiveMachine": "live",
    "Machine": "machine",
    "Note": "vendor",
    "OVERRIDE": "named",
    "devices": "meaning",
    "from_json": "facts",
    "machine_named": "named",
    "Verdict": "verdict",
    "probe": "probing",
    "serves": "meaning",
    "supported": "meaning",
    "this_machine": "named",
    "to_json": "facts",
}


def __getattr__(name: str) -> object:
    """Import a public name from its module when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 (only for the names that are used)

    found = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = found
    return found


__all__ = [
    "FACTS_VERSION",
    "GPU_CODE",
    "OVERRIDE",
    "CoreKind",
    "CpuFacts",
    "Device",
    "Facts",
    "FolderMachine",
    "LiveMachine",
    "Machine",
    "Note",
    "Verdict",
    "devices",
    "from_json",
    "machine_named",
    "probe",
    "serves",
    "supported",
    "this_machine",
    "to_json",
]

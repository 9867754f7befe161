"""What this machine is: facts read off it, and the variant properties they support.

`probe` reads the facts and `supported` and `devices` say what they mean; `machine_named` makes or reads
the facts of another machine. Nothing here raises but the readers of what a person wrote, and those raise
`ValueError` with one line.
"""

from __future__ import annotations

from .cpu import CoreKind, CpuFacts
from .facts import FACTS_VERSION, Facts, from_json, to_json
from .folder import FolderMachine
from .live import LiveMachine
from .machine import Machine
from .named import OVERRIDE, machine_named, this_machine
from .probe import probe
from .supported import devices, supported
from .vendor import Device, Note

__all__ = [
    "FACTS_VERSION",
    "OVERRIDE",
    "CoreKind",
    "CpuFacts",
    "Device",
    "Facts",
    "FolderMachine",
    "LiveMachine",
    "Machine",
    "Note",
    "devices",
    "from_json",
    "machine_named",
    "probe",
    "supported",
    "this_machine",
    "to_json",
]

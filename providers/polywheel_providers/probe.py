"""`probe`: everything read off one machine. It never raises, never writes and never uses the network."""

from __future__ import annotations

from time import perf_counter

from .cpu import CpuFacts
from .facts import Facts, vendor_module
from .vendor import VENDORS, Note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .machine import Machine

X86_64 = frozenset({"x86_64", "amd64", "x64"})
"""The machine names of 64-bit x86, in lower case."""
AARCH64 = frozenset({"aarch64", "arm64", "arm64e"})
"""The machine names of 64-bit Arm, in lower case."""


def probe(machine: Machine) -> Facts:
    """Read a machine's facts.

    Every programming error in a probe is a note in its namespace, not an exception: detection runs
    inside installs, and must never be what breaks one.
    """
    uname = machine.uname
    namespace, probe_cpu = _cpu_probe(uname.machine)
    elapsed: dict[str, float] = {}
    cpu, elapsed[namespace] = _timed(lambda: _guarded_cpu(probe_cpu, machine, namespace))
    vendors: dict[str, Any] = {}
    notes: list[Note] = list(cpu.notes)
    for name in VENDORS:
        (vendors[name], note), elapsed[name] = _timed(lambda name=name: _guarded_vendor(name, machine))
        notes.extend(note)
    return Facts(uname.system, uname.machine, uname.release, machine.libc, cpu, **vendors, elapsed_ms=elapsed)

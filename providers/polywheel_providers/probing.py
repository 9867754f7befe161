"""`probe`: everything read off one machine. It never raises, never writes and never uses the network."""

from __future__ import annotations

from time import perf_counter

from .cpu import CpuFacts
from .facts import Facts, namespace_module
from .signs import graphics_vendors, has_sign
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

    An error in a probe is a note, not an exception: detection runs inside installs, and must never be
    what breaks one.
    """
    uname = machine.uname
    architecture = architecture_of(uname.machine)
    elapsed: dict[str, float] = {}
    failures: list[Note] = []

    def timed(namespace: str, read: Callable[[], Any]) -> Any:
        begun = perf_counter()
        try:
            return read()
        except Exception as problem:  # noqa: BLE001 (see above)
            from .privacy import without_folders  # noqa: PLC0415 (nearly never)

            said = without_folders(f"{type(problem).__name__}: {problem}")
            failures.append(Note(f"{namespace}-probe-failed", said))
            return None
        finally:
            elapsed[namespace] = round((perf_counter() - begun) * 1000, 3)

    cpu = timed(architecture, lambda: _probe_cpu(machine, architecture))
    graphics = graphics_vendors(machine)
    vendors = {name: timed(name, _vendor_probe(name, machine, graphics)) for name in VENDORS}
    return Facts(
        uname.system,
        uname.machine,
        uname.release,
        machine.libc,
        CpuFacts(architecture, "") if cpu is None else cpu,
        **vendors,
        notes=tuple(failures),
        elapsed_ms=elapsed,
    )


def architecture_of(machine_name: str) -> str:
    """Return the namespace of a machine name as `uname -m` or Windows gives it."""
    name = machine_name.lower()
    if name in X86_64:
        return "x86_64"
    return "aarch64" if name in AARCH64 else name


def _vendor_probe(namespace: str, machine: Machine, graphics: frozenset[str]) -> Callable[[], Any]:
    def read() -> Any:
        vendor = namespace_module(namespace)
        return vendor.probe(machine) if has_sign(machine, namespace, vendor.ENVIRONMENT, graphics) else None

    return read


def _probe_cpu(machine: Machine, architecture: str) -> CpuFacts:
    if architecture == "x86_64":
        from . import x86_64  # noqa: PLC0415 (one architecture is all a machine has)

        return x86_64.probe(machine)
    if architecture == "aarch64":
        from . import aarch64  # noqa: PLC0415

        return aarch64.probe(machine)
    note = Note(
        "cpu-other", f"no variant namespace speaks for the architecture {architecture or 'unknown'!r}"
    )
    return CpuFacts(architecture, "", notes=(note,))

"""`Facts`: what was read off one machine, raw, versioned and serialisable.

A record decides offline what its machine would have decided. It holds no host name, no user's paths and
no identifiers but those the masks need.
"""

from __future__ import annotations

from importlib import import_module

from .cpu import CpuFacts, cpu_from_fields
from .frozen import dataclass, field, fields_as_json
from .vendor import VENDORS, Note, notes_from_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .record import Fields

FACTS_VERSION = 1
"""The record's version, its first key; a reader refuses any other."""


@dataclass(frozen=True)
class Facts:
    """Everything `supported` and `devices` need to know about one machine."""

    system: str
    """`Linux`, `Darwin` or `Windows`."""
    machine: str
    """The processor family as the system names it: `x86_64`, `aarch64`, `arm64`, `AMD64`."""
    release: str
    """The kernel's release."""
    libc: str
    """`glibc 2.36`, `musl 1.2`, or empty."""
    cpu: CpuFacts
    """The processor's cores."""
    nvidia: Any = None
    """`polywheel_providers.nvidia`'s facts; `None` where there is no sign of the vendor."""
    amd: Any = None
    """`polywheel_providers.amd`'s facts."""
    intel: Any = None
    """`polywheel_providers.intel`'s facts."""
    notes: tuple[Note, ...] = ()
    """What no namespace's own facts could hold: a probe that failed."""
    elapsed_ms: dict[str, float] = field(default_factory=dict)
    """Namespace -> milliseconds its probe took."""

    def all_notes(self) -> tuple[Note, ...]:
        """Every note, the processor's first."""
        parts = (self.cpu, self.nvidia, self.amd, self.intel, self)
        return tuple(note for part in parts if part is not None for note in part.notes)


def namespace_module(namespace: str) -> Any:
    """Import a namespace's module; a vendor's offers what `vendor.Vendor` says."""
    return import_module(f"{__package__}.{namespace}")


def to_json(facts: Facts) -> dict[str, object]:
    """Return the record of a machine, `"facts": 1` first."""
    return {"facts": FACTS_VERSION, **fields_as_json(facts)}


def from_json(value: object, where: str = "facts") -> Facts:
    """Read a record back; `where` names it in messages.

    Raises `ValueError` with one line that names the key, what was expected and what was found.
    """
    from .record import Fields  # noqa: PLC0415 (a live machine reads no record)

    fields = Fields(value, where)
    version = fields.integer("facts")
    if version != FACTS_VERSION:
        raise ValueError(f"{where}.facts: version {version} is not known, expected {FACTS_VERSION}")
    system, machine = fields.text("system"), fields.text("machine")
    release, libc = fields.text("release"), fields.text("libc")
    cpu = cpu_from_fields(fields.child("cpu"))
    _check_declared(cpu, f"{where}.cpu")
    vendors = {name: _vendor_facts(name, fields) for name in VENDORS}
    notes = notes_from_fields(fields)
    elapsed = fields.number_map("elapsed_ms")
    fields.done()
    return Facts(system, machine, release, libc, cpu, **vendors, notes=notes, elapsed_ms=elapsed)


def _check_declared(cpu: CpuFacts, where: str) -> None:
    """Refuse a declared level or version that the architecture does not have."""
    if not cpu.declared:
        return
    known: dict[str, tuple[str, ...]] = {}
    if cpu.architecture in ("x86_64", "aarch64"):
        known = namespace_module(cpu.architecture).FEATURES
    values = next(iter(known.values()), ())
    if cpu.declared not in values:
        expected = ", ".join(values) or f"none for {cpu.architecture!r}"
        raise ValueError(f"{where}.declared: {cpu.declared!r} is not known, expected {expected}")


def _vendor_facts(namespace: str, fields: Fields) -> Any:
    inner = fields.optional_child(namespace)
    return None if inner is None else namespace_module(namespace).from_fields(inner)

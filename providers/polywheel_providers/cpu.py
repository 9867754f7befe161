"""`CpuFacts`: the processor's cores as the operating system describes them, whatever the architecture."""

from __future__ import annotations

from .frozen import dataclass
from .vendor import Note, notes_from_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .record import Fields


@dataclass(frozen=True)
class CoreKind:
    """Cores that are alike in everything below."""

    count: int
    """How many logical cores."""
    vendor: str
    """x86: `GenuineIntel`; Arm: the MIDR implementer, `0x41`; empty when unknown."""
    model: str
    """x86: family, model and stepping, `6-85-7`; Arm: the MIDR part, `0xd0c`; empty when unknown."""
    name: str
    """The name the system gives the core, or empty."""
    flags: tuple[str, ...]
    """Instruction set flags in the spelling of Linux's /proc/cpuinfo, sorted."""


@dataclass(frozen=True)
class CpuFacts:
    """The processor of one machine."""

    architecture: str
    """`x86_64`, `aarch64`, or another machine name in lower case."""
    source: str
    """Where the cores were read: `/proc/cpuinfo`, `sysctl`, `cpuid`, `registry`, `short form`; empty
    when nothing could be read, and then the architecture's baseline holds."""
    cores: tuple[CoreKind, ...] = ()
    """The kinds of cores, in the order first seen."""
    declared: str = ""
    """The level or version a short form declared (`v3`, `8.2a`); it decides when there are no cores."""
    declared_flags: tuple[str, ...] = ()
    """Flags a short form declared beyond its level or version."""
    translated: bool = False
    """Whether instructions are translated (Rosetta 2, an emulator that shows its host's processor)."""
    notes: tuple[Note, ...] = ()
    """What was tried and what a reader should know."""


def cpu_from_fields(fields: Fields) -> CpuFacts:
    """Read the processor back from a record; raises `ValueError`."""
    facts = CpuFacts(
        architecture=fields.text("architecture"),
        source=fields.text("source"),
        cores=tuple(_core(core) for core in fields.children("cores")),
        declared=fields.text("declared"),
        declared_flags=fields.texts("declared_flags"),
        translated=fields.boolean("translated"),
        notes=notes_from_fields(fields),
    )
    fields.done()
    return facts


def _core(fields: Fields) -> CoreKind:
    kind = CoreKind(
        count=fields.integer("count"),
        vendor=fields.text("vendor"),
        model=fields.text("model"),
        name=fields.text("name"),
        flags=fields.texts("flags"),
    )
    fields.done()
    return kind

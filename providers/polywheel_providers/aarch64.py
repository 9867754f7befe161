"""The aarch64 namespace: Arm architecture version and features over all cores, the weakest deciding.

The version is the highest whose instructions every core may execute, from the hardware capabilities the
system reports; a core whose ceiling is published never counts for more. Pointer authentication is not
asked for, although Armv8.3-A has it: virtual machines hide it, and what compilers emit of it by default
is a no-op where it is missing (https://github.com/EESSI/software-layer/issues/320).
"""

from __future__ import annotations

from .arm_registers import APPLE_FLAGS, auxv_flags, registry_flags
from .cpu import CoreKind, CpuFacts
from .cpuinfo import alike, common_flags, processors, sorted_flags
from .machine import CPUINFO_LIMIT
from .vendor import Note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .machine import Machine

NAMESPACE = "aarch64"

VERSIONS = ("9.2a", "9.1a", "9.0a", "8.7a", "8.6a", "8.5a", "8.4a", "8.3a", "8.2a", "8.1a", "8a")
"""Every version from the newest; a processor with one also has those its line includes."""

STEPS: tuple[tuple[str, frozenset[str]], ...] = (
    ("8.1a", frozenset({"fp", "asimd", "crc32", "atomics", "asimdrdm"})),
    ("8.2a", frozenset({"dcpop"})),
    ("8.3a", frozenset({"jscvt", "fcma", "lrcpc"})),
    ("8.4a", frozenset({"fphp", "asimdhp", "asimddp", "asimdfhm", "dit", "uscat", "ilrcpc", "flagm"})),
)
"""What each version adds to the one below. No system shows user space all of Armv8.5-A (its prediction
restriction, SPECRES, is missing), so detection ends at 8.4a, as in uv >= 0.13.8."""

BASELINE = "8a"
"""What holds for every 64-bit Arm processor."""

EXTENSIONS: dict[str, frozenset[str]] = {
    "dotprod": frozenset({"asimddp"}),
    "fp16": frozenset({"fphp", "asimdhp"}),
    "fp16fml": frozenset({"asimdfhm"}),
    "bf16": frozenset({"bf16"}),
    "i8mm": frozenset({"i8mm"}),
    "lse": frozenset({"atomics"}),
    "rdma": frozenset({"asimdrdm"}),
    "crc": frozenset({"crc32"}),
    "aes": frozenset({"aes", "pmull"}),
    "sha2": frozenset({"sha1", "sha2"}),
    "sha3": frozenset({"sha3", "sha512"}),
    "sm4": frozenset({"sm3", "sm4"}),
    "fcma": frozenset({"fcma"}),
    "jscvt": frozenset({"jscvt"}),
    "rcpc": frozenset({"lrcpc"}),
    "pauth": frozenset({"paca", "pacg"}),
    "sve": frozenset({"sve"}),
    "sve2": frozenset({"sve", "sve2"}),
    "sve2p1": frozenset({"sve", "sve2", "sve2p1"}),
    "sme": frozenset({"sme"}),
    "sme2": frozenset({"sme", "sme2"}),
    "mops": frozenset({"mops"}),
    "cssc": frozenset({"cssc"}),
    "lse128": frozenset({"lse128"}),
}
"""Architecture extension, as `-march=armv8-a+NAME` spells it, to the Linux flags it needs."""

FEATURES: dict[str, tuple[str, ...]] = {"version": VERSIONS, **dict.fromkeys(EXTENSIONS, ("on",))}
"""Every feature, in order of preference, with every value. uv knows `version` up to 8.4a alone."""

_KNOWN: dict[tuple[str, int], tuple[str, str]] = {
    ("0x41", 0xD03): ("Cortex-A53", "8a"),
    ("0x41", 0xD04): ("Cortex-A35", "8a"),
    ("0x41", 0xD05): ("Cortex-A55", "8.2a"),
    ("0x41", 0xD07): ("Cortex-A57", "8a"),
    ("0x41", 0xD08): ("Cortex-A72", "8a"),
    ("0x41", 0xD09): ("Cortex-A73", "8a"),
    ("0x41", 0xD0A): ("Cortex-A75", "8.2a"),
    ("0x41", 0xD0B): ("Cortex-A76", "8.2a"),
    ("0x41", 0xD0C): ("Neoverse N1", "8.2a"),
    ("0x41", 0xD0D): ("Cortex-A77", "8.2a"),
    ("0x41", 0xD0E): ("Cortex-A76AE", "8.2a"),
    ("0x41", 0xD40): ("Neoverse V1", "8.4a"),
    ("0x41", 0xD41): ("Cortex-A78", "8.2a"),
    ("0x41", 0xD42): ("Cortex-A78AE", "8.2a"),
    ("0x41", 0xD44): ("Cortex-X1", "8.2a"),
    ("0x41", 0xD46): ("Cortex-A510", "8.4a"),
    ("0x41", 0xD47): ("Cortex-A710", "8.4a"),
    ("0x41", 0xD48): ("Cortex-X2", "8.4a"),
    ("0x41", 0xD49): ("Neoverse N2", "8.4a"),
    ("0x41", 0xD4A): ("Neoverse E1", "8.2a"),
    ("0x41", 0xD4B): ("Cortex-A78C", "8.2a"),
    ("0x41", 0xD4C): ("Cortex-X1C", "8.2a"),
    ("0x41", 0xD4D): ("Cortex-A715", "8.4a"),
    ("0x41", 0xD4E): ("Cortex-X3", "8.4a"),
    ("0x41", 0xD4F): ("Neoverse V2", "8.4a"),
    ("0x41", 0xD80): ("Cortex-A520", "8.4a"),
    ("0x41", 0xD81): ("Cortex-A720", "8.4a"),
    ("0x41", 0xD82): ("Cortex-X4", "8.4a"),
    ("0x41", 0xD83): ("Neoverse V3AE", "8.4a"),
    ("0x41", 0xD84): ("Neoverse V3", "8.4a"),
    ("0x41", 0xD85): ("Cortex-X925", "8.4a"),
    ("0x41", 0xD87): ("Cortex-A725", "8.4a"),
    ("0x41", 0xD8E): ("Neoverse N3", "8.4a"),
    ("0x42", 0x516): ("ThunderX2", "8.1a"),
    ("0x43", 0x0AF): ("ThunderX2", "8.1a"),
    ("0x46", 0x001): ("A64FX", "8.2a"),
    ("0x48", 0xD01): ("Kunpeng 920", "8.2a"),
    ("0x4e", 0x004): ("NVIDIA Carmel", "8.2a"),
    ("0x61", 0x022): ("Apple M1 Icestorm", "8.4a"),
    ("0x61", 0x023): ("Apple M1 Firestorm", "8.4a"),
    ("0x61", 0x032): ("Apple M2 Blizzard", "8.4a"),
    ("0x61", 0x033): ("Apple M2 Avalanche", "8.4a"),
    ("0x6d", 0xD49): ("Azure Cobalt 100", "8.4a"),
    ("0xc0", 0xAC3): ("AmpereOne", "8.4a"),
    ("0xc0", 0xAC4): ("AmpereOneA", "8.4a"),
}
"""(MIDR implementer, part) -> name and highest version, from Linux's `cputype.h` and the cores' technical
reference manuals; a later core than these is judged by its capabilities alone."""

_APPLE_SILICON = frozenset({"M1", "M2", "M3", "M4", "M5"})
"""Chips whose macOS is known to run Armv8.4-A, whatever variables its release has."""

_CORES_KEY = "HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\"


def probe(machine: Machine) -> CpuFacts:
    """Read the cores; never raises."""
    system = machine.uname.system
    if system == "Linux":
        return from_linux(
            machine.read_text("/proc/cpuinfo", CPUINFO_LIMIT), machine.read_bytes("/proc/self/auxv")
        )
    if system == "Darwin":
        return _from_sysctl(machine)
    if system == "Windows":
        return _from_registry(machine)
    return _unknown(f"nothing is known about reading Arm features on {system or 'this system'}")


def from_linux(cpuinfo: str | None, auxv: bytes | None) -> CpuFacts:
    """Take the cores from /proc/cpuinfo and, where there is one, the process's auxiliary vector.

    The auxiliary vector decides which instructions may be used. The file then only names the cores: in a
    container run by an emulator it shows the host's (https://github.com/docker/for-mac/issues/5245).
    """
    allowed = None if auxv is None else auxv_flags(auxv)
    found = processors(cpuinfo or "")
    # A cpuinfo of another architecture has neither key; some emulators print no implementer.
    arm = [processor for processor in found if "CPU implementer" in processor or "Features" in processor]
    cores = [_linux_core(processor, allowed) for processor in arm]
    if cores:
        source = "/proc/cpuinfo" if allowed is None else "/proc/cpuinfo, /proc/self/auxv"
        return CpuFacts(NAMESPACE, source, alike(cores))
    emulated = bool(found)
    if allowed is not None:
        core = CoreKind(max(1, len(found)), "", "", "", allowed)
        notes = (_emulated("the auxiliary vector decides"),) if emulated else ()
        return CpuFacts(NAMESPACE, "/proc/self/auxv", (core,), translated=emulated, notes=notes)
    if emulated:
        return CpuFacts(NAMESPACE, "", translated=True, notes=(_emulated(f"{BASELINE} is assumed"),))
    return _unknown("/proc/cpuinfo cannot be read or lists no cores")


def _linux_core(processor: dict[str, str], allowed: tuple[str, ...] | None) -> CoreKind:
    flags = sorted_flags(processor.get("Features", ""))
    if allowed is not None:
        # A capability the kernel keeps from processes is not in the vector; one that an older cpuinfo
        # cannot name is. So the vector replaces the list unless this very core shows fewer.
        flags = tuple(flag for flag in allowed if flag in flags) if flags else allowed
    vendor, model = (processor.get(key, "").lower() for key in ("CPU implementer", "CPU part"))
    return CoreKind(1, vendor, model, _known(vendor, model)[0], flags)


def _known(vendor: str, model: str) -> tuple[str, str]:
    """Return a core's name and published ceiling; an unknown core has no name and no ceiling."""
    try:
        return _KNOWN.get((vendor, int(model, 16)), ("", STEPS[-1][0]))
    except ValueError:
        return ("", STEPS[-1][0])


def _from_sysctl(machine: Machine) -> CpuFacts:
    found: set[str] = set()
    for variable, flags in APPLE_FLAGS.items():
        if machine.sysctl(variable) == "1":
            found |= set(flags)
    name = machine.sysctl("machdep.cpu.brand_string") or ""
    if not found and not name:
        return _unknown("sysctl reports neither hw.optional.arm nor a processor")
    count = machine.sysctl("hw.logicalcpu") or "1"
    core = CoreKind(int(count) if count.isdigit() else 1, "Apple", "", name, tuple(sorted(found)))
    return CpuFacts(NAMESPACE, "sysctl", (core,))


def _from_registry(machine: Machine) -> CpuFacts:
    cores: list[CoreKind] = []
    while values := machine.registry(f"{_CORES_KEY}{len(cores)}"):
        midr = values.get("CP 4000")
        vendor, model = "", ""
        if isinstance(midr, int):
            vendor, model = f"{midr >> 24 & 0xFF:#x}", f"{midr >> 4 & 0xFFF:#05x}"
        name = values.get("ProcessorNameString")
        cores.append(
            CoreKind(1, vendor, model, name if isinstance(name, str) else "", registry_flags(values))
        )
    if not cores:
        return _unknown("the registry lists no processors")
    return CpuFacts(NAMESPACE, "registry", alike(cores))


def _emulated(decision: str) -> Note:
    return Note(
        "cpu-emulated",
        f"/proc/cpuinfo shows another architecture: an emulator, and its host's processor; {decision}",
    )


def _unknown(why: str) -> CpuFacts:
    return CpuFacts(NAMESPACE, "", notes=(Note("cpu-unknown", f"{why}; Armv8-A ({BASELINE}) is assumed"),))


def version(facts: CpuFacts) -> str:
    """Return the highest version that every core has."""
    if not facts.cores:
        return facts.declared or BASELINE
    return max((_core_version(core) for core in facts.cores), key=VERSIONS.index)


def _core_version(core: CoreKind) -> str:
    if core.vendor == "Apple" and core.name.split()[1:2] and core.name.split()[1] in _APPLE_SILICON:
        return STEPS[-1][0]
    reached = BASELINE
    for name, needed in STEPS:
        if not needed <= frozenset(core.flags):
            break
        reached = name
    ceiling = _known(core.vendor, core.model)[1]
    return max(reached, ceiling, key=VERSIONS.index)


def includes(name: str) -> tuple[str, ...]:
    """Return a version and all it includes, newest first: Armv9.N-A is Armv8.(N+5)-A and more."""
    if name.startswith("9."):
        minor = int(name[2])
        line = [f"9.{number}a" for number in range(minor, -1, -1)]
        return (*line, *includes(f"8.{minor + 5}a"))
    return tuple(older for older in VERSIONS[VERSIONS.index(name) :] if not older.startswith("9."))


def supported(facts: CpuFacts) -> dict[str, tuple[str, ...]]:
    """Feature -> values, best first: the versions from the newest down, then each extension."""
    newest = version(facts)
    flags = common_flags(facts.cores) if facts.cores else _implied(newest) | set(facts.declared_flags)
    return {
        "version": includes(newest),
        **{name: ("on",) for name, needed in EXTENSIONS.items() if needed <= flags},
    }


def _implied(declared: str) -> frozenset[str]:
    """Return the flags that a declared version promises."""
    versions = includes(declared)
    found = {"fp", "asimd"}
    for name, needed in STEPS:
        if name in versions:
            found |= needed
    if "8.6a" in versions:
        found |= {"bf16", "i8mm"}
    if "9.0a" in versions:
        found |= {"sve", "sve2"}
    return frozenset(found)

"""The x86_64 namespace: microarchitecture level and instruction set features over all cores.

Levels are those of the x86-64 psABI, chapter 3.1.1 (https://gitlab.com/x86-psABIs/x86-64-ABI).
"""

from __future__ import annotations

from .cpu import CoreKind, CpuFacts
from .cpuinfo import alike, common_flags, processors, sorted_flags
from .machine import CPUINFO_LIMIT
from .vendor import Note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .machine import Machine

NAMESPACE = "x86_64"

LEVELS: tuple[tuple[str, frozenset[str]], ...] = (
    ("v2", frozenset({"cx16", "lahf_lm", "popcnt", "sse3", "ssse3", "sse4_1", "sse4_2"})),
    ("v3", frozenset({"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "movbe"})),
    ("v4", frozenset({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})),
)
"""What each level adds to the one below; v1 is the architecture's baseline."""

UNKNOWN_LEVEL = "v2"
"""What holds for an x86-64 processor that says nothing: uv >= 0.13.8 decides the same. Processors
below it were last sold about 2010."""

INSTRUCTION_SETS = (
    "sse3",
    "ssse3",
    "sse4_1",
    "sse4_2",
    "sse4a",
    "popcnt",
    "cx16",
    "movbe",
    "lzcnt",
    "bmi1",
    "bmi2",
    "adx",
    "f16c",
    "fma",
    "fma4",
    "xop",
    "tbm",
    "aes",
    "pclmulqdq",
    "sha_ni",
    "rdrand",
    "rdseed",
    "vaes",
    "vpclmulqdq",
    "gfni",
    "avx",
    "avx2",
    "avx_ifma",
    "avx_ne_convert",
    "avx_vnni",
    "avx_vnni_int16",
    "avx_vnni_int8",
    "avx512f",
    "avx512bw",
    "avx512cd",
    "avx512dq",
    "avx512er",
    "avx512ifma",
    "avx512pf",
    "avx512vbmi",
    "avx512_vbmi2",
    "avx512vl",
    "avx512_4fmaps",
    "avx512_4vnniw",
    "avx512_bf16",
    "avx512_bitalg",
    "avx512_fp16",
    "avx512_vnni",
    "avx512_vp2intersect",
    "avx512_vpopcntdq",
    "avx10_1",
    "avx10_2",
    "apx_f",
    "amx_bf16",
    "amx_complex",
    "amx_fp16",
    "amx_int8",
    "amx_tile",
    "sha512",
    "sm3",
    "sm4",
)
"""The flags a compiler can generate code for, each a feature with the one value `on`."""

FEATURES: dict[str, tuple[str, ...]] = {
    "level": ("v4", "v3", "v2", "v1"),
    **dict.fromkeys(INSTRUCTION_SETS, ("on",)),
}
"""Every feature, in order of preference, with every value. uv knows `level` alone."""

_SPELLINGS = {
    # Linux: PNI is Prescott New Instructions, ABM the AMD name that came first.
    "pni": "sse3",
    "abm": "lzcnt",
    "avx512_vbmi": "avx512vbmi",
    "avx512_ifma": "avx512ifma",
    # macOS: machdep.cpu.features, .leaf7_features and .extfeatures.
    "lahf": "lahf_lm",
    "sse4.1": "sse4_1",
    "sse4.2": "sse4_2",
    "avx1.0": "avx",
    "avx2.0": "avx2",
    "avx512vnni": "avx512_vnni",
    "avx512bitalg": "avx512_bitalg",
    "avx512vpopcntdq": "avx512_vpopcntdq",
}
"""Other spellings of a flag to the one used here, which is Linux's but for `sse3` and `lzcnt`."""


def probe(machine: Machine) -> CpuFacts:
    """Read the cores; never raises."""
    system = machine.uname.system
    if system == "Linux":
        return from_cpuinfo(machine.read_text("/proc/cpuinfo", CPUINFO_LIMIT))
    if system == "Darwin":
        return _from_sysctl(machine)
    if system == "Windows":
        return _from_cpuid(machine)
    return _unknown(f"nothing is known about reading x86-64 features on {system or 'this system'}")


def from_cpuinfo(text: str | None) -> CpuFacts:
    """Take the cores from /proc/cpuinfo's text."""
    if text is None:
        return _unknown("/proc/cpuinfo cannot be read")
    found = processors(text)
    cores = [
        CoreKind(
            1,
            processor.get("vendor_id", ""),
            "-".join(processor.get(key, "?") for key in ("cpu family", "model", "stepping")),
            processor.get("model name", ""),
            spelt_alike(sorted_flags(processor["flags"])),
        )
        for processor in found
        if "flags" in processor
    ]
    if not cores:
        return _unknown(
            "/proc/cpuinfo shows no x86 flags: an emulator that shows its host's processor", emulated=True
        )
    notes: tuple[Note, ...] = ()
    if len(cores) < len(found):
        notes = (Note("cpu-flags-missing", f"{len(found) - len(cores)} of {len(found)} cores show no flags"),)
    return CpuFacts(NAMESPACE, "/proc/cpuinfo", alike(cores), notes=notes)


def spelt_alike(flags: tuple[str, ...]) -> tuple[str, ...]:
    """Give every flag its one spelling."""
    return tuple(sorted({_SPELLINGS.get(flag, flag) for flag in flags}))


def _from_sysctl(machine: Machine) -> CpuFacts:
    """Take macOS's variables; the kernel's own check decides whether AVX-512 state is enabled."""
    texts = [machine.sysctl(f"machdep.cpu.{key}") for key in ("features", "leaf7_features", "extfeatures")]
    flags = set(spelt_alike(sorted_flags(" ".join(text or "" for text in texts))))
    translated = machine.sysctl("sysctl.proc_translated") == "1"
    notes: list[Note] = []
    if translated:
        notes.append(
            Note(
                "cpu-rosetta", "Rosetta 2 translates x86-64 on this Apple processor: arm64 wheels run faster"
            )
        )
    if not flags:
        unknown = _unknown("sysctl reports no machdep.cpu.features", emulated=translated)
        return CpuFacts(NAMESPACE, "", translated=translated, notes=(*notes, *unknown.notes))
    if "avx512f" in flags and machine.sysctl("hw.optional.avx512f") != "1":
        flags = {flag for flag in flags if not flag.startswith("avx512")}
        notes.append(Note("cpu-avx512-off", "macOS has not enabled the AVX-512 registers"))
    core = CoreKind(
        _count(machine.sysctl("hw.logicalcpu")),
        machine.sysctl("machdep.cpu.vendor") or "",
        machine.sysctl("machdep.cpu.model") or "",
        machine.sysctl("machdep.cpu.brand_string") or "",
        tuple(sorted(flags)),
    )
    return CpuFacts(NAMESPACE, "sysctl", (core,), translated=translated, notes=tuple(notes))


def _from_cpuid(machine: Machine) -> CpuFacts:
    from .cpuid import parse  # noqa: PLC0415 (Windows alone)

    text = machine.cpuid()
    identified = None if text is None else parse(text)
    if identified is None:
        return _unknown("the processor could not be asked (CPUID)")
    vendor, model, name, flags, xcr0_known = identified
    notes = () if xcr0_known else (_NO_XCR0,)
    core = CoreKind(1, vendor, model, name, spelt_alike(flags))
    return CpuFacts(NAMESPACE, "cpuid", (core,), notes=notes)


_NO_XCR0 = Note(
    "cpu-xcr0-unknown", "whether Windows enabled the AVX registers is unknown, so AVX counts as off"
)


def _count(text: str | None) -> int:
    return int(text) if text is not None and text.isdigit() and text != "0" else 1


def _unknown(why: str, *, emulated: bool = False) -> CpuFacts:
    note = Note("cpu-unknown", f"{why}; x86-64 {UNKNOWN_LEVEL} is assumed, as uv does")
    return CpuFacts(NAMESPACE, "", translated=emulated, notes=(note,))


def level(facts: CpuFacts) -> str:
    """Return the highest level that every core has."""
    if not facts.cores:
        return facts.declared or UNKNOWN_LEVEL
    flags = common_flags(facts.cores)
    reached = "v1"
    for name, needed in LEVELS:
        if not needed <= flags:
            break
        reached = name
    return reached


def supported(facts: CpuFacts) -> dict[str, tuple[str, ...]]:
    """Feature -> values, best first: the levels from the highest down, then each instruction set."""
    highest = level(facts)
    values = FEATURES["level"]
    flags = common_flags(facts.cores) if facts.cores else _implied(highest) | set(facts.declared_flags)
    return {
        "level": values[values.index(highest) :],
        **{flag: ("on",) for flag in INSTRUCTION_SETS if flag in flags},
    }


def _implied(declared: str) -> frozenset[str]:
    """Return what a declared level promises, which is all that is known of such a processor."""
    names = ["v1", *(name for name, _ in LEVELS)]
    steps = LEVELS[: names.index(declared)]
    return frozenset().union(*(needed for _, needed in steps))

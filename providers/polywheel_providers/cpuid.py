r"""An x86 processor's identification: asked by an instruction, written as text, parsed into flags.

The text has one line a leaf, `LEAF, SUBLEAF, EAX, EBX, ECX, EDX` in decimal, and `xcr0, VALUE` for the
extended control register that says which registers the system saves. Bits: Intel's Software Developer's
Manual, volume 2A, CPUID; AMD's Architecture Programmer's Manual, volume 3, appendix E.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LEAVES = (
    (0, 0),
    (1, 0),
    (7, 0),
    (7, 1),
    (0x8000_0001, 0),
    (0x8000_0002, 0),
    (0x8000_0003, 0),
    (0x8000_0004, 0),
)
"""The leaves and subleaves `parse` reads."""

_EAX, _EBX, _ECX, _EDX = range(4)

_FLAGS: tuple[tuple[str, int, int, int, int], ...] = (
    ("sse3", 1, 0, _ECX, 0),
    ("pclmulqdq", 1, 0, _ECX, 1),
    ("ssse3", 1, 0, _ECX, 9),
    ("fma", 1, 0, _ECX, 12),
    ("cx16", 1, 0, _ECX, 13),
    ("sse4_1", 1, 0, _ECX, 19),
    ("sse4_2", 1, 0, _ECX, 20),
    ("movbe", 1, 0, _ECX, 22),
    ("popcnt", 1, 0, _ECX, 23),
    ("aes", 1, 0, _ECX, 25),
    ("avx", 1, 0, _ECX, 28),
    ("f16c", 1, 0, _ECX, 29),
    ("rdrand", 1, 0, _ECX, 30),
    ("bmi1", 7, 0, _EBX, 3),
    ("avx2", 7, 0, _EBX, 5),
    ("bmi2", 7, 0, _EBX, 8),
    ("avx512f", 7, 0, _EBX, 16),
    ("avx512dq", 7, 0, _EBX, 17),
    ("rdseed", 7, 0, _EBX, 18),
    ("adx", 7, 0, _EBX, 19),
    ("avx512ifma", 7, 0, _EBX, 21),
    ("avx512cd", 7, 0, _EBX, 28),
    ("sha_ni", 7, 0, _EBX, 29),
    ("avx512bw", 7, 0, _EBX, 30),
    ("avx512vl", 7, 0, _EBX, 31),
    ("avx512vbmi", 7, 0, _ECX, 1),
    ("avx512_vbmi2", 7, 0, _ECX, 6),
    ("gfni", 7, 0, _ECX, 8),
    ("vaes", 7, 0, _ECX, 9),
    ("vpclmulqdq", 7, 0, _ECX, 10),
    ("avx512_vnni", 7, 0, _ECX, 11),
    ("avx512_bitalg", 7, 0, _ECX, 12),
    ("avx512_vpopcntdq", 7, 0, _ECX, 14),
    ("avx512_vp2intersect", 7, 0, _EDX, 8),
    ("amx_bf16", 7, 0, _EDX, 22),
    ("avx512_fp16", 7, 0, _EDX, 23),
    ("amx_tile", 7, 0, _EDX, 24),
    ("amx_int8", 7, 0, _EDX, 25),
    ("avx_vnni", 7, 1, _EAX, 4),
    ("avx512_bf16", 7, 1, _EAX, 5),
    ("amx_fp16", 7, 1, _EAX, 21),
    ("avx_ifma", 7, 1, _EAX, 23),
    ("lahf_lm", 0x8000_0001, 0, _ECX, 0),
    ("lzcnt", 0x8000_0001, 0, _ECX, 5),
    ("sse4a", 0x8000_0001, 0, _ECX, 6),
    ("xop", 0x8000_0001, 0, _ECX, 11),
    ("fma4", 0x8000_0001, 0, _ECX, 16),
    ("tbm", 0x8000_0001, 0, _ECX, 21),
)
"""Flag, leaf, subleaf, register, bit."""

_OSXSAVE = 27
_AVX_STATE, _AVX512_STATE, _AMX_STATE = 0x6, 0xE6, 0x6_0000
_NEED_AVX = frozenset(
    {"avx", "avx2", "fma", "f16c", "fma4", "xop", "vaes", "vpclmulqdq", "avx_vnni", "avx_ifma"}
)

Identified = tuple[str, str, str, tuple[str, ...], bool]
"""Vendor, family-model-stepping, name, flags, and whether the saved registers (XCR0) were known."""


def parse(text: str) -> Identified | None:
    """Read an identification back; `None` when it is not one.

    Where XCR0 is not in the text, whether the system saves the wide registers is unknown, and no flag that
    needs them is reported.
    """
    leaves, xcr0 = _table(text)
    if (1, 0) not in leaves:
        return None
    flags = {
        flag
        for flag, leaf, subleaf, register, bit in _FLAGS
        if leaves.get((leaf, subleaf), (0, 0, 0, 0))[register] >> bit & 1
    }
    saved = (xcr0 or 0) if leaves[1, 0][_ECX] >> _OSXSAVE & 1 else 0
    usable = tuple(sorted(flag for flag in flags if _registers(flag) & ~saved == 0))
    return _vendor(leaves), _model(leaves[1, 0][_EAX]), _name(leaves), usable, xcr0 is not None


def _registers(flag: str) -> int:
    """Return the XCR0 bits a flag's instructions need."""
    if flag.startswith("amx"):
        return _AMX_STATE
    if flag.startswith("avx512"):
        return _AVX512_STATE
    return _AVX_STATE if flag in _NEED_AVX else 0


def _table(text: str) -> tuple[dict[tuple[int, int], tuple[int, int, int, int]], int | None]:
    leaves: dict[tuple[int, int], tuple[int, int, int, int]] = {}
    xcr0 = None
    for line in text.splitlines():
        words = [word.strip() for word in line.split(",")]
        numbers = [int(word) for word in words if word.isascii() and word.isdigit() and len(word) < 20]
        if len(words) == 2 and words[0] == "xcr0" and numbers:
            xcr0 = numbers[0]
        elif len(numbers) == len(words) == 6:
            leaf, subleaf, eax, ebx, ecx, edx = numbers
            leaves[leaf, subleaf] = (eax, ebx, ecx, edx)
    return leaves, xcr0


def _text(*registers: int) -> str:
    raw = b"".join((register & 0xFFFF_FFFF).to_bytes(4, "little") for register in registers)
    return raw.decode("ascii", "replace").rstrip("\0").strip()


def _vendor(leaves: dict[tuple[int, int], tuple[int, int, int, int]]) -> str:
    _, ebx, ecx, edx = leaves.get((0, 0), (0, 0, 0, 0))
    return _text(ebx, edx, ecx)


def _name(leaves: dict[tuple[int, int], tuple[int, int, int, int]]) -> str:
    parts = [leaves[leaf, 0] for leaf in (0x8000_0002, 0x8000_0003, 0x8000_0004) if (leaf, 0) in leaves]
    return _text(*(register for part in parts for register in part))


def _model(signature: int) -> str:
    """Return `family-model-stepping` as Linux counts them."""
    family, model = signature >> 8 & 0xF, signature >> 4 & 0xF
    if family in (0x6, 0xF):
        model |= signature >> 12 & 0xF0
    if family == 0xF:
        family += signature >> 20 & 0xFF
    return f"{family}-{model}-{signature & 0xF}"


def query(library: str, report: Callable[[object], None]) -> None:
    """Ask this processor (run in a child: see `driver`); `library` is not used."""
    del library
    report("\n".join(_lines()))


_CPUID = bytes.fromhex(
    "4989db"  # mov r11, rbx (the caller's)
    "0fa2"  # cpuid
    "418902"  # mov [r10], eax
    "41895a04"  # mov [r10+4], ebx
    "41894a08"  # mov [r10+8], ecx
    "4189520c"  # mov [r10+12], edx
    "4c89db"  # mov rbx, r11
    "c3"  # ret
)
_XGETBV = bytes.fromhex(
    "31c9"  # xor ecx, ecx
    "0f01d0"  # xgetbv
    "418902"  # mov [r10], eax
    "41895204"  # mov [r10+4], edx
    "c3"  # ret
)
_ARGUMENTS = {
    # Into r10 the address of four 32-bit words, into eax the leaf, into ecx the subleaf.
    "win32": bytes.fromhex("4989ca89d04489c1"),  # from rcx, edx, r8d
    "other": bytes.fromhex("4989fa89f089d1"),  # from rdi, esi, edx
}


def _lines() -> list[str]:
    """Run CPUID for every leaf, then XGETBV where the system has enabled it."""
    import ctypes  # noqa: PLC0415 (the child's alone)

    words = (ctypes.c_uint32 * 4)()
    signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32)
    pages = _executable(_CPUID), _executable(_XGETBV)
    ask_cpuid, ask_xcr0 = (signature(address) for address in pages)
    lines = []
    for leaf, subleaf in LEAVES:
        ask_cpuid(ctypes.addressof(words), leaf, subleaf)
        lines.append(f"{leaf}, {subleaf}, {', '.join(map(str, words))}")
    ask_cpuid(ctypes.addressof(words), 1, 0)
    if words[_ECX] >> _OSXSAVE & 1:
        ask_xcr0(ctypes.addressof(words), 0, 0)
        lines.append(f"xcr0, {words[1] << 32 | words[0]}")
    return lines


def _executable(body: bytes) -> int:
    """Return the address of a routine in memory that stays until the process ends."""
    import ctypes  # noqa: PLC0415
    import sys  # noqa: PLC0415

    code = _ARGUMENTS.get(sys.platform, _ARGUMENTS["other"]) + body
    if sys.platform == "win32":
        allocate = ctypes.WinDLL("kernel32").VirtualAlloc
        allocate.restype = ctypes.c_void_p
        allocate.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_uint32]
        address = allocate(None, len(code), 0x3000, 0x40)  # commit and reserve; read, write, execute
        if not address:
            raise OSError("VirtualAlloc refused executable memory")
        ctypes.memmove(address, code, len(code))
        return int(address)
    import mmap  # noqa: PLC0415

    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    _PAGES.append(page)
    return ctypes.addressof(ctypes.c_char.from_buffer(page))


_PAGES: list[object] = []
"""What keeps the routines' memory mapped."""

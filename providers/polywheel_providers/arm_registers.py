"""Arm's feature bits in the three places systems show them, all named as Linux names them in /proc/cpuinfo.

Sources: Linux `arch/arm64/include/uapi/asm/hwcap.h` and its documentation
(https://docs.kernel.org/arch/arm64/elf_hwcaps.html); the ID registers of the Arm Architecture Reference
Manual (DDI 0487, D24.2); Apple's `hw.optional.arm` variables
(https://developer.apple.com/documentation/kernel/1387446-sysctlbyname/determining_instruction_set_characteristics).
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

HWCAP = [
    "fp",
    "asimd",
    "evtstrm",
    "aes",
    "pmull",
    "sha1",
    "sha2",
    "crc32",
    "atomics",
    "fphp",
    "asimdhp",
    "cpuid",
    "asimdrdm",
    "jscvt",
    "fcma",
    "lrcpc",
    "dcpop",
    "sha3",
    "sm3",
    "sm4",
    "asimddp",
    "sha512",
    "sve",
    "asimdfhm",
    "dit",
    "uscat",
    "ilrcpc",
    "flagm",
    "ssbs",
    "sb",
    "paca",
    "pacg",
    "gcs",
]
"""AT_HWCAP's bits from 0."""

HWCAP2 = [
    "dcpodp",
    "sve2",
    "sveaes",
    "svepmull",
    "svebitperm",
    "svesha3",
    "svesm4",
    "flagm2",
    "frint",
    "svei8mm",
    "svef32mm",
    "svef64mm",
    "svebf16",
    "i8mm",
    "bf16",
    "dgh",
    "rng",
    "bti",
    "mte",
    "ecv",
    "afp",
    "rpres",
    "mte3",
    "sme",
    "smei16i64",
    "smef64f64",
    "smei8i32",
    "smef16f32",
    "smeb16f32",
    "smef32f32",
    "smefa64",
    "wfxt",
    "ebf16",
    "sveebf16",
    "cssc",
    "rprfm",
    "sve2p1",
    "sme2",
    "sme2p1",
    "smei16i32",
    "smebi32i32",
    "smeb16b16",
    "smef16f16",
    "mops",
    "hbc",
    "sveb16b16",
    "lrcpc3",
    "lse128",
]
"""AT_HWCAP2's bits from 0."""

_AT_HWCAP = 16
_AT_HWCAP2 = 26


def auxv_flags(auxv: bytes) -> tuple[str, ...] | None:
    """Return the flags of /proc/self/auxv (pairs of 64-bit words), or `None` when it names none.

    The auxiliary vector tells a process what it may execute, under an emulator too.
    """
    words = dict(struct.iter_unpack("<QQ", auxv[: len(auxv) // 16 * 16]))
    if _AT_HWCAP not in words:
        return None
    first = [name for bit, name in enumerate(HWCAP) if words[_AT_HWCAP] >> bit & 1]
    second = [name for bit, name in enumerate(HWCAP2) if words.get(_AT_HWCAP2, 0) >> bit & 1]
    return tuple(sorted({*first, *second}))


APPLE_FLAGS: dict[str, tuple[str, ...]] = {
    "hw.optional.floatingpoint": ("fp",),
    "hw.optional.neon": ("asimd", "fp"),
    "hw.optional.AdvSIMD": ("asimd", "fp"),
    "hw.optional.armv8_crc32": ("crc32",),
    "hw.optional.arm.FEAT_CRC32": ("crc32",),
    "hw.optional.armv8_1_atomics": ("atomics",),
    "hw.optional.arm.FEAT_LSE": ("atomics",),
    "hw.optional.arm.FEAT_LSE2": ("uscat",),
    "hw.optional.arm.FEAT_RDM": ("asimdrdm",),
    "hw.optional.neon_fp16": ("asimdhp", "fphp"),
    "hw.optional.arm.FEAT_FP16": ("asimdhp", "fphp"),
    "hw.optional.armv8_2_fhm": ("asimdfhm",),
    "hw.optional.arm.FEAT_FHM": ("asimdfhm",),
    "hw.optional.arm.FEAT_DotProd": ("asimddp",),
    "hw.optional.armv8_3_compnum": ("fcma",),
    "hw.optional.arm.FEAT_FCMA": ("fcma",),
    "hw.optional.arm.FEAT_JSCVT": ("jscvt",),
    "hw.optional.arm.FEAT_LRCPC": ("lrcpc",),
    "hw.optional.arm.FEAT_LRCPC2": ("ilrcpc",),
    "hw.optional.arm.FEAT_PAuth": ("paca", "pacg"),
    "hw.optional.arm.FEAT_DPB": ("dcpop",),
    "hw.optional.arm.FEAT_DPB2": ("dcpodp",),
    "hw.optional.arm.FEAT_DIT": ("dit",),
    "hw.optional.arm.FEAT_FlagM": ("flagm",),
    "hw.optional.arm.FEAT_FlagM2": ("flagm2",),
    "hw.optional.arm.FEAT_FRINTTS": ("frint",),
    "hw.optional.arm.FEAT_SB": ("sb",),
    "hw.optional.arm.FEAT_SSBS": ("ssbs",),
    "hw.optional.arm.FEAT_BTI": ("bti",),
    "hw.optional.arm.FEAT_BF16": ("bf16",),
    "hw.optional.arm.FEAT_EBF16": ("ebf16",),
    "hw.optional.arm.FEAT_I8MM": ("i8mm",),
    "hw.optional.arm.FEAT_AES": ("aes",),
    "hw.optional.arm.FEAT_PMULL": ("pmull",),
    "hw.optional.arm.FEAT_SHA1": ("sha1",),
    "hw.optional.arm.FEAT_SHA256": ("sha2",),
    "hw.optional.armv8_2_sha512": ("sha512",),
    "hw.optional.arm.FEAT_SHA512": ("sha512",),
    "hw.optional.armv8_2_sha3": ("sha3",),
    "hw.optional.arm.FEAT_SHA3": ("sha3",),
    "hw.optional.arm.FEAT_ECV": ("ecv",),
    "hw.optional.arm.FEAT_AFP": ("afp",),
    "hw.optional.arm.FEAT_RPRES": ("rpres",),
    "hw.optional.arm.FEAT_WFxT": ("wfxt",),
    "hw.optional.arm.FEAT_CSSC": ("cssc",),
    "hw.optional.arm.FEAT_SME": ("sme",),
    "hw.optional.arm.FEAT_SME2": ("sme2",),
}
"""macOS variable -> the flags it stands for when it is 1."""

_ID_FIELDS: dict[str, tuple[tuple[int, int, str], ...]] = {
    # Windows names a register CP and its encoding: ID_AA64ISAR0_EL1 is op0=3 op1=0 CRn=0 CRm=6 op2=0.
    "CP 4030": (
        (4, 1, "aes"),
        (4, 2, "pmull"),
        (8, 1, "sha1"),
        (12, 1, "sha2"),
        (12, 2, "sha512"),
        (16, 1, "crc32"),
        (20, 2, "atomics"),
        (20, 3, "lse128"),
        (28, 1, "asimdrdm"),
        (32, 1, "sha3"),
        (36, 1, "sm3"),
        (40, 1, "sm4"),
        (44, 1, "asimddp"),
        (48, 1, "asimdfhm"),
        (52, 1, "flagm"),
        (52, 2, "flagm2"),
        (60, 1, "rng"),
    ),
    # ID_AA64ISAR1_EL1
    "CP 4031": (
        (0, 1, "dcpop"),
        (0, 2, "dcpodp"),
        (4, 1, "paca"),
        (8, 1, "paca"),
        (12, 1, "jscvt"),
        (16, 1, "fcma"),
        (20, 1, "lrcpc"),
        (20, 2, "ilrcpc"),
        (24, 1, "pacg"),
        (28, 1, "pacg"),
        (32, 1, "frint"),
        (36, 1, "sb"),
        (44, 1, "bf16"),
        (44, 2, "ebf16"),
        (48, 1, "dgh"),
        (52, 1, "i8mm"),
    ),
    # ID_AA64PFR0_EL1; its FP and AdvSIMD fields are signed and apart
    "CP 4020": ((32, 1, "sve"), (48, 1, "dit")),
    # ID_AA64PFR1_EL1
    "CP 4021": ((0, 1, "bti"), (4, 1, "ssbs"), (24, 1, "sme"), (24, 2, "sme2")),
    # ID_AA64ZFR0_EL1
    "CP 4024": ((0, 1, "sve2"), (0, 2, "sve2p1"), (20, 1, "svebf16"), (44, 1, "svei8mm")),
    # ID_AA64MMFR2_EL1
    "CP 403A": ((32, 1, "uscat"),),
}
"""Windows registry value -> (field's lowest bit, least value, flag)."""


def registry_flags(values: Mapping[str, int | str]) -> tuple[str, ...]:
    """Return the flags of the ID registers in one processor's registry key."""
    found: set[str] = set()
    for name, fields in _ID_FIELDS.items():
        register = values.get(name)
        if isinstance(register, int):
            found |= {flag for shift, least, flag in fields if register >> shift & 0xF >= least}
    pfr0 = values.get("CP 4020")
    if isinstance(pfr0, int):
        found |= _floating_point(pfr0)
    return tuple(sorted(found))


def _floating_point(pfr0: int) -> set[str]:
    """Read the two fields of ID_AA64PFR0_EL1 in which 15 means absent."""
    scalar, vector = pfr0 >> 16 & 0xF, pfr0 >> 20 & 0xF
    found = set()
    if scalar != 0xF:
        found |= {"fp", "fphp"} if scalar >= 1 else {"fp"}
    if vector != 0xF:
        found |= {"asimd", "asimdhp"} if vector >= 1 else {"asimd"}
    return found

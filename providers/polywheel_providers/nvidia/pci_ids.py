"""NVIDIA's PCI device ids, by chip, for machines where no driver answers.

NVIDIA assigns ids chip by chip, so ranges say it all. Source: the PCI ID repository
(https://pci-ids.ucw.cz/), whose names begin with the chip; chips' capabilities:
https://developer.nvidia.com/cuda-gpus.
"""

from __future__ import annotations

from .capability import Capability

VENDOR = 0x10DE
"""NVIDIA's PCI vendor id."""

_RANGES: tuple[tuple[int, int, Capability], ...] = (
    (0x0FC0, 0x0FFF, (3, 0)),  # GK107
    (0x1001, 0x102C, (3, 5)),  # GK110
    (0x102D, 0x102D, (3, 7)),  # GK210
    (0x102E, 0x103F, (3, 5)),  # GK110B
    (0x1180, 0x11FF, (3, 0)),  # GK104, GK106
    (0x1280, 0x12BA, (3, 5)),  # GK208
    (0x1340, 0x13AC, (5, 0)),  # GM107, GM108
    (0x13AD, 0x13AE, (5, 2)),  # GM204
    (0x13B0, 0x13BD, (5, 0)),  # GM107
    (0x13BE, 0x1436, (5, 2)),  # GM204, GM206
    (0x15C2, 0x15FF, (6, 0)),  # GP100
    (0x1613, 0x1676, (5, 2)),  # GM204
    (0x1725, 0x172F, (6, 0)),  # GP100
    (0x174D, 0x179C, (5, 0)),  # GM107, GM108
    (0x17C2, 0x17FD, (5, 2)),  # GM200
    (0x1AF1, 0x1AF1, (8, 0)),  # GA100
    (0x1B00, 0x1D56, (6, 1)),  # GP102 to GP108
    (0x1D81, 0x1DF6, (7, 0)),  # GV100
    (0x1E02, 0x1FF9, (7, 5)),  # TU102 to TU117
    (0x2080, 0x20FF, (8, 0)),  # GA100
    (0x2182, 0x21D1, (7, 5)),  # TU116
    (0x2200, 0x223F, (8, 6)),  # GA102
    (0x2302, 0x23F0, (9, 0)),  # GH100
    (0x2414, 0x25FB, (8, 6)),  # GA103 to GA107
    (0x2681, 0x28F8, (8, 9)),  # AD102 to AD107
    (0x2900, 0x29F1, (10, 0)),  # GB100, GB102
    (0x2B00, 0x2B00, (11, 0)),  # GB10B, Thor
    (0x2B85, 0x2DF9, (12, 0)),  # GB202, GB203, GB206, GB207
    (0x2E03, 0x2E2A, (12, 1)),  # GB20B, sold as GB10
    (0x2F04, 0x2F58, (12, 0)),  # GB205
    (0x3180, 0x323E, (10, 3)),  # GB110, GB112
)


def capability_of(device: int) -> Capability | None:
    """Return the compute capability of a PCI device id, or `None` for a chip not listed."""
    for first, last, capability in _RANGES:
        if first <= device <= last:
            return capability
    return None

"""Parsing KFD's topology: one `properties` file a node, a name and a number a line.

The kernel driver writes it whether ROCm is installed or not. Source: the kernel's
include/uapi/linux/kfd_sysfs.h and drivers/gpu/drm/amd/amdkfd/kfd_topology.c.
"""

from __future__ import annotations

from polywheel_providers.frozen import dataclass

from .gfx import name_of_version

_SRAM_EDC_SUPPORTED = 0x04000000
"""`HSA_CAP_SRAM_EDCSUPPORTED`: what target IDs call sramecc."""
_WITH_SRAMECC = frozenset({"gfx906", "gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950"})
"""The processors whose target ID has the setting."""


@dataclass(frozen=True)
class KfdNode:
    """A topology node that computes."""

    gfx: str
    """The processor, or empty when the number makes no name."""
    sramecc: str
    """`+`, `-`, or empty where the processor has no such setting."""
    device: int
    """The PCI device id."""
    uuid: str
    """`GPU-` and the unique id in hexadecimal, as `ROCR_VISIBLE_DEVICES` spells it; or empty."""


def parse_properties(text: str) -> dict[str, int]:
    """Return the numbers by name; a line of any other shape is passed over."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 2 and words[1].isascii() and words[1].isdigit() and len(words[1]) <= 20:
            found.setdefault(words[0], int(words[1]))
    return found


def gpu_of_node(text: str) -> KfdNode | None:
    """Return the GPU of a node, or `None` for a processor's node."""
    numbers = parse_properties(text)
    if numbers.get("simd_count", 0) == 0:
        return None
    gfx = name_of_version(numbers.get("gfx_target_version", 0))
    sramecc = ""
    if gfx in _WITH_SRAMECC:
        sramecc = "+" if numbers.get("capability", 0) & _SRAM_EDC_SUPPORTED else "-"
    unique = numbers.get("unique_id", 0)
    return KfdNode(gfx, sramecc, numbers.get("device_id", 0), f"GPU-{unique:016x}" if unique else "")

"""Intel's graphics IPs, and which PCI ids they are sold under.

Sources: the compute runtime's AOT table
(https://github.com/intel/compute-runtime/blob/master/third_party/aot_config_headers/platforms.h) for the IPs
and `compatibilityMapping`, its shared/source/dll/devices/devices_base.inl for the PCI ids, and Intel's
published list of GPUs by PCI id (https://dgpu-docs.intel.com/devices/hardware-table.html).
"""

from __future__ import annotations

from polywheel_providers.frozen import dataclass

VENDOR = 0x8086
"""Intel's PCI vendor id."""


@dataclass(frozen=True)
class Product:
    """One graphics IP as the compiler targets it."""

    ip: str
    """`architecture.release.revision`, the revision that is sold."""
    codename: str
    """The compiler's name for it."""
    integrated: bool
    """Whether it is part of a processor."""
    base: str = ""
    """The IP whose code it also runs, or empty."""


PRODUCTS: tuple[Product, ...] = (
    Product("35.11.0", "cri", integrated=False),
    Product("35.10.4", "nvl-p", integrated=True),
    Product("30.5.4", "nvl-u", integrated=True, base="30.0.4"),
    Product("30.4.4", "nvl-s", integrated=True, base="30.0.4"),
    Product("30.3.1", "wcl", integrated=True, base="30.0.4"),
    Product("30.1.0", "ptl-u", integrated=True, base="30.0.4"),
    Product("30.0.4", "ptl-h", integrated=True),
    Product("20.4.4", "lnl-m", integrated=True, base="20.1.0"),
    Product("20.2.0", "bmg-g31", integrated=False, base="20.1.0"),
    Product("20.1.0", "bmg-g21", integrated=False),
    Product("12.74.4", "arl-h", integrated=True),
    Product("12.71.4", "mtl-h", integrated=True, base="12.70.4"),
    Product("12.70.4", "mtl-u", integrated=True),
    Product("12.61.7", "pvc-vg", integrated=False),
    Product("12.60.7", "pvc", integrated=False),
    Product("12.57.0", "acm-g12", integrated=False, base="12.55.8"),
    Product("12.56.5", "acm-g11", integrated=False, base="12.55.8"),
    Product("12.55.8", "acm-g10", integrated=False),
    Product("12.10.0", "dg1", integrated=False),
    Product("12.4.0", "adl-n", integrated=True),
    Product("12.3.0", "adl-p", integrated=True),
    Product("12.2.0", "adl-s", integrated=True),
    Product("12.1.0", "rkl", integrated=True),
    Product("12.0.0", "tgllp", integrated=True),
)
"""Every IP with a compiler target, newest first."""

_BY_IP = {product.ip: product for product in PRODUCTS}

_FAMILIES: tuple[tuple[int, range, str], ...] = (
    (30, range(256), "30.0.4"),
    (20, range(256), "20.1.0"),
    (12, range(70, 74), "12.70.4"),
    (12, range(55, 60), "12.55.8"),
)
"""Architecture and releases of each family, and its base: what a device newer than the table runs."""

_PCI_RANGES: tuple[tuple[int, int, str, str], ...] = (
    (0x0B69, 0x0B6E, "12.60.7", "Data Center GPU Max"),
    (0x0BD0, 0x0BD3, "12.60.7", "Data Center GPU Max"),
    (0x0BD4, 0x0BD4, "12.61.7", "Data Center GPU Max 1550VG"),
    (0x0BD5, 0x0BD6, "12.60.7", "Data Center GPU Max 1550"),
    (0x0BD7, 0x0BD8, "12.60.7", "Data Center GPU Max 1350"),
    (0x0BD9, 0x0BDB, "12.60.7", "Data Center GPU Max 1100"),
    (0x4626, 0x462A, "12.3.0", "Alder Lake-P Graphics"),
    (0x4680, 0x4693, "12.2.0", "Alder Lake-S UHD Graphics"),
    (0x46A0, 0x46C3, "12.3.0", "Alder Lake-P Graphics"),
    (0x46D0, 0x46D4, "12.4.0", "Alder Lake-N UHD Graphics"),
    (0x4905, 0x4909, "12.10.0", "Iris Xe MAX Graphics"),
    (0x4C80, 0x4C9A, "12.1.0", "Rocket Lake UHD Graphics"),
    (0x4F80, 0x4F84, "12.55.8", "Arc A-Series Graphics"),
    (0x4F85, 0x4F86, "12.57.0", "Arc A-Series Graphics"),
    (0x4F87, 0x4F88, "12.56.5", "Arc A-Series Graphics"),
    (0x5690, 0x5690, "12.55.8", "Arc A770M Graphics"),
    (0x5691, 0x5691, "12.55.8", "Arc A730M Graphics"),
    (0x5692, 0x5692, "12.55.8", "Arc A550M Graphics"),
    (0x5693, 0x5693, "12.56.5", "Arc A370M Graphics"),
    (0x5694, 0x5695, "12.56.5", "Arc A350M Graphics"),
    (0x5696, 0x5696, "12.57.0", "Arc A570M Graphics"),
    (0x5697, 0x5697, "12.57.0", "Arc A530M Graphics"),
    (0x56A0, 0x56A0, "12.55.8", "Arc A770 Graphics"),
    (0x56A1, 0x56A1, "12.55.8", "Arc A750 Graphics"),
    (0x56A2, 0x56A2, "12.55.8", "Arc A580 Graphics"),
    (0x56A3, 0x56A4, "12.57.0", "Arc A-Series Graphics"),
    (0x56A5, 0x56A5, "12.56.5", "Arc A380 Graphics"),
    (0x56A6, 0x56A6, "12.56.5", "Arc A310 Graphics"),
    (0x56AF, 0x56AF, "12.55.8", "Arc A760A Graphics"),
    (0x56B0, 0x56B1, "12.56.5", "Arc Pro A30M, A40, A50 Graphics"),
    (0x56B2, 0x56B3, "12.57.0", "Arc Pro A60 Graphics"),
    (0x56BA, 0x56BD, "12.56.5", "Arc A310E to A380E Graphics"),
    (0x56BE, 0x56BF, "12.55.8", "Arc A580E, A750E Graphics"),
    (0x56C0, 0x56C0, "12.55.8", "Data Center GPU Flex 170"),
    (0x56C1, 0x56C1, "12.56.5", "Data Center GPU Flex 140"),
    (0x56C2, 0x56C2, "12.55.8", "Data Center GPU Flex 170V"),
    (0x6420, 0x64B0, "20.4.4", "Lunar Lake Arc Graphics"),
    (0x674C, 0x6750, "35.11.0", "Crescent Island"),
    (0x7D40, 0x7D40, "12.70.4", "Meteor Lake Graphics"),
    (0x7D41, 0x7D41, "12.70.4", "Arrow Lake-U Graphics"),
    (0x7D45, 0x7D45, "12.70.4", "Meteor Lake Graphics"),
    (0x7D51, 0x7D51, "12.74.4", "Arrow Lake-H Arc Graphics"),
    (0x7D55, 0x7D55, "12.71.4", "Meteor Lake-H Arc Graphics"),
    (0x7D60, 0x7D60, "12.70.4", "Meteor Lake Graphics"),
    (0x7D67, 0x7D67, "12.70.4", "Arrow Lake-S Graphics"),
    (0x7DD1, 0x7DD1, "12.74.4", "Arrow Lake-H Graphics"),
    (0x7DD5, 0x7DD5, "12.71.4", "Meteor Lake-H Graphics"),
    (0x9A40, 0x9A78, "12.0.0", "Tiger Lake Graphics"),
    (0xA720, 0xA721, "12.3.0", "Raptor Lake-P UHD Graphics"),
    (0xA780, 0xA78B, "12.2.0", "Raptor Lake-S UHD Graphics"),
    (0xA7A0, 0xA7AD, "12.3.0", "Raptor Lake-P Graphics"),
    (0xB080, 0xB087, "30.0.4", "Panther Lake Arc Graphics"),
    (0xB08F, 0xB08F, "30.0.4", "Panther Lake Graphics"),
    (0xB090, 0xB090, "30.1.0", "Panther Lake-U Graphics"),
    (0xB0A0, 0xB0B0, "30.0.4", "Panther Lake Graphics"),
    (0xD740, 0xD740, "30.4.4", "Nova Lake-S Graphics"),
    (0xD741, 0xD742, "30.5.4", "Nova Lake-U Graphics"),
    (0xD743, 0xD744, "30.4.4", "Nova Lake-S Graphics"),
    (0xD745, 0xD745, "30.5.4", "Nova Lake-U Graphics"),
    (0xD74A, 0xD75F, "35.10.4", "Nova Lake-P Graphics"),
    (0xE202, 0xE208, "20.1.0", "Arc B-Series Graphics"),
    (0xE209, 0xE20B, "20.1.0", "Arc B580 Graphics"),
    (0xE20C, 0xE20C, "20.1.0", "Arc B570 Graphics"),
    (0xE20D, 0xE210, "20.1.0", "Arc B-Series Graphics"),
    (0xE211, 0xE211, "20.1.0", "Arc Pro B60 Graphics"),
    (0xE212, 0xE212, "20.1.0", "Arc Pro B50 Graphics"),
    (0xE215, 0xE216, "20.1.0", "Arc B-Series Graphics"),
    (0xE220, 0xE223, "20.2.0", "Arc Pro B-Series Graphics"),
    (0xFD80, 0xFD81, "30.3.1", "Wildcat Lake Graphics"),
)

_PCI_FAMILIES: dict[int, tuple[str, bool, str]] = {
    0x4F: ("12.55.8", False, "Arc A-Series Graphics"),
    0x56: ("12.55.8", False, "Arc A-Series Graphics"),
    0x64: ("20.1.0", True, "Lunar Lake Graphics"),
    0x7D: ("12.70.4", True, "Meteor or Arrow Lake Graphics"),
    0xB0: ("30.0.4", True, "Panther Lake Graphics"),
    0xE2: ("20.1.0", False, "Arc B-Series Graphics"),
    0xFD: ("30.0.4", True, "Wildcat Lake Graphics"),
}
"""Base IP, integration and name of the ids that share a first byte: what a newer member is taken for."""


def base_of(ip: str) -> str:
    """Return the IP whose code a device also runs, by the table or by its family; empty for none."""
    product = _BY_IP.get(ip)
    if product is not None:
        return product.base
    numbers = numbers_of(ip)
    if numbers is None:
        return ""
    architecture, release, _ = numbers
    bases = (base for first, releases, base in _FAMILIES if architecture == first and release in releases)
    return next((base for base in bases if base != ip), "")


def is_known(ip: str) -> bool:
    """Say whether the table has the IP."""
    return ip in _BY_IP


def integrated_by_ip(ip: str) -> bool | None:
    """Say whether an IP is part of a processor; `None` for an IP that is not in the table."""
    product = _BY_IP.get(ip)
    return None if product is None else product.integrated


def by_pci_id(device: int) -> tuple[str, str]:
    """Return a PCI device id's IP and name; two empty texts for an id that is not in the table."""
    matches = ((ip, name) for first, last, ip, name in _PCI_RANGES if first <= device <= last)
    ip, name = next(matches, ("", ""))
    return ip, f"Intel {name}" if name else ""


def family_of_pci_id(device: int) -> tuple[str, bool | None, str]:
    """Return the base IP, integration and name of an unlisted id's family; unknown ones are empty."""
    base, integrated, name = _PCI_FAMILIES.get(device >> 8, ("", None, ""))
    return base, integrated, f"Intel {name}" if name else ""


def decode(value: int) -> str:
    """Decode Level Zero's device IP, a GMDID: 10, 8, 8 (reserved) and 6 bits; empty when implausible.

    Source: the compute runtime's shared/source/helpers/hw_ip_version.h.
    """
    architecture, release, revision = value >> 22, value >> 14 & 0xFF, value & 0x3F
    if not (0 < value < 1 << 32 and 8 <= architecture <= 99):
        return ""
    return f"{architecture}.{release}.{revision}"


def numbers_of(ip: str) -> tuple[int, int, int] | None:
    """Return the three numbers of an IP's text, or `None`."""
    parts = ip.split(".")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() and len(part) <= 3 for part in parts):
        return None
    architecture, release, revision = map(int, parts)
    return (architecture, release, revision)

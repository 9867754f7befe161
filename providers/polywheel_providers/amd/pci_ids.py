"""AMD's PCI device ids and graphics IP versions to processors, for machines without KFD.

Sources: the PCI ID repository (https://pci-ids.ucw.cz/) for the chips, the kernel's amdgpu_drv.c and
kfd_device.c for their processors.
"""

from __future__ import annotations

VENDOR = 0x1002
"""AMD's (ATI's) PCI vendor id."""

_RANGES: tuple[tuple[int, int, str], ...] = (
    (0x13C0, 0x13C0, "gfx1036"),  # Granite Ridge
    (0x13DB, 0x13DB, "gfx1013"),  # Cyan Skillfish
    (0x13F9, 0x13FE, "gfx1013"),
    (0x1435, 0x1435, "gfx1033"),  # Van Gogh
    (0x1506, 0x1506, "gfx1036"),  # Mendocino
    (0x150E, 0x150E, "gfx1150"),  # Strix Point
    (0x1586, 0x1586, "gfx1151"),  # Strix Halo
    (0x1114, 0x1114, "gfx1152"),  # Krackan Point
    (0x1902, 0x1902, "gfx1153"),  # Krackan Point 2
    (0x15BF, 0x15BF, "gfx1103"),  # Phoenix
    (0x15C8, 0x15C8, "gfx1103"),
    (0x164F, 0x164F, "gfx1103"),
    (0x1900, 0x1901, "gfx1103"),  # Hawk Point
    (0x15D8, 0x15D8, "gfx909"),  # Picasso, Raven 2
    (0x15DD, 0x15DD, "gfx902"),  # Raven Ridge
    (0x15E7, 0x15E7, "gfx90c"),  # Barcelo
    (0x1636, 0x1638, "gfx90c"),  # Renoir, Cezanne
    (0x164C, 0x164C, "gfx90c"),  # Lucienne
    (0x163F, 0x163F, "gfx1033"),  # Van Gogh
    (0x164D, 0x164D, "gfx1035"),  # Rembrandt
    (0x1681, 0x1681, "gfx1035"),
    (0x164E, 0x164E, "gfx1036"),  # Raphael
    (0x66A0, 0x66AF, "gfx906"),  # Vega 20
    (0x67C0, 0x67FF, "gfx803"),  # Polaris 10, 11
    (0x6860, 0x687F, "gfx900"),  # Vega 10
    (0x694C, 0x699F, "gfx803"),  # Polaris 12, 22
    (0x69A0, 0x69AF, "gfx904"),  # Vega 12
    (0x6FDF, 0x6FDF, "gfx803"),
    (0x7300, 0x7300, "gfx803"),  # Fiji
    (0x7310, 0x731F, "gfx1010"),  # Navi 10
    (0x7340, 0x734F, "gfx1012"),  # Navi 14
    (0x7360, 0x7362, "gfx1011"),  # Navi 12
    (0x7388, 0x738E, "gfx908"),  # MI100
    (0x73A0, 0x73BF, "gfx1030"),  # Navi 21
    (0x73C0, 0x73DF, "gfx1031"),  # Navi 22
    (0x73E0, 0x73EF, "gfx1032"),  # Navi 23
    (0x73F0, 0x73F0, "gfx1102"),  # Navi 33
    (0x73FF, 0x73FF, "gfx1032"),
    (0x7408, 0x7410, "gfx90a"),  # MI200
    (0x7420, 0x743F, "gfx1034"),  # Navi 24
    (0x7448, 0x745E, "gfx1100"),  # Navi 31
    (0x7460, 0x747E, "gfx1101"),  # Navi 32
    (0x7480, 0x749F, "gfx1102"),  # Navi 33
    (0x74A0, 0x74BD, "gfx942"),  # MI300 series
    (0x7550, 0x7551, "gfx1201"),  # Navi 48
    (0x7590, 0x7590, "gfx1200"),  # Navi 44
    (0x75A0, 0x75A8, "gfx950"),  # MI350 series
    (0x9870, 0x9877, "gfx801"),  # Carrizo
    (0x98E4, 0x98E4, "gfx810"),  # Stoney
)

_GRAPHICS_IPS: dict[tuple[int, int, int], str] = {
    (9, 0, 1): "gfx900",
    (9, 1, 0): "gfx902",
    (9, 2, 1): "gfx904",
    (9, 2, 2): "gfx909",
    (9, 3, 0): "gfx90c",
    (9, 4, 0): "gfx906",
    (9, 4, 1): "gfx908",
    (9, 4, 2): "gfx90a",
    (9, 4, 3): "gfx942",
    (9, 4, 4): "gfx942",
    (9, 5, 0): "gfx950",
    (10, 1, 1): "gfx1012",
    (10, 1, 2): "gfx1011",
    (10, 1, 3): "gfx1013",
    (10, 1, 4): "gfx1013",
    (10, 1, 10): "gfx1010",
    (10, 3, 0): "gfx1030",
    (10, 3, 1): "gfx1033",
    (10, 3, 2): "gfx1031",
    (10, 3, 3): "gfx1035",
    (10, 3, 4): "gfx1032",
    (10, 3, 5): "gfx1034",
    (10, 3, 6): "gfx1036",
    (10, 3, 7): "gfx1036",
    (11, 0, 0): "gfx1100",
    (11, 0, 1): "gfx1103",
    (11, 0, 2): "gfx1102",
    (11, 0, 3): "gfx1101",
    (11, 0, 4): "gfx1103",
    (11, 5, 0): "gfx1150",
    (11, 5, 1): "gfx1151",
    (11, 5, 2): "gfx1152",
    (11, 5, 3): "gfx1153",
    (12, 0, 0): "gfx1200",
    (12, 0, 1): "gfx1201",
}


def processor_of(device: int) -> str:
    """Return the processor of a PCI device id, or an empty text for a chip not listed."""
    return next((name for first, last, name in _RANGES if first <= device <= last), "")


def processor_of_ip(major: int, minor: int, revision: int) -> str:
    """Return the processor of a graphics IP version, as amdgpu's ip_discovery shows it, or nothing."""
    return _GRAPHICS_IPS.get((major, minor, revision), "")

"""Parsing `nvidia-smi -q`, the indented report of the whole machine."""

from __future__ import annotations

import re

from . import cuda_version, driver_table, pci_ids
from .product_names import capability_of_name
from .reading import Reading, Seen, normalise_bus

_GPU = re.compile(r"GPU ([0-9A-Fa-f]+:[0-9A-Fa-f]+:[0-9A-Fa-f]+\.[0-7])\s*")
_DEVICE_ID = re.compile(r"0x([0-9A-Fa-f]{4})10DE", re.IGNORECASE)

_MIG_MODES = {"Enabled": True, "Disabled": False, "N/A": False}

_Keys = dict[tuple[str, ...], str]
"""A GPU's values by their path of headings, `("MIG Mode", "Current")`."""


def parse_smi_query(text: str) -> Reading:
    """Parse the report; R610 renamed `CUDA Version` and put a sentence in the old key's place."""
    head, gpus = _sections(text)
    driver = driver_table.normalise(head.get("KMD Version", "")) or driver_table.normalise(
        head.get("Driver Version", "")
    )
    cuda = cuda_version.parse(head.get("CUDA UMD Version", "")) or cuda_version.parse(
        head.get("CUDA Version", "")
    )
    none_attached = head.get("Attached GPUs") == "0"
    devices = tuple(_seen(bus, keys) for bus, keys in gpus)
    return Reading("nvidia-smi -q", driver, cuda, devices if devices or none_attached else None)


def _sections(text: str) -> tuple[dict[str, str], list[tuple[str, _Keys]]]:
    head: dict[str, str] = {}
    gpus: list[tuple[str, _Keys]] = []
    headings: list[tuple[int, str]] = []
    for line in text.splitlines():
        start = _GPU.fullmatch(line)
        if start is not None:
            gpus.append((start[1], {}))
            headings = []
            continue
        indent = len(line) - len(line.lstrip())
        key, colon, value = line.partition(":")
        key = key.strip()
        if not gpus:
            if colon:
                head.setdefault(key, value.strip())
            continue
        while headings and headings[-1][0] >= indent:
            headings.pop()
        if colon:
            gpus[-1][1].setdefault((*(name for _, name in headings), key), value.strip())
        elif key:
            headings.append((indent, key))
    return head, gpus


def _seen(bus: str, keys: _Keys) -> Seen:
    match = _DEVICE_ID.fullmatch(keys.get(("PCI", "Device Id"), ""))
    uuid, name = keys.get(("GPU UUID",), ""), _known(keys.get(("Product Name",), ""))
    by_id = pci_ids.capability_of(int(match[1], 16)) if match else None
    return Seen(
        bus=normalise_bus(bus),
        uuid=uuid if uuid.startswith("GPU-") else "",
        name=name,
        capability=by_id or capability_of_name(name),
        mig_mode=_MIG_MODES.get(keys.get(("MIG Mode", "Current"), "")),
    )


def _known(value: str) -> str:
    """Return a value, or nothing for the ways nvidia-smi says that it has none."""
    return "" if value in ("N/A", "[N/A]", "ERR!", "Unknown Error", "GPU requires reset") else value

"""Parsing `nvidia-smi --query-gpu=... --format=csv,noheader`: one line a GPU, one field a column."""

from __future__ import annotations

from . import capability, driver_table
from .reading import Reading, Seen

FULL = ("index", "name", "uuid", "compute_cap", "driver_version")
"""The fields asked of R510 and later."""
OLDER = ("index", "name", "uuid", "driver_version")
"""The fields every driver knows; one unknown field fails the whole query."""
SINGLE = (("compute_cap",), ("driver_version",))
"""What wrappers of nvidia-smi answer when they know no lists of fields."""


def parse_smi_csv(text: str, columns: tuple[str, ...]) -> Reading:
    """Parse one line a GPU. Two GPUs give two lines, each with the driver's version.

    Lines that hold one field are taken for the version or the capability that they show, whatever was
    asked: wrappers of nvidia-smi answer so.
    """
    rows = [[field.strip() for field in line.split(",")] for line in text.splitlines() if line.strip()]
    devices: list[Seen] = []
    driver = ""
    for row in rows:
        named = _by_column(row, columns)
        if named is None:
            continue
        driver = driver or driver_table.normalise(named.get("driver_version", ""))
        uuid = named.get("uuid", "")
        devices.append(
            Seen(
                uuid=uuid if uuid.startswith("GPU-") else "",
                name=named.get("name", "") if not named.get("name", "").startswith("[") else "",
                capability=capability.parse(named.get("compute_cap", "")),
            )
        )
    return Reading("nvidia-smi --query-gpu", driver, devices=tuple(devices) if devices else None)


def _by_column(row: list[str], columns: tuple[str, ...]) -> dict[str, str] | None:
    if len(row) == len(columns):
        return dict(zip(columns, row, strict=True))
    if len(row) > len(columns) and "name" in columns:
        return _with_commas_in_name(row, columns)
    if len(row) == 1 and driver_table.normalise(row[0]):
        return {"driver_version": row[0]}
    if len(row) == 1 and capability.parse(row[0]) is not None:
        return {"compute_cap": row[0]}
    return None


def _with_commas_in_name(row: list[str], columns: tuple[str, ...]) -> dict[str, str]:
    """Give a name its commas back: nvidia-smi does not quote."""
    place = columns.index("name")
    extra = len(row) - len(columns)
    name = ", ".join(row[place : place + extra + 1])
    return dict(zip(columns, [*row[:place], name, *row[place + extra + 1 :]], strict=True))

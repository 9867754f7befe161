"""Reading what the Level Zero query reported, however little sense the library made."""

from __future__ import annotations

from polywheel_providers.frozen import dataclass

from . import products as table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from polywheel_providers.machine import DriverAnswer


@dataclass(frozen=True)
class ZeDevice:
    """One of Intel's GPUs as Level Zero describes it."""

    device: int
    """The PCI device id, 0 when implausible."""
    ip: str
    """The device IP, or empty where the driver is older than the query or answered nonsense."""
    integrated: bool
    """Level Zero's own flag."""
    name: str
    """The name, or empty."""


def read_devices(answer: DriverAnswer) -> tuple[tuple[ZeDevice, ...], str]:
    """Return Intel's GPUs and what went wrong, one clause."""
    found: list[ZeDevice] = []
    problem = answer.failure
    for item in answer.facts:
        if not isinstance(item, dict):
            continue
        if "error" in item and not problem:
            code = item.get("code")
            said = f"{code:#x}" if isinstance(code, int) else str(code)
            problem = f"{item['error']} failed with {said}"
        if item.get("vendor") == table.VENDOR:
            found.append(_device(item))
    return tuple(found), problem


def _device(item: dict[str, object]) -> ZeDevice:
    device, ip, name = item.get("device"), item.get("ip"), item.get("name")
    return ZeDevice(
        device=device if isinstance(device, int) and 0 < device <= 0xFFFF else 0,
        ip=table.decode(ip) if isinstance(ip, int) else "",
        integrated=item.get("integrated") is True,
        name="".join(c for c in name if c.isprintable()).strip() if isinstance(name, str) else "",
    )

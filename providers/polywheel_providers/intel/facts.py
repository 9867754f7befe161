"""What was read off one machine's Intel graphics side."""

from __future__ import annotations

from polywheel_providers.frozen import dataclass
from polywheel_providers.vendor import Note, notes_from_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from polywheel_providers.record import Fields


@dataclass(frozen=True)
class IntelDevice:
    """One GPU, in the order Level Zero numbers them."""

    name: str
    """The product's name, or its PCI id."""
    ip: str
    """The device IP, `20.1.0`; empty when unknown."""
    base: str
    """The IP whose code it also runs, by the table or by its family; empty for none."""
    integrated: bool
    """Whether it is part of the processor."""
    problem: str
    """Why the driver cannot use it; empty when it can."""


@dataclass(frozen=True)
class IntelFacts:
    """The GPUs, and how they are known."""

    devices: tuple[IntelDevice, ...]
    """Every GPU."""
    tried: dict[str, str]
    """Source -> what it gave, in the order asked."""
    env: dict[str, str]
    """The masks and overrides that were set."""
    notes: tuple[Note, ...]
    """What a reader should know."""


def from_fields(fields: Fields) -> IntelFacts:
    """Read the facts back from a record; raises `ValueError` naming the key."""
    facts = IntelFacts(
        devices=tuple(_device(item) for item in fields.children("devices")),
        tried=fields.text_map("tried"),
        env=fields.text_map("env"),
        notes=notes_from_fields(fields),
    )
    fields.done()
    return facts


def _device(fields: Fields) -> IntelDevice:
    device = IntelDevice(
        name=fields.text("name"),
        ip=fields.text("ip"),
        base=fields.text("base"),
        integrated=fields.boolean("integrated"),
        problem=fields.text("problem"),
    )
    fields.done()
    return device

"""What was read off one machine's AMD side."""

from __future__ import annotations

from polywheel_providers.frozen import dataclass
from polywheel_providers.vendor import Note, notes_from_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from polywheel_providers.record import Fields

RocmVersion = tuple[int, int]
"""Major and minor, `(7, 1)`: numbers, since 7.10 is newer than 7.2."""


@dataclass(frozen=True)
class AmdDevice:
    """One GPU, in the order the driver numbers them."""

    name: str
    """What a source calls it; its PCI id where none does."""
    gfx: str
    """The processor, `gfx942`; empty when no source told and the PCI id is not known."""
    sramecc: str
    """`+`, `-`, or empty where the target does not have the setting or no source told."""
    xnack: str
    """As `sramecc`."""
    integrated: bool
    """Whether it is part of the processor (an APU's GPU; MI300A counts as discrete)."""
    uuid: str
    """`GPU-` and the unique id; empty when unknown, and in a record whose mask does not need it."""


@dataclass(frozen=True)
class AmdFacts:
    """The GPUs, the installed ROCm, and how they are known."""

    devices: tuple[AmdDevice, ...]
    """Every GPU."""
    rocm: RocmVersion | None
    """The version of the ROCm installed on the system; `None` when there is none, which is no obstacle:
    wheels carry their own."""
    tried: dict[str, str]
    """Source -> what it gave, in the order asked."""
    env: dict[str, str]
    """The masks and overrides that were set."""
    notes: tuple[Note, ...]
    """What a reader should know."""


def from_fields(fields: Fields) -> AmdFacts:
    """Read the facts back from a record; raises `ValueError` naming the key."""
    facts = AmdFacts(
        devices=tuple(_device(item) for item in fields.children("devices")),
        rocm=_version(fields),
        tried=fields.text_map("tried"),
        env=fields.text_map("env"),
        notes=notes_from_fields(fields),
    )
    fields.done()
    return facts


def _device(fields: Fields) -> AmdDevice:
    device = AmdDevice(
        name=fields.text("name"),
        gfx=fields.text("gfx"),
        sramecc=fields.text("sramecc"),
        xnack=fields.text("xnack"),
        integrated=fields.boolean("integrated"),
        uuid=fields.text("uuid"),
    )
    fields.done()
    return device


def _version(fields: Fields) -> RocmVersion | None:
    if not fields.has("rocm"):
        fields.take("rocm")
        return None
    numbers = fields.integers("rocm")
    if len(numbers) != 2 or min(numbers) < 0:
        raise ValueError(f"{fields.where}.rocm: expected two numbers, major and minor")
    return (numbers[0], numbers[1])

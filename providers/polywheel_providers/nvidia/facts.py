"""What was read off one machine's NVIDIA side."""

from __future__ import annotations

from polywheel_providers.frozen import dataclass
from polywheel_providers.vendor import Note, notes_from_fields

from .capability import Capability, checked
from .cuda_version import CudaVersion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from polywheel_providers.record import Fields


@dataclass(frozen=True)
class MigInstance:
    """One compute instance of a partitioned GPU."""

    uuid: str
    """`MIG-...`; empty in a record whose mask does not name it."""
    name: str
    """The profile, `1g.5gb`, or the full product name."""


@dataclass(frozen=True)
class NvidiaDevice:
    """One GPU, in PCI bus order among its kind."""

    name: str
    """The product's name."""
    capability: Capability | None
    """The compute capability, `(9, 0)`; `None` when no source told."""
    bus: str
    """The PCI address, `0000:82:00.0`, or empty."""
    uuid: str
    """`GPU-...`; empty when unknown, and in a record whose mask does not need it."""
    integrated: bool
    """Whether it shares the processor's memory, as a Tegra's does."""
    mig_mode: bool | None
    """Whether it is partitioned (Multi-Instance GPU); `None` when no source told."""
    mig: tuple[MigInstance, ...]
    """Its compute instances, as far as a source listed them."""
    problem: str
    """Why the driver cannot use it (it fell off the bus, say); empty when it can."""


@dataclass(frozen=True)
class NvidiaFacts:
    """The driver, its devices, and how they are known."""

    driver: str
    """The display driver's version, `570.86.10`; empty when unknown."""
    cuda: CudaVersion | None
    """The CUDA version that the driver supports, `(12, 8)`; `None` when unknown."""
    devices: tuple[NvidiaDevice, ...]
    """Every GPU, by PCI bus."""
    devices_known: bool
    """Whether a source listed the devices: an empty list is then an answer."""
    cuda_order: tuple[int, ...]
    """The places in `devices` in libcuda's FASTEST_FIRST order; empty when it was not asked."""
    tegra: bool
    """Whether this is a Jetson, Thor or another Tegra system (never SBSA)."""
    wsl: bool
    """Whether this is Linux under Windows, where the driver lies in /usr/lib/wsl/lib."""
    tried: dict[str, str]
    """Source -> what it gave, in the order asked."""
    env: dict[str, str]
    """The masks and overrides that were set."""
    notes: tuple[Note, ...]
    """What a reader should know."""


def from_fields(fields: Fields) -> NvidiaFacts:
    """Read the facts back from a record; raises `ValueError` naming the key."""
    facts = NvidiaFacts(
        driver=fields.text("driver"),
        cuda=_pair(fields, "cuda"),
        devices=tuple(_device(item) for item in fields.children("devices")),
        devices_known=fields.boolean("devices_known"),
        cuda_order=fields.integers("cuda_order"),
        tegra=fields.boolean("tegra"),
        wsl=fields.boolean("wsl"),
        tried=fields.text_map("tried"),
        env=fields.text_map("env"),
        notes=notes_from_fields(fields),
    )
    fields.done()
    if facts.cuda_order and sorted(facts.cuda_order) != list(range(len(facts.devices))):
        raise ValueError(f"{fields.where}.cuda_order: expected each device's number once")
    return facts


def _device(fields: Fields) -> NvidiaDevice:
    pair = _pair(fields, "capability")
    if pair is not None and checked(*pair) is None:
        raise ValueError(f"{fields.where}.capability: {list(pair)} is no compute capability")
    device = NvidiaDevice(
        name=fields.text("name"),
        capability=pair,
        bus=fields.text("bus"),
        uuid=fields.text("uuid"),
        integrated=fields.boolean("integrated"),
        mig_mode=fields.optional_boolean("mig_mode"),
        mig=tuple(_instance(item) for item in fields.children("mig")),
        problem=fields.text("problem"),
    )
    fields.done()
    return device


def _instance(fields: Fields) -> MigInstance:
    instance = MigInstance(fields.text("uuid"), fields.text("name"))
    fields.done()
    return instance


def _pair(fields: Fields, key: str) -> tuple[int, int] | None:
    if not fields.has(key):
        fields.take(key)
        return None
    numbers = fields.integers(key)
    if len(numbers) != 2 or min(numbers) < 0:
        raise ValueError(f"{fields.where}.{key}: expected two numbers, major and minor")
    return (numbers[0], numbers[1])

"""What each GPU vendor's folder offers, and what all of them share.

`polywheel_providers.nvidia`, `.amd` and `.intel` each satisfy `Vendor` with their module's own names.
They are imported only when a probe, a record or a short form needs them.
"""

from __future__ import annotations

from .frozen import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Protocol

    from .machine import Machine
    from .record import Fields
    from .verdict import Verdict
else:
    Protocol = object

VENDORS = ("nvidia", "amd", "intel")
"""The GPU namespaces, in the order their devices are listed."""


@dataclass(frozen=True)
class Note:
    """Something a reader should know: what was tried, what failed, what was overridden."""

    code: str
    """Stable and greppable: `nvidia-smi-hung`, `amd-hsa-override`."""
    message: str
    """One sentence."""


def notes_from_fields(fields: Fields) -> tuple[Note, ...]:
    """Read the list under the key `notes`; raises `ValueError`."""
    found = []
    for note in fields.children("notes"):
        found.append(Note(note.text("code"), note.text("message")))
        note.done()
    return tuple(found)


@dataclass(frozen=True)
class Device:
    """One accelerator, as `polywheel detect` lists it."""

    vendor: str
    """`nvidia`, `amd` or `intel`."""
    name: str
    """The marketing name, or the best identification there is."""
    arch: str
    """`9.0` for NVIDIA, `gfx942` for AMD, the device IP `20.1.0` for Intel; empty when unknown."""
    integrated: bool
    """Whether it shares the processor's memory (an iGPU, a Tegra)."""
    visible: bool
    """Whether the environment's masks let a process see it."""
    usable: bool
    """Whether variants may be chosen for it; every visible usable device must be served."""
    why: str
    """Why it is not visible or not usable; empty when it is both."""


class Vendor(Protocol):
    """The functions and constants of one vendor's package; all pure but `probe`.

    The facts type is the vendor's own frozen dataclass, of JSON-able fields (text, numbers, booleans,
    null, tuples, text maps, nested dataclasses) that `frozen.as_json` writes; it holds `devices`, a tuple,
    `notes: tuple[Note, ...]`, and in `env: dict[str, str]` those of the variables named by `ENVIRONMENT` that
    were set: masks and overrides are facts, and `supported` reads them from there.
    """

    NAMESPACE: str
    """`nvidia`, `amd` or `intel`."""
    ENVIRONMENT: tuple[str, ...]
    """The masks and overrides that change an answer; no other variable enters a record."""
    FEATURES: dict[str, tuple[str, ...]]
    """Every feature in order of preference, with every value that any machine could support (PEP 850's
    `get_all_configs`)."""
    MULTI_VALUE: frozenset[str]
    """The features of which one wheel may name several values."""

    def probe(self, machine: Machine) -> Any:
        """Read the vendor's facts. Never raises; on a machine without the vendor it runs nothing."""

    def from_fields(self, fields: Fields) -> Any:
        """Read the facts back from a record, strictly; raises `ValueError`."""

    def from_short_form(self, words: tuple[str, ...]) -> Any:
        """Make the facts of a machine nobody recorded from the words after `nvidia:`.

        `nvidia:9.0,driver=12.8` gives `("9.0", "driver=12.8")`. Raises `ValueError` with one line.
        """

    def supported(self, facts: Any, *, discrete_elsewhere: bool = False) -> dict[str, tuple[str, ...]]:
        """Feature -> values, both best first; a feature with nothing is absent.

        `discrete_elsewhere`: another vendor has a visible discrete GPU, so this vendor's integrated
        ones are not usable.
        """

    def devices(self, facts: Any, *, discrete_elsewhere: bool = False) -> tuple[Device, ...]:
        """List every device, usable or not, in the order the vendor's runtime numbers them."""

    def serves(self, facts: Any, values: Iterable[str], *, discrete_elsewhere: bool = False) -> Verdict:
        """Say whether code for these architecture values runs on every visible, usable device, and why."""

"""The `intel` namespace: the GPUs' device IPs.

The names here are `vendor.Vendor`'s, and `serves`. Each imports its module when called, so that a machine
without a GPU pays for none of them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from polywheel_providers.machine import Machine
    from polywheel_providers.record import Fields
    from polywheel_providers.vendor import Device
    from polywheel_providers.verdict import Verdict

    from .facts import IntelFacts

    FEATURES: dict[str, tuple[str, ...]]

NAMESPACE = "intel"
ENVIRONMENT = ("ZE_AFFINITY_MASK", "INTEL_VARIANT_PROVIDER_FORCE_DEVICE_IP")
MULTI_VALUE = frozenset({"device_ip"})


def __getattr__(name: str) -> object:
    """Make `FEATURES` when it is asked for: detection never needs it."""
    if name == "FEATURES":
        from .properties import all_values  # noqa: PLC0415 (see the module)

        return all_values()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def probe(machine: Machine) -> IntelFacts:
    """Read the facts off a machine. Never raises; runs nothing where there is no sign of Intel."""
    from .detection import detect  # noqa: PLC0415 (see the module)

    return detect(machine, ENVIRONMENT)


def from_fields(fields: Fields) -> IntelFacts:
    """Read the facts back from a record; raises `ValueError` naming the key."""
    from .facts import from_fields as read  # noqa: PLC0415 (see the module)

    return read(fields)


def from_short_form(words: tuple[str, ...]) -> IntelFacts:
    """Make the facts of `intel:20.1.0`; raises `ValueError` with one line."""
    from .short_form import from_short_form as make  # noqa: PLC0415 (see the module)

    return make(words)


def supported(facts: IntelFacts, *, discrete_elsewhere: bool = False) -> dict[str, tuple[str, ...]]:
    """Feature -> values, both best first."""
    if not (facts.devices or facts.env):
        return {}
    from .properties import supported as decide  # noqa: PLC0415 (see the module)

    return decide(facts, discrete_elsewhere=discrete_elsewhere)


def serves(facts: IntelFacts, values: Iterable[str], *, discrete_elsewhere: bool = False) -> Verdict:
    """Say whether code for these `device_ip` values runs on every visible, usable GPU, and why."""
    from .properties import serves as decide  # noqa: PLC0415 (see the module)

    return decide(facts, values, discrete_elsewhere=discrete_elsewhere)


def devices(facts: IntelFacts, *, discrete_elsewhere: bool = False) -> tuple[Device, ...]:
    """List every GPU, usable or not, the visible ones in Level Zero's numbering."""
    if not facts.devices:
        return ()
    from .properties import devices as list_them  # noqa: PLC0415 (see the module)

    return list_them(facts, discrete_elsewhere=discrete_elsewhere)

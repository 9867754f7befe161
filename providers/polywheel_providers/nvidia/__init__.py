"""The `nvidia` namespace: the CUDA version the driver supports, and the GPUs' architectures.

The names here are `vendor.Vendor`'s, and `serves`, which answers what lists of properties cannot. Each
imports its module when called, so that a machine without a GPU pays for none of them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from polywheel_providers.machine import Machine
    from polywheel_providers.record import Fields
    from polywheel_providers.vendor import Device
    from polywheel_providers.verdict import Verdict

    from .facts import NvidiaFacts

    FEATURES: dict[str, tuple[str, ...]]

NAMESPACE = "nvidia"
ENVIRONMENT = (
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION",
    "NV_VARIANT_PROVIDER_FORCE_SM_ARCH",
)
MULTI_VALUE = frozenset({"sm_arch"})


def __getattr__(name: str) -> object:
    """Make `FEATURES` when it is asked for: two thousand texts that detection never needs."""
    if name == "FEATURES":
        from .values import all_values  # noqa: PLC0415 (see the module)

        return all_values()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def probe(machine: Machine) -> NvidiaFacts:
    """Read the facts off a machine. Never raises; runs nothing where there is no sign of NVIDIA."""
    from .detection import detect as read  # noqa: PLC0415 (see the module)

    return read(machine, ENVIRONMENT)


def from_fields(fields: Fields) -> NvidiaFacts:
    """Read the facts back from a record; raises `ValueError` naming the key."""
    from .facts import from_fields as read  # noqa: PLC0415 (see the module)

    return read(fields)


def from_short_form(words: tuple[str, ...]) -> NvidiaFacts:
    """Make the facts of `nvidia:9.0,driver=12.8`; raises `ValueError` with one line."""
    from .short_form import from_short_form as make  # noqa: PLC0415 (see the module)

    return make(words)


def supported(facts: NvidiaFacts, *, discrete_elsewhere: bool = False) -> dict[str, tuple[str, ...]]:
    """Feature -> values, both best first, as released uv lists them."""
    if not (facts.devices or facts.cuda or facts.env):
        return {}
    from .properties import supported as decide  # noqa: PLC0415 (see the module)

    return decide(facts, discrete_elsewhere=discrete_elsewhere)


def serves(facts: NvidiaFacts, values: Iterable[str], *, discrete_elsewhere: bool = False) -> Verdict:
    """Say whether code for these `sm_arch` values runs on every visible, usable GPU, and why."""
    from .properties import serves as decide  # noqa: PLC0415 (see the module)

    return decide(facts, values, discrete_elsewhere=discrete_elsewhere)


def devices(facts: NvidiaFacts, *, discrete_elsewhere: bool = False) -> tuple[Device, ...]:
    """List every GPU, usable or not, the visible ones in CUDA's numbering."""
    if not facts.devices:
        return ()
    from .properties import devices as list_them  # noqa: PLC0415 (see the module)

    return list_them(facts, discrete_elsewhere=discrete_elsewhere)

"""What a machine's facts mean: `supported`, `devices` and `serves`.

Pure, so that any record can be replayed.
"""

from __future__ import annotations

from .facts import namespace_module
from .vendor import VENDORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .facts import Facts
    from .vendor import Device
    from .verdict import Verdict

    Supported = dict[str, dict[str, tuple[str, ...]]]


def supported(facts: Facts) -> Supported:
    """Namespace -> feature -> values, best first.

    A namespace or a feature with nothing is absent.
    """
    found: Supported = {
        name: namespace_module(name).supported(vendor_facts, discrete_elsewhere=_beside(facts, name))
        for name, vendor_facts in _seen(facts)
    }
    found[facts.cpu.architecture] = _cpu_supported(facts)
    return {name: features for name, features in found.items() if features}


def devices(facts: Facts) -> tuple[Device, ...]:
    """Every accelerator, vendor by vendor, in the order its runtime numbers them."""
    return tuple(
        device
        for name, vendor_facts in _seen(facts)
        for device in namespace_module(name).devices(vendor_facts, discrete_elsewhere=_beside(facts, name))
    )


GPU_CODE = {"nvidia": "sm_arch", "amd": "gfx_arch", "intel": "device_ip"}
"""Namespace -> the feature whose values name GPU code, which `serves` judges better than a list."""


def serves(facts: Facts, namespace: str, values: Iterable[str]) -> Verdict:
    """Say whether GPU code for these architectures runs on every visible, usable device of a vendor.

    `values` are those of `nvidia :: sm_arch`, `amd :: gfx_arch` or `intel :: device_ip`. This is the exact
    question: PTX runs on later GPUs, and some devices need code of their own, which no list can say.
    """
    for name, vendor_facts in _seen(facts):
        if name == namespace:
            beside = _beside(facts, name)
            found: Verdict = namespace_module(name).serves(vendor_facts, values, discrete_elsewhere=beside)
            return found
    from .verdict import Verdict  # noqa: PLC0415 (only asked about wheels)

    return Verdict(False, f"no {namespace} device was found")


def _seen(facts: Facts) -> list[tuple[str, Any]]:
    """Return the vendors that showed a device or a driver, or that a variable speaks of, with their facts.

    The others support nothing, and their rules need not be loaded to know it.
    """
    asked = [(name, getattr(facts, name)) for name in VENDORS]
    return [
        (name, found)
        for name, found in asked
        if found is not None and (found.devices or found.env or getattr(found, "cuda", None) is not None)
    ]


def _beside(facts: Facts, namespace: str) -> bool:
    """Say whether another vendor has a visible discrete GPU.

    One that is masked out counts as absent: then the integrated GPU is what the user asked for.
    """
    return any(
        device.visible and not device.integrated
        for name, vendor_facts in _seen(facts)
        if name != namespace
        for device in namespace_module(name).devices(vendor_facts)
    )


def _cpu_supported(facts: Facts) -> dict[str, tuple[str, ...]]:
    if facts.cpu.architecture == "x86_64":
        from . import x86_64  # noqa: PLC0415 (one architecture is all a machine has)

        return x86_64.supported(facts.cpu)
    if facts.cpu.architecture == "aarch64":
        from . import aarch64  # noqa: PLC0415

        return aarch64.supported(facts.cpu)
    return {}

"""`serves`: the exact question beside the lists. Pure, so that any record can be replayed.

A list says which values are supported one by one. It cannot say that two values together serve two kinds of
GPU, that PTX of any older capability runs, or that a family's code does.
"""

from __future__ import annotations

from .facts import namespace_module
from .meaning import devices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .facts import Facts
    from .verdict import Verdict

DECIDED = {"nvidia": "sm_arch", "amd": "gfx_arch", "intel": "device_ip"}
"""Namespace -> the feature that names GPU code, which `serves` decides instead of list membership."""


def serves(facts: Facts, namespace: str, feature: str, values: Iterable[str]) -> Verdict | None:
    """Say whether GPU code for `values` runs on every visible, usable GPU of the namespace's vendor.

    `None` for a feature that list membership decides, and for a vendor the facts do not speak of.
    """
    vendor_facts = getattr(facts, namespace, None) if DECIDED.get(namespace) == feature else None
    if vendor_facts is None:
        return None
    discrete_elsewhere = any(
        device.vendor != namespace and device.visible and not device.integrated for device in devices(facts)
    )
    verdict: Verdict = namespace_module(namespace).serves(
        vendor_facts, values, discrete_elsewhere=discrete_elsewhere
    )
    return verdict

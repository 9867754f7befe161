"""`ZE_AFFINITY_MASK`: which GPUs a process would see. Pure.

Source: the Level Zero specification, "Environment Variables" and "Affinity Mask": a list of `device` or
`device.subdevice`; entries that name nothing are passed over.
"""

from __future__ import annotations

import re

from .facts import IntelFacts

MASK = "ZE_AFFINITY_MASK"
"""The variable that names the devices a process sees."""

_ENTRY = re.compile(r"(\d{1,9})(?:\.\d{1,9})*", re.ASCII)


def visible(facts: IntelFacts) -> tuple[int, ...]:
    """Return the places in `IntelFacts.devices` of the visible GPUs, in the process's numbering."""
    places = tuple(place for place, device in enumerate(facts.devices) if not device.problem)
    mask = facts.env.get(MASK, "").strip()
    if mask in ("", "default"):
        return places
    entries = (_ENTRY.fullmatch(entry.strip()) for entry in mask.split(","))
    named = sorted({int(entry[1]) for entry in entries if entry is not None})
    return tuple(places[number] for number in named if number < len(places))

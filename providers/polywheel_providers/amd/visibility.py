"""`ROCR_VISIBLE_DEVICES` and `HIP_VISIBLE_DEVICES`: which GPUs a process would see. Pure.

Source: ROCm's "GPU isolation techniques"
(https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html). ROCR's mask comes first and HIP numbers
what it leaves; HIP also honours CUDA_VISIBLE_DEVICES where its own variable is not set.
"""

from __future__ import annotations

import re

from .facts import AmdFacts

ROCR, HIP, CUDA = "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"
"""The masks, outermost first; the last is HIP's other name."""

_NUMBER = r"(?a)\d{1,9}"


def hip_mask(env: dict[str, str]) -> str | None:
    """Return the name of the variable HIP takes its mask from, or `None`."""
    return next((name for name in (HIP, CUDA) if name in env), None)


def visible(facts: AmdFacts) -> tuple[int, ...]:
    """Return the places in `AmdFacts.devices` of the visible GPUs, in the process's numbering."""
    places = tuple(range(len(facts.devices)))
    if ROCR in facts.env:
        places = _masked(facts.env[ROCR], places, facts)
    name = hip_mask(facts.env)
    return places if name is None else _masked(facts.env[name], places, facts)


def _masked(mask: str, places: tuple[int, ...], facts: AmdFacts) -> tuple[int, ...]:
    """Apply one mask: the first invalid or repeated entry ends it."""
    chosen: list[int] = []
    for entry in mask.split(","):
        place = _resolve(entry.strip(), places, facts)
        if place is None or place in chosen:
            break
        chosen.append(place)
    return tuple(chosen)


def _resolve(entry: str, places: tuple[int, ...], facts: AmdFacts) -> int | None:
    if re.fullmatch(_NUMBER, entry):
        return places[int(entry)] if int(entry) < len(places) else None
    if entry.startswith("GPU-") and len(entry) > 4:
        named = [place for place in places if facts.devices[place].uuid.lower().startswith(entry.lower())]
        return named[0] if len(named) == 1 else None
    return None

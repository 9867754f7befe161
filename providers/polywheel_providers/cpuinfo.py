"""Parsing Linux's /proc/cpuinfo, and grouping cores that are alike."""

from __future__ import annotations

from .cpu import CoreKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def processors(text: str) -> tuple[dict[str, str], ...]:
    """Return each processor's `key : value` lines, the first of a key counting.

    Arm kernels before 3.19 print bare `processor` lines and then one description for all of them.
    """
    found: list[dict[str, str]] = []
    for line in text.splitlines():
        key, colon, value = (part.strip() for part in line.partition(":"))
        if key == "processor" and value.isdecimal():
            found.append({})
        if colon and found:
            found[-1].setdefault(key, value)
    return tuple(processor if len(processor) > 1 else {**found[-1], **processor} for processor in found)


def alike(cores: Iterable[CoreKind]) -> tuple[CoreKind, ...]:
    """Merge cores that differ in their count alone, in the order first seen."""
    counts: dict[tuple[str, str, str, tuple[str, ...]], int] = {}
    for core in cores:
        kind = (core.vendor, core.model, core.name, core.flags)
        counts[kind] = counts.get(kind, 0) + core.count
    return tuple(CoreKind(count, *kind) for kind, count in counts.items())


def common_flags(cores: tuple[CoreKind, ...]) -> frozenset[str]:
    """Return the flags that every core has: a process may run on any of them."""
    return frozenset.intersection(*(frozenset(core.flags) for core in cores)) if cores else frozenset()


def sorted_flags(text: str) -> tuple[str, ...]:
    """Return the words of a flags line, each once."""
    return tuple(sorted(set(text.lower().split())))

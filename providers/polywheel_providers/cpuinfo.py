"""Parsing Linux's /proc/cpuinfo, and grouping cores that are alike."""

from __future__ import annotations

from .cpu import CoreKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def processors(text: str) -> tuple[dict[str, str], ...]:
    """Return each processor's `key : value` lines.

    Lines outside every processor hold for all that do not say otherwise: kernels before 3.19 print one
    `Features` line for the whole Arm machine.
    """
    shared: dict[str, str] = {}
    found: list[dict[str, str]] = []
    current = shared
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if not colon:
            if not line.strip():
                current = shared
            continue
        key, value = key.strip(), value.strip()
        if key == "processor" and value.isdigit():
            current = {}
            found.append(current)
        current.setdefault(key, value)
    return tuple({**shared, **processor} for processor in found)


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

"""Machines nobody recorded: `intel:20.1.0`."""

from __future__ import annotations

from . import products as table
from .facts import IntelDevice, IntelFacts


def from_short_form(words: tuple[str, ...]) -> IntelFacts:
    """Make facts of device IPs, one a GPU; raises `ValueError` with one line."""
    if not words:
        raise ValueError("intel: a device IP is missing, expected a form like intel:20.1.0")
    devices = tuple(_device(word) for word in words)
    return IntelFacts(devices, {"short form": ",".join(words)}, {}, ())


def _device(word: str) -> IntelDevice:
    if table.numbers_of(word) is None:
        raise ValueError(f"intel: {word!r} is no device IP, expected one like 20.1.0")
    integrated = table.integrated_by_ip(word) is True
    return IntelDevice(f"Intel GPU {word}", word, table.base_of(word), integrated, "")

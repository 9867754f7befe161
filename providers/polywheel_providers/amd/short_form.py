"""Machines nobody recorded: `amd:gfx942`, `amd:gfx1100,rocm=7.1`."""

from __future__ import annotations

import re

from .facts import AmdDevice, AmdFacts, RocmVersion
from .gfx import INTEGRATED, parse_target
from .rocm_version import parse_rocm_version

_EXAMPLE = "amd:gfx942,rocm=7.1"

_WORD = re.compile(r"gfx[0-9a-f]+(:(sramecc|xnack)[+-])*")
"""What a program prints may have settings that are new; what a person writes may have them misspelt."""


def from_short_form(words: tuple[str, ...]) -> AmdFacts:
    """Make facts of processors, one a GPU, and the installed ROCm if any.

    Raises `ValueError` with one line.
    """
    devices: list[AmdDevice] = []
    rocm: RocmVersion | None = None
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            devices.append(_device(word))
        elif key == "rocm" and rocm is None:
            rocm = _version(value)
        else:
            raise ValueError(f"amd: {word!r} is not known here, expected a form like {_EXAMPLE}")
    if not devices:
        raise ValueError(f"amd: a processor is missing, expected a form like {_EXAMPLE}")
    return AmdFacts(tuple(devices), rocm, {"short form": ",".join(words)}, {}, ())


def _device(word: str) -> AmdDevice:
    target = parse_target(word) if _WORD.fullmatch(word) else None
    if target is None:
        raise ValueError(f"amd: {word!r} is no processor, expected one like gfx942 or gfx90a:xnack-")
    name = f"AMD GPU {target.name}"
    return AmdDevice(name, target.name, target.sramecc, target.xnack, target.name in INTEGRATED, "")


def _version(value: str) -> RocmVersion:
    version = parse_rocm_version(value)
    if version is None:
        raise ValueError(f"amd: rocm={value!r} is no version, expected one like 7.1")
    return version

"""Parsing `nvidia-smi -L`: one line a GPU, and below it one line a MIG compute instance."""

from __future__ import annotations

import re

from .facts import MigInstance
from .product_names import capability_of_name
from .reading import Reading, Seen

_GPU = re.compile(r"GPU \d+: (?P<name>.*?) \(UUID: (?P<uuid>[^)\s]+)\)\s*")
_MIG = re.compile(r"\s+MIG (?P<name>.*?)\s+Device\s+\d+: \(UUID: (?P<uuid>MIG-[^)\s]+)\)\s*")
_NONE = re.compile(r"no devices (were )?found\.?", re.IGNORECASE)


def parse_smi_list(text: str) -> Reading:
    """Parse the list. Both spellings of a MIG UUID, R450's with slashes too, are kept as they stand."""
    gpus: list[tuple[str, str, list[MigInstance]]] = []
    for line in text.splitlines():
        gpu, mig = _GPU.fullmatch(line), _MIG.fullmatch(line)
        if gpu is not None:
            gpus.append((gpu["name"], gpu["uuid"], []))
        elif mig is not None and gpus:
            gpus[-1][2].append(MigInstance(mig["uuid"], mig["name"]))
    devices = tuple(
        Seen(
            uuid=uuid,
            name=name,
            capability=capability_of_name(name),
            mig_mode=True if instances else None,
            mig=tuple(instances),
        )
        for name, uuid, instances in gpus
    )
    none = any(_NONE.fullmatch(line.strip()) for line in text.splitlines())
    return Reading("nvidia-smi -L", devices=devices if devices or none else None)

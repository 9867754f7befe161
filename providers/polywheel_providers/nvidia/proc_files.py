"""Parsing what the kernel module writes below /proc/driver/nvidia, and sysfs's view of the same GPUs."""

from __future__ import annotations

import re

from . import driver_table
from .reading import Seen, normalise_bus

# "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.144.03  Release Build  (...)": the open and
# the closed module word it differently, the version alone has this shape.
_VERSION = re.compile(r"(?<![\d.])\d{3}\.\d{1,3}(?:\.\d{1,3})?(?![\d.])")
_INFORMATION = re.compile(r"\s*(Model|GPU UUID|Bus Location)\s*:\s*(.*?)\s*")


def parse_proc_version(text: str) -> str:
    """Return the driver's version from /proc/driver/nvidia/version, or an empty text."""
    for line in text.splitlines():
        if line.startswith("NVRM version"):
            match = _VERSION.search(line)
            return driver_table.normalise(match[0]) if match else ""
    return ""


def parse_proc_gpu(text: str) -> Seen:
    """Parse /proc/driver/nvidia/gpus/*/information; a UUID not read yet is all question marks."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = _INFORMATION.fullmatch(line)
        if match is not None:
            found.setdefault(match[1], match[2])
    uuid, name = found.get("GPU UUID", ""), found.get("Model", "")
    return Seen(
        bus=normalise_bus(found.get("Bus Location", "")),
        uuid=uuid if uuid.startswith("GPU-") and "?" not in uuid else "",
        name="" if name == "Unknown" else name,
    )

"""The notes: which sources failed, and what a reader of the answer should know beside it. Pure."""

from __future__ import annotations

from polywheel_providers.vendor import Note

from . import capability, cuda_version
from .overrides import FORCE_CUDA, FORCE_SM
from .visibility import MASK, ORDER, names_numbers, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .facts import NvidiaFacts
    from .reading import Reading


def failures(readings: tuple[Reading, ...]) -> tuple[Note, ...]:
    """Return one note for each library or program that failed, about its first failure."""
    found: dict[str, Note] = {}
    for reading in readings:
        if reading.problem:
            code = f"nvidia-{reading.source.split()[0].removeprefix('nvidia-')}-failed"
            found.setdefault(code, Note(code, f"{reading.source}: {reading.problem}"))
    return tuple(found.values())


def remarks(facts: NvidiaFacts, *, compat: bool) -> tuple[Note, ...]:
    """Say what was overridden and what is unusual. `compat`: a cuda-compat library stands first."""
    said: list[tuple[str, str]] = [
        ("nvidia-forced", f"{name}={facts.env[name]} overrides what was found")
        for name in (FORCE_CUDA, FORCE_SM)
        if facts.env.get(name)
    ]
    said += _unknown_overrides(facts)
    if facts.tried:
        said += _about_the_machine(facts, compat)
    return tuple(Note(code, message) for code, message in said)


def _unknown_overrides(facts: NvidiaFacts) -> list[tuple[str, str]]:
    """Name the overrides that uv cannot read, either: it skips the whole namespace then."""
    forms = (
        (FORCE_CUDA, cuda_version.parse_override, "version"),
        (FORCE_SM, capability.parse_override, "capability"),
    )
    return [
        ("nvidia-forced-unknown", f"{name}={facts.env[name]} is no {kind}: no NVIDIA variant is chosen")
        for name, parse, kind in forms
        if facts.env.get(name) and parse(facts.env[name]) is None
    ]


def _about_the_machine(facts: NvidiaFacts, compat: bool) -> list[tuple[str, str]]:
    said: list[tuple[str, str]] = []
    if facts.devices and facts.cuda is None:
        said.append(
            ("nvidia-no-driver", "an NVIDIA GPU is there, and no source told its driver's CUDA version")
        )
    if facts.devices_known and not facts.devices:
        said.append(("nvidia-no-device", "the driver is there and sees no GPU; a login node looks like this"))
    if facts.tegra:
        said.append(
            ("nvidia-tegra", "a Tegra system: it runs its own SASS or PTX, and SBSA wheels' SASS does not")
        )
    if facts.wsl:
        said.append(("nvidia-wsl", "WSL2: the driver is Windows' own, and lies in /usr/lib/wsl/lib"))
    if compat:
        said.append(("nvidia-cuda-compat", "a cuda-compat library on LD_LIBRARY_PATH sets the CUDA version"))
    if visible(facts).unresolved:
        said.append(
            ("nvidia-mask", f"{MASK} names UUIDs that no source gave, so every GPU counts as visible")
        )
    elif _order_is_guessed(facts):
        said.append(("nvidia-order", "libcuda was not asked: device 0 is taken to be the newest GPU"))
    return said


def _order_is_guessed(facts: NvidiaFacts) -> bool:
    kinds = {device.capability for device in facts.devices}
    guessed = not facts.cuda_order and facts.env.get(ORDER) != "PCI_BUS_ID"
    return guessed and len(kinds) > 1 and names_numbers(facts.env.get(MASK, ""))

"""Platform tags: which ones a machine takes, best first (PEP 425, 600, 656, 730)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from packaging import tags

from polywheel_variants.errors import BadInputError

ASSUMED_GLIBC = 28
"""Minor version of the glibc of a Linux machine that does not say: Debian 10, RHEL 8, Ubuntu 20.04."""

_LEGACY = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
"""Older names of manylinux_2_X (PEP 600, "Legacy manylinux tags")."""
# Three digits are more than any system has, and few enough to list every version below.
_MANYLINUX = re.compile(r"manylinux_2_([0-9]{1,3})_(\w+)")
_MUSLLINUX = re.compile(r"musllinux_1_([0-9]{1,3})_(\w+)")
_MACOS = re.compile(r"macosx_([0-9]{1,3})_([0-9]{1,3})_(\w+)")
_OLD_MANYLINUX = re.compile(r"(manylinux(?:1|2010|2014))_(\w+)")
_WINDOWS = {"amd64": "win_amd64", "x86_64": "win_amd64", "arm64": "win_arm64", "x86": "win32"}
_EXAMPLES = "manylinux_2_28_x86_64, musllinux_1_2_aarch64, macosx_14_0_arm64 or win_amd64"


@dataclass(frozen=True)
class System:
    """What decides a machine's platform tags."""

    name: str
    """`Linux`, `Darwin` or `Windows`."""
    machine: str
    """`x86_64`, `aarch64`, `arm64`, `AMD64`."""
    release: str = ""
    """The kernel's release; on macOS it tells the version of the system."""
    libc: str = ""
    """`glibc 2.36`, `musl 1.2`, or empty when unknown."""


def platforms_of_system(system: System) -> tuple[str, ...]:
    """List the platform tags that a machine takes, best first.

    `linux_x86_64`, which promises nothing of the libc, comes last, as uv has it (packaging 26: first).
    A Linux machine that does not say its libc is taken to have glibc 2.28. Raises BadInputError for a
    system there are no wheels for.
    """
    if system.name == "Linux":
        return _linux(system)
    if system.name == "Darwin":
        return tuple(tags.mac_platforms(_macos_version(system.release), _macos_machine(system.machine)))
    if system.name == "Windows" and system.machine.lower() in _WINDOWS:
        return (_WINDOWS[system.machine.lower()],)
    raise BadInputError(f"no wheels are known for {system.name} on {system.machine}; name a --platform")


def platforms_here() -> tuple[str, ...]:
    """List the platform tags of the machine this runs on, best first, in the same order."""
    return tuple(sorted(tags.platform_tags(), key=lambda tag: tag.startswith("linux_")))


def _linux(system: System) -> tuple[str, ...]:
    machine = "aarch64" if system.machine == "arm64" else system.machine
    kind, _, version = system.libc.partition(" ")
    minor = re.match(r"[0-9]+\.([0-9]{1,3})", version)
    if kind == "musl":
        return (*_musllinux(int(minor[1]) if minor else 0, machine), f"linux_{machine}")
    return (*_manylinux(int(minor[1]) if minor else ASSUMED_GLIBC, machine), f"linux_{machine}")


def _manylinux(newest: int, machine: str) -> Iterator[str]:
    """Yield the tags of glibc 2.`newest` and all before it, with their older names."""
    oldest = 5 if machine in {"x86_64", "i686"} else 17
    for minor in range(newest, oldest - 1, -1):
        yield f"manylinux_2_{minor}_{machine}"
        if minor in _LEGACY:
            yield f"{_LEGACY[minor]}_{machine}"


def _musllinux(newest: int, machine: str) -> Iterator[str]:
    return (f"musllinux_1_{minor}_{machine}" for minor in range(newest, -1, -1))


def _macos_version(release: str) -> tuple[int, int]:
    """Tell macOS's version by its kernel's: Darwin 20 is 11, 24 is 15, and 25 is 26."""
    match = re.match(r"([0-9]{1,3})\.([0-9]{1,3})", release)
    if match is None:
        return 11, 0
    major, minor = int(match[1]), int(match[2])
    if major < 20:
        return 10, max(major - 4, 0)
    return (major - 9 if major < 25 else major + 1), minor


def _macos_machine(machine: str) -> str:
    return "arm64" if machine in {"arm64", "aarch64"} else machine


def platforms_of_tag(text: str) -> tuple[str, ...]:
    """List what a machine takes that is named by its best platform tag: that tag and what it includes.

    Raises BadInputError for a tag of no known form.
    """
    if match := _MANYLINUX.fullmatch(text):
        return (*_manylinux(int(match[1]), match[2]), f"linux_{match[2]}")
    if match := _OLD_MANYLINUX.fullmatch(text):
        minor = next(minor for minor, name in _LEGACY.items() if name == match[1])
        return (*_manylinux(minor, match[2]), f"linux_{match[2]}")
    if match := _MUSLLINUX.fullmatch(text):
        return (*_musllinux(int(match[1]), match[2]), f"linux_{match[2]}")
    if match := _MACOS.fullmatch(text):
        return tuple(tags.mac_platforms((int(match[1]), int(match[2])), match[3]))
    if text in _WINDOWS.values() or re.fullmatch(r"linux_\w+", text):
        return (text,)
    raise BadInputError(f"platform {text!r} is none that is known; expected one such as {_EXAMPLES}")


def machine_of_tag(text: str) -> str:
    """Return the processor family of a platform tag as PEP 850's namespaces name it, or an empty text."""
    for machine, endings in (("x86_64", ("x86_64", "amd64")), ("aarch64", ("aarch64", "arm64"))):
        if text.endswith(endings):
            return machine
    return ""

"""The Python that a wheel is chosen for: the running one, an executable, or one named by a tag."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass

from packaging import tags
from packaging.version import Version

from polywheel_index.platform_tags import System, platforms_here, platforms_of_system
from polywheel_variants.errors import BadInputError

_TAG = re.compile(r"(?:cp)?3\.?(?P<minor>\d{1,2})(?P<threaded>t?)")
_DEADLINE_S = 30
_QUESTION = """
import json, os, platform, sys, sysconfig
name = "CS_GNU_LIBC_VERSION"
libc = os.confstr(name) if name in getattr(os, "confstr_names", {}) else ""
print(json.dumps({
    "implementation": sys.implementation.name,
    "version": list(sys.version_info[:3]),
    "threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    "system": platform.system(),
    "machine": platform.machine(),
    "release": platform.release(),
    "libc": libc or "",
}))
"""
"""Asked of another interpreter; answers on one line."""


@dataclass(frozen=True)
class Python:
    """A CPython, and the platforms whose wheels it loads where that is known."""

    minor: int
    """Of Python 3."""
    patch: int = 0
    free_threaded: bool = False
    platforms: tuple[str, ...] = ()
    """Platform tags, best first; empty for a Python named by its tag alone."""

    @property
    def version(self) -> Version:
        """The version that Requires-Python is held against."""
        return Version(f"3.{self.minor}.{self.patch}")

    @property
    def abi(self) -> str:
        """The ABI tag of its own extension modules, such as `cp315t`."""
        return f"cp3{self.minor}{'t' if self.free_threaded else ''}"

    def __str__(self) -> str:
        return f"CPython 3.{self.minor}{'t' if self.free_threaded else ''}"

    def tags(self, platforms: Sequence[str]) -> tuple[str, ...]:
        """List every tag this Python takes on those platforms, best first (PEP 425)."""
        version = (3, self.minor)
        own = tags.cpython_tags(version, [self.abi], platforms)
        shared = tags.compatible_tags(version, f"cp3{self.minor}", platforms)
        return tuple(dict.fromkeys(map(str, (*own, *shared))))


def running_python() -> Python:
    """Return the interpreter that runs this. Raises BadInputError for one that is no CPython."""
    if sys.implementation.name != "cpython":
        raise BadInputError(f"this Python is {sys.implementation.name}; name a CPython with --python")
    threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    return Python(sys.version_info[1], sys.version_info[2], threaded, platforms_here())


def python_named(text: str) -> Python:
    """Read `3.12`, `cp312`, `3.15t`, `cp315t`, or ask the executable of that name or path.

    Raises BadInputError when it is neither, or the executable is no CPython 3 that answers.
    """
    match = _TAG.fullmatch(text)
    if match is not None:
        return Python(int(match["minor"]), 0, bool(match["threaded"]))
    executable = shutil.which(text)
    if executable is None:
        raise BadInputError(
            f"Python {text!r}: neither a tag such as 3.12, cp312 or cp315t, nor an executable"
        )
    return _ask(executable)


def _ask(executable: str) -> Python:
    command = [executable, "-I", "-c", _QUESTION]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=_DEADLINE_S,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        said = json.loads(done.stdout.strip().rpartition("\n")[2])
        implementation, (major, minor, patch) = said["implementation"], said["version"]
        system = System(said["system"], said["machine"], said["release"], said["libc"])
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError):
        raise BadInputError(f"{executable}: is no Python that answers; expected a CPython 3") from None
    if implementation != "cpython" or major != 3:
        raise BadInputError(f"{executable}: is {implementation} {major}.{minor}; expected a CPython 3")
    return Python(minor, patch, said["threaded"], platforms_of_system(system))

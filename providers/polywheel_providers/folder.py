# ruff: noqa: PTH113, PTH118, PTH119, PTH120
# Without pathlib, which would cost a third of this package's import budget.
"""`FolderMachine`: a machine replayed from a folder of its files, for tests and reports.

Files are read as `DIR/proc/cpuinfo`, `DIR/sys/...`; programs run only from `DIR/usr/bin`, driver
libraries load only from `DIR/usr/lib`, the environment holds only what was given, and `DIR/uname` is one
line `SYSTEM MACHINE RELEASE`. A Windows registry is `DIR/registry.reg`, as `reg export` writes it, and a
Windows x86 processor `DIR/cpuid` (see `cpuid.parse`); macOS variables are `DIR/sysctl`, as `sysctl -a`
prints them.
"""

from __future__ import annotations

import os
import re

from . import reading
from .live import run_program
from .machine import CPUINFO_LIMIT, DEADLINE, TEXT_LIMIT, Completed, DriverAnswer, Uname

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


_REGISTRY_VALUE = re.compile(r'"([^"]*)"=(?:"(.*)"|dword:([0-9a-fA-F]{1,8})|hex\(b\):(.*))')


class FolderMachine:
    """The machine that a folder describes; satisfies `machine.Machine`."""

    def __init__(self, root: str, env: Mapping[str, str] | None = None) -> None:
        """Stand on `root`; `env` is the whole environment. `root` need not exist."""
        self._root = os.path.realpath(root)
        self._env = dict(env or {})
        self._sysctl: dict[str, str] | None = None
        self._registry: dict[str, dict[str, int | str]] | None = None

    @property
    def uname(self) -> Uname:
        """The line in `DIR/uname`; without one, Linux of the family that `DIR/proc/cpuinfo` shows."""
        words = (self.read_text("/uname") or "").split()
        system, machine, release, *_ = [*words, "", "", ""]
        return Uname(system or "Linux", machine or self._shown_family(), release)

    @property
    def libc(self) -> str:
        """Unknown: a folder's programs are never asked."""
        return ""

    @property
    def env(self) -> Mapping[str, str]:
        """What was given, and nothing else."""
        return self._env

    def read_text(self, path: str, limit: int = TEXT_LIMIT) -> str | None:
        """Return the text of a file below the root."""
        inside = self._inside(path)
        return None if inside is None else reading.read_text(inside, limit)

    def read_bytes(self, path: str) -> bytes | None:
        """Return the bytes of a file below the root."""
        inside = self._inside(path)
        return None if inside is None else reading.read_bytes(inside)

    def list_dir(self, path: str) -> tuple[str, ...]:
        """Return the sorted names in a folder below the root."""
        inside = self._inside(path)
        return () if inside is None else reading.list_dir(inside)

    def read_link(self, path: str) -> str | None:
        """Return where a symbolic link below the root points."""
        folder = self._inside(os.path.dirname(path))
        return None if folder is None else reading.read_link(os.path.join(folder, os.path.basename(path)))

    def exists(self, path: str) -> bool:
        """Say whether something is at `path` below the root."""
        inside = self._inside(path)
        return inside is not None and reading.exists(inside)

    def find_program(self, name: str) -> str | None:
        """Return a program of `DIR/usr/bin`."""
        return reading.find_executable(os.path.basename(name), [os.path.join(self._root, "usr", "bin")])

    def run(
        self, program: str, *arguments: str, deadline: float = DEADLINE, unset: tuple[str, ...] = ()
    ) -> Completed | None:
        """Run a program of `DIR/usr/bin` with the given environment but for `unset`, and a plain PATH."""
        path = self.find_program(program)
        if path is None:
            return None
        env = {name: value for name, value in self._child_env().items() if name not in unset}
        return run_program([path, *arguments], env, deadline)

    def find_library(self, name: str) -> str | None:
        """Return the path of a driver library in `DIR/usr/lib`."""
        path = os.path.join(self._root, "usr", "lib", os.path.basename(name))
        return path if os.path.isfile(path) else None

    def driver(self, query: str, library: str, *, deadline: float = DEADLINE) -> DriverAnswer:
        """Run a query module in a child Python with the given environment only."""
        from .driver import ask  # noqa: PLC0415 (as in live)

        return ask(query, library, env=self._child_env(), deadline=deadline)

    def registry(self, key: str) -> Mapping[str, int | str]:
        """Return the values of a key in `DIR/registry.reg`."""
        if self._registry is None:
            self._registry = registry_keys(self.read_text("/registry.reg") or "")
        return self._registry.get(key.casefold(), {})

    def sysctl(self, name: str) -> str | None:
        """Return a variable from `DIR/sysctl`, or from what `DIR/usr/bin/sysctl -a` prints."""
        if self._sysctl is None:
            text = self.read_text("/sysctl")
            if text is None and (ended := self.run("sysctl", "-a")) is not None:
                text = ended.stdout
            self._sysctl = sysctl_values(text or "")
        return self._sysctl.get(name)

    def cpuid(self) -> str | None:
        """Return the text of `DIR/cpuid`."""
        return self.read_text("/cpuid")

    def _shown_family(self) -> str:
        cpuinfo = self.read_text("/proc/cpuinfo", CPUINFO_LIMIT) or ""
        if "CPU implementer" in cpuinfo:
            return "aarch64"
        return "x86_64" if re.search(r"^flags\s*:", cpuinfo, re.MULTILINE) else ""

    def _child_env(self) -> dict[str, str]:
        return {**self._env, "PATH": "/usr/bin:/bin"}

    def _inside(self, path: str) -> str | None:
        """Resolve a path below the root, or `None` where a link would lead out of it."""
        try:
            found = os.path.realpath(os.path.join(self._root, path.lstrip("/")))
        except (OSError, ValueError):
            return None
        return found if found == self._root or found.startswith(self._root + os.sep) else None


def sysctl_values(text: str) -> dict[str, str]:
    """Return the variables that `sysctl -a` printed: one `name: value` a line."""
    pairs = (line.partition(":") for line in text.splitlines())
    return {name.strip(): value.strip() for name, colon, value in pairs if colon}


def registry_keys(export: str) -> dict[str, dict[str, int | str]]:
    r"""Return the numbers and texts of each key below HKEY_LOCAL_MACHINE in a `reg export` file's text.

    Keys are casefolded. Format: `[HKEY_LOCAL_MACHINE\KEY]` headers, then `"name"="text"`,
    `"name"=dword:0000001f` or `"name"=hex(b):ef,cd,...` (a little-endian QWORD). Other kinds are left out.
    """
    found: dict[str, dict[str, int | str]] = {}
    values: dict[str, int | str] = {}
    for line in export.replace("\\\n", "").splitlines():
        stripped = line.strip()
        if stripped.startswith("["):
            root, _, key = stripped.strip("[]").casefold().partition("\\")
            values = found.setdefault(key, {}) if root == "hkey_local_machine" else {}
        elif match := _REGISTRY_VALUE.fullmatch(stripped):
            name, text, dword, qword = match.groups()
            if text is not None:
                values[name] = text.replace("\\\\", "\\").replace('\\"', '"')
            elif dword is not None:
                values[name] = int(dword, 16)
            elif re.fullmatch(r"(?:[0-9a-fA-F]{2},){7}[0-9a-fA-F]{2}", qword.replace(" ", "")):
                values[name] = int.from_bytes(bytes.fromhex(qword.replace(",", " ")), "little")
    return found

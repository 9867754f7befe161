# ruff: noqa: PTH113, PTH118
# Without pathlib, which would cost a third of this package's import budget.
"""`LiveMachine`: the machine this Python runs on."""

from __future__ import annotations

import os
import sys

from . import reading
from .machine import DEADLINE, TEXT_LIMIT, Completed, DriverAnswer, Uname

platform: str = sys.platform
"""`sys.platform`, in a variable where a type checker should follow every branch."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAM_FOLDERS = ("/usr/lib/wsl/lib", "/opt/rocm/bin", "/usr/sbin", "/sbin")
"""Looked in after PATH: WSL2 puts nvidia-smi outside PATH for services, ROCm is seldom on it, and
macOS has sysctl in /usr/sbin."""

LIBRARY_FOLDERS = (
    "/usr/lib/wsl/lib",
    "/run/opengl-driver/lib",  # NixOS
    "/usr/lib/aarch64-linux-gnu/tegra",
    "/usr/lib/aarch64-linux-gnu/nvidia",
    "/usr/local/nvidia/lib64",  # GKE and older container runtimes
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
)
"""Where drivers live that the loader's cache does not know."""


class LiveMachine:
    """This machine; satisfies `machine.Machine`."""

    @property
    def uname(self) -> Uname:
        """The operating system and processor family."""
        if sys.platform == "win32":
            return _windows_uname()
        found = os.uname()
        return Uname(found.sysname, found.machine, found.release)

    @property
    def libc(self) -> str:
        """`glibc 2.36`, `musl 1.2`, or empty."""
        if not sys.platform.startswith("linux"):
            return ""
        try:
            return os.confstr("CS_GNU_LIBC_VERSION") or ""
        except (ValueError, OSError):
            return "musl" if any(name.startswith("ld-musl-") for name in reading.list_dir("/lib")) else ""

    @property
    def env(self) -> Mapping[str, str]:
        """The environment variables."""
        return os.environ

    def read_text(self, path: str, limit: int = TEXT_LIMIT) -> str | None:
        """Return at most `limit` bytes of a regular file, or `None`."""
        return reading.read_text(path, limit)

    def read_bytes(self, path: str) -> bytes | None:
        """Return at most `TEXT_LIMIT` bytes of a regular file, or `None`."""
        return reading.read_bytes(path)

    def list_dir(self, path: str) -> tuple[str, ...]:
        """Return the sorted names in a folder."""
        return reading.list_dir(path)

    def read_link(self, path: str) -> str | None:
        """Return where a symbolic link points, or `None`."""
        return reading.read_link(path)

    def exists(self, path: str) -> bool:
        """Say whether something is at `path`."""
        return reading.exists(path)

    def find_program(self, name: str) -> str | None:
        """Return the path of a program, looked up on PATH and in `PROGRAM_FOLDERS`."""
        folders = self.env.get("PATH", os.defpath).split(os.pathsep)
        return reading.find_executable(name, [*folders, *PROGRAM_FOLDERS])

    def run(
        self, program: str, *arguments: str, deadline: float = DEADLINE, unset: tuple[str, ...] = ()
    ) -> Completed | None:
        """Run a program in this environment but for the variables `unset`, its messages untranslated."""
        path = self.find_program(program)
        if path is None:
            return None
        env = {name: value for name, value in self.env.items() if name not in unset}
        return run_program([path, *arguments], {**env, "LC_ALL": "C"}, deadline)

    def find_library(self, name: str) -> str | None:
        """Return the library's soname where the loader knows it, or its path where we do."""
        if sys.platform == "win32":
            folder = os.path.join(self.env.get("SystemRoot", "C:\\Windows"), "System32")
            return _first_file([folder], name)
        if (found := _first_file(self.env.get("LD_LIBRARY_PATH", "").split(":"), name)) is not None:
            return found
        # The loader picks the right architecture among the cache's entries, so it gets the bare name.
        if f"/{name}\0".encode() in (reading.read_bytes("/etc/ld.so.cache", 1 << 24) or b""):
            return name
        return _first_file(list(LIBRARY_FOLDERS), name)

    def driver(self, query: str, library: str, *, deadline: float = DEADLINE) -> DriverAnswer:
        """Run a query module in a child Python with this environment."""
        from .driver import ask  # noqa: PLC0415 (a machine without drivers never needs it)

        return ask(query, library, env=self.env, deadline=deadline)

    def registry(self, key: str) -> Mapping[str, int | str]:
        """Return the values of a key below HKEY_LOCAL_MACHINE; empty but on Windows."""
        if sys.platform == "win32":
            return _registry(key)
        return {}

    def sysctl(self, name: str) -> str | None:
        """Return a macOS system variable, read inside this process.

        A child might run as another architecture than this Python does under Rosetta 2.
        """
        if platform != "darwin":
            return None
        from .darwin import sysctl_by_name  # noqa: PLC0415 (ctypes)

        return sysctl_by_name(name)

    def cpuid(self) -> str | None:
        """Ask the processor itself, in a child since security software may object to made code."""
        if platform != "win32":
            return None
        answer = self.driver("cpuid", "")
        return next((fact for fact in answer.facts if isinstance(fact, str)), None)


def run_program(command: list[str], env: Mapping[str, str], deadline: float) -> Completed | None:
    """Run a command to its end or its deadline; `None` when it cannot start."""
    from .process import run_captured  # noqa: PLC0415 (only where there is a program to run)

    ended = run_captured(command, env=env, deadline=deadline)
    if ended is None:
        return None
    stdout, stderr = (output.decode("utf-8", "replace") for output in ended.outputs)
    return Completed(ended.returncode, stdout, stderr, ended.failure)


def _first_file(folders: list[str], name: str) -> str | None:
    paths = (os.path.join(folder, name) for folder in folders if folder)
    return next((path for path in paths if os.path.isfile(path)), None)


if sys.platform == "win32":

    def _windows_uname() -> Uname:
        # This process's own architecture: under emulation a wheel must fit the Python, not the machine.
        version = sys.getwindowsversion()
        return Uname(
            "Windows",
            os.environ.get("PROCESSOR_ARCHITECTURE", ""),
            f"{version.major}.{version.minor}.{version.build}",
        )

    def _registry(key: str) -> dict[str, int | str]:
        import winreg  # noqa: PLC0415

        found: dict[str, int | str] = {}
        try:
            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as handle:
                for place in range(winreg.QueryInfoKey(handle)[1]):
                    name, value, _ = winreg.EnumValue(handle, place)
                    if isinstance(value, (int, str)):
                        found[name] = value
        except OSError:
            pass
        return found

"""The edge between the probes and whatever they read: this machine, or a folder that stands for one.

A probe asks a `Machine` and nothing else, so each of them can be replayed from a recording. No method
raises: what cannot be read is `None` or empty, and the probe says so in a note.
"""

from __future__ import annotations

from .frozen import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol
else:  # importing typing would cost half as much as all of this package
    Protocol = object

TEXT_LIMIT = 1 << 20
"""The most bytes read from one file or one program's output, unless a file is known to be longer."""

CPUINFO_LIMIT = 1 << 25
"""The most bytes read from /proc/cpuinfo: Linux runs 8192 processors, of some 2 kB each."""

DEVICE_LIMIT = 128
"""The most devices taken from one source; eight MI300X, each in eight parts, are 64."""

DEADLINE = 2.0
"""Seconds a program or a driver library may take before it is killed."""


@dataclass(frozen=True)
class Uname:
    """The operating system and processor family as the system names them."""

    system: str
    """`Linux`, `Darwin` or `Windows`."""
    machine: str
    """`x86_64`, `aarch64`, `arm64`, `AMD64` ... exactly as reported."""
    release: str
    """The kernel's release, e.g. `6.8.12-tegra`."""


@dataclass(frozen=True)
class Completed:
    """What a program said before it ended, or before it was killed."""

    returncode: int | None
    """The exit status; negative for a signal; `None` when the program was killed by us."""
    stdout: str
    """At most `TEXT_LIMIT` bytes, decoded with replacement characters."""
    stderr: str
    """At most `TEXT_LIMIT` bytes, decoded with replacement characters."""
    failure: str = ""
    """Empty, or why the program was killed: `no answer within 2 s`, `more than 1 MiB of output`."""


@dataclass(frozen=True)
class DriverAnswer:
    """What one of our query scripts reported from a child process that loaded a driver library."""

    facts: tuple[object, ...]
    """The JSON values reported, in order; those sent before a crash or the deadline are kept."""
    failure: str = ""
    """Empty when the query ended by itself; else one clause: `no answer within 2 s`,
    `ended by SIGSEGV`, `OSError: libcuda.so.1: wrong ELF class`."""


class Machine(Protocol):
    """Anything a probe can read."""

    @property
    def uname(self) -> Uname:
        """The operating system and processor family."""

    @property
    def libc(self) -> str:
        """`glibc 2.36`, `musl 1.2`, or empty where unknown or meaningless."""

    @property
    def env(self) -> Mapping[str, str]:
        """The environment variables."""

    def read_text(self, path: str, limit: int = TEXT_LIMIT) -> str | None:
        """Return at most `limit` bytes of a regular file, or `None`; `path` is absolute, POSIX."""

    def read_bytes(self, path: str) -> bytes | None:
        """Return at most `TEXT_LIMIT` bytes of a regular file, or `None`."""

    def list_dir(self, path: str) -> tuple[str, ...]:
        """Return the sorted names in a folder; empty when there is no such folder."""

    def read_link(self, path: str) -> str | None:
        """Return where a symbolic link points (as written), or `None` when it is not a link."""

    def exists(self, path: str) -> bool:
        """Say whether something is at `path`, a device node included."""

    def find_program(self, name: str) -> str | None:
        """Return the path of a program this machine would run by that name, or `None`."""

    def run(
        self, program: str, *arguments: str, deadline: float = DEADLINE, unset: tuple[str, ...] = ()
    ) -> Completed | None:
        """Run a program found by `find_program`; `None` when there is none or it cannot start.

        It gets the environment but for the variables `unset`. Its whole process group is killed at the
        deadline (seconds) or when it floods its output.
        """

    def find_library(self, name: str) -> str | None:
        """Return what to hand to `ctypes.CDLL` for a driver library (`libcuda.so.1`), or `None`.

        The library is not loaded. On a machine without the driver this is a few failed look-ups.
        """

    def driver(self, query: str, library: str, *, deadline: float = DEADLINE) -> DriverAnswer:
        """Run a query module of this package in a child Python that may load `library`.

        `query` is the module's name inside the package (`nvidia.nvml_query`); it must define
        `query(library: str, report: Callable[[object], None]) -> None`, import only the standard
        library (the child runs with `-I -S`), and call `report` with one JSON value a fact as soon as
        it is known. `library` is `find_library`'s answer. Whatever the library prints is discarded.
        """

    def registry(self, key: str) -> Mapping[str, int | str]:
        r"""Return the values of a key below HKEY_LOCAL_MACHINE on Windows; empty elsewhere."""

    def sysctl(self, name: str) -> str | None:
        """Return a macOS system variable as `sysctl -n` prints it; `None` elsewhere and when unknown."""

    def cpuid(self) -> str | None:
        """Return an x86 processor's identification on Windows, or `None`; the format is `cpuid.parse`'s."""

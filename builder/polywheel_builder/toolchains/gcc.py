"""GCC on Linux: the C++ compiler of the machine itself.

libstdc++ stays dynamic: it must be the one libtorch uses, or an exception of a failed check would not
cross into libtorch and would abort the process instead.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from polywheel_builder.action import OUT
from polywheel_builder.launch import DEPENDENCIES, clean_environment
from polywheel_builder.memo import Memo
from polywheel_variants.errors import MissingError

OLDEST = (11,)
"""The first GCC that knows -march=x86-64-v3."""

_ARCHS = {"x86_64": ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")}
_COMPILE = (
    "-std=c++17", "-O3", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden",
    "-ffunction-sections", "-fdata-sections", "-Wall", "-Wextra",
)  # fmt: skip
_LINK = (
    "-shared", "-s", "-Wl,--gc-sections", "-Wl,--build-id=none", "-Wl,--hash-style=gnu",
    "-Wl,--no-undefined-version", "-Wl,--exclude-libs,ALL", "-Wl,-z,relro,-z,now,-z,noexecstack",
)  # fmt: skip
_HOW_TO_INSTALL = "install it with 'apt-get install g++' (Debian, Ubuntu) or 'dnf install gcc-c++' (Fedora)"


@dataclass(frozen=True)
class Gcc:
    """One g++ and what it told about itself."""

    path: Path
    version: str
    machine: str
    """What it compiles for, as in platform tags: `x86_64`."""
    system_include: tuple[Path, ...]
    digest: str

    @property
    def label(self) -> str:
        """Name and version, for people."""
        return f"g++ {self.version}"

    @property
    def archs(self) -> tuple[str, ...]:
        """The levels it takes as `-march`."""
        return _ARCHS.get(self.machine, ())

    def compile(
        self,
        source: str,
        *,
        arch: str,
        defines: Sequence[str],
        include: Sequence[str],
        foreign: Sequence[str],
    ) -> tuple[str, ...]:
        """Return the command that makes an object; no path of this machine gets into it."""
        return (
            "{gxx}", *_COMPILE, f"-march={arch}",
            *(f"-D{one}" for one in defines),
            *(f"-I{one}" for one in include),
            *(part for one in foreign for part in ("-isystem", one)),
            *(f"-ffile-prefix-map={{{root}}}={root}" for root in ("project", "torch", "builder")),
            f"-frandom-seed={source.replace('{', '').replace('}', '')}",
            "-MD", "-MF", DEPENDENCIES, "-MT", "object", "-c", source, "-o", OUT,
        )  # fmt: skip

    def stub(self, soname: str) -> tuple[str, ...]:
        """Return the command that makes an empty library: `x86_64` torch is not needed to link."""
        return (
            "{gxx}", "-shared", "-nostdlib", "-Wl,--build-id=none", f"-Wl,-soname,{soname}",
            "-x", "c", "-o", OUT, "-",
        )  # fmt: skip

    def link(self, objects: Sequence[str], *, needed: Sequence[str], soname: str) -> tuple[str, ...]:
        """Return the command that makes a library which exports nothing: registration needs no symbol."""
        return (
            "{gxx}", *_LINK, f"-Wl,-soname,{soname}", "-Wl,--version-script={builder}/export_nothing.map",
            *objects,
            "-Wl,--no-as-needed", *needed, "-Wl,--as-needed", "-o", OUT,
        )  # fmt: skip


def find_gcc(memo: Memo) -> Gcc:
    """Find the machine's g++: $CXX, else g++ on PATH.

    Raises MissingError, with the command that installs it, when there is none or it is too old.
    """
    wanted = os.environ.get("CXX") or "g++"
    found = shutil.which(wanted)
    if found is None and os.environ.get("CXX"):
        raise MissingError(f"CXX names {wanted!r}, which is no program; unset it, or set it to a g++")
    if found is None:
        raise MissingError(f"no C++ compiler: {wanted!r} is not on PATH; {_HOW_TO_INSTALL}")
    path = Path(found).resolve()
    words = memo.told(path, "-v", lambda: _talk(path, "-E", "-v", "-x", "c++", os.devnull))
    version = re.search(r"^gcc version (\d+(?:\.\d+)*)", words, re.MULTILINE)
    target = re.search(r"^Target: (\w+)-", words, re.MULTILINE)
    if version is None or target is None:
        raise MissingError(f"{path} is no GCC; set CXX to a g++; {_HOW_TO_INSTALL}")
    if tuple(map(int, version[1].split(".")[:1])) < OLDEST:
        raise MissingError(f"{path} is GCC {version[1]}; expected {OLDEST[0]} or newer; {_HOW_TO_INSTALL}")
    include = _include_folders(words)
    return Gcc(path, version[1], target[1], include, _digest(path, words, memo))


def _talk(path: Path, *arguments: str) -> str:
    """Ask in the environment that actions run in: CPATH and the like change no answer."""
    try:
        done = subprocess.run(
            [path, *arguments],
            env=clean_environment(),
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except OSError as error:
        raise MissingError(f"{path} does not run: {error.strerror}; {_HOW_TO_INSTALL}") from None
    return done.stdout + done.stderr


def _include_folders(words: str) -> tuple[Path, ...]:
    listed = words.partition("#include <...> search starts here:\n")[2].partition("End of search list.")[0]
    return tuple(Path(os.path.normpath(line.strip())) for line in listed.splitlines())


def _digest(path: Path, words: str, memo: Memo) -> str:
    """Hash the driver, the compiler proper, assembler, linker, start files and runtime libraries."""
    programs = ("cc1plus", "as", "ld", "collect2")
    libraries = (
        "crti.o",
        "crtbeginS.o",
        "crtendS.o",
        "crtn.o",
        "libgcc.a",
        "libstdc++.so",
        "libm.so.6",
        "libc.so.6",
    )
    questions = [f"-print-prog-name={name}" for name in programs]
    questions += [f"-print-file-name={name}" for name in libraries]
    answers = memo.told(path, "parts", lambda: [_talk(path, question).strip() for question in questions])
    # A bare name in the answer stands for a program on PATH.
    tools = [path, *(Path(shutil.which(answer) or answer) for answer in answers)]
    for name, tool in zip(programs, tools[1:], strict=False):
        if not tool.is_file():
            raise MissingError(f"{path} finds no {name!r}, neither beside it nor on PATH; {_HOW_TO_INSTALL}")
    digests = [memo.digest(tool.resolve()) for tool in tools if tool.is_file()]
    target = [line for line in words.splitlines() if line.startswith(("Target:", "gcc version"))]
    return hashlib.sha256(json.dumps([digests, target]).encode()).hexdigest()

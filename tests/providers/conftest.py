"""Recorded machines of tests/data/machines, and small machines made in a test."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Protocol

import pytest

from polywheel_providers import FolderMachine

MACHINES = Path(__file__).parents[1] / "data" / "machines"
DRIVERS = Path(__file__).parents[1] / "data" / "drivers"


class Recorded(Protocol):
    """Opens a recorded machine by its folder's name."""

    def __call__(self, name: str, **env: str) -> FolderMachine: ...


class Made(Protocol):
    """Writes a machine's files and opens it."""

    def __call__(self, files: dict[str, str | bytes], **env: str) -> FolderMachine: ...


@pytest.fixture
def recorded() -> Recorded:
    def open_recorded(name: str, **env: str) -> FolderMachine:
        folder = MACHINES / name
        assert folder.is_dir(), f"{folder} is not recorded"
        return FolderMachine(str(folder), env)

    return open_recorded


@pytest.fixture
def made(tmp_path: Path) -> Made:
    def write(files: dict[str, str | bytes], **env: str) -> FolderMachine:
        for name, content in files.items():
            path = tmp_path / "machine" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            if name.startswith("usr/bin/"):
                path.chmod(0o755)
        return FolderMachine(str(tmp_path / "machine"), env)

    return write


class Driven(Protocol):
    """Compiles a driver library of tests/data/drivers into a machine; definitions choose how it behaves."""

    def __call__(self, library: str, source: str, *definitions: str) -> None: ...


@pytest.fixture
def driven(tmp_path: Path) -> Driven:
    """Put libraries into the machine that `made` opens."""

    def build(library: str, source: str, *definitions: str) -> None:
        folder = tmp_path / "machine" / "usr" / "lib"
        folder.mkdir(parents=True, exist_ok=True)
        flags = ["-shared", "-fPIC", "-Wall", "-Wextra", *(f"-D{name}" for name in definitions)]
        subprocess.run(["cc", *flags, "-o", str(folder / library), str(DRIVERS / source)], check=True)

    return build

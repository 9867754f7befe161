"""Recorded machines of tests/data/machines, and small machines made in a test."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pytest

from polywheel_providers import FolderMachine

MACHINES = Path(__file__).parents[1] / "data" / "machines"


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

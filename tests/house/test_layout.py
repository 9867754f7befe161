"""The house's own rules: arrows, style, types, words."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
_TOOLS = Path(sys.executable).parent


def _tracked() -> list[Path]:
    """The repository's files; without git (in an sdist) all that is no build's output."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY, capture_output=True, text=True, check=False,
    )  # fmt: skip
    names = [name for name in listed.stdout.split("\0") if name]
    return [path for path in (REPOSITORY / name for name in names) if path.is_file()]


@pytest.mark.parametrize(
    "command",
    [
        ["lint-imports", "--no-cache"],
        ["ruff", "check", "--no-cache"],
        ["ruff", "format", "--check", "--no-cache"],
        ["mypy"],
    ],
    ids=["layers", "lint", "format", "types"],
)
def test_a_tool_finds_nothing(command: list[str]) -> None:
    done = subprocess.run(
        [_TOOLS / command[0], *command[1:]], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_registry_host_is_named() -> None:
    hosts = [f"{name}.{end}".encode() for name, end in (
        ("pypi", "org"), ("pythonhosted", "org"), ("deb.debian", "org"), ("npmjs", "org"), ("npmjs", "com"),
        ("pypi.python", "org"), ("download.pytorch", "org"),
    )]  # fmt: skip
    for path in _tracked():
        data = path.read_bytes()
        assert not [host for host in hosts if host in data], path


def test_no_file_is_large() -> None:
    large = [path for path in _tracked() if path.stat().st_size > 1_500_000]
    assert large == []

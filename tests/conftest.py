"""Fixtures that every part's tests share, and the markers that using them implies."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import venv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest
from hypothesis import HealthCheck, settings

from polywheel_index.cache_folder import cache_dir
from polywheel_index.file_lock import locked

REPOSITORY = Path(__file__).parents[1]
_TORCH_REQUIREMENTS = ("torch==2.13.0", "numpy")
_OWN_VARIABLES = ("SOURCE_DATE_EPOCH", "CXX", "NO_COLOR")
_IMPLIED_MARKERS = {
    "kernel_wheels": ("compiler", "network"),
    "tiny_project": ("compiler", "network"),
    "torch_python": ("torch", "network"),
}
"""fixture -> markers that a test which asks for it gets."""

# A busy machine is no failure: nothing here is judged by the time it takes.
settings.register_profile("polywheel", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("polywheel")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for fixture in getattr(item, "fixturenames", ()):
            for marker in _IMPLIED_MARKERS.get(fixture, ()):
                item.add_marker(marker)


@pytest.fixture(scope="session")
def polywheel_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache of this test run's own; headers that this user has fetched before are copied in."""
    cache = tmp_path_factory.mktemp("cache")
    known = cache_dir() / "torch-headers"
    if known.is_dir():
        shutil.copytree(known, cache / known.name)
    return cache


class RunPolywheel(Protocol):
    """Runs the command line in a process of its own."""

    def __call__(
        self, *arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str | None] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run `polywheel ARGUMENTS`; `env` adds variables, and removes those given as None."""


@pytest.fixture(scope="session")
def polywheel_environment(polywheel_cache: Path) -> dict[str, str]:
    """Return the environment of a command: this process's, less what would change an answer."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("POLYWHEEL_") and name not in _OWN_VARIABLES
    }
    return kept | {"POLYWHEEL_CACHE": str(polywheel_cache)}


@pytest.fixture(scope="session")
def run_polywheel(polywheel_environment: dict[str, str]) -> RunPolywheel:
    def run(
        *arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str | None] | None = None
    ) -> subprocess.CompletedProcess[str]:
        changed: dict[str, str | None] = {**polywheel_environment, **(env or {})}
        return subprocess.run(
            [sys.executable, "-m", "polywheel", *map(str, arguments)],
            cwd=cwd or REPOSITORY,
            env={name: value for name, value in changed.items() if value is not None},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def torch_python() -> Path:
    """Return an interpreter that has torch 2.13.0 and numpy: $POLYWHEEL_TEST_TORCH_PYTHON, or our own."""
    given = os.environ.get("POLYWHEEL_TEST_TORCH_PYTHON")
    if given:
        return Path(given)
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    parent = cache_dir() / "test-environments"
    parent.mkdir(parents=True, exist_ok=True)
    folder = parent / f"torch-2.13.0-{python}"
    completed = folder / "completed"
    with locked(parent / f"{folder.name}.lock", timeout_s=1800):
        if not completed.is_file():
            shutil.rmtree(folder, ignore_errors=True)
            venv.create(folder, with_pip=True)
            _install(folder / "bin" / "python", _TORCH_REQUIREMENTS)
            completed.touch()
    return folder / "bin" / "python"


def _install(python: Path, requirements: Sequence[str]) -> None:
    done = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", *requirements],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def kernel_wheels(run_polywheel: RunPolywheel, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Build this repository's matrix once; label -> wheel, the plain one under "plain"."""
    out = tmp_path_factory.mktemp("kernel-wheels")
    done = run_polywheel("build", "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    filenames = [wheel["filename"] for wheel in json.loads(done.stdout)["wheels"]]
    return {_label(filename): out / filename for filename in filenames}


def _label(filename: str) -> str:
    """A file name without build tag has five parts, and a sixth if it is a variant's."""
    parts = filename.removesuffix(".whl").split("-")
    return parts[5] if len(parts) == 6 else "plain"


TINY_MATRIX = """\
    matrix: 1
    torch: 2.10
    pythons: [py3]
    platforms: [manylinux_2_28_x86_64]
    libraries:
      _tiny: {sources: csrc/*.cpp}
    variants:
      - {cpu: v3}
      - {name: null}
    """
"""A v3, a null and a plain wheel."""

TINY_SOURCE = """\
    #include "answer.h"
    int answer() { return ANSWER; }
    """


@dataclass(frozen=True)
class TinyProject:
    """A project that builds in about a second."""

    folder: Path

    @property
    def matrix(self) -> Path:
        return self.folder / "matrix.yaml"

    @property
    def source(self) -> Path:
        return self.folder / "csrc" / "tiny.cpp"

    @property
    def header(self) -> Path:
        return self.folder / "csrc" / "answer.h"

    @property
    def dist(self) -> Path:
        return self.folder / "dist"

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path


def write_tiny_project(folder: Path) -> TinyProject:
    project = TinyProject(folder)
    project.write("pyproject.toml", '[project]\nname = "tiny"\nversion = "1.0"\n')
    project.write("tiny/__init__.py", '"""Tiny."""\n')
    project.write("csrc/tiny.cpp", TINY_SOURCE)
    project.write("csrc/answer.h", "#define ANSWER 42\n")
    project.write("matrix.yaml", TINY_MATRIX)
    return project


@pytest.fixture(scope="session")
def write_tiny() -> Callable[[Path], TinyProject]:
    """Return what writes a tiny project into any folder."""
    return write_tiny_project


MakeTinyProject = Callable[..., TinyProject]
"""Makes a tiny project in the folder of that name."""


@pytest.fixture
def tiny_sources(write_tiny: Callable[[Path], TinyProject], tmp_path: Path) -> MakeTinyProject:
    """Return what makes a tiny project, for tests that build nothing."""

    def make(name: str = "tiny") -> TinyProject:
        return write_tiny(tmp_path / name)

    return make


@pytest.fixture
def tiny_project(tiny_sources: MakeTinyProject) -> MakeTinyProject:
    """Return what makes a tiny project, for tests that build it."""
    return tiny_sources

"""Matrices to start from."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from polywheel_builder.cell import make_cells
from polywheel_builder.matrix_file import read_matrix
from polywheel_builder.memo import Memo
from polywheel_builder.plan import Plan
from polywheel_builder.planner import make_plan
from polywheel_builder.project import read_project
from polywheel_builder.toolchains.gcc import Gcc
from polywheel_builder.workshop import Workshop
from polywheel_index.torch_headers import stable_headers

SMALL = """\
matrix: 1
torch: 2.10
pythons: [py3]
platforms: [manylinux_2_28_x86_64]
libraries:
  _cpu: {sources: csrc/*.cpp}
variants:
  - {cpu: v4}
  - {cpu: v3}
  - {name: null}
"""

WHOLE_FORMAT = """\
# yaml-language-server: $schema=matrix-1.json
matrix: 1
project: kernels/
torch: 2.10
pythons: [py3, cp310-abi3, cp315-abi3.abi3t, cp315t]
platforms:
  - manylinux_2_28_x86_64
  - manylinux_2_28_aarch64
  - win_amd64
  - macosx_14_0_arm64
plain: null
sdist: no
generate: [python, csrc/gen.py, --out, "{build}/gen"]
libraries:
  _cpu: {sources: csrc/cpu/*.cpp}
  _cuda: {for: [cuda, rocm], sources: csrc/cuda/*.cu, include: third_party/include, memory: 2GB}
  _hopper: {for: cuda, sources: [csrc/hopper/*.cu], archs: [9.0a]}
  _xpu: {for: xpu, sources: csrc/xpu/*.cl}
variants:
  - cuda: 13.0
    archs: [7.5, 8.0, 8.6, 8.9, 9.0a, 10.0f, 12.0+PTX]
    requires: [nvidia-cublas>=13.0]
  - cuda: 12.9
    archs: [7.0, 7.5, 8.0, 8.6, 8.9, 9.0a, 10.0f, 12.0+PTX]
    platforms: manylinux*
    channels: [nightly]
    min_driver: 12.4
  - {name: cu130_thor, cuda: 13.0, archs: [11.0], platforms: ["*aarch64"]}
  - {rocm: 7.1, archs: [gfx90a, gfx942, gfx1100]}
  - {xpu: 2025.3, archs: [20.1.0, 12.60.7]}
  - {cpu: v4}
  - {cpu: v3}
  - {cpu: 8.2a}
  - {name: null}
"""


@pytest.fixture(scope="session")
def small() -> str:
    """Return a matrix that this machine's compiler can build."""
    return SMALL


@pytest.fixture(scope="session")
def whole_format() -> str:
    """Return a matrix that uses every key."""
    return WHOLE_FORMAT


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    """Return a workshop without a compiler: enough to plan with, since a plan runs nothing."""
    folder = tmp_path / "workshop"
    (folder / "include").mkdir(parents=True)
    (folder / "torch" / "torch").mkdir(parents=True)
    (folder / "torch" / "torch" / "shim.h").write_text("void aoti_torch_shim();\n")
    compiler = folder / "g++"
    compiler.write_text("not run")
    gcc = Gcc(compiler, "12.2.0", "x86_64", (folder / "include",), "digest of the tool")
    return Workshop(gcc, folder / "torch", Memo(folder / "memo.json"), 315532800)


PlanOf = Callable[..., Plan]
"""Plans the matrix in a folder, as `polywheel plan` does."""


@pytest.fixture
def plan_of(workshop: Workshop) -> PlanOf:
    def plan(folder: Path, at: Workshop = workshop) -> Plan:
        matrix = read_matrix(folder / "matrix.yaml")
        project = read_project((folder / matrix.project).resolve())
        return make_plan(matrix, project, make_cells(matrix, project), at)

    return plan


@pytest.fixture(scope="session")
def torch_headers(polywheel_cache: Path) -> Path:
    """Return torch 2.10's stable headers, which the session's cache holds from now on."""
    return stable_headers("2.10", polywheel_cache)


@pytest.fixture
def cold_cache(polywheel_cache: Path, torch_headers: Path, tmp_path: Path) -> Path:
    """Return a cache of the test's own: empty, but for torch's headers."""
    folder = tmp_path / "cold cache"
    place = torch_headers.relative_to(polywheel_cache)
    shutil.copytree(polywheel_cache / place.parts[0], folder / place.parts[0])
    return folder


@pytest.fixture(scope="session")
def built_cache(
    polywheel_cache: Path,
    torch_headers: Path,
    run_polywheel: Any,
    write_tiny: Any,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Return a cache in which a tiny project has been built, and with it what all projects share."""
    cache = tmp_path_factory.mktemp("built") / "cache"
    place = torch_headers.relative_to(polywheel_cache)
    shutil.copytree(polywheel_cache / place.parts[0], cache / place.parts[0])
    tiny = write_tiny(tmp_path_factory.mktemp("built-tiny"))
    done = run_polywheel("build", cwd=tiny.folder, env={"POLYWHEEL_CACHE": str(cache)})
    assert done.returncode == 0, done.stderr
    return cache


@pytest.fixture
def warm_cache(built_cache: Path, tmp_path: Path) -> Path:
    """Return a cache of the test's own in which a tiny project has been built."""
    folder = tmp_path / "warm cache"
    shutil.copytree(built_cache, folder)
    return folder

"""What a user gets: the distributions, built and installed as anybody would."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import venv
from collections.abc import Sequence
from pathlib import Path

import pytest

pytestmark = pytest.mark.network

REPOSITORY = Path(__file__).parents[2]
_UV = Path(sys.executable).with_name("uv")
_PARTS = {
    *("polywheel", "polywheel_abi_check", "polywheel_builder", "polywheel_ci", "polywheel_index"),
    "polywheel_variants",
}
_DATA = (
    "polywheel_builder/matrix-1.json",
    "polywheel_builder/older_runtime.cpp",
    "polywheel_builder/export_nothing.map",
    *(f"{part}/py.typed" for part in sorted(_PARTS)),
)


def _run(command: Sequence[str | Path], cwd: Path, **environment: str) -> str:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
    }
    done = subprocess.run(
        command, cwd=cwd, env={**kept, **environment}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build wheels and sdists of both distributions in a copy of the repository."""
    folder = tmp_path_factory.mktemp("house")
    ignored = shutil.ignore_patterns(
        ".git", ".venv", "dist", "site", "_build", "__pycache__", "*.egg-info", ".*_cache", ".hypothesis"
    )
    shutil.copytree(REPOSITORY, folder / "copy", ignore=ignored)
    _run(
        [_UV, "build", "--all-packages", "--out-dir", folder / "dist", "--python", sys.executable],
        folder / "copy",
    )
    return folder / "dist"


def _environment(folder: Path) -> Path:
    venv.create(folder, with_pip=False, symlinks=True)
    return folder / "bin" / "python"


def _site_packages(python: Path) -> Path:
    (folder,) = (python.parents[1] / "lib").glob("python3.*/site-packages")
    return folder


def _install(python: Path, *words: str | Path) -> None:
    _run([_UV, "pip", "install", "--python", python, *words], python.parent)


def _packages(site: Path) -> set[str]:
    return {
        path.name for path in site.iterdir() if not path.name.endswith(".dist-info") and path.name[0] != "_"
    }


def test_both_come_as_wheel_and_sdist(distributions: Path) -> None:
    names = {path.name for path in distributions.iterdir() if path.name != ".gitignore"}
    assert names == {
        "polywheel-0.1.0-py3-none-any.whl",
        "polywheel-0.1.0.tar.gz",
        "polywheel_providers-0.1.0-py3-none-any.whl",
        "polywheel_providers-0.1.0.tar.gz",
    }


def test_providers_land_alone(distributions: Path, tmp_path: Path) -> None:
    python = _environment(tmp_path / "venv")
    _install(python, "--no-index", distributions / "polywheel_providers-0.1.0-py3-none-any.whl")
    site = _site_packages(python)
    assert _packages(site) == {"polywheel_providers"}
    assert (site / "polywheel_providers" / "py.typed").is_file()
    _run([python, "-I", "-c", "import polywheel_providers"], tmp_path)


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_polywheel_lands_with_its_parts_and_data_and_nothing_generic(
    kind: str, distributions: Path, tmp_path: Path
) -> None:
    python = _environment(tmp_path / "venv")
    ending = "-py3-none-any.whl" if kind == "wheel" else ".tar.gz"
    _install(
        python,
        "--no-deps",
        *(distributions / f"{name}-0.1.0{ending}" for name in ("polywheel", "polywheel_providers")),
    )
    site = _site_packages(python)
    assert _packages(site) == {*_PARTS, "polywheel_providers"}
    missing = [name for name in _DATA if not (site / name).is_file()]
    assert missing == []
    files = [path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()]
    assert not [name for name in files if "/tests/" in name or "kernels" in name]


def test_the_command_works_from_a_clean_install(distributions: Path, tmp_path: Path) -> None:
    python = _environment(tmp_path / "venv")
    _install(python, "--find-links", distributions, "polywheel==0.1.0")
    command = python.with_name("polywheel")
    for word in ("detect", "select", "plan", "build", "index", "demo"):
        assert word in _run([command, "--help"], tmp_path)
    assert _run([command, "--version"], tmp_path) == "polywheel 0.1.0\n"


def test_the_sdist_holds_the_sources_and_no_other_distribution(distributions: Path) -> None:
    with tarfile.open(distributions / "polywheel-0.1.0.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "README.md", "matrix.yaml", "kernels/pyproject.toml"} <= names
    assert not [name for name in names if name.startswith(("providers/", ".ci/", ".git/"))]


_IMPORT_EVERYTHING = """
import importlib, pkgutil, socket, subprocess
def refuse(*words, **options):
    raise AssertionError("work at import time")
socket.socket.connect = socket.getaddrinfo = subprocess.Popen.__init__ = refuse
for name in {names!r}:
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, f"{{name}}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
"""


def test_importing_costs_no_network_and_no_process(tmp_path: Path) -> None:
    code = _IMPORT_EVERYTHING.format(names=[*sorted(_PARTS), "polywheel_providers"])
    before = {"HOME": str(tmp_path), "POLYWHEEL_CACHE": str(tmp_path / "cache")}
    _run([sys.executable, "-I", "-W", "error", "-c", code], tmp_path, **before)
    assert list(tmp_path.iterdir()) == []

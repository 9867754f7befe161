"""The Python side: what it says where torch is absent, too old, or the library is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "kernels"


def run(code: str, *folders: Path) -> subprocess.CompletedProcess[str]:
    """Run code in an interpreter that sees these folders, kernels/ and the standard library alone."""
    path = [str(folder) for folder in (*folders, SOURCES)]
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {path!r}\n{code}"],
        capture_output=True,
        text=True,
        check=False,
    )


def write_torch(folder: Path, version: str) -> Path:
    (folder / "torch.py").write_text(f"__version__ = {version!r}\n", encoding="utf-8")
    return folder


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1
    return done.stderr.splitlines()[-1]


def test_import_is_cheap_and_needs_no_torch() -> None:
    code = "import polywheel_kernels as p; print(*dir(p), 'json' in sys.modules, 'torch' in sys.modules)"
    done = run(code)
    assert done.returncode == 0, done.stderr
    names = done.stdout.split()
    assert {"flash_decode", "installed_variant", "rms_norm"} <= set(names)
    assert names[-2:] == ["False", "False"]


@pytest.mark.parametrize("operator", ["rms_norm", "flash_decode"])
def test_torch_is_absent(operator: str) -> None:
    assert last_line(run(f"from polywheel_kernels import {operator}")) == (
        "ImportError: polywheel_kernels: no torch is installed, wanted torch 2.10 or newer. "
        "Mend: pip install 'torch>=2.10'"
    )


@pytest.mark.parametrize("version", ["2.9.1+cpu", "1.13.0", "2.0.0a0+git1234567"])
def test_torch_is_too_old(version: str, tmp_path: Path) -> None:
    done = run("from polywheel_kernels import rms_norm", write_torch(tmp_path, version))
    assert last_line(done) == (
        f"ImportError: polywheel_kernels: torch {version} is too old, wanted torch 2.10 or newer. "
        "Mend: pip install 'torch>=2.10'"
    )


@pytest.mark.parametrize("version", ["2.10.0", "2.13.0+cpu", "3.0.0a0"])
def test_library_is_missing(version: str, tmp_path: Path) -> None:
    done = run("from polywheel_kernels import rms_norm", write_torch(tmp_path, version))
    assert "_cpu.so is missing from" in last_line(done)
    assert last_line(done).endswith("Mend: pip install --force-reinstall polywheel-kernels")


def test_a_broken_torch_shows_its_own_error(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("import a_part_of_torch\n", encoding="utf-8")
    done = run("from polywheel_kernels import rms_norm", tmp_path)
    assert last_line(done) == "ModuleNotFoundError: No module named 'a_part_of_torch'"


def test_unknown_names_are_attribute_errors() -> None:
    assert last_line(run("import polywheel_kernels; polywheel_kernels.norm")) == (
        "AttributeError: module 'polywheel_kernels' has no attribute 'norm'"
    )


VARIANT = """{"variants": {"x86_64_v3": {"x86_64": {"level": ["v3"]}}}}"""


@pytest.mark.parametrize(("metadata", "label"), [(VARIANT, "x86_64_v3"), (None, "None")])
def test_installed_variant(metadata: str | None, label: str, tmp_path: Path) -> None:
    info = tmp_path / "polywheel_kernels-0.1.0.dist-info"
    info.mkdir()
    info.joinpath("METADATA").write_text("Name: polywheel-kernels\nVersion: 0.1.0\n", encoding="utf-8")
    if metadata is not None:
        info.joinpath("variant.json").write_text(metadata, encoding="utf-8")
    done = run("import polywheel_kernels; print(polywheel_kernels.installed_variant())", tmp_path)
    assert done.stdout == f"{label}\n", done.stderr


def test_nothing_is_installed() -> None:
    done = run("import polywheel_kernels; print(polywheel_kernels.installed_variant())")
    assert done.stdout == "None\n", done.stderr

"""The operators of every wheel that this CPU can run, in an interpreter with torch."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from polywheel_providers import LiveMachine, probe, supported

CHECKS = Path(__file__).with_name("operators.py")


def runnable_labels() -> list[str]:
    """Return "plain", "null" and the CPU levels of this machine that the matrix has wheels for."""
    levels = supported(probe(LiveMachine())).get("x86_64", {}).get("level", ())
    return ["plain", "null", *(f"x86_64_{level}" for level in levels if level in {"v3", "v4"})]


@pytest.mark.parametrize("label", runnable_labels())
def test_operators_are_right(
    label: str, torch_python: Path, kernel_wheels: dict[str, Path], tmp_path: Path
) -> None:
    with zipfile.ZipFile(kernel_wheels[label]) as wheel:
        wheel.extractall(tmp_path)
    done = subprocess.run(
        [torch_python, CHECKS],
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("label", ["plain", "null", "x86_64_v3", "x86_64_v4"])
def test_only_stable_symbols_are_needed_of_torch(
    label: str, kernel_wheels: dict[str, Path], tmp_path: Path
) -> None:
    with zipfile.ZipFile(kernel_wheels[label]) as wheel:
        library = wheel.extract("polywheel_kernels/_cpu.so", tmp_path)
    symbols = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
    names = [line.split()[-1] for line in symbols.splitlines()]
    assert [name for name in names if name.startswith(("aoti_torch_", "torch_"))]
    assert not [name for name in names if any(part in name for part in ("2at", "3c10", "5torch"))]

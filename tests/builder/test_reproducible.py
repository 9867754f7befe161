"""Same inputs, same bytes: whatever the shell, the folder and the place on the globe."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
_ELSEWHERE = {
    "PYTHONHASHSEED": "4242",
    "TZ": "Asia/Kathmandu",
    "LC_ALL": "C",
    "LANG": "C",
    "PYTHONUTF8": "0",
    "CPATH": "/nowhere",
    "CXXFLAGS": "-O0",
    "GCC_COLORS": "error=01;31",
}


def _build_elsewhere(folder: Path, environment: dict[str, str], *words: str) -> dict[str, bytes]:
    """Build with another umask, locale, time zone, hash seed and umask than the tests have."""
    command = 'umask 077; exec "$0" -m polywheel build --out out "$@"'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable, *words],
        cwd=folder, env={**environment, **_ELSEWHERE}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {path.name: path.read_bytes() for path in (folder / "out").iterdir()}


def test_a_tiny_project(
    tiny_project: Any,
    run_polywheel: Any,
    polywheel_environment: dict[str, str],
    warm_cache: Path,
    cold_cache: Path,
) -> None:
    here, there = tiny_project("here"), tiny_project("there/deeper")
    done = run_polywheel(
        "build", cwd=here.folder, env={"POLYWHEEL_CACHE": str(warm_cache), "PYTHONHASHSEED": "1"}
    )
    assert done.returncode == 0, done.stderr
    os.utime(there.source, (1, 1))
    there.source.chmod(0o755)
    elsewhere = _build_elsewhere(there.folder, {**polywheel_environment, "POLYWHEEL_CACHE": str(cold_cache)})
    assert {path.name: path.read_bytes() for path in here.dist.iterdir()} == elsewhere


def test_this_repositorys_kernels(
    kernel_wheels: dict[str, Path], polywheel_environment: dict[str, str], cold_cache: Path, tmp_path: Path
) -> None:
    """The slowest test of all: a second clean build of two variants."""
    checkout = tmp_path / "another checkout"
    checkout.mkdir()
    shutil.copy(REPOSITORY / "matrix.yaml", checkout)
    shutil.copytree(
        REPOSITORY / "kernels", checkout / "kernels", ignore=shutil.ignore_patterns("*.so", "__pycache__")
    )
    environment = {**polywheel_environment, "POLYWHEEL_CACHE": str(cold_cache)}
    elsewhere = _build_elsewhere(checkout, environment, "--select", "x86_64_v3", "--select", "plain")
    here = {kernel_wheels[label].name: kernel_wheels[label].read_bytes() for label in ("x86_64_v3", "plain")}
    assert elsewhere == here

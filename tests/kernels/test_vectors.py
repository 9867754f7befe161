"""The kernels' inner loops for 4, 8 and 16 lanes, whatever this CPU's registers are."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
KERNELS = HERE.parents[1] / "kernels" / "csrc" / "cpu"


@pytest.mark.compiler
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_inner_loops_are_right(lanes: int, tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    assert compiler is not None, "no g++: apt-get install g++"
    program = tmp_path / "vectors"
    options = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-psabi", f"-DPOLYWHEEL_LANES={lanes}"]
    subprocess.run(
        [compiler, *options, f"-I{KERNELS}", HERE / "vectors.cpp", "-o", program],
        capture_output=True,
        check=True,
    )
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.stdout == f"all right with {lanes} lanes\n", done.stdout[:2000]
    assert done.returncode == 0

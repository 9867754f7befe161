"""`polywheel demo`: the whole line with the stock uv, where only the matrix and the sources are."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from polywheel.demo.installer import find_uv
from polywheel.demo.picture import Stage, draw
from polywheel_variants.errors import MissingError

REPOSITORY = Path(__file__).parents[2]
STAGES = [Stage("plan", 0.25, ["4 wheels", "a line that is long enough to be wrapped " * 3])]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(REPOSITORY / "matrix.yaml", tmp_path)
    shutil.copytree(
        REPOSITORY / "kernels", tmp_path / "kernels", ignore=shutil.ignore_patterns("__pycache__")
    )
    return tmp_path


def test_the_stock_uv_takes_the_wheel_that_select_names(
    folder: Path, run_polywheel: Callable[..., Any], kernel_wheels: dict[str, Path]
) -> None:
    done = run_polywheel("demo", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (folder / "dist").iterdir()} == {p.name for p in kernel_wheels.values()}
    answer = run_polywheel("select", "polywheel-kernels", "--index", "site", "--json", cwd=folder)
    label = json.loads(answer.stdout)["chosen"]["label"]
    assert f"with its variants flag took {label}" in done.stdout
    assert "uv without it, as pip does, took plain" in done.stdout
    assert "0 actions run" in done.stdout  # the fixture built the same sources in another folder


@pytest.mark.usefixtures("kernel_wheels")
def test_beside_torch_the_operators_are_timed(
    folder: Path, run_polywheel: Callable[..., Any], torch_python: Path
) -> None:
    where = "import pathlib, torch; print(pathlib.Path(torch.__file__).parents[1])"
    site = subprocess.run([torch_python, "-c", where], capture_output=True, text=True, check=True)
    done = run_polywheel("demo", cwd=folder, env={"PYTHONPATH": site.stdout.strip()})
    assert done.returncode == 0, done.stderr
    rows = done.stdout.partition("\nwheel ")[2].splitlines()
    assert "flash_decode x null" in rows[0]
    assert [row.split()[0] for row in rows[1:]][-1] == "null"
    assert rows[-1].split()[-2:] == ["1.0", "1.0"]


def test_a_matrix_that_is_not_there_is_bad_input(tmp_path: Path, run_polywheel: Callable[..., Any]) -> None:
    done = run_polywheel("demo", cwd=tmp_path)
    assert done.returncode == 2
    assert "matrix.yaml: No such file or directory" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("script", "word"),
    [(None, "no uv beside"), ("echo uv 0.13.7", "is uv 0.13.7, which"), ("echo hello", "does not tell")],
)
def test_an_unfit_uv_is_said_with_its_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, word: str
) -> None:
    if script is not None:
        uv = tmp_path / "uv"
        uv.write_text(f"#!/bin/sh\n{script}\n")
        uv.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError, match=word) as caught:
        find_uv()
    assert "pip install 'uv>=0.13.8'" in str(caught.value)


@pytest.mark.parametrize(("encoding", "corner"), [("utf-8", "╭"), ("ascii", "+")])
def test_the_picture_suits_the_streams_encoding_and_is_straight(encoding: str, corner: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    draw(STAGES, stream)
    stream.seek(0)
    lines = stream.read().splitlines()
    assert lines[0].startswith(corner)
    assert len({len(line) for line in lines}) == 1

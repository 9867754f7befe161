from __future__ import annotations

import json
from typing import Any

import pytest

_CELLS = ["py3-none-manylinux_2_28_x86_64" + label for label in ("-x86_64_v3", "-null", "")]


@pytest.fixture
def plan(tiny_project: Any, run_polywheel: Any) -> Any:
    folder = tiny_project().folder
    return lambda *words: run_polywheel("plan", *words, cwd=folder)


def test_json_has_the_keys_that_are_promised(plan: Any) -> None:
    done = plan("--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert list(document) == ["schema", "cells", "actions", "totals"]
    assert document["schema"] == "polywheel/plan/1"
    assert [cell["id"] for cell in document["cells"]] == _CELLS
    for cell in document["cells"]:
        assert list(cell) == [
            *(
                "id",
                "variant",
                "platform",
                "python",
                "backend",
                "filename",
                "properties",
                "actions",
                "preview",
            )
        ]
    v3, null, plain = document["cells"]
    assert v3 | {"actions": []} == {
        "id": _CELLS[0],
        "variant": "x86_64_v3",
        "platform": "manylinux_2_28_x86_64",
        "python": "py3",
        "backend": "cpu",
        "filename": f"tiny-1.0-{_CELLS[0]}.whl",
        "properties": {"priority": {"order": ["1"]}, "x86_64": {"level": ["v3"]}},
        "actions": [],
        "preview": False,
    }
    assert (null["variant"], null["properties"], null["backend"]) == ("null", {}, "cpu")
    assert (plain["variant"], plain["filename"]) == (None, f"tiny-1.0-{_CELLS[2]}.whl")


def test_json_counts_and_links_agree(plan: Any) -> None:
    document = json.loads(plan("--json").stdout)
    cells, actions = document["cells"], document["actions"]
    for key, action in actions.items():
        assert {"kind", "tool", "arch", "est_seconds", "est_memory_mb", "cells"} <= set(action)
        assert action["cells"] == [cell["id"] for cell in cells if key in cell["actions"]]
        assert action["cells"]
    assert document["totals"] == {
        "cells": len(cells),
        "actions": len(actions),
        "actions_unshared": sum(len(cell["actions"]) for cell in cells),
        "est_seconds": pytest.approx(sum(action["est_seconds"] for action in actions.values()), abs=0.001),
    }
    assert document["totals"]["actions"] < document["totals"]["actions_unshared"]


def test_format_json_is_json(plan: Any) -> None:
    assert plan("--format", "json").stdout == plan("--json").stdout


def test_table_shows_cells_and_what_is_left_to_do(plan: Any) -> None:
    lines = plan().stdout.splitlines()
    assert lines[0].split() == ["cell", "built", "as", "actions", "to", "run"]
    assert [line.split()[0] for line in lines[1:4]] == _CELLS
    assert lines[-1].startswith("3 cells, 9 actions (15 if nothing were shared); ")


def test_select_narrows_by_label_and_by_cell(plan: Any) -> None:
    for words, cells in (
        (("--select", "null"), [_CELLS[1]]),
        (("--select", "plain"), [_CELLS[2]]),
        (("--select", "*-x86_64_v?"), [_CELLS[0]]),
        (("--skip", "x86*"), _CELLS[1:]),
    ):
        document = json.loads(plan("--json", *words).stdout)
        assert [cell["id"] for cell in document["cells"]] == cells


def test_github_matrix_has_one_job_a_cell(plan: Any) -> None:
    document = json.loads(plan("--format", "github-matrix").stdout)
    assert [job["id"] for job in document["include"]] == _CELLS
    assert [job["label"] for job in document["include"]] == ["x86_64_v3", "null", ""]


@pytest.mark.parametrize("part", ["matrix: 1", "torch", "[py3]", "csrc/*.cpp", "{cpu: v3}"])
def test_a_broken_matrix_is_one_line_and_exit_2(part: str, tiny_project: Any, run_polywheel: Any) -> None:
    tiny = tiny_project()
    text = tiny.matrix.read_text()
    assert part in text
    tiny.write("matrix.yaml", text.replace(part, "?!", 1))
    for command in ("plan", "build"):
        done = run_polywheel(command, cwd=tiny.folder)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("polywheel: matrix.yaml:")
        assert done.stderr.count("\n") == 1
    assert not tiny.dist.exists()


@pytest.mark.parametrize(
    "data",
    [b"\xff\xfe\x00", b"a: &a [x]\n" + b"".join(b"b%d: &b%d [*a,*a]\n" % (n, n) for n in range(9)),
     b"{[}junk\n" * 1_250_000, bytes(10 << 20), b"- " * 200_000],
    ids=["not UTF-8", "bomb", "10 MB of words", "10 MB of zeros", "depth"],
)  # fmt: skip
def test_junk_is_one_line_and_exit_2(data: bytes, tiny_project: Any, run_polywheel: Any) -> None:
    tiny = tiny_project()
    tiny.matrix.write_bytes(data)
    done = run_polywheel("plan", cwd=tiny.folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("polywheel: matrix.yaml:")
    assert done.stderr.count("\n") == 1
    assert len(done.stderr) < 200

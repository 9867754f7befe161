from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from polywheel_builder.cell import Cell
from polywheel_builder.matrix import Variant
from polywheel_builder.plan import Plan
from polywheel_builder.roots import Roots
from polywheel_ci.github_matrix import MAX_JOBS, github_matrix
from polywheel_variants.errors import BadInputError
from polywheel_variants.wheel_name import WheelName

_VARIANT = Variant("v3", "cpu", "v3", (), (), (), (), None, "m:1:1")


def _plan(labels: Sequence[str | None]) -> Plan:
    cells: list[Any] = [
        Cell(WheelName("p", "1", "py3", "none", "any", label), _VARIANT, {}) for label in labels
    ]
    return Plan(tuple(cells), {}, {}, Roots({"project": Path()}))


def test_each_cell_is_a_job_that_select_finds() -> None:
    assert github_matrix(_plan(["v3", None])) == {
        "include": [
            {
                "id": "py3-none-any-v3",
                "label": "v3",
                "platform": "any",
                "python": "py3",
                "filename": "p-1-py3-none-any-v3.whl",
            },
            {
                "id": "py3-none-any",
                "label": "",
                "platform": "any",
                "python": "py3",
                "filename": "p-1-py3-none-any.whl",
            },
        ]
    }


def test_githubs_limit_is_said() -> None:
    labels = [f"l{number}" for number in range(MAX_JOBS + 1)]
    assert len(github_matrix(_plan(labels[:-1]))["include"]) == MAX_JOBS
    with pytest.raises(BadInputError, match="257 cells; a GitHub matrix holds 256 jobs: narrow it with"):
        github_matrix(_plan(labels))

"""Makes the plan of a matrix, after refusing what this version does not build."""

from __future__ import annotations

from collections.abc import Sequence

from polywheel_builder.cell import Cell
from polywheel_builder.compile_graph import CompileGraph
from polywheel_builder.matrix import Matrix
from polywheel_builder.plan import Plan
from polywheel_builder.project import Project
from polywheel_builder.toolchains.gcc import Gcc
from polywheel_builder.wheel_planner import WheelPlanner
from polywheel_builder.workshop import Workshop
from polywheel_variants.errors import BadInputError


def make_plan(matrix: Matrix, project: Project, cells: Sequence[Cell], workshop: Workshop) -> Plan:
    """Plan the cells.

    Raises BadInputError for a matrix that asks for what this version does not build, or names sources
    that are not there.
    """
    for cell in cells:
        _require_buildable(matrix, cell, workshop.gcc)
    graph = CompileGraph(workshop.roots(project), workshop.memo)
    planner = WheelPlanner(matrix, project, workshop, graph)
    wheels = {cell.id: planner.wheel(cell) for cell in cells}
    return Plan(tuple(cells), graph.actions, wheels, graph.roots)


def _require_buildable(matrix: Matrix, cell: Cell, gcc: Gcc) -> None:
    if matrix.generate:
        raise BadInputError(f"{matrix.source}: generate: this version runs no generator; run it before")
    if matrix.sdist:
        raise BadInputError(f"{matrix.source}: sdist: this version writes no source distribution; write no")
    if cell.name.python != "py3":
        raise BadInputError(
            f"{matrix.source}: pythons: {cell.name.python} needs Python's headers, which no compiler of "
            "this version gets; it builds py3, one wheel for every Python"
        )
    if not _builds(gcc, cell.platform):
        raise BadInputError(
            f"{matrix.source}: platforms: no compiler here builds {cell.platform}; "
            f"{gcc.label} builds manylinux_*_{gcc.machine}"
        )


def _builds(gcc: Gcc, platform: str) -> bool:
    return platform.startswith("manylinux_") and platform.endswith(f"_{gcc.machine}") and bool(gcc.archs)

"""`polywheel plan`: the cells of a matrix, their actions, and what they will cost."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from polywheel.matrix_option import Prepared, add_matrix_arguments, prepare
from polywheel.terminal import progress, seconds_text, table
from polywheel_builder.build import missing_actions

HELP = "show what a matrix builds: cells, the actions they share, and the cost"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_matrix_arguments(parser)
    parser.add_argument(
        "--format", choices=("table", "json", "github-matrix"), default="table", help="default: table"
    )
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="--format json")


def run(arguments: argparse.Namespace) -> int:
    """Print the plan."""
    prepared = prepare(arguments, progress())
    match arguments.format:
        case "json":
            sys.stdout.write(json.dumps(_document(prepared), indent=2) + "\n")
        case "github-matrix":
            from polywheel_ci.github_matrix import github_matrix  # noqa: PLC0415

            sys.stdout.write(json.dumps(github_matrix(prepared.plan)) + "\n")
        case _:
            sys.stdout.write(_table(prepared))
    return 0


def _document(prepared: Prepared) -> dict[str, Any]:
    plan = prepared.plan
    costs = {key: prepared.costs.estimate(action) for key, action in plan.actions.items()}
    of_cell = {cell.id: plan.actions_of(cell) for cell in plan.cells}
    return {
        "schema": "polywheel/plan/1",
        "cells": [
            {
                "id": cell.id,
                "variant": cell.name.label,
                "platform": cell.platform,
                "python": cell.name.python,
                "backend": "cpu" if cell.variant.kind == "null" else cell.variant.kind,
                "filename": cell.name.filename,
                "properties": cell.properties_json(),
                "actions": list(of_cell[cell.id]),
                "preview": False,
            }
            for cell in plan.cells
        ],
        "actions": {
            key: {
                "kind": action.kind,
                "tool": action.tool,
                "arch": action.arch,
                "subject": action.subject,
                "est_seconds": costs[key].seconds,
                "est_memory_mb": costs[key].memory_mb,
                "cells": [cell.id for cell in plan.cells if key in of_cell[cell.id]],
            }
            for key, action in plan.actions.items()
        },
        "totals": {
            "cells": len(plan.cells),
            "actions": len(plan.actions),
            "actions_unshared": sum(map(len, of_cell.values())),
            "est_seconds": round(sum(cost.seconds for cost in costs.values()), 3),
        },
    }


def _table(prepared: Prepared) -> str:
    plan = prepared.plan
    missing = missing_actions(plan, prepared.store)
    rows = [("cell", "built as", "actions", "to run")]
    keys = {action.key for action in missing}
    for cell in plan.cells:
        own = plan.actions_of(cell)
        rows.append((cell.id, cell.variant.label, str(len(own)), str(len(keys.intersection(own)))))
    unshared = sum(len(plan.actions_of(cell)) for cell in plan.cells)
    seconds = sum(prepared.costs.estimate(action).seconds for action in missing)
    return (
        table(rows, right=(2, 3))
        + f"\n{len(plan.cells)} cells, {len(plan.actions)} actions ({unshared} if nothing were shared); "
        + (f"{len(missing)} to run, about {seconds_text(seconds)} of work\n" if missing else "all built\n")
    )

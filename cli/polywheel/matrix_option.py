"""The options that name a matrix and a part of it, and the plan they mean."""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from polywheel.given import given_path
from polywheel_builder.cell import Cell, make_cells
from polywheel_builder.costs import CostBook
from polywheel_builder.matrix import Matrix
from polywheel_builder.matrix_file import read_matrix
from polywheel_builder.memo import Memo
from polywheel_builder.plan import Plan
from polywheel_builder.planner import make_plan
from polywheel_builder.progress import Progress
from polywheel_builder.project import read_project
from polywheel_builder.store import Store
from polywheel_builder.toolchains.gcc import find_gcc
from polywheel_builder.workshop import Workshop
from polywheel_index.cache_folder import cache_dir
from polywheel_index.torch_headers import stable_headers
from polywheel_variants.errors import BadInputError

_EPOCH = 315532800  # 1980-01-01, the earliest time a ZIP archive states


def add_matrix_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare -m, --select and --skip."""
    parser.add_argument(
        "-m",
        "--matrix",
        type=given_path,
        default=Path("matrix.yaml"),
        metavar="FILE",
        help="default: matrix.yaml",
    )
    for name, what in (("--select", "only these"), ("--skip", "all but these")):
        parser.add_argument(
            name,
            action="append",
            default=[],
            metavar="GLOB",
            help=f"{what} cells, by label or by cell id (such as 'x86_64_v3' or '*-x86_64_v?'); repeatable",
        )


@dataclass(frozen=True)
class Prepared:
    """A plan, and what is kept between commands."""

    matrix: Matrix
    plan: Plan
    store: Store
    memo: Memo
    costs: CostBook
    cache: Path


def prepare(arguments: argparse.Namespace, progress: Progress) -> Prepared:
    """Read the matrix and plan the cells that the options choose.

    Every tool the plan needs is found here, before any work: raises BadInputError or MissingError.
    """
    path: Path = arguments.matrix
    matrix = read_matrix(path)
    project = read_project((path.parent / matrix.project).resolve())
    cells = _chosen(make_cells(matrix, project), arguments.select, arguments.skip)
    cache = cache_dir()
    memo = Memo.load(cache / "memo.json")
    workshop = Workshop(
        gcc=find_gcc(memo),
        torch_headers=stable_headers(matrix.torch, cache, tell=progress.note),
        memo=memo,
        epoch=_epoch(),
    )
    plan = make_plan(matrix, project, cells, workshop)
    memo.save()
    store = Store(cache / "store", memo.digest)
    return Prepared(matrix, plan, store, memo, CostBook.load(cache / "costs.json"), cache)


def _chosen(cells: tuple[Cell, ...], select: list[str], skip: list[str]) -> tuple[Cell, ...]:
    for pattern in (*select, *skip):
        if not any(_matches(cell, [pattern]) for cell in cells):
            known = ", ".join(dict.fromkeys(cell.name.label or "plain" for cell in cells))
            raise BadInputError(
                f"no cell is called {pattern!r}; the labels are {known}, and `polywheel plan` lists the cells"
            )
    chosen = tuple(
        cell for cell in cells if (not select or _matches(cell, select)) and not _matches(cell, skip)
    )
    if not chosen:
        raise BadInputError("--select and --skip together leave no cell")
    return chosen


def _matches(cell: Cell, patterns: list[str]) -> bool:
    names = (cell.id, cell.name.label or "plain")
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _epoch() -> int:
    """Read SOURCE_DATE_EPOCH, the time that reproducible builds state (reproducible-builds.org)."""
    text = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not text:
        return _EPOCH
    if not re.fullmatch(r"[0-9]{1,10}", text) or int(text) >= 4354819200:
        raise BadInputError(f"SOURCE_DATE_EPOCH is {text!r}; expected seconds since 1970, before 2108")
    return int(text)

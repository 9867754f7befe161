"""`polywheel build`: compile what is missing and write the wheels."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from polywheel.given import given_path
from polywheel.matrix_option import Prepared, add_matrix_arguments, prepare
from polywheel.terminal import progress, seconds_text, size_text, table
from polywheel_builder.build import Builder, BuildReport
from polywheel_builder.local import LocalExecutor
from polywheel_builder.progress import Progress
from polywheel_variants.errors import BadInputError

HELP = "build every wheel of a matrix; what is built already is reused"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_matrix_arguments(parser)
    parser.add_argument("--out", type=given_path, default=Path("dist"), metavar="DIR", help="default: dist")
    parser.add_argument("--jobs", type=int, metavar="N", help="steps at a time; default: one a processor")
    parser.add_argument("--json", action="store_true", help="print what was built as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Build and print what was built."""
    jobs = _jobs(arguments.jobs)
    shown = progress()
    try:
        prepared = prepare(arguments, shown)
        report = build_prepared(prepared, arguments.out, jobs, shown)
    finally:
        shown.end()
    text = json.dumps(_document(report), indent=2) + "\n" if arguments.json else summary(report)
    sys.stdout.write(text)
    return 0


def build_prepared(prepared: Prepared, out: Path, jobs: int, shown: Progress) -> BuildReport:
    """Build a prepared plan here, and remember what it cost."""
    executor = LocalExecutor(prepared.cache, jobs)
    builder = Builder(prepared.store, executor, prepared.memo, out)
    report = builder.build(prepared.plan, shown)
    if report.run:
        prepared.costs.learn(report.run, prepared.store)
    prepared.memo.save()
    return report


def _jobs(jobs: int | None) -> int:
    if jobs is not None and jobs < 1:
        raise BadInputError(f"--jobs {jobs}: expected 1 or more")
    return jobs or available_processors()


def available_processors() -> int:
    """Return how many processors this process may use; a container may have fewer than its host."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def summary(report: BuildReport) -> str:
    """Say what was built, for people."""
    rows = [(built.path.as_posix(), size_text(built.size)) for built in report.wheels]
    return table(rows, right=(1,)) + (
        f"\n{len(rows)} wheel{'s' if len(rows) != 1 else ''}; "
        f"{len(report.run)} action{'s' if len(report.run) != 1 else ''} run, {report.reused} reused, "
        f"in {seconds_text(report.seconds)}\n"
    )


def _document(report: BuildReport) -> dict[str, Any]:
    return {
        "schema": "polywheel/build/1",
        "wheels": [
            {
                "id": built.cell.id,
                "filename": built.path.name,
                "path": str(built.path),
                "size": built.size,
                "sha256": built.sha256,
            }
            for built in report.wheels
        ],
        "actions": {"run": len(report.run), "reused": report.reused},
        "seconds": round(report.seconds, 3),
    }

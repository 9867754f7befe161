"""`polywheel demo`: the whole line, once: from kernel sources to the wheel that the stock uv picks here."""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from polywheel.commands.index import simple_url
from polywheel.demo import speed
from polywheel.demo.installer import find_uv
from polywheel.demo.line import DIST, SITE, Line
from polywheel.demo.picture import draw
from polywheel.matrix_option import add_matrix_arguments
from polywheel.terminal import paint, progress, seconds_text, table
from polywheel_builder.build import BuildReport
from polywheel_index.choice import Choice

HELP = "build, index and install this folder's matrix.yaml, and show every step"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_matrix_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the line; leaves dist/ and site/ in the current folder."""
    shown = progress()
    started = time.monotonic()
    try:
        uv = find_uv()  # before minutes of compiling, not after
        line = Line(shown)
        prepared = line.plan(arguments)
        report = line.build(prepared)
        line.index(report)
        name = report.wheels[0].cell.name
        requirement = f"{name.project}=={name.version}"
        choice = line.choose(requirement)
        line.install(uv, requirement, choice)
    finally:
        shown.end()
    draw(line.stages, sys.stdout)
    sys.stdout.write(_closing(choice, name.project, time.monotonic() - started))
    sys.stdout.write(_speeds(report, choice))
    return 0


def _closing(choice: Choice, project: str, seconds: float) -> str:
    label = choice.ranking[0] if choice.ranking else None
    taken = paint(label or "the plain wheel", "green", sys.stdout)
    return (
        f"\nThis machine gets {taken}, in {seconds_text(seconds)}. "
        f"{DIST}/ holds the wheels, {SITE}/ the index. Try them:\n\n"
        f"  polywheel select {project} --index {SITE} --machine cpu:v4\n"
        f"  uv pip install --preview-features wheel-variants --no-deps --index {simple_url(SITE)} {project}\n"
    )


def _speeds(report: BuildReport, choice: Choice) -> str:
    """Time the operators of each wheel this machine can run, if this Python has torch."""
    if importlib.util.find_spec("torch") is None:
        return ""
    times = {
        label: _time_wheel(built.path)
        for built in report.wheels
        if (label := built.cell.name.label) is not None and label in choice.ranking
    }
    base = times.get("null")
    if base is None:
        return ""
    rows = [("wheel", *(f"{name} ms" for name in base), *(f"{name} x null" for name in base))]
    rows += [
        (
            label,
            *(f"{ms:.3f}" for ms in own.values()),
            *(f"{base[name] / ms:.1f}" for name, ms in own.items()),
        )
        for label, own in times.items()
    ]
    return "\n" + table(rows, right=range(1, len(rows[0])))


def _time_wheel(wheel: Path) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)  # our own, written and checked a moment ago
        command = [sys.executable, speed.__file__, folder]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    times: dict[str, float] = json.loads(done.stdout)
    return times

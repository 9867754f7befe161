"""The line, stage by stage: plan, build, index, install. Each keeps its time and a few words."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from polywheel.commands.build import available_processors, build_prepared
from polywheel.commands.select import target_of
from polywheel.demo.installer import Uv
from polywheel.demo.picture import Stage
from polywheel.matrix_option import Prepared, prepare
from polywheel.terminal import size_text
from polywheel_builder.build import BuildReport
from polywheel_builder.progress import Progress
from polywheel_index.choice import Choice
from polywheel_index.select import select
from polywheel_index.serve_folder import serve_folder
from polywheel_index.site import write_site
from polywheel_variants.errors import NoAnswerError

DIST, SITE = Path("dist"), Path("site")

_THIS_MACHINE = argparse.Namespace(machine=[], root=None, env=[], python=None, platform=None)


@dataclass
class Line:
    """Runs the stages in order; each method needs what the one before returned."""

    progress: Progress
    stages: list[Stage] = field(default_factory=list)

    def plan(self, arguments: argparse.Namespace) -> Prepared:
        """Plan the matrix."""
        with self._stage("plan") as lines:
            prepared = prepare(arguments, self.progress)
            plan = prepared.plan
            unshared = sum(len(plan.actions_of(cell)) for cell in plan.cells)
            names = ", ".join(cell.name.label or "plain" for cell in plan.cells)
            lines.append(f"{prepared.matrix.source}: {len(plan.cells)} wheels: {names}")
            lines.append(f"{len(plan.actions)} actions; {unshared} if nothing were shared")
        return prepared

    def build(self, prepared: Prepared) -> BuildReport:
        """Compile, check and pack what is missing."""
        with self._stage("build") as lines:
            report = build_prepared(prepared, DIST, available_processors(), self.progress)
            tools = {action.tool for action in prepared.plan.actions.values() if action.kind == "compile"}
            lines.append(f"{len(report.run)} actions run, {report.reused} reused, by {', '.join(tools)}")
            lines += [
                f"{built.cell.name.label or 'plain':<11} {size_text(built.size):>8}  {built.cell.platform}"
                for built in report.wheels
            ]
        return report

    def index(self, report: BuildReport) -> None:
        """Write the site; an index is of these wheels alone, whatever else dist/ holds."""
        with self._stage("index") as lines:
            written = write_site([built.path for built in report.wheels], SITE)
            files = sum(map(len, written.projects.values()))
            lines.append(f"{SITE}/simple in HTML and JSON: {files} files listed, {size_text(written.size)}")

    def choose(self, requirement: str) -> Choice:
        """Ask polywheel which wheel this machine gets."""
        with self._stage("select") as lines:
            choice = select(requirement, str(SITE), target_of(_THIS_MACHINE))
            lines.append(" > ".join(label or "plain" for label in choice.ranking))
            lines += [f"not {one.label or 'plain'}: {one.reason}" for one in choice.rejected]
        return choice

    def install(self, uv: Uv, requirement: str, choice: Choice) -> None:
        """Let the stock uv install over HTTP, with and without its flag.

        Raises NoAnswerError when it takes another wheel than `select` said.
        """
        with self._stage("install") as lines, tempfile.TemporaryDirectory() as folder:
            with serve_folder(SITE) as url:
                taken = uv.install(requirement, f"{url}/simple/", Path(folder), variants=True)
                plain = uv.install(requirement, f"{url}/simple/", Path(folder), variants=False)
            expected = choice.chosen.candidate.name.label if choice.chosen else None
            if taken != expected or plain is not None:
                raise NoAnswerError(
                    f"uv {uv.version} took {taken or 'plain'} and, without its flag, {plain or 'plain'}; "
                    f"expected {expected or 'plain'} and plain"
                )
            lines.append(f"uv {uv.version} with its variants flag took {taken or 'plain'}")
            lines.append("uv without it, as pip does, took plain")

    @contextmanager
    def _stage(self, name: str) -> Iterator[list[str]]:
        started = time.monotonic()
        lines: list[str] = []
        yield lines
        self.stages.append(Stage(name, time.monotonic() - started, lines))

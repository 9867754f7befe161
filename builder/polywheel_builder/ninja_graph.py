"""The part of a plan that is not built yet, written for ninja."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from polywheel_builder.action import Action
from polywheel_builder.plan import Plan
from polywheel_builder.store import Store

_LAUNCH = Path(__file__).with_name("launch.py")


@dataclass(frozen=True)
class GraphWriter:
    """Writes `build.ninja` and one JSON file an action for `launch.py`."""

    plan: Plan
    store: Store
    folder: Path
    """Where the graph goes; it lies on the store's file system, since outputs leave it by rename."""
    failures: Path
    """Where launch keeps the logs of failed actions."""

    def write(self, actions: Sequence[Action]) -> None:
        """Write the graph of these actions; inputs that are not among them are in the store."""
        scratch = self.folder / "scratch"
        scratch.mkdir(parents=True)
        keys = {action.key for action in actions}
        lines = [
            "ninja_required_version = 1.10",
            "rule run",
            "  command = $command",
            "  description = $about",
        ]
        for action in actions:
            (self.folder / f"{action.key}.json").write_text(json.dumps(self._launch(action, scratch)))
            inputs = [
                self._output(self.plan.actions[key]) for key in dict.fromkeys(action.inputs) if key in keys
            ]
            lines += [
                f"build {self._output(action)}: run {' '.join(inputs)}".rstrip(),
                f"  command = {self._command(action)}",
                f"  about = {_escaped(action.key)}",
            ]
        graph = "\n".join(lines) + "\n"
        (self.folder / "build.ninja").write_bytes(os.fsencode(graph))

    def _output(self, action: Action) -> str:
        """Name what ninja takes for an action's output: a file that never is.

        ninja removes the outputs of steps it interrupts. It must not reach into the store, where a step
        that was just finished is whole.
        """
        return _escaped(str(self.folder / f"{action.key}.done")).replace(" ", "$ ").replace(":", "$:")

    def _command(self, action: Action) -> str:
        # -I -S: no user settings, no site-packages; launch.py needs neither and starts three times faster.
        command = [sys.executable, "-I", "-S", str(_LAUNCH), str(self.folder / f"{action.key}.json")]
        return _escaped(shlex.join(command))

    def _launch(self, action: Action, scratch: Path) -> dict[str, object]:
        inputs = {key: self.store.output_of(self.plan.actions[key]) for key in action.inputs}
        roots = self.plan.roots.with_paths(inputs)
        return {
            "command": [roots.expand(part) for part in action.command],
            "stdin": action.stdin,
            "output": str(self.store.output_of(action)),
            "scratch": str(scratch),
            "files": [(roots.expand(name), digest) for name, digest in action.files],
            "failure": str(failure_log(self.failures, action)),
        }


def failure_log(folder: Path, action: Action) -> Path:
    """Return where the log of an action is kept when it fails."""
    return folder / f"{action.key[:16]}.log"


def _escaped(text: str) -> str:
    return text.replace("$", "$$").replace("\n", "$\n")

"""Runs actions on this machine, through ninja."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import ninja

from polywheel_builder.action import Action
from polywheel_builder.build_folder import build_folder
from polywheel_builder.ninja_graph import GraphWriter, failure_log
from polywheel_builder.plan import Plan
from polywheel_builder.progress import Progress
from polywheel_builder.store import Store
from polywheel_variants.errors import BuildError

_MARK = "@@"
_KEPT_LINES = 40


class ActionFailedError(BuildError):
    """An action's command failed; `log` is what it said."""

    def __init__(self, message: str, log: str) -> None:
        super().__init__(message)
        self.log = log


@dataclass(frozen=True)
class LocalExecutor:
    """Runs a plan's missing actions, `jobs` at a time."""

    cache: Path
    jobs: int

    def run(self, plan: Plan, store: Store, actions: Sequence[Action], progress: Progress) -> None:
        """Run the actions, which are listed inputs first.

        Raises ActionFailedError for the first that fails; what finished before stays in the store.
        """
        failures = self.cache / "failed"
        with build_folder(self.cache / "graphs") as (folder, lock):
            for action in actions:
                failure_log(failures, action).unlink(missing_ok=True)
            progress.step(0, len(actions), f"{self.jobs} at a time")
            GraphWriter(plan, store, folder / "graph", failures).write(actions)
            code, words = self._ninja(folder / "graph", lock, plan, progress)
        if code != 0:
            raise _failure(actions, failures, words)

    def _ninja(self, graph: Path, lock: Sequence[int], plan: Plan, progress: Progress) -> tuple[int, str]:
        command = [os.fspath(Path(ninja.BIN_DIR) / "ninja"), "-C", str(graph), "-j", str(self.jobs)]
        environment = {**os.environ, "NINJA_STATUS": f"{_MARK}%f/%t "}
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            text=True,
            errors="replace",
            pass_fds=lock,
        ) as process:
            try:
                words: deque[str] = deque(maxlen=_KEPT_LINES)
                for line in process.stdout or ():
                    if not _tell(line, plan, progress):
                        words.append(line)
                return process.wait(), "".join(words)
            except KeyboardInterrupt:
                # ninja ends its commands by the same signal. Not SIGINT: a shell lets its background jobs
                # ignore that one, compilers included.
                process.send_signal(signal.SIGTERM)
                process.wait()
                raise


def _tell(line: str, plan: Plan, progress: Progress) -> bool:
    """Turn ninja's status line, `@@3/11 KEY`, into a step; returns whether the line was one."""
    if not line.startswith(_MARK):
        return False
    count, _, key = line[len(_MARK) :].rstrip("\n").partition(" ")
    done, _, total = count.partition("/")
    action = plan.actions.get(key)
    if action is not None:
        # A wheel's name tells its platform.
        where = "" if action.kind == "pack" else f" ({action.arch})"
        progress.step(int(done), int(total), f"{action.kind} {action.subject}{where}")
    return True


def _failure(actions: Sequence[Action], failures: Path, words: str) -> BuildError:
    for action in actions:
        log = failure_log(failures, action)
        if log.is_file():
            return ActionFailedError(
                f"{action.kind} {action.subject} for {action.arch} failed; its log is {log}; "
                f"run it again with: sh {shlex.quote(f'{log}.sh')}",
                log.read_text(encoding="utf-8", errors="replace"),
            )
    return ActionFailedError("a step could not be run at all; above is what ninja said (a full disk?)", words)

"""Builds a plan: runs what the store lacks, then hands the wheels over."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from polywheel_builder.action import Action
from polywheel_builder.cell import Cell
from polywheel_builder.memo import Memo
from polywheel_builder.plan import Plan
from polywheel_builder.progress import Progress
from polywheel_builder.store import Store
from polywheel_builder.whole_copy import copy_whole, remove_abandoned
from polywheel_variants.errors import BadInputError


class Executor(Protocol):
    """Runs actions somewhere."""

    def run(self, plan: Plan, store: Store, actions: Sequence[Action], progress: Progress) -> None:
        """Run the actions, listed inputs first; their outputs are in the store afterwards."""


@dataclass(frozen=True)
class BuiltWheel:
    """One wheel in the output folder."""

    cell: Cell
    path: Path
    size: int
    """Bytes."""
    sha256: str


@dataclass(frozen=True)
class BuildReport:
    """What a build did."""

    wheels: tuple[BuiltWheel, ...]
    run: tuple[Action, ...]
    """The actions that ran."""
    reused: int
    """How many actions of the plan the store already held, or nothing asked for."""
    seconds: float


def missing_actions(plan: Plan, store: Store) -> tuple[Action, ...]:
    """Return what must run, inputs first: an output that is there needs none of its inputs."""
    wanted = set(plan.wheels.values())
    missing: set[str] = set()
    for key in reversed(plan.actions):
        action = plan.actions[key]
        if key in wanted and not store.has(action):
            missing.add(key)
            wanted.update(action.inputs)
    return tuple(action for key, action in plan.actions.items() if key in missing)


@dataclass(frozen=True)
class Builder:
    """Builds plans into one output folder."""

    store: Store
    executor: Executor
    memo: Memo
    out: Path

    def build(self, plan: Plan, progress: Progress) -> BuildReport:
        """Build every cell of a plan and put its wheel into the output folder, each by one rename.

        Raises BadInputError, before any work, for an output folder that cannot be one; BuildError when an
        action fails. Wheels of earlier builds stay as they were.
        """
        started = time.monotonic()
        self._prepare_out()
        missing = missing_actions(plan, self.store)
        if missing:
            self.executor.run(plan, self.store, missing, progress)
            for action in missing:
                self.memo.forget(self.store.output_of(action))
        wheels = tuple(self._deliver(plan, cell) for cell in plan.cells)
        return BuildReport(wheels, missing, len(plan.actions) - len(missing), time.monotonic() - started)

    def _prepare_out(self) -> None:
        """Make the output folder, and remove from it what builds that were killed left half copied."""
        try:
            self.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInputError(f"{self.out}: {error.strerror or error}; name a folder with --out") from None
        if not os.access(self.out, os.W_OK | os.X_OK):
            raise BadInputError(f"{self.out}: may not be written to; name another folder with --out")
        for scratch in self.out.glob(".*.whl.*.tmp"):
            remove_abandoned(scratch)

    def _deliver(self, plan: Plan, cell: Cell) -> BuiltWheel:
        """Copy one wheel out of the store, unless the same bytes are there already."""
        source = self.store.output_of(plan.actions[plan.wheels[cell.id]])
        target = self.out / cell.name.filename
        digest = self.memo.digest(source)
        if not target.is_file() or self.memo.digest(target) != digest:
            try:
                copy_whole(source, target)
            except OSError as error:
                raise BadInputError(f"{target}: cannot be written: {error.strerror or error}") from None
            self.memo.forget(target)
        return BuiltWheel(cell, target, source.stat().st_size, digest)

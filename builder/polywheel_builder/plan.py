"""The plan: every cell of a matrix and the actions that make it, before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polywheel_builder.action import Action
from polywheel_builder.cell import Cell
from polywheel_builder.roots import Roots


@dataclass(frozen=True)
class Plan:
    """Cells and actions. Actions are listed so that each comes after its inputs."""

    cells: tuple[Cell, ...]
    actions: dict[str, Action]
    """key -> action, each once, however many cells share it."""
    wheels: Mapping[str, str]
    """cell id -> the key of the action that packs it."""
    roots: Roots

    def actions_of(self, cell: Cell) -> tuple[str, ...]:
        """Return the keys of all actions a cell needs, inputs first."""
        needed = {self.wheels[cell.id]}
        for key in reversed(self.actions):
            if key in needed:
                needed.update(self.actions[key].inputs)
        return tuple(key for key in self.actions if key in needed)

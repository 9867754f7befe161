"""What actions cost when they ran before, and from that what a plan will cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from polywheel_builder.action import Action
from polywheel_builder.kept_json import load, save
from polywheel_builder.store import Cost, Store

_FORMAT = 1
_FIRST_GUESS = {
    "compile": Cost(10.0, 600.0),
    "stub": Cost(0.1, 50.0),
    "link": Cost(0.5, 100.0),
    "pack": Cost(0.5, 60.0),
}
"""Per kind of action, until one like it has run here."""


@dataclass
class CostBook:
    """Costs by what an action is about, so that an edited source is estimated by its last compile."""

    path: Path
    costs: dict[str, Cost] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> CostBook:
        """Read a cost book; one that is missing or damaged is an empty one."""
        rows = load(path, _FORMAT) or {}
        return cls(path, {name: Cost(seconds, memory_mb) for name, (seconds, memory_mb) in rows.items()})

    def estimate(self, action: Action) -> Cost:
        """Return what the action took last time, or a first guess by its kind."""
        return self.costs.get(_about(action), _FIRST_GUESS[action.kind])

    def learn(self, actions: Iterable[Action], store: Store) -> None:
        """Take over what actions that just ran took, and save the book."""
        for action in actions:
            cost = store.cost_of(action)
            if cost is not None:
                self.costs[_about(action)] = cost
        rows = {name: (cost.seconds, cost.memory_mb) for name, cost in sorted(self.costs.items())}
        save(self.path, _FORMAT, rows)


def _about(action: Action) -> str:
    return f"{action.kind} {action.arch} {action.subject}"

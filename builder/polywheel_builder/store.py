"""The store: every action's output in a folder named by the action's key.

An output appears by one rename, so a key that is there is whole; nothing in the store ever changes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from polywheel_builder.action import Action


@dataclass(frozen=True)
class Cost:
    """What one step took when it ran."""

    seconds: float
    memory_mb: float
    """Peak resident memory of its largest process."""


@dataclass(frozen=True)
class Store:
    """A folder of outputs."""

    folder: Path

    def folder_of(self, key: str) -> Path:
        """Return the folder of one action's output."""
        return self.folder / key[:2] / key

    def output_of(self, action: Action) -> Path:
        """Return where an action's output lies, or will lie."""
        return self.folder_of(action.key) / action.output

    def has(self, action: Action) -> bool:
        """Whether the action's output is there."""
        return self.output_of(action).is_file()

    def cost_of(self, action: Action) -> Cost | None:
        """Return what the action took here, or None if it never ran."""
        try:
            report = json.loads((self.folder_of(action.key) / "cost.json").read_bytes())
            return Cost(float(report["seconds"]), float(report["memory_mb"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

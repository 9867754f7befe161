"""The store: every action's output in a folder named by the action's key.

An output appears by one rename and is never written again. Beside it lies its SHA-256, so that one which a
disk or a person has damaged since counts as missing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polywheel_builder.action import Action
from polywheel_builder.launch import REPORT


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


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
    digest: Callable[[Path], str] = _sha256
    """Returns a file's SHA-256; a memo's answer saves reading it."""

    def folder_of(self, key: str) -> Path:
        """Return the folder of one action's output."""
        return self.folder / key[:2] / key

    def output_of(self, action: Action) -> Path:
        """Return where an action's output lies, or will lie."""
        return self.folder_of(action.key) / action.output

    def has(self, action: Action) -> bool:
        """Whether the action's output is there, with the bytes it was made with."""
        try:
            return bool(self._report(action)["sha256"] == self.digest(self.output_of(action)))
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def cost_of(self, action: Action) -> Cost | None:
        """Return what the action took here, or None if it never ran."""
        try:
            report = self._report(action)
            return Cost(float(report["seconds"]), float(report["memory_mb"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _report(self, action: Action) -> Any:
        return json.loads((self.folder_of(action.key) / REPORT).read_bytes())

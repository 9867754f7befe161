"""What a long job tells whoever watches it."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Takes the news of a job; a terminal draws a bar, a log gets lines."""

    def note(self, text: str) -> None:
        """Say something worth a line of its own."""

    def step(self, done: int, total: int, text: str) -> None:
        """Say how far the job is, and what was finished last."""

    def end(self) -> None:
        """Close whatever is drawn; called once, also when the job fails."""


class Silence:
    """Tells nobody."""

    def note(self, text: str) -> None:
        """Say nothing."""

    def step(self, done: int, total: int, text: str) -> None:
        """Say nothing."""

    def end(self) -> None:
        """Say nothing."""

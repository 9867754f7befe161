"""The actions of a plan while it is made: each once, with the digests of what it reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from polywheel_builder.action import Action
from polywheel_builder.memo import Memo
from polywheel_builder.roots import Roots
from polywheel_variants.errors import BadInputError

Digests = tuple[tuple[str, str], ...]
"""(name, SHA-256) of files, sorted by name."""


@dataclass(frozen=True)
class CompileGraph:
    """Takes actions, inputs first."""

    roots: Roots
    memo: Memo
    actions: dict[str, Action] = field(default_factory=dict)
    """key -> action."""

    def add(self, action: Action) -> str:
        """Take an action, unless the same is there already; returns its key."""
        self.actions.setdefault(action.key, action)
        return action.key

    def digests(self, paths: Iterable[str | Path]) -> Digests:
        """Name and hash files. Raises BadInputError for one that cannot be read."""
        try:
            # By name, not by path: the order must not depend on where the checkout lies.
            return tuple(sorted((self.roots.name_of(path), self.memo.digest(path)) for path in paths))
        except OSError as error:
            raise BadInputError(f"{error.filename}: {error.strerror or error}") from None

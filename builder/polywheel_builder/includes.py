"""The include closure of a C or C++ source: every file its compile may read.

The scan reads `#include` lines and follows all of them, whatever the conditionals say, so the closure
holds at least what a compiler opens. Each compile checks that claim against the compiler's own list.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from polywheel_builder.memo import Memo

_IMPLIED = "<stdc-predef.h>"
"""What GCC and Clang read before any source on a GNU system, if it is there (GCC manual, "Standards")."""


@dataclass
class IncludeScanner:
    """Finds closures with one list of search folders; headers shared by sources are scanned once."""

    memo: Memo
    search: Sequence[Path]
    """Folders of `-I` and of the compiler, in its order."""
    listings: dict[str, frozenset[str]] = field(default_factory=dict)
    direct: dict[Path, tuple[Path, ...]] = field(default_factory=dict)

    def closure(self, source: Path) -> tuple[Path, ...]:
        """Return the source and every file it may include, sorted. Raises OSError for the source."""
        reached: set[Path] = set()
        waiting = [source, *self._find(_IMPLIED, source.parent)]
        while waiting:
            path = waiting.pop()
            if path not in reached:
                reached.add(path)
                waiting.extend(self._included_by(path))
        return tuple(sorted(reached))

    def _included_by(self, path: Path) -> tuple[Path, ...]:
        known = self.direct.get(path)
        if known is None:
            known = tuple(
                found for name in self.memo.includes(path) for found in self._find(name, path.parent)
            )
            self.direct[path] = known
        return known

    def _find(self, quoted: str, beside: Path) -> Iterator[Path]:
        """Yield every file the name may mean: all matches, so that `#include_next` is covered."""
        if quoted[0] not in '<"':
            return  # a macro; if the compiler opens a file through it, the compile's own check says so
        name = quoted[1:-1]
        folders = [beside, *self.search] if quoted[0] == '"' else self.search
        for folder in folders:
            path = Path(os.path.normpath(folder / name))
            if self._exists(path):
                yield path

    def _exists(self, path: Path) -> bool:
        """Look a file up in its folder's listing: one system call a folder instead of one a guess."""
        folder = str(path.parent)
        names = self.listings.get(folder)
        if names is None:
            try:
                names = frozenset(entry.name for entry in os.scandir(folder) if entry.is_file())
            except OSError:
                names = frozenset()
            self.listings[folder] = names
        return path.name in names

"""The include closure of a C or C++ source: every file its compile may read.

The scan reads `#include` lines and follows all of them, whatever the conditionals say, so the closure
holds at least what a compiler opens. Each compile checks that claim against the compiler's own list.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from polywheel_builder.memo import Memo

_IMPLIED = "<stdc-predef.h>"
"""What GCC and Clang read before any source on a GNU system, if it is there (GCC manual, "Standards")."""


@dataclass
class IncludeScanner:
    """Finds closures with one list of search folders; headers shared by sources are scanned once.

    Paths are plain strings: a plan looks at thousands, and pathlib would take most of its time.
    """

    memo: Memo
    search: Sequence[str]
    """Folders of `-I` and of the compiler, in its order."""
    listings: dict[str, frozenset[str]] = field(default_factory=dict)
    direct: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def closure(self, source: str) -> tuple[str, ...]:
        """Return the source and every file it may include, sorted. Raises OSError for the source."""
        reached: set[str] = set()
        waiting = [source, *self._find(_IMPLIED, os.path.dirname(source))]
        while waiting:
            path = waiting.pop()
            if path not in reached:
                reached.add(path)
                waiting.extend(self._included_by(path))
        return tuple(sorted(reached))

    def _included_by(self, path: str) -> tuple[str, ...]:
        known = self.direct.get(path)
        if known is None:
            folder = os.path.dirname(path)
            names = self.memo.includes(path)
            known = self.direct[path] = tuple(found for name in names for found in self._find(name, folder))
        return known

    def _find(self, quoted: str, beside: str) -> Iterator[str]:
        """Yield every file the name may mean: all matches, so that `#include_next` is covered."""
        if quoted[0] not in '<"':
            return  # a macro; if the compiler opens a file through it, the compile's own check says so
        folders = [beside, *self.search] if quoted[0] == '"' else self.search
        for folder in folders:
            path = os.path.normpath(f"{folder}/{quoted[1:-1]}")
            if self._exists(path):
                yield path

    def _exists(self, path: str) -> bool:
        """Look a file up in its folder's listing: one system call a folder instead of one a guess."""
        folder, name = os.path.split(path)
        names = self.listings.get(folder)
        if names is None:
            names = self.listings[folder] = frozenset(_files_in(folder))
        return name in names


def _files_in(folder: str) -> list[str]:
    try:
        return [entry.name for entry in os.scandir(folder) if _is_file(entry)]
    except OSError:
        return []


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link to itself; its neighbours are files all the same
        return False

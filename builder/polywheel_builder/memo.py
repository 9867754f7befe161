"""What was learnt from a file's bytes, remembered by the file's stat so that a plan need not read it again.

A memo only saves time: every answer it gives is one that reading the bytes would give. Deleting it is safe.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polywheel_builder.kept_json import load, save

_FORMAT = 4
_RACY_NS = 2_000_000_000  # a file changed this recently may change again within one clock tick
_INCLUDE = re.compile(
    rb'^[ \t]*#[ \t]*(?:include_next|include|import)\b[ \t]*([<"][^>"\n]+[>"]|\w+)'
    rb'|\b__has_include(?:_next)?[ \t]*\([ \t]*([<"][^>"\n]+[>"])',
    re.MULTILINE,
)


@dataclass
class Memo:
    """Digests and include lines by path. Load it, ask it, save it."""

    path: Path
    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    fresh: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Entries whose stat was compared in this process."""

    @classmethod
    def load(cls, path: Path) -> Memo:
        """Read a memo; one that is missing or damaged is an empty one."""
        return cls(path, load(path, _FORMAT) or {})

    def save(self) -> None:
        """Write the memo back, whole or not at all; files of the last two seconds are left out."""
        settled = time.time_ns() - _RACY_NS
        kept = self.entries | {
            name: one for name, one in self.fresh.items() if max(one["stat"][1], one["stat"][3]) < settled
        }
        if kept == self.entries and self.path.exists():
            return
        save(self.path, _FORMAT, kept)

    def digest(self, path: str | Path) -> str:
        """Return the SHA-256 of a file's bytes, in hex. Raises OSError."""
        answer: str = self.told(path, "sha256", lambda: hashlib.sha256(Path(path).read_bytes()).hexdigest())
        return answer

    def includes(self, path: str | Path) -> list[str]:
        """Return what a C or C++ source's `#include` lines name, with their quotes. Raises OSError.

        Lines inside conditionals count too: a file too many costs a rebuild, one too few a wrong one.
        `__has_include` names files whose mere presence decides; a compiler lists none of them.
        """
        answer: list[str] = self.told(path, "includes", lambda: _includes(Path(path).read_bytes()))
        return answer

    def forget(self, path: Path) -> None:
        """Drop what is known of a file that this process has just replaced."""
        self.fresh.pop(str(path), None)

    def told(self, path: str | Path, what: str, ask: Callable[[], Any]) -> Any:
        """Return the answer to a question whose answer depends on a file's bytes alone; it must be JSON.

        Raises OSError when the file is not there.
        """
        name = str(path)
        entry = self.fresh.get(name)
        if entry is None:
            entry = self.fresh[name] = self._current(name)
        if what not in entry:
            entry[what] = ask()
        return entry[what]

    def _current(self, name: str) -> dict[str, Any]:
        """Return the remembered entry if the file's stat is still the same, else an empty one."""
        stat = os.stat(name)  # noqa: PTH116 - called for hundreds of files in a plan
        now = [stat.st_size, stat.st_mtime_ns, stat.st_ino, stat.st_ctime_ns]
        entry = self.entries.get(name)
        return dict(entry) if entry is not None and entry["stat"] == now else {"stat": now}


def _includes(data: bytes) -> list[str]:
    names = dict.fromkeys(line or asked for line, asked in _INCLUDE.findall(data))
    return [name.decode("utf-8", "surrogateescape") for name in names]

"""The folders a plan refers to by name, so that no machine's paths enter a hash or a wheel."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_NAME = re.compile(r"\{([a-z0-9]+)\}")


@dataclass(frozen=True)
class Roots:
    """name -> folder or file."""

    paths: Mapping[str, Path]

    def name_of(self, path: str | Path) -> str:
        """Write a path with the deepest root that holds it; a path under none stays as it is."""
        text = os.fspath(path).replace(os.sep, "/")
        for root, name in self._deepest_first:
            if text == root:
                return name
            if text.startswith(f"{root}/"):
                return name + text[len(root) :]
        return text

    @cached_property
    def _deepest_first(self) -> list[tuple[str, str]]:
        pairs = [(path.as_posix(), f"{{{name}}}") for name, path in self.paths.items()]
        return sorted(pairs, key=lambda pair: len(pair[0]), reverse=True)

    def expand(self, text: str) -> str:
        """Replace every `{name}` that is a root; other braces are the text's own."""
        return _NAME.sub(lambda found: str(self.paths.get(found[1], found[0])), text)

    def with_paths(self, more: Mapping[str, Path]) -> Roots:
        """Return these roots and more."""
        return Roots({**self.paths, **more})

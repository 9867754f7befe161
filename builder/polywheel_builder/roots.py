"""The folders a plan refers to by name, so that no machine's paths enter a hash or a wheel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_NAME = re.compile(r"\{([a-z0-9]+)\}")


@dataclass(frozen=True)
class Roots:
    """name -> folder or file."""

    paths: Mapping[str, Path]

    def name_of(self, path: Path) -> str:
        """Write a path with the deepest root that holds it; a path under none stays as it is."""
        holders = [(name, root) for name, root in self.paths.items() if path.is_relative_to(root)]
        if not holders:
            return path.as_posix()
        name, root = max(holders, key=lambda pair: len(pair[1].parts))
        rest = path.relative_to(root).as_posix()
        return f"{{{name}}}" if rest == "." else f"{{{name}}}/{rest}"

    def expand(self, text: str) -> str:
        """Replace every `{name}` that is a root; other braces are the text's own."""
        return _NAME.sub(lambda found: str(self.paths.get(found[1], found[0])), text)

    def with_paths(self, more: Mapping[str, Path]) -> Roots:
        """Return these roots and more."""
        return Roots({**self.paths, **more})

"""The workshop: what this machine brings to a plan."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from polywheel_builder.memo import Memo
from polywheel_builder.project import Project
from polywheel_builder.roots import Roots
from polywheel_builder.toolchains.gcc import Gcc

BUILDER = Path(__file__).parent
"""This package's folder: it holds a few sources that every library is linked with."""


@dataclass(frozen=True)
class Workshop:
    """What a plan is made with on this machine."""

    gcc: Gcc
    torch_headers: Path
    memo: Memo
    epoch: int

    def roots(self, project: Project) -> Roots:
        """Return the folders that the plan's actions name."""
        return Roots(
            {
                "project": project.folder,
                "torch": self.torch_headers,
                "builder": BUILDER,
                "gxx": self.gcc.path,
                "python": Path(sys.executable),
            }
        )

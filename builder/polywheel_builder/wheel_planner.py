"""Plans wheels: the libraries they hold, and the action that checks and packs them."""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

from polywheel_abi_check import image as abi_check_module
from polywheel_builder.action import OUT, Action, output_of
from polywheel_builder.cell import Cell
from polywheel_builder.compile_graph import CompileGraph, Digests
from polywheel_builder.library_planner import LibraryPlanner
from polywheel_builder.matrix import Matrix, Variant
from polywheel_builder.pack import PackSpec
from polywheel_builder.project import Project
from polywheel_builder.properties import variant_metadata
from polywheel_builder.workshop import BUILDER, Workshop
from polywheel_variants import archive as variants_module


@dataclass
class WheelPlanner:
    """Adds wheels to a graph."""

    matrix: Matrix
    project: Project
    workshop: Workshop
    graph: CompileGraph

    @cached_property
    def libraries(self) -> LibraryPlanner:
        """Plans the libraries, into the same graph."""
        return LibraryPlanner(self.matrix, self.project, self.workshop, self.graph)

    def wheel(self, cell: Cell) -> str:
        """Plan one wheel; returns the key of the action that packs it."""
        libraries = {
            f"{self.project.name}/{library.name}.so": self.libraries.library(library, _march(cell.variant))
            for library in self.matrix.libraries.values()
            if cell.variant.kind in library.kinds
        }
        files = {
            path.relative_to(self.project.package.parent).as_posix(): self.graph.roots.name_of(path)
            for path in self.project.files
        }
        licenses = {
            f"{cell.name.dist_info}/licenses/{path.relative_to(self.project.folder).as_posix()}":
            self.graph.roots.name_of(path)
            for path in self.project.licenses
        }  # fmt: skip
        spec = PackSpec(
            filename=cell.name.filename,
            files=files | licenses,
            libraries={inside: output_of(key) for inside, key in libraries.items()},
            texts=self._texts(cell),
            epoch=self.workshop.epoch,
        )
        return self.graph.add(
            Action(
                kind="pack",
                tool="polywheel pack",
                arch=cell.platform,
                subject=cell.name.filename,
                output=cell.name.filename,
                command=(
                    "{python}", "-I", "-m", "polywheel_builder.pack", OUT,
                    "project={project}", "torch={torch}",
                    *(f"{key}={output_of(key)}" for key in dict.fromkeys(libraries.values())),
                ),
                tool_digest=self._packer_digest,
                files=(*self.graph.digests([*self.project.files, *self.project.licenses]), *self._headers),
                inputs=tuple(dict.fromkeys(libraries.values())),
                stdin=spec.to_json(),
            )
        )  # fmt: skip

    def _texts(self, cell: Cell) -> dict[str, str]:
        requires = [f"torch>={self.matrix.torch}", *cell.variant.requires]
        texts = {
            "METADATA": self.project.core_metadata(requires).decode(),
            "WHEEL": _wheel_file(cell),
        }
        if cell.name.label is not None:
            metadata = variant_metadata(cell.name.label, cell.properties)
            texts["variant.json"] = metadata.to_json().decode()
        return {f"{cell.name.dist_info}/{name}": text for name, text in texts.items()}

    @cached_property
    def _headers(self) -> Digests:
        return self.graph.digests(sorted(self.workshop.torch_headers.rglob("*.h")))

    @cached_property
    def _packer_digest(self) -> str:
        """Hash the code that packs: a changed packer packs anew."""
        folders = [Path(variants_module.__file__).parent, Path(abi_check_module.__file__).parent]
        code = [
            BUILDER / "pack.py",
            BUILDER / "roots.py",
            *(p for one in folders for p in sorted(one.rglob("*.py"))),
        ]
        digests = [self.workshop.memo.digest(path) for path in code]
        return hashlib.sha256(
            json.dumps([digests, sys.version, zlib.ZLIB_RUNTIME_VERSION]).encode()
        ).hexdigest()


def _march(variant: Variant) -> str:
    """Return GCC's name of what a variant's code may use (x86-64 psABI, micro-architecture levels)."""
    return f"x86-64-{variant.version}" if variant.kind == "cpu" else "x86-64"


def _wheel_file(cell: Cell) -> str:
    tags = "".join(f"Tag: {tag}\n" for tag in cell.name.tags)
    return f"Wheel-Version: 1.0\nGenerator: polywheel {version('polywheel')}\nRoot-Is-Purelib: false\n{tags}"

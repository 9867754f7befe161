"""Plans shared libraries: a compile a source and level, a stub of libtorch, a link."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from polywheel_builder.action import Action, output_of
from polywheel_builder.compile_graph import CompileGraph, Digests
from polywheel_builder.includes import IncludeScanner
from polywheel_builder.matrix import Library, Matrix
from polywheel_builder.project import Project, visible
from polywheel_builder.workshop import BUILDER, Workshop
from polywheel_variants.errors import BadInputError

_OLDER_RUNTIME = BUILDER / "older_runtime.cpp"
"""Defines what newer C++ headers refer to and an older libstdc++ lacks, so that the floor stays low."""

_TORCH = "libtorch_cpu.so"


@dataclass(frozen=True)
class LibraryPlanner:
    """Adds libraries to a graph; what two of them share is added once."""

    matrix: Matrix
    project: Project
    workshop: Workshop
    graph: CompileGraph
    planned: dict[tuple[str, str], str] = field(default_factory=dict)
    closures: dict[tuple[Path, tuple[Path, ...]], Digests] = field(default_factory=dict)
    scanners: dict[tuple[Path, ...], IncludeScanner] = field(default_factory=dict)

    def library(self, library: Library, arch: str) -> str:
        """Plan one shared library for one level; returns the key of its link."""
        known = self.planned.get((library.name, arch))
        if known is None:
            known = self.planned[library.name, arch] = self._link(library, arch)
        return known

    def _link(self, library: Library, arch: str) -> str:
        gcc, include = self.workshop.gcc, self._include(library)
        objects = [self._object(source, arch, include) for source in self._sources(library)]
        objects.append(self._object(_OLDER_RUNTIME, gcc.archs[0], ()))
        stub = self._stub()
        soname = f"{library.name}.so"
        return self.graph.add(
            Action(
                kind="link",
                tool=gcc.label,
                arch=arch,
                subject=soname,
                output=soname,
                command=gcc.link(
                    [output_of(key) for key in objects], needed=[output_of(stub)], soname=soname
                ),
                tool_digest=gcc.digest,
                files=self.graph.digests([BUILDER / "export_nothing.map"]),
                inputs=(*objects, stub),
            )
        )

    def _sources(self, library: Library) -> list[Path]:
        found: list[Path] = []
        for pattern in library.sources:
            where = f"{self.matrix.source}: libraries.{library.name}.sources: {pattern!r}"
            try:
                matches = sorted(path for path in self.project.folder.glob(pattern) if path.is_file())
            except (ValueError, IndexError, RuntimeError) as error:  # what pathlib refuses patterns with
                raise BadInputError(f"{where} is no pattern: {error}") from None
            if not matches:
                if os.path.isdir(self.project.folder / pattern):  # noqa: PTH112 - False for any bad name
                    raise BadInputError(f"{where} is a folder; name its files, such as {pattern}/*.cpp")
                raise BadInputError(f"{where} matches nothing in {self.project.folder}")
            found += visible(self.project.folder, matches)
        return list(dict.fromkeys(found))

    def _object(self, source: Path, arch: str, include: tuple[Path, ...]) -> str:
        gcc = self.workshop.gcc
        name = self.graph.roots.name_of(source)
        return self.graph.add(
            Action(
                kind="compile",
                tool=gcc.label,
                arch=arch,
                subject=name.partition("/")[2],
                output=f"{source.stem}.o",
                command=gcc.compile(
                    name,
                    arch=arch,
                    defines=[f"TORCH_TARGET_VERSION={_target_version(self.matrix.torch)}"],
                    include=[self.graph.roots.name_of(one) for one in include],
                    foreign=["{torch}"],
                ),
                tool_digest=gcc.digest,
                files=self._closure(source, include),
            )
        )

    def _include(self, library: Library) -> tuple[Path, ...]:
        folders = tuple(self.project.folder / one for one in library.include)
        for folder in folders:
            if not folder.is_dir():
                raise BadInputError(
                    f"{self.matrix.source}: libraries.{library.name}.include: {folder} is no folder"
                )
        return folders

    def _stub(self) -> str:
        gcc = self.workshop.gcc
        return self.graph.add(
            Action(
                kind="stub",
                tool=gcc.label,
                arch=gcc.machine,
                subject=_TORCH,
                output=_TORCH,
                command=gcc.stub(_TORCH),
                tool_digest=gcc.digest,
            )
        )

    def _closure(self, source: Path, include: tuple[Path, ...]) -> Digests:
        """Return what a compile may read; the same for every level, so found once."""
        known = self.closures.get((source, include))
        if known is None:
            scanner = self.scanners.get(include)
            if scanner is None:
                search = [
                    os.fspath(path)
                    for path in (*include, self.workshop.torch_headers, *self.workshop.gcc.system_include)
                ]
                scanner = self.scanners[include] = IncludeScanner(self.workshop.memo, search)
            known = self.closures[source, include] = self.graph.digests(scanner.closure(os.fspath(source)))
        return known


def _target_version(torch: str) -> str:
    """Encode `2.10` as TORCH_TARGET_VERSION: one byte each for major and minor, from the top."""
    major, minor = map(int, torch.split("."))
    return f"0x{major:02x}{minor:02x}000000000000ULL"

"""Makes the plan of a matrix: cells to actions, each action once."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

from polywheel_abi_check import image as abi_check_module
from polywheel_builder.action import OUT, Action, output_of
from polywheel_builder.cell import Cell
from polywheel_builder.includes import IncludeScanner
from polywheel_builder.matrix import Library, Matrix, Variant
from polywheel_builder.pack import PackSpec
from polywheel_builder.plan import Plan
from polywheel_builder.project import Project, visible
from polywheel_builder.properties import variant_metadata
from polywheel_builder.roots import Roots
from polywheel_builder.toolchains.gcc import Gcc
from polywheel_builder.workshop import BUILDER, Workshop
from polywheel_variants import archive as variants_module
from polywheel_variants.errors import BadInputError

_OLDER_RUNTIME = BUILDER / "older_runtime.cpp"
"""Defines what newer C++ headers refer to and an older libstdc++ lacks, so that the floor stays low."""
_TORCH = "libtorch_cpu.so"


def make_plan(matrix: Matrix, project: Project, cells: Sequence[Cell], workshop: Workshop) -> Plan:
    """Plan the cells.

    Raises BadInputError for a matrix that asks for what this version does not build, or names sources
    that are not there.
    """
    for cell in cells:
        _require_buildable(matrix, cell, workshop.gcc)
    planner = _Planner(matrix, project, workshop)
    wheels = {cell.id: planner.wheel(cell) for cell in cells}
    return Plan(tuple(cells), planner.actions, wheels, planner.roots)


def _require_buildable(matrix: Matrix, cell: Cell, gcc: Gcc) -> None:
    if matrix.generate:
        raise BadInputError(f"{matrix.source}: generate: this version runs no generator; run it before")
    if matrix.sdist:
        raise BadInputError(f"{matrix.source}: sdist: this version writes no source distribution; write no")
    if cell.name.python != "py3":
        raise BadInputError(
            f"{matrix.source}: pythons: {cell.name.python} needs Python's headers, which no compiler of "
            "this version gets; it builds py3, one wheel for every Python"
        )
    if cell.platform not in _platforms_of(gcc, cell):
        raise BadInputError(
            f"{matrix.source}: platforms: no compiler here builds {cell.platform}; "
            f"{gcc.label} builds manylinux_*_{gcc.machine}"
        )


def _platforms_of(gcc: Gcc, cell: Cell) -> tuple[str, ...]:
    fits = cell.platform.startswith("manylinux_") and cell.platform.endswith(f"_{gcc.machine}") and gcc.archs
    return (cell.platform,) if fits else ()


@dataclass
class _Planner:
    """Makes the actions of cell after cell, each action once."""

    matrix: Matrix
    project: Project
    workshop: Workshop
    actions: dict[str, Action] = field(default_factory=dict)
    libraries: dict[tuple[str, str], str] = field(default_factory=dict)
    closures: dict[tuple[Path, tuple[Path, ...]], tuple[tuple[str, str], ...]] = field(default_factory=dict)
    scanners: dict[tuple[Path, ...], IncludeScanner] = field(default_factory=dict)

    @cached_property
    def roots(self) -> Roots:
        return self.workshop.roots(self.project)

    def wheel(self, cell: Cell) -> str:
        """Plan one wheel; returns the key of the action that packs it."""
        libraries = {
            f"{self.project.name}/{library.name}.so": self._library(library, _march(cell.variant))
            for library in self.matrix.libraries.values()
            if cell.variant.kind in library.kinds
        }
        files = {
            path.relative_to(self.project.package.parent).as_posix(): self.roots.name_of(path)
            for path in self.project.files
        }
        licenses = {
            f"{cell.name.dist_info}/licenses/{path.relative_to(self.project.folder).as_posix()}":
            self.roots.name_of(path)
            for path in self.project.licenses
        }  # fmt: skip
        spec = PackSpec(
            filename=cell.name.filename,
            files=files | licenses,
            libraries={inside: output_of(key) for inside, key in libraries.items()},
            texts=self._texts(cell),
            epoch=self.workshop.epoch,
        )
        return self._add(
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
                files=(*self._digests([*self.project.files, *self.project.licenses]), *self._headers),
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

    def _library(self, library: Library, arch: str) -> str:
        """Plan one shared library for one level; returns the key of its link."""
        known = self.libraries.get((library.name, arch))
        if known is None:
            known = self.libraries[library.name, arch] = self._link(library, arch)
        return known

    def _link(self, library: Library, arch: str) -> str:
        objects = [self._object(library, source, arch) for source in self._sources(library)]
        objects.append(self._object(library, _OLDER_RUNTIME, self.workshop.gcc.archs[0]))
        stub = self._stub()
        soname = f"{library.name}.so"
        gcc = self.workshop.gcc
        return self._add(
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
                files=self._digests([BUILDER / "export_nothing.map"]),
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

    def _object(self, library: Library, source: Path, arch: str) -> str:
        gcc = self.workshop.gcc
        include = self._include(library)
        headers = [*include, self.workshop.torch_headers]
        name = self.roots.name_of(source)
        return self._add(
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
                    include=[self.roots.name_of(one) for one in include],
                    foreign=["{torch}"],
                ),
                tool_digest=gcc.digest,
                files=self._closure(source, tuple(headers)),
            )
        )

    def _include(self, library: Library) -> list[Path]:
        folders = [self.project.folder / one for one in library.include]
        for folder in folders:
            if not folder.is_dir():
                raise BadInputError(
                    f"{self.matrix.source}: libraries.{library.name}.include: {folder} is no folder"
                )
        return folders

    def _stub(self) -> str:
        gcc = self.workshop.gcc
        return self._add(
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

    def _closure(self, source: Path, include: tuple[Path, ...]) -> tuple[tuple[str, str], ...]:
        """Return what a compile may read; the same for every level, so found once."""
        known = self.closures.get((source, include))
        if known is None:
            scanner = self.scanners.get(include)
            if scanner is None:
                search = [os.fspath(path) for path in (*include, *self.workshop.gcc.system_include)]
                scanner = self.scanners[include] = IncludeScanner(self.workshop.memo, search)
            known = self.closures[source, include] = self._digests(scanner.closure(os.fspath(source)))
        return known

    @cached_property
    def _headers(self) -> tuple[tuple[str, str], ...]:
        return self._digests(sorted(self.workshop.torch_headers.rglob("*.h")))

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

    def _digests(self, paths: Iterable[str | Path]) -> tuple[tuple[str, str], ...]:
        try:
            # By name, not by path: the order must not depend on where the checkout lies.
            return tuple(
                sorted((self.roots.name_of(path), self.workshop.memo.digest(path)) for path in paths)
            )
        except OSError as error:
            raise BadInputError(f"{error.filename}: {error.strerror or error}") from None

    def _add(self, action: Action) -> str:
        self.actions.setdefault(action.key, action)
        return action.key


def _march(variant: Variant) -> str:
    """Return GCC's name of what a variant's code may use (x86-64 psABI, micro-architecture levels)."""
    return f"x86-64-{variant.version}" if variant.kind == "cpu" else "x86-64"


def _target_version(torch: str) -> str:
    """Encode `2.10` as TORCH_TARGET_VERSION: one byte each for major and minor, from the top."""
    major, minor = map(int, torch.split("."))
    return f"0x{major:02x}{minor:02x}000000000000ULL"


def _wheel_file(cell: Cell) -> str:
    tags = "".join(f"Tag: {tag}\n" for tag in cell.name.tags)
    return f"Wheel-Version: 1.0\nGenerator: polywheel {version('polywheel')}\nRoot-Is-Purelib: false\n{tags}"

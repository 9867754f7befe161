"""The project a matrix builds: its pyproject.toml, its Python files, its core metadata."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from pyproject_metadata import ConfigurationError, StandardMetadata

from polywheel_variants.errors import BadInputError
from polywheel_variants.wheel_name import escaped_project, normalized_project

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_CORE_METADATA = "2.4"
_LEFT_OUT = {".so", ".pyd", ".dylib", ".dll", ".pyc", ".pyo"}
"""What a package folder may hold beside its sources: earlier builds."""


@dataclass(frozen=True)
class Project:
    """A project's name, version and files."""

    folder: Path
    name: str
    """As file names escape it: `polywheel_kernels`."""
    version: str
    package: Path
    """The import package's folder, which the libraries go into."""
    files: tuple[Path, ...]
    """The package's own files, sorted."""
    licenses: tuple[Path, ...]
    table: StandardMetadata

    def core_metadata(self, requires: Sequence[str]) -> bytes:
        """Return METADATA with further requirements (core metadata specification 2.4)."""
        more = [Requirement(text) for text in requires]
        table = replace(self.table, dependencies=[*self.table.dependencies, *more])
        return bytes(table.as_rfc822())


def read_project(folder: Path) -> Project:
    """Read the [project] table and find the package.

    Raises BadInputError, naming the file and the key.
    """
    path = folder / "pyproject.toml"
    table = _standard_metadata(path, _load(path))
    name = escaped_project(table.name)
    if table.version is None:
        raise BadInputError(
            f"{path}: project.version is missing; polywheel takes it from here, not from a tag"
        )
    if any(normalized_project(one.name) == "torch" for one in table.dependencies):
        raise BadInputError(
            f"{path}: project.dependencies names torch; the matrix's 'torch' key says it already"
        )
    package = _package(folder, name)
    licenses = tuple(folder / one for one in table.license_files or ())
    return Project(folder, name, str(table.version), package, _files(package), licenses, table)


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInputError(
            f"{path}: {error.strerror or error}; the matrix's 'project' names a folder with a pyproject.toml"
        ) from None
    except UnicodeDecodeError as error:
        raise BadInputError(f"{path}: not UTF-8 at byte {error.start}") from None
    except tomllib.TOMLDecodeError as error:
        raise BadInputError(f"{path}: not TOML: {error}") from None


def _standard_metadata(path: Path, document: dict[str, Any]) -> StandardMetadata:
    try:
        return StandardMetadata.from_pyproject(
            document, path.parent, allow_extra_keys=False, metadata_version=_CORE_METADATA
        )
    except ConfigurationError as error:
        raise BadInputError(f"{path}: {' '.join(str(error).split())}") from None
    except UnicodeDecodeError as error:
        raise BadInputError(f"{path}: a file that [project] names is not UTF-8: {error.reason}") from None
    except (AttributeError, TypeError, ValueError) as error:
        # Of some tables, such as `dynamic = 1`, the library cannot even say what is wrong.
        raise BadInputError(f"{path}: [project] holds a value that cannot be read: {error}") from None


def _package(folder: Path, name: str) -> Path:
    for candidate in (folder / name, folder / "src" / name):
        if (candidate / "__init__.py").is_file():
            return candidate
    raise BadInputError(
        f"{folder}: no package {name}/__init__.py, nor src/{name}/__init__.py; "
        "the package is named as [project] is, with '_' for '-'"
    )


def _files(package: Path) -> tuple[Path, ...]:
    return visible(
        package,
        (
            path
            for path in sorted(package.rglob("*"))
            if path.is_file() and path.suffix not in _LEFT_OUT and "__pycache__" not in path.parts
        ),
    )


def visible(root: Path, paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return the paths of files below `root` that go into a build.

    Raises BadInputError for a name with a control character or bytes that are no UTF-8: archives, RECORD,
    dependency files and logs each write such a name in another way, or not at all.
    """
    found = tuple(paths)
    for path in found:
        name = str(path.relative_to(root))
        if not name.isprintable():
            raise BadInputError(f"{root}: a file's name holds a character that cannot be seen: {name!r}")
    return found

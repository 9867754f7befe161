"""A cell: one variant on one platform for one Python, which is one wheel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from polywheel_builder.matrix import NO_PLAIN, Matrix, Variant
from polywheel_builder.matrix_file import is_x86_level
from polywheel_builder.project import Project
from polywheel_builder.properties import properties_of
from polywheel_variants.errors import BadInputError
from polywheel_variants.property import Properties
from polywheel_variants.wheel_name import WheelName


@dataclass(frozen=True)
class Cell:
    """One wheel of the release."""

    name: WheelName
    variant: Variant
    """What it is built as; a plain wheel has a variant's bytes under a name without label."""
    properties: Properties
    """Empty for null and for a plain wheel."""

    @property
    def id(self) -> str:
        """The wheel's name after the version."""
        return self.name.cell_id

    def properties_json(self) -> dict[str, dict[str, list[str]]]:
        """Return the properties as variant.json writes them."""
        return {
            namespace: {feature: list(values) for feature, values in features.items()}
            for namespace, features in self.properties.items()
        }

    @property
    def platform(self) -> str:
        """The platform tag."""
        return self.name.platform


def make_cells(matrix: Matrix, project: Project) -> tuple[Cell, ...]:
    """Cross variants, platforms and Pythons, plain wheels last.

    Raises BadInputError for a variant that no platform takes, and for two cells with one file name.
    """
    cells = [cell for variant in matrix.variants for cell in _cells_of(matrix, project, variant)]
    plain = [
        Cell(cell.name.plain(), cell.variant, {})
        for cell in cells
        if matrix.plain != NO_PLAIN and cell.variant.label == matrix.plain
    ]
    for cell in (*cells, *plain):
        _require_name(cell)
    _require_unique_names([*cells, *plain])
    return (*cells, *plain)


def _cells_of(matrix: Matrix, project: Project, variant: Variant) -> Iterator[Cell]:
    properties = properties_of(matrix, variant)
    platforms = [one for one in matrix.platforms if _takes(variant, one)]
    if not platforms:
        raise BadInputError(
            f"{variant.where}: variant {variant.label!r} takes none of the platforms "
            f"{', '.join(matrix.platforms)}"
        )
    for platform in platforms:
        for python in matrix.pythons:
            tag, abi = python_and_abi(python)
            name = WheelName(project.name, project.version, tag, abi, platform, variant.label)
            yield Cell(name, variant, properties)


def python_and_abi(python: str) -> tuple[str, str]:
    """Split an entry of `pythons` into a wheel's Python and ABI tags (PEP 425, PEP 703, PEP 803).

    `cp310-abi3` says both; `py3` goes with `none`; `cp315` and its free-threaded build `cp315t` are ABIs of
    the same Python.
    """
    tag, _, abi = python.partition("-")
    if abi:
        return tag, abi
    return (tag, "none") if tag.startswith("py") else (tag.removesuffix("t"), tag)


def _takes(variant: Variant, platform: str) -> bool:
    """Whether a variant's kind exists on a platform, and the author did not narrow it away."""
    if variant.platforms and not any(fnmatchcase(platform, pattern) for pattern in variant.platforms):
        return False
    x86_64 = platform.endswith(("x86_64", "win_amd64"))
    match variant.kind:
        case "null":
            return True
        case "cpu":
            return x86_64 == is_x86_level(variant.version)
        case "cuda":
            return not platform.startswith("macosx")
        case "rocm" | "xpu":
            return x86_64 and platform.startswith("manylinux")


def _require_name(cell: Cell) -> None:
    """Require that what will be written can be read back: a name may be too long for any file."""
    try:
        WheelName.parse(cell.name.filename)
    except BadInputError as error:
        raise BadInputError(f"{cell.variant.where}: {error}; shorten the name, version or label") from None


def _require_unique_names(cells: list[Cell]) -> None:
    seen: dict[str, Cell] = {}
    for cell in cells:
        other = seen.setdefault(cell.name.filename, cell)
        if other is not cell:
            raise BadInputError(
                f"{cell.variant.where}: {cell.name.filename} is also the file name of the variant at "
                f"{other.variant.where}; two cells must not write one file"
            )

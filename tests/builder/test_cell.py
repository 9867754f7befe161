from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from polywheel_builder.cell import Cell, make_cells, python_and_abi
from polywheel_builder.matrix import Matrix
from polywheel_builder.matrix_file import parse_matrix
from polywheel_builder.project import Project, read_project
from polywheel_builder.properties import properties_of, variant_metadata
from polywheel_variants.errors import BadInputError
from polywheel_variants.known_providers import MAX_VARIANTS


@pytest.fixture
def project(tiny_sources: Callable[[], Any]) -> Project:
    folder: Path = tiny_sources().folder
    return read_project(folder)


def _matrix(small: str, old: str = "", new: str = "") -> Matrix:
    assert old in small
    return parse_matrix(small.replace(old, new, 1).encode(), source="matrix.yaml")


def test_crosses_variants_platforms_and_pythons_plain_last(small: str, project: Project) -> None:
    matrix = _matrix(
        small,
        "pythons: [py3]\nplatforms: [manylinux_2_28_x86_64]",
        "pythons: [py3, cp315t]\nplatforms: [manylinux_2_28_x86_64, macosx_14_0_x86_64]",
    )
    cells = make_cells(matrix, project)
    assert [cell.id for cell in cells[:4]] == [
        "py3-none-manylinux_2_28_x86_64-x86_64_v4",
        "cp315-cp315t-manylinux_2_28_x86_64-x86_64_v4",
        "py3-none-macosx_14_0_x86_64-x86_64_v4",
        "cp315-cp315t-macosx_14_0_x86_64-x86_64_v4",
    ]
    assert len(cells) == 4 * 4
    plain = cells[-4:]
    assert [cell.name.label for cell in plain] == [None] * 4
    assert all(cell.variant.label == "null" and cell.properties == {} for cell in plain)


def test_the_plain_wheel_has_the_bytes_of_the_variant_named(small: str, project: Project) -> None:
    chosen = make_cells(_matrix(small, "matrix: 1", "matrix: 1\nplain: x86_64_v3"), project)
    assert [(cell.name.label, cell.variant.label) for cell in chosen][-1] == (None, "x86_64_v3")
    none = make_cells(_matrix(small, "matrix: 1", "matrix: 1\nplain: none"), project)
    assert None not in [cell.name.label for cell in none]


@pytest.mark.parametrize(
    ("entry", "tags"),
    [
        ("py3", ("py3", "none")),
        ("cp312", ("cp312", "cp312")),
        ("cp315t", ("cp315", "cp315t")),
        ("cp310-abi3", ("cp310", "abi3")),
        ("cp315-abi3.abi3t", ("cp315", "abi3.abi3t")),
    ],
)
def test_pythons_are_pairs_of_tags(entry: str, tags: tuple[str, str]) -> None:
    assert python_and_abi(entry) == tags


_PLATFORMS = (
    "manylinux_2_28_x86_64, manylinux_2_28_aarch64, musllinux_1_2_x86_64, win_amd64, macosx_14_0_arm64"
)


@pytest.mark.parametrize(
    ("variant", "platforms"),
    [
        ("{name: null}", _PLATFORMS),
        ("{cpu: v3}", "manylinux_2_28_x86_64, musllinux_1_2_x86_64, win_amd64"),
    ],
)
def test_a_variant_takes_the_platforms_its_kind_has(
    variant: str, platforms: str, small: str, project: Project
) -> None:
    text = small.replace("[manylinux_2_28_x86_64]", f"[{_PLATFORMS}]")
    cells = make_cells(parse_matrix(text.encode(), source="m"), project)
    label = "null" if "null" in variant else "x86_64_v3"
    assert [cell.platform for cell in cells if cell.name.label == label] == platforms.split(", ")


def test_platforms_narrow(small: str, project: Project) -> None:
    text = small.replace("[manylinux_2_28_x86_64]", f"[{_PLATFORMS}]")
    text = text.replace("{cpu: v3}", "{cpu: v3, platforms: 'm*'}")
    cells = make_cells(parse_matrix(text.encode(), source="m"), project)
    v3 = [cell.platform for cell in cells if cell.name.label == "x86_64_v3"]
    assert v3 == ["manylinux_2_28_x86_64", "musllinux_1_2_x86_64"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "{cpu: v4}",
            "{cpu: v4, platforms: win*}",
            "^matrix.yaml:8:5: variant 'x86_64_v4' takes none of the platforms manylinux_2_28_x86_64$",
        ),
        (
            "{cpu: v4}",
            "{cuda: 13.0, archs: [9.0]}",
            "'cu130' is of kind cuda 13.0, which no compiler",
        ),
        ("{cpu: v4}", "{rocm: 7.1, archs: [gfx942]}", "is of kind rocm 7.1, which no compiler"),
        ("{cpu: v4}", "{xpu: 2025.3, archs: [20.1.0]}", "is of kind xpu 2025.3, which no compiler"),
        ("{cpu: v4}", "{cpu: 8.2a}", "is of kind cpu 8.2a, which no compiler"),
        ("{cpu: v4}", "{cpu: v1}", r"level v1 is every x86-64 machine, as null is; write \{name: null\}"),
    ],
)
def test_refuses_what_cannot_be_a_cell(
    old: str, new: str, message: str, small: str, project: Project
) -> None:
    with pytest.raises(BadInputError, match=message):
        make_cells(_matrix(small, old, new), project)


def test_a_file_name_that_is_too_long_is_named(small: str, project: Project) -> None:
    with pytest.raises(BadInputError, match="a file's name has at most 255; shorten the name, version or la"):
        make_cells(_matrix(small), replace(project, version="1." + "9" * 240))


def test_two_cells_never_write_one_file(small: str, project: Project) -> None:
    """vllm-project/vllm#10535: two pipelines uploaded one file name, and the last one won.

    The reader's rules make this impossible today; a matrix made in code may still ask for it.
    """
    matrix = _matrix(small)
    with pytest.raises(BadInputError, match=r"-x86_64_v4\.whl is also the file name of the variant at"):
        make_cells(replace(matrix, variants=(matrix.variants[0], *matrix.variants)), project)


def test_properties_state_level_and_place(small: str) -> None:
    matrix = _matrix(small)
    assert [properties_of(matrix, variant) for variant in matrix.variants] == [
        {"priority": {"order": ("1",)}, "x86_64": {"level": ("v4",)}},
        {"priority": {"order": ("2",)}, "x86_64": {"level": ("v3",)}},
        {},
    ]


def test_a_matrix_has_at_most_as_many_variants_as_orders(small: str) -> None:
    many = "".join(f"  - {{cpu: v3, name: v{number}}}\n" for number in range(MAX_VARIANTS))
    matrix = _matrix(small, "  - {cpu: v4}\n", many)
    assert properties_of(matrix, matrix.variants[MAX_VARIANTS - 1])["priority"] == {"order": ("64",)}
    with pytest.raises(BadInputError, match="variant number 65; a matrix has at most 64"):
        properties_of(matrix, matrix.variants[MAX_VARIANTS])


def test_properties_are_what_variant_json_says(small: str, project: Project) -> None:
    cell: Cell = make_cells(_matrix(small), project)[0]
    assert cell.properties_json() == {"priority": {"order": ["1"]}, "x86_64": {"level": ["v4"]}}
    assert variant_metadata("x86_64_v4", cell.properties).variants["x86_64_v4"] == cell.properties

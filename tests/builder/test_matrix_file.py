from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_builder.matrix import KINDS, Library
from polywheel_builder.matrix_file import parse_matrix, read_matrix
from polywheel_variants.errors import BadInputError


def _error(text: str) -> str:
    with pytest.raises(BadInputError) as caught:
        parse_matrix(text.encode(), source="matrix.yaml")
    message = str(caught.value)
    assert message.isprintable()
    return message


def test_reads_the_whole_format(whole_format: str) -> None:
    matrix = parse_matrix(whole_format.encode(), source="matrix.yaml")
    assert matrix.torch == "2.10"
    assert matrix.pythons == ("py3", "cp310-abi3", "cp315-abi3.abi3t", "cp315t")
    assert (matrix.project, matrix.plain, matrix.sdist) == ("kernels/", "null", False)
    assert matrix.generate == ("python", "csrc/gen.py", "--out", "{build}/gen")
    assert matrix.libraries["_cuda"] == Library(
        "_cuda", ("csrc/cuda/*.cu",), ("cuda", "rocm"), ("third_party/include",), (), 2000
    )
    assert matrix.libraries["_cpu"].kinds == KINDS
    assert [variant.label for variant in matrix.variants] == [
        *("cu130", "cu129", "cu130_thor", "rocm7.1", "xpu2025.3", "x86_64_v4", "x86_64_v3", "aarch64_8.2a"),
        "null",
    ]
    cu129 = matrix.variants[1]
    assert (cu129.kind, cu129.version, cu129.platforms) == ("cuda", "12.9", ("manylinux*",))
    assert (cu129.channels, cu129.min_driver, cu129.where) == (("nightly",), "12.4", "matrix.yaml:23:5")


def test_defaults(small: str) -> None:
    matrix = parse_matrix(small.encode(), source="matrix.yaml")
    assert (matrix.project, matrix.plain, matrix.sdist, matrix.generate) == (".", "null", False, ())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("matrix: 1", "matrix: 2", "matrix.yaml:1:9: matrix: format '2'; this polywheel reads format 1"),
        (
            "matrix: 1\n",
            "",
            "matrix.yaml:1:1: the key 'matrix' is missing; the file starts with 'matrix: 1'",
        ),
        (
            "torch: 2.10",
            "torhc: 2.10",
            "matrix.yaml:2:1: unknown key 'torhc'; did you mean 'torch'?",
        ),
        ("torch: 2.10\n", "", "matrix.yaml:1:1: the key 'torch' is missing"),
        (
            "torch: 2.10",
            "torch: [2.10]",
            "matrix.yaml:2:8: torch: found a list, expected one text",
        ),
        (
            "torch: 2.10",
            "torch: two",
            "matrix.yaml:2:8: torch: found 'two', expected a version such as 2.10",
        ),
        ("torch: 2.10", "torch:", "matrix.yaml:2:7: torch: empty, expected a text"),
        ("[py3]", "py3", "matrix.yaml:3:10: pythons: found 'py3', expected a list"),
        ("[py3]", "[]", "matrix.yaml:3:10: pythons: an empty list, expected at least one item"),
        (
            "[py3]",
            "[py3, py4]",
            "matrix.yaml:3:16: pythons[1]: found 'py4', expected a tag such as py3, cp310-abi3 or cp315t",
        ),
        ("[py3]", "[py3, py3]", "matrix.yaml:3:16: pythons[1]: 'py3' stands twice in the list"),
        (
            "manylinux_2_28_x86_64",
            "linux_x86_64",
            (
                "matrix.yaml:4:13: platforms[0]: found 'linux_x86_64', "
                "expected a tag such as manylinux_2_28_x86_64"
            ),
        ),
        (
            "csrc/*.cpp}",
            "csrc/*.cpp, inlcude: inc}",
            "matrix.yaml:6:31: libraries._cpu: unknown key 'inlcude'; did you mean 'include'?",
        ),
        (
            "csrc/*.cpp",
            "../*.cpp",
            (
                "matrix.yaml:6:19: libraries._cpu.sources: '../*.cpp' leaves the project's folder; "
                "expected a path below it"
            ),
        ),
        (
            "csrc/*.cpp}",
            "csrc/*.cpp, for: gpu}",
            "matrix.yaml:6:36: libraries._cpu.for: unknown kind 'gpu'; did you mean 'xpu'?",
        ),
        (
            "csrc/*.cpp}",
            "csrc/*.cpp, memory: lots}",
            "matrix.yaml:6:39: libraries._cpu.memory: found 'lots', expected an amount such as 2GB or 800MB",
        ),
        (
            "_cpu:",
            "c-pu:",
            "matrix.yaml:6:3: libraries: 'c-pu' is no name of a library; expected one such as _cpu",
        ),
        (
            "{cpu: v4}",
            "{cpu: v5}",
            (
                "matrix.yaml:8:11: variants[0].cpu: found 'v5', expected a CPU level: v2, v3, v4 on x86-64; "
                "8.2a, sve2 ... on Arm"
            ),
        ),
        (
            "{cpu: v4}",
            "{cpu: v4, name: V4}",
            (
                "matrix.yaml:8:21: variants[0].name: label 'V4'; expected lower-case letters, digits, "
                "'_' and '.' (PEP 825)"
            ),
        ),
        (
            "{cpu: v4}",
            "{cpu: v3}",
            (
                "matrix.yaml:9:5: label 'x86_64_v3' stood already at matrix.yaml:8:5; "
                "one label is one variant: give one of them another name"
            ),
        ),
        (
            "{cpu: v4}",
            "{cuda: 13.0}",
            (
                "matrix.yaml:8:5: variants[0]: the key 'archs' is missing; "
                "a cuda variant names the devices it has code for"
            ),
        ),
        (
            "{cpu: v4}",
            "{cpu: v4, cuda: 13.0}",
            "matrix.yaml:8:5: variants[0]: cuda and cpu in one variant; expected one of them",
        ),
        (
            "{cpu: v4}",
            "{cpu: v4, archs: [9.0]}",
            (
                "matrix.yaml:8:22: variants[0].archs: a cpu variant has no archs; "
                "they belong to cuda, rocm and xpu"
            ),
        ),
        (
            "{cpu: v4}",
            "{cpu: v4, requires: ['>=1']}",
            (
                "matrix.yaml:8:26: variants[0].requires[0]: '>=1' is no requirement: "
                "Expected package name at the start of dependency specifier"
            ),
        ),
        (
            "{cpu: v4}",
            "{name: fast}",
            (
                "matrix.yaml:8:5: variants[0]: the name null belongs to the variant without cuda, rocm, "
                "xpu or cpu, and to it alone"
            ),
        ),
        (
            "  - {cpu: v4}\n",
            "  - {name: null}\n",
            (
                "matrix.yaml:10:5: label 'null' stood already at matrix.yaml:8:5; "
                "one label is one variant: give one of them another name"
            ),
        ),
        (
            "  - {name: null}\n",
            "  - {name: null}\n  - {cpu: v2}\n",
            "matrix.yaml:10:5: null is not last; every installer ranks it last",
        ),
        (
            "matrix: 1",
            "matrix: 1\nplain: x86_v3",
            "matrix.yaml:2:8: plain: no variant is named 'x86_v3'; did you mean 'x86_64_v3'?",
        ),
        ("matrix: 1", "matrix: 1\nsdist: maybe", "matrix.yaml:2:8: sdist: found 'maybe', expected yes or no"),
        (
            "matrix: 1",
            'matrix: 1\nproject: "a\\0b"',
            "matrix.yaml:2:10: project: 'a\\x00b' holds a character that cannot be seen",
        ),
    ],
)
def test_says_where_what_and_what_next(small: str, old: str, new: str, message: str) -> None:
    assert old in small
    assert _error(small.replace(old, new, 1)) == message


def test_a_long_slip_is_cut(small: str) -> None:
    assert len(_error("x" * 100_000 + ": 1\n" + small)) < 200
    assert len(_error(small.replace("v4", "v" * 100_000))) < 200


def test_a_matrix_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"no\.yaml: No such file or directory; name a matrix with -m"):
        read_matrix(tmp_path / "no.yaml")


def test_names_the_file_as_it_was_given(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text("matrix: 3\n")
    with pytest.raises(BadInputError, match=rf"^{path}:1:9: "):
        read_matrix(path)


@given(data=st.data())
def test_a_damaged_matrix_is_read_or_refused_in_one_line(whole_format: str, data: st.DataObject) -> None:
    text = whole_format.encode()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 12)))
    damaged = text[:start] + data.draw(st.binary(max_size=4)) + text[end:]
    message = ""
    try:
        parse_matrix(damaged, source="m")
    except BadInputError as error:
        message = str(error)
    assert message == "" or (message.startswith("m:") and message.isprintable())

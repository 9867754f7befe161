from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from polywheel_variants.errors import BadInputError
from polywheel_variants.wheel_name import WheelName, escaped_project, is_label, normalized_project

_TAGS = st.lists(st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True), min_size=1, max_size=3).map(".".join)
NAMES = st.builds(
    WheelName,
    distribution=st.from_regex(r"[a-z]([a-z0-9_]{0,5}[a-z0-9])?", fullmatch=True),
    version=st.from_regex(r"[0-9]{1,2}(\.[0-9]{1,2}){0,2}(\+[a-z0-9]{1,4})?", fullmatch=True),
    python=_TAGS,
    abi=_TAGS,
    platform=_TAGS,
    label=st.none() | st.from_regex(r"[0-9a-z_.]{1,20}", fullmatch=True),
    build=st.none() | st.from_regex(r"[0-9]{1,3}[a-z_]{0,2}", fullmatch=True),
)


@given(NAMES)
def test_a_printed_name_reads_back_as_itself(name: WheelName) -> None:
    assert WheelName.parse(name.filename) == name


@given(NAMES)
def test_packaging_agrees_on_names_without_label(name: WheelName) -> None:
    plain = name.plain()
    project, _, build, tags = parse_wheel_filename(plain.filename)
    assert project == plain.project
    assert bool(build) == (plain.build is not None)
    assert {str(tag) for tag in tags} == set(plain.tags)


@given(NAMES)
def test_packaging_takes_no_label_for_something_else(name: WheelName) -> None:

    if name.label is not None and name.build is None:
        with pytest.raises(InvalidWheelFilename):
            parse_wheel_filename(name.filename)


@pytest.mark.parametrize(
    ("filename", "build", "label"),
    [
        ("p-1-py3-none-any.whl", None, None),
        ("p-1-2-py3-none-any.whl", "2", None),
        ("p-1-2b-py3-none-any.whl", "2b", None),
        ("p-1-py3-none-any-null.whl", None, "null"),
        ("p-1-py3-none-any-1.whl", None, "1"),
        ("p-1-py3-none-any-cu12.9.whl", None, "cu12.9"),
        ("p-1-2-py3-none-any-x86_64_v3.whl", "2", "x86_64_v3"),
    ],
)
def test_tells_a_build_tag_from_a_label(filename: str, build: str | None, label: str | None) -> None:
    name = WheelName.parse(filename)
    assert (name.build, name.label, name.python, name.filename) == (build, label, "py3", filename)


@pytest.mark.parametrize(
    ("filename", "message"),
    [
        ("p-1-py3-none-any.zip", "its name does not end in .whl"),
        (".whl", "has 1 parts between dashes"),
        ("p-1-py3-none.whl", "has 4 parts between dashes"),
        ("p-1-2-py3-none-any-a-b.whl", "has 8 parts between dashes"),
        ("p-1-x-py3-none-any-a.whl", "has 7 parts, but its third, 'x', is no build tag"),
        ("p-1-py3-none-any-CU12.whl", "the variant label 'CU12' does not match"),
        ("p-1-py3-none-any-.whl", "the variant label '' does not match"),
        ("p-1--none-any.whl", "the Python tag '' does not match"),
        ("-1-py3-none-any.whl", "the distribution '' does not match"),
        ("p--py3-none-any.whl", "the version '' does not match"),
        ("../p-1-py3-none-any.whl", "the distribution '../p' does not match"),
        ("p-1-3py-none-any.whl", "the Python tag '3py' starts with a digit"),
        ("p-1-py3-none-any/.whl", "the platform tag 'any/' does not match"),
        (f"p-{'9' * 6000}-py3-none-any.whl", "has 6019 characters; a file's name has at most 255"),
        ("p-1-py3-none-any\n.whl", "the platform tag 'any\\n' does not match"),
    ],
)
def test_names_the_part_that_is_wrong(filename: str, message: str) -> None:
    with pytest.raises(BadInputError, match=re.escape(message)) as caught:
        WheelName.parse(filename)
    assert str(caught.value).isprintable()


@given(st.text(max_size=40).map(lambda text: text + ".whl") | st.text(max_size=40))
def test_any_text_is_a_name_or_bad_input(text: str) -> None:
    try:
        name = WheelName.parse(text)
    except BadInputError:
        return
    assert name.filename == text
    assert "/" not in text


def test_parts_that_follow_from_the_name() -> None:
    name = WheelName.parse("poly_wheel-1.0-py2.py3-none-manylinux_2_28_x86_64.linux_x86_64-v3.whl")
    assert name.dist_info == "poly_wheel-1.0.dist-info"
    assert name.project == "poly-wheel"
    assert name.cell_id == "py2.py3-none-manylinux_2_28_x86_64.linux_x86_64-v3"
    assert name.plain().filename == "poly_wheel-1.0-py2.py3-none-manylinux_2_28_x86_64.linux_x86_64.whl"
    assert name.tags == (
        "py2-none-manylinux_2_28_x86_64",
        "py2-none-linux_x86_64",
        "py3-none-manylinux_2_28_x86_64",
        "py3-none-linux_x86_64",
    )


def test_labels_have_no_length_limit_and_no_upper_case() -> None:
    assert is_label("a" * 300)
    assert is_label("12.0_x")
    assert not any(map(is_label, ["", "A", "a-b", "a b", "é", "a\n"]))


def test_project_names() -> None:
    assert normalized_project("Poly.-_Wheel") == "poly-wheel"
    assert escaped_project("Poly.-_Wheel") == "poly_wheel"

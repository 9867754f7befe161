from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_variants.errors import BadInputError
from polywheel_variants.property import Property, flatten, group

_NAMES = st.from_regex(r"[a-z0-9_]{1,6}", fullmatch=True)
PROPERTIES = st.builds(Property, _NAMES, _NAMES, st.from_regex(r"[a-z0-9_.]{1,6}", fullmatch=True))
_BLANKS = st.text(" \t", max_size=2)


@given(PROPERTIES)
def test_a_printed_property_reads_back_as_itself(one: Property) -> None:
    assert Property.parse(str(one)) == one


@given(PROPERTIES, _BLANKS, _BLANKS)
def test_blanks_do_not_count(one: Property, before: str, after: str) -> None:
    text = f"{before}::{after}".join((one.namespace, one.feature, one.value))
    assert Property.parse(before + text + after) == one


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a :: b", "expected 'namespace :: feature :: value'"),
        ("a :: b :: c :: d", "expected 'namespace :: feature :: value'"),
        ("A :: b :: c", "namespace 'A' does not match"),
        ("a :: b-c :: d", "feature 'b-c' does not match"),
        ("a :: b.c :: d", "feature 'b.c' does not match"),
        ("a :: b :: 1+cu", "value '1\\+cu' does not match"),
        ("a :: b :: ", "value '' does not match"),
        ("a:b:c", "expected 'namespace :: feature :: value'"),
    ],
)
def test_names_the_part_that_is_wrong(text: str, message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        Property.parse(text)


@given(st.text(max_size=30))
def test_any_text_is_a_property_or_bad_input(text: str) -> None:
    try:
        one = Property.parse(text)
    except BadInputError:
        return
    assert Property.parse(str(one)) == one


@given(st.lists(PROPERTIES, max_size=8))
def test_grouping_keeps_each_property_once_and_sorted(properties: list[Property]) -> None:
    grouped = group(properties)
    assert flatten(grouped) == tuple(sorted(set(properties)))
    assert list(grouped) == sorted(grouped)
    assert all(list(features) == sorted(features) for features in grouped.values())

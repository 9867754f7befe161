from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_providers.frozen import as_json
from polywheel_providers.record import Fields

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@dataclass(frozen=True)
class Inner:
    names: tuple[str, ...]
    size: int | None


@dataclass(frozen=True)
class Outer:
    inner: tuple[Inner, ...]
    env: dict[str, str]
    on: bool


def test_dataclasses_become_plain_json() -> None:
    value = as_json(Outer((Inner(("a", "b"), None),), {"K": "v"}, True))
    assert value == {"inner": [{"names": ["a", "b"], "size": None}], "env": {"K": "v"}, "on": True}
    assert json.loads(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("read", "value", "message"),
    [
        ("text", 1, "facts.key: expected text, found the number 1"),
        ("text", None, "facts.key: expected text, found null"),
        ("integer", True, "facts.key: expected a whole number, found true"),
        ("integer", 1.5, "facts.key: expected a whole number, found the number 1.5"),
        ("number", float("nan"), "facts.key: expected a number, found the number nan"),
        ("number", float("inf"), "facts.key: expected a number, found the number inf"),
        ("number", "1", "facts.key: expected a number, found the text '1'"),
        ("boolean", 0, "facts.key: expected true or false, found the number 0"),
        ("texts", "ab", "facts.key: expected a list, found the text 'ab'"),
        ("texts", ["a", 1], "facts.key: expected a list of text, found the number 1"),
        ("integers", [1, False], "facts.key: expected a list of whole numbers, found false"),
        ("text_map", {"a": 1}, "facts.key.a: expected text, found the number 1"),
        ("number_map", {"a": []}, "facts.key.a: expected a number, found a list"),
        ("child", [], "facts.key: expected an object, found a list"),
        ("optional_text", 3, "facts.key: expected text, found the number 3"),
        ("optional_integer", "3", "facts.key: expected a whole number, found the text '3'"),
        ("optional_boolean", {}, "facts.key: expected true or false, found an object"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(read: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{_literal(message)}$"):
        getattr(Fields({"key": value}, "facts"), read)("key")


def test_missing_and_unknown_keys_are_named() -> None:
    with pytest.raises(ValueError, match=r"^facts: key 'system' is missing$"):
        Fields({}, "facts").text("system")
    fields = Fields({"a": 1, "b": 2}, "facts")
    assert fields.integer("a") == 1
    with pytest.raises(ValueError, match=r"^facts: unknown key 'b'$"):
        fields.done()


def test_a_key_that_is_no_word_is_quoted() -> None:
    with pytest.raises(ValueError, match=r"^facts\.key\['a\\nb'\]: expected a number, found null$"):
        Fields({"key": {"a\nb": None}}, "facts").number_map("key")


def test_a_list_of_objects_is_named_by_place() -> None:
    children = Fields({"key": [{"a": "x"}, 5]}, "facts").children("key")
    assert next(children).text("a") == "x"
    with pytest.raises(ValueError, match=r"^facts\.key\[1\]: expected an object, found the number 5$"):
        next(children)


def test_null_is_none_where_it_may_be() -> None:
    fields = Fields({"a": None, "b": None, "c": None, "d": None}, "facts")
    found = (fields.optional_text("a"), fields.optional_integer("b"), fields.optional_boolean("c"))
    assert found == (None, None, None)
    assert fields.optional_child("d") is None
    fields.done()


READS = ("text", "integer", "number", "boolean", "texts", "integers", "text_map", "number_map", "child")


@given(JSON, st.sampled_from(READS))
def test_any_value_is_read_or_refused(value: Any, read: str) -> None:
    try:
        getattr(Fields({"key": value}, "facts"), read)("key")
    except ValueError as problem:
        refusal = str(problem)
    else:
        refusal = "facts.key"
    assert refusal.startswith("facts.key")
    assert "\n" not in refusal


def _literal(message: str) -> str:
    return "".join(f"\\{letter}" if letter in ".[]()" else letter for letter in message)

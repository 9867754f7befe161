from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_providers.frozen import dataclass, field, field_names, replace


@dataclass(frozen=True)
class Ours:
    name: str
    size: int = 3
    tags: dict[str, str] = field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Theirs:
    name: str
    size: int = 3
    tags: dict[str, str] = dataclasses.field(default_factory=dict)


Arguments = st.tuples(
    st.lists(st.sampled_from(["a", 1]), max_size=4),
    st.dictionaries(
        st.sampled_from(["name", "size", "tags", "shoes"]), st.sampled_from(["a", 1]), max_size=4
    ),
)


def attempt(cls: Any, values: list[object], named: dict[str, object]) -> str:
    try:
        made = cls(*values, **named)
    except TypeError:
        return "refused"
    return repr(made).replace(cls.__name__, "", 1)


@given(Arguments)
def test_construction_means_what_it_means_in_the_standard_library(
    arguments: tuple[list[Any], dict[str, Any]],
) -> None:
    values, named = arguments
    assert attempt(Ours, values, named) == attempt(Theirs, values, named)


@pytest.mark.parametrize("cls", [Ours, Theirs])
def test_values_compare_hash_copy_and_stay(cls: Any) -> None:
    one, same, other = cls("a", 1, ()), cls("a", 1, ()), cls("a", 2, ())
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != ("a", 1, ())
    assert copy.deepcopy(one) == one
    assert pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(AttributeError):
        one.name = "b"
    with pytest.raises(AttributeError):
        del one.name
    assert field_names(one) == ("name", "size", "tags")


def test_defaults_made_anew_are_not_shared() -> None:
    assert Ours("a").tags is not Ours("a").tags


def test_replace_changes_a_copy() -> None:
    one = Ours("a", 1)
    assert replace(one, size=5) == Ours("a", 5)
    assert one.size == 1
    with pytest.raises(TypeError):
        replace(one, shoes=1)  # type: ignore[call-arg]


def test_the_standard_functions_accept_them() -> None:
    one = Ours("a", 1)
    assert dataclasses.is_dataclass(one)
    assert dataclasses.replace(one, size=2) == Ours("a", 2)
    assert dataclasses.asdict(one) == {"name": "a", "size": 1, "tags": {}}
    assert [found.name for found in dataclasses.fields(Ours)] == ["name", "size", "tags"]


def test_matching_goes_by_place() -> None:
    match Ours("a", 7):
        case Ours("a", size):
            assert size == 7
        case _:
            pytest.fail("no match")


def test_only_frozen_classes_are_made() -> None:
    with pytest.raises(TypeError, match="only frozen"):
        dataclass(frozen=False)


@pytest.mark.parametrize("value", ["text", None, 5, object(), {}])
def test_other_values_have_no_fields(value: object) -> None:
    assert field_names(value) == ()


def test_the_package_imports_without_the_expensive_modules() -> None:
    script = (
        "import sys; before = set(sys.modules); import polywheel_providers as p;"
        "p.probe(p.LiveMachine());"
        "print(sorted({'ctypes', 'pathlib', 'subprocess', 'threading'} & (set(sys.modules) - before)))"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    found = ended.stdout.strip()
    assert "ctypes" not in found
    assert "pathlib" not in found

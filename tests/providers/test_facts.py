from __future__ import annotations

import copy
import getpass
import json
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polywheel_providers import Facts, LiveMachine, devices, from_json, probe, supported, to_json
from polywheel_providers.short_form import parse

EVERYTHING = "cpu:v3,avx_vnni"


@pytest.fixture(scope="module")
def here() -> Facts:
    return probe(LiveMachine())


def test_this_machine_survives_its_record(here: Facts) -> None:
    record = json.loads(json.dumps(to_json(here)))
    assert next(iter(record)) == "facts"
    assert from_json(record) == here
    assert supported(from_json(record)) == supported(here)
    assert devices(from_json(record)) == devices(here)


def test_every_namespace_is_timed(here: Facts) -> None:
    assert set(here.elapsed_ms) == {here.cpu.architecture, "nvidia", "amd", "intel"}


def test_no_probe_fails_here(here: Facts) -> None:
    assert here.notes == ()


def test_nothing_personal_is_recorded(here: Facts) -> None:
    texts = set(_texts(to_json(here)))
    assert socket.gethostname() not in texts
    assert getpass.getuser() not in texts
    assert not [text for text in texts if str(Path.home()) in text]


def _texts(value: object) -> list[str]:
    """List every text inside a JSON value."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value] if isinstance(value, str) else [text for item in inner for text in _texts(item)]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("facts", 2, "version 2 is not known, expected 1"),
        ("facts", "1", "expected a whole number"),
        ("system", None, "expected text, found null"),
        ("cpu", [], "expected an object, found a list"),
        ("elapsed_ms", {"amd": "fast"}, "expected a number"),
        ("nvidia", 5, "expected an object"),
        ("notes", [{"code": "a"}], "key 'message' is missing"),
        ("shoes", 5, "unknown key 'shoes'"),
    ],
)
def test_a_damaged_record_is_refused_by_its_key(key: str, value: Any, message: str) -> None:
    record = {**to_json(parse(EVERYTHING)), key: value}
    with pytest.raises(ValueError, match=message):
        from_json(record, "record.json")


def _paths(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """List the way to every value inside a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in inner for found in _paths(item, (*path, key)))]


JSON: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just([]) | st.just({})
)


@settings(max_examples=300)
@given(st.data())
def test_a_record_changed_anywhere_is_read_or_refused(data: st.DataObject) -> None:
    record: Any = json.loads(json.dumps(to_json(parse(EVERYTHING))))
    path = data.draw(st.sampled_from(_paths(record)[1:]))
    changed = copy.deepcopy(record)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = data.draw(JSON)
    try:
        facts = from_json(changed)
    except ValueError as problem:
        refusal = str(problem)
    else:
        refusal = ""
        supported(facts)
        devices(facts)
    assert "\n" not in refusal

"""What is kept between commands comes back as it was, or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_builder.kept_json import load, save

_DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(_DOCUMENTS)
def test_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, document: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "kept.json"
    save(path, 1, document)
    assert load(path, 1) == document
    assert load(path, 2) is None


@given(st.data())
def test_a_changed_byte_is_noticed(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "changed.json"
    kept = {"a": [1, 2.5, "ü"], "b": {}}
    save(path, 1, kept)
    damaged = bytearray(path.read_bytes())
    damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    assert load(path, 1) in (None, kept)


def test_a_place_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    save(tmp_path / "file" / "kept.json", 1, {})
    (tmp_path / "folder").mkdir()
    save(tmp_path / "folder", 1, {})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


@pytest.mark.parametrize(
    "damage",
    ["", "{", "[]", "1", "null", "{}", '{"kept": 1}', '{"sha256": "", "kept": {}}', "\0\xff", "[" * 100_000],
)
def test_other_bytes_are_nothing(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    path.write_bytes(damage.encode("latin-1"))
    assert load(path, 1) is None
    assert load(tmp_path / "gone.json", 1) is None
    assert load(tmp_path, 1) is None

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_builder.positioned_yaml import MAX_BYTES, MAX_DEPTH, Items, Node, Place, Scalar, Table, parse
from polywheel_variants.errors import BadInputError


def _plain(node: Node) -> Any:
    match node:
        case Scalar(text):
            return text
        case Items(items):
            return [_plain(item) for item in items]
        case Table(entries):
            return {key.text: _plain(value) for key, value in entries}


def test_every_scalar_is_text() -> None:
    document = parse(b"a: 2.10\nb: null\nc: no\nd: 0x10\ne: 2026-01-01\nf:\n", source="m")
    assert _plain(document) == {
        "a": "2.10",
        "b": "null",
        "c": "no",
        "d": "0x10",
        "e": "2026-01-01",
        "f": "",
    }


def test_every_node_knows_its_place() -> None:
    document = parse("ü: [x,\n  {k: v}]\n".encode(), source="m")
    assert isinstance(document, Table)
    key, items = document.entries[0]
    assert (document.place, key.place, items.place) == (Place(1, 1), Place(1, 1), Place(1, 4))
    assert isinstance(items, Items)
    assert [node.place for node in items.items] == [Place(1, 5), Place(2, 3)]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "m: empty; a matrix starts with 'matrix: 1'"),
        (b"# only a comment\n", "m: empty; a matrix starts with 'matrix: 1'"),
        (b"a: &x 1\nb: *x\n", "m:1:4: anchor '&x'; a matrix has no aliases"),
        (b"b: *x\n", "m:1:4: alias '*x'; write the value out instead"),
        (b"a: !!int 1\n", "m:1:4: tag 'tag:yaml.org,2002:int'; all scalars of a matrix are text"),
        (b"a: 1\nb: 2\na: 3\n", "m:3:1: the key 'a' stood already at 1:1"),
        (b"? [a, b]\n: c\n", "m:1:3: a key that is no text"),
        (b"a: 1\n---\nb: 2\n", "m:2:1: a second document; a matrix is one document"),
        (b"a: 1\nb: \xff\n", "m:2: not UTF-8: byte 0xff"),
        (b"\xfe\xff\x00a", "m:1: not UTF-8: byte 0xfe"),
        (b"[" * (MAX_DEPTH + 1), f"m:1:{MAX_DEPTH + 1}: nested deeper than {MAX_DEPTH} levels"),
        (b"a" * (MAX_BYTES + 1), f"m: larger than {MAX_BYTES} bytes; that is no matrix"),
    ],
)
def test_says_in_one_line_what_is_no_matrix(data: bytes, message: str) -> None:
    with pytest.raises(BadInputError) as caught:
        parse(data, source="m")
    assert str(caught.value) == message


def _refusal(data: bytes) -> str:
    """What the reader says against a document; nothing if it takes it."""
    try:
        parse(data, source="m")
    except BadInputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("data", [b"a: [1\nb: 2\n", b"a: 1\nb: 'x\n", b"a:\n\tb: 1\n", b"a: b: c"])
def test_says_where_yaml_ends_to_be_yaml(data: bytes) -> None:
    assert re.match(r"m:\d+:\d+: not YAML: \w+", _refusal(data))


def test_a_yaml_bomb_is_refused_at_its_first_anchor() -> None:
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 30)]
    with pytest.raises(BadInputError, match=r"^m:1:5: anchor '&l0'"):
        parse("\n".join(["l0: &l0 lol", *levels]).encode(), source="m")


@given(st.binary(max_size=200))
def test_any_bytes_are_a_document_or_one_line(data: bytes) -> None:
    assert _refusal(data).isprintable()


@given(st.text(alphabet="ab:,-[]{}&*!|>'\"#%@?\n\t \\0", max_size=60))
def test_any_yaml_like_text_is_a_document_or_one_line(text: str) -> None:
    assert _refusal(text.encode()).isprintable()


_TEXTS = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=5)


@given(
    st.recursive(
        _TEXTS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
        max_leaves=8,
    )
)
def test_reads_the_json_that_yaml_includes(document: Any) -> None:
    assert _plain(parse(json.dumps(document, ensure_ascii=False).encode(), source="m")) == document

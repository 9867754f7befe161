"""The JSON Schema and the reader describe one format."""

from __future__ import annotations

import copy
import inspect
import json
import re
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from polywheel_builder import matrix_file
from polywheel_builder.matrix_file import parse_matrix
from polywheel_variants.errors import BadInputError

SCHEMA = json.loads((files("polywheel_builder") / "matrix-1.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

# What only a reader can say: how places in the list relate, and what is a requirement in every detail.
_BEYOND_A_SCHEMA = re.compile(r"stood already|is not last|no variant is named|is no requirement")


def _is_read(document: Any) -> bool | None:
    """Whether the reader takes a document; None where it refuses what no schema can refuse."""
    try:
        parse_matrix(json.dumps(document).encode(), source="m")
    except BadInputError as error:
        return None if _BEYOND_A_SCHEMA.search(str(error)) else False
    return True


def _as_text(matrix: str) -> Any:
    return yaml.load(matrix, Loader=yaml.BaseLoader)


def test_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("loader", [yaml.BaseLoader, yaml.SafeLoader], ids=["as text", "as types"])
def test_takes_what_the_reader_takes(loader: Any, small: str, whole_format: str) -> None:
    for matrix in (small, whole_format):
        parse_matrix(matrix.encode(), source="m")
        VALIDATOR.validate(yaml.load(matrix, Loader=loader))


def test_has_the_readers_keys() -> None:
    assert list(SCHEMA["properties"]) == list(matrix_file._TOP)
    assert list(SCHEMA["$defs"]["variant"]["properties"]) == list(matrix_file._VARIANT)
    library = SCHEMA["$defs"]["library"]["properties"]
    named = re.search(r"Keys\.of\(value, (.*)\)", inspect.getsource(matrix_file._library))
    assert named is not None
    assert [f'"{key}"' for key in library] == named[1].split(", ")


def test_has_the_readers_patterns() -> None:
    top, defs = SCHEMA["properties"], SCHEMA["$defs"]
    for pattern, text in (
        (matrix_file._PYTHON, top["pythons"]["items"]["pattern"]),
        (matrix_file._PLATFORM, top["platforms"]["items"]["pattern"]),
        (matrix_file._VERSION, defs["version"]["pattern"]),
        (matrix_file._CPU_LEVEL, defs["variant"]["properties"]["cpu"]["pattern"]),
        (matrix_file._MEMORY, defs["library"]["properties"]["memory"]["pattern"]),
        (matrix_file._LIBRARY, top["libraries"]["propertyNames"]["pattern"]),
    ):
        plain = pattern.pattern.replace("(?:", "(")
        assert re.sub(r"[()]", "", text) == "^" + re.sub(r"[()]", "", plain) + "$"


def test_explains_every_key() -> None:
    explained = {**SCHEMA["properties"], **SCHEMA["$defs"]["library"]["properties"]}
    for name, key in explained.items():
        assert key["title"], name
        assert key["description"].endswith("."), name
    for name, key in SCHEMA["$defs"]["variant"]["properties"].items():
        target = SCHEMA["$defs"]["archs"] if key == {"$ref": "#/$defs/archs"} else key
        assert target["description"].endswith("."), name


def test_its_examples_are_valid() -> None:
    for name, key in SCHEMA["properties"].items():
        for example in key.get("examples", []):
            inner = jsonschema.Draft202012Validator({"$ref": f"#/properties/{name}", "$defs": SCHEMA["$defs"],
                                                     "properties": SCHEMA["properties"]})  # fmt: skip
            inner.validate(example)


REFUSED = {
    "no table": [],
    "unknown key": {"matrxi": "1"},
    "format": {"matrix": "2"},
    "number of torch": {"torch": "2"},
    "torch is a list": {"torch": ["2.10"]},
    "python": {"pythons": ["py2"]},
    "pythons is no list": {"pythons": "py3"},
    "no python": {"pythons": []},
    "python twice": {"pythons": ["py3", "py3"]},
    "platform": {"platforms": ["linux_x86_64"]},
    "sdist": {"sdist": "maybe"},
    "no library": {"libraries": {}},
    "library name": {"libraries": {"a-b": {"sources": "a.cpp"}}},
    "library key": {"libraries": {"_a": {"sources": "a.cpp", "flags": "-O3"}}},
    "no sources": {"libraries": {"_a": {}}},
    "sources above": {"libraries": {"_a": {"sources": "../a.cpp"}}},
    "sources from the root": {"libraries": {"_a": {"sources": ["/a.cpp"]}}},
    "kind": {"libraries": {"_a": {"sources": "a.cpp", "for": "gpu"}}},
    "memory": {"libraries": {"_a": {"sources": "a.cpp", "memory": "lots"}}},
    "no variant": {"variants": []},
    "variants is a table": {"variants": {"cpu": "v3"}},
    "variant is a text": {"variants": ["cpu"]},
    "level": {"variants": [{"cpu": "v5"}]},
    "upper case label": {"variants": [{"cpu": "v3", "name": "V3"}]},
    "reserved label": {"variants": [{"cpu": "v3", "name": "none"}]},
    "null for cpu": {"variants": [{"cpu": "v3", "name": "null"}]},
    "name without a kind": {"variants": [{"name": "fast"}]},
    "two kinds": {"variants": [{"cpu": "v3", "cuda": "13.0", "archs": ["9.0"]}]},
    "no archs": {"variants": [{"cuda": "13.0"}]},
    "archs of cpu": {"variants": [{"cpu": "v3", "archs": ["9.0"]}]},
    "min_driver of cpu": {"variants": [{"cpu": "v3", "min_driver": "12.4"}]},
    "empty text": {"project": ""},
    "control character": {"project": "a\tb"},
}


@pytest.mark.parametrize("change", REFUSED.values(), ids=REFUSED.keys())
def test_refuses_what_the_reader_refuses(change: Any, small: str) -> None:
    document = change if isinstance(change, list) else _as_text(small) | change
    assert _is_read(document) is False
    assert not VALIDATOR.is_valid(document)


_WORDS = st.sampled_from(
    [
        *(
            "",
            "1",
            "2.10",
            "13",
            "13.0",
            "py3",
            "cp310-abi3",
            "cp315t",
            "win_amd64",
            "null",
            "none",
            "v3",
            "v5",
        ),
        *("8.2a", "sve2", "cuda", "rocm", "cpu", "yes", "maybe", "../x", "a/../b", "/x", "..", "a..b", "2GB"),
        *("2 GB", "GB", "Cu", "cu_1.2", "manylinux*", "torch>=2", "a\tb"),
    ]
)
_KEYS = st.sampled_from(
    [*matrix_file._TOP, *matrix_file._VARIANT, "sources", "for", "include", "memory", "_a", "a-b"]
)
_VALUES = st.recursive(
    _WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=4,
)


def _places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path, *(place for key, value in inner for place in _places(value, (*path, key)))]


def _changed(document: Any, place: tuple[Any, ...], data: st.DataObject) -> Any:
    """Replace what stands at a place, remove it, or put a key beside it."""
    if not place:
        return data.draw(_VALUES)
    document = copy.deepcopy(document)
    holder = document
    for key in place[:-1]:
        holder = holder[key]
    match data.draw(st.sampled_from(["replace", "remove", "add"])):
        case "replace":
            holder[place[-1]] = data.draw(_VALUES)
        case "remove":
            del holder[place[-1]]
        case _ if isinstance(holder, dict):
            holder[data.draw(_KEYS)] = data.draw(_VALUES)
        case _:
            holder.append(data.draw(_VALUES))
    return document


@given(data=st.data())
def test_agrees_with_the_reader_on_changed_documents(
    small: str, whole_format: str, data: st.DataObject
) -> None:
    document = _as_text(data.draw(st.sampled_from([small, whole_format])))
    for _ in range(data.draw(st.integers(1, 2))):
        document = _changed(document, data.draw(st.sampled_from(_places(document))), data)
    is_read = _is_read(document)
    if is_read is not None:
        assert VALIDATOR.is_valid(document) == is_read

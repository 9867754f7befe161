from __future__ import annotations

import copy
import json
import re
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_variants.errors import BadInputError
from polywheel_variants.known_providers import MAX_VARIANTS, NAMESPACES, PRIORITY, PROVIDERS
from polywheel_variants.metadata import (
    BuiltinProvider,
    PluginProvider,
    Provider,
    StaticProvider,
    VariantMetadata,
)
from polywheel_variants.property import Property, group

# The shape that PEP 825 (without "providers") and PEP 850 (with them) give the file.
_NAME, _VALUE = "^[a-z0-9_]+$", "^[a-z0-9_.]+$"


def _table(pattern: str, inner: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "patternProperties": {pattern: inner}, "additionalProperties": False}


def _list(pattern: str) -> dict[str, Any]:
    return {
        "type": "array",
        "items": {"type": "string", "pattern": pattern},
        "minItems": 1,
        "uniqueItems": True,
    }


def _object(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": list(required),
        "properties": required | optional,
        "additionalProperties": False,
    }


_OPTIONAL = {"optional": {"type": "boolean"}}
_PROVIDER = {
    "oneOf": [
        _object(
            {"static-properties": _table(_NAME, _list(_VALUE)) | {"minProperties": 1}},
            **{"feature-order": _list(_NAME)},
            **_OPTIONAL,
        ),
        _object(
            {"requires": {"type": "array", "items": {"type": "string"}, "minItems": 1}},
            **{"plugin-api": {"type": "string"}},
            **_OPTIONAL,
        ),
        _object({"builtin": {"type": "string"}}, **_OPTIONAL),
    ]
}
SHAPE = _object(
    {
        "$schema": {"type": "string", "pattern": r"/v0\.\d+\.\d+\.json$"},
        "default-priorities": _object({"namespace": _list(_NAME)}),
        "variants": _table(_VALUE, _table(_NAME, _table(_NAME, _list(_VALUE)))),
    },
    providers=_table(_NAME, _PROVIDER),
)
VALIDATOR = jsonschema.Draft202012Validator(SHAPE)

# What the shape does not say: how one part of the file relates to another.
_BEYOND_THE_SHAPE = re.compile(
    r"are not those of default-priorities|expected each of|the null variant has no|unknown key '[a-z0-9_]+'"
)

_NAMES = st.from_regex(r"[a-z0-9_]{1,4}", fullmatch=True)
_VALUES = st.from_regex(r"[a-z0-9_.]{1,4}", fullmatch=True)
_LABELS = st.from_regex(r"[a-z0-9_.]{1,8}", fullmatch=True).filter(lambda label: label != "null")


@st.composite
def _static(draw: st.DrawFn) -> StaticProvider:
    lists = st.lists(_VALUES, min_size=1, max_size=3, unique=True).map(tuple)
    values = draw(st.dictionaries(_NAMES, lists, min_size=1, max_size=3))
    return StaticProvider(values, tuple(draw(st.permutations(sorted(values)))), draw(st.booleans()))


_PROVIDERS: st.SearchStrategy[Provider] = st.one_of(
    _static(),
    st.builds(
        PluginProvider,
        st.lists(_NAMES, min_size=1, max_size=2).map(tuple),
        st.none() | st.just("module:Plugin"),
        st.booleans(),
    ),
    st.builds(BuiltinProvider, st.just("abi_dependency"), st.booleans()),
)


@st.composite
def metadata(draw: st.DrawFn) -> VariantMetadata:
    namespaces = draw(st.lists(_NAMES, min_size=1, max_size=3, unique=True))
    properties = st.lists(
        st.builds(Property, st.sampled_from(namespaces), _NAMES, _VALUES), min_size=1, max_size=4
    )
    variants = draw(st.dictionaries(_LABELS, properties.map(group), max_size=3))
    if draw(st.booleans()):
        variants["null"] = group([])
    has_providers = draw(st.booleans())
    providers = {name: draw(_PROVIDERS) for name in namespaces} if has_providers else {}
    return VariantMetadata(tuple(namespaces), providers, variants)


@given(metadata())
def test_what_is_written_reads_back_as_itself(one: VariantMetadata) -> None:
    data = one.to_json()
    assert VariantMetadata.parse(data, source="v") == one
    assert VariantMetadata.parse(data, source="v").to_json() == data
    assert data.isascii()
    VALIDATOR.validate(json.loads(data))


def test_writes_what_released_uv_takes() -> None:
    """uv 0.13.9 takes a provider for its own only by these very words, and else passes it over."""
    variants = {
        "v3": group([Property("x86_64", "level", "v3"), Property(PRIORITY, "order", "1")]),
        "null": {},
    }
    document = json.loads(VariantMetadata(NAMESPACES, PROVIDERS, variants).to_json())
    assert list(document) == ["$schema", "default-priorities", "providers", "variants"]
    assert document["$schema"].endswith("/850/v0.2.0.json")
    assert document["default-priorities"]["namespace"][0] == "priority"
    assert document["providers"]["priority"] == {
        "static-properties": {"order": [str(number) for number in range(1, MAX_VARIANTS + 1)]}
    }
    assert document["providers"]["nvidia"] == {
        "requires": ["nvidia-variant-provider>=0.0.1,<1.0.0"],
        "plugin-api": "nvidia_variant_provider.plugin:NvidiaVariantPlugin",
    }
    assert document["variants"] == {
        "null": {},
        "v3": {"priority": {"order": ["1"]}, "x86_64": {"level": ["v3"]}},
    }


WHOLE = {
    "$schema": "https://example.org/peps/850/v0.2.0.json",
    "default-priorities": {"namespace": ["nvidia", "s", "b"]},
    "providers": {
        "nvidia": {"requires": ["p>=1"], "plugin-api": "p:P"},
        "s": {"static-properties": {"f": ["2", "1"], "g": ["1"]}, "feature-order": ["g", "f"]},
        "b": {"builtin": "abi_dependency", "optional": True},
    },
    "variants": {"null": {}, "cu12": {"nvidia": {"sm_arch": ["90_real", "80_real"]}, "s": {"f": ["1"]}}},
}


def _parse(document: Any) -> VariantMetadata:
    return VariantMetadata.parse(json.dumps(document).encode(), source="v.json")


def test_reads_every_kind_of_provider() -> None:
    read = _parse(WHOLE)
    assert read.providers == {
        "nvidia": PluginProvider(("p>=1",), "p:P"),
        "s": StaticProvider({"f": ("2", "1"), "g": ("1",)}, ("g", "f")),
        "b": BuiltinProvider("abi_dependency", optional=True),
    }
    assert read.variants["cu12"]["nvidia"]["sm_arch"] == ("80_real", "90_real")


def test_reads_pep_825_files_and_newer_minors() -> None:
    without = {key: value for key, value in WHOLE.items() if key != "providers"}
    for schema in ("https://a.example/peps/825/v0.1.1.json", "https://a.example/v0.9.0.json"):
        assert _parse(without | {"$schema": schema}).providers == {}


def _error(data: bytes) -> str:
    with pytest.raises(BadInputError) as caught:
        VariantMetadata.parse(data, source="v.json")
    return str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"$schema": "https://a.example/v1.0.0.json"}, "is of a version this polywheel does not read"),
        ({"$schema": "https://a.example/"}, "is of a version this polywheel does not read"),
        ({"$schema": 1}, "$schema: found a number, expected a string"),
        ({"extra": 1}, "the file: unknown key 'extra'"),
        ({"default-priorities": {}}, "default-priorities: the key 'namespace' is missing"),
        ({"default-priorities": {"namespace": []}}, "expected at least one value, each once"),
        ({"default-priorities": {"namespace": ["a", "a"]}}, "expected at least one value, each once"),
        ({"default-priorities": {"namespace": ["A"]}}, "'A' does not match"),
        ({"default-priorities": {"namespace": [{}]}}, "found an object, expected a string"),
        ({"default-priorities": {"namespace": "a"}}, "found a string, expected a list"),
        ({"default-priorities": {"namespace": ["a"], "feature": {}}}, "unknown key 'feature'"),
        ({"providers": {}}, "providers: namespaces [] are not those of"),
        ({"providers": None}, "providers: found null, expected an object"),
        ({"variants": []}, "variants: found a list, expected an object"),
        ({"variants": {"CU": {}}}, "'CU' is no label"),
        ({"variants": {"a\nb": {}}}, "'a\\nb' is no label"),
        ({"variants": {"a": {}}}, "every other variant has some"),
        ({"variants": {"null": {"s": {"f": ["1"]}}}}, "the null variant has no properties"),
        ({"variants": {"a": {"x": {"f": ["1"]}}}}, "variants.a: unknown key 'x'; known: b, nvidia, s"),
        ({"variants": {"a": {"s": {"F": ["1"]}}}}, "feature 'F' does not match"),
        ({"variants": {"a": {"s": {"f": ["1+"]}}}}, "'1+' does not match"),
        ({"variants": {"a": {"s": {"f": []}}}}, "expected at least one value, each once"),
    ],
)
def test_names_the_key_that_is_wrong(change: dict[str, Any], message: str) -> None:
    """Among them a namespace nobody ranks, as wheelnext/variant-repack's torch 2.10 configuration has."""
    assert message in _error(json.dumps(WHOLE | change).encode())


@pytest.mark.parametrize(
    ("provider", "message"),
    [
        ({}, "keys []; expected static-properties, requires, or builtin, each alone"),
        ({"requires": ["p"], "builtin": "b"}, "expected static-properties, requires, or builtin"),
        ({"requires": []}, "providers.s.requires: empty"),
        ({"requires": [1]}, "providers.s.requires: found a number"),
        ({"requires": ["p"], "plugin-api": None}, "providers.s.plugin-api: found null"),
        ({"requires": ["p"], "enable-if": "x"}, "unknown key 'enable-if'"),
        ({"requires": ["p"], "optional": "no"}, "providers.s.optional: found a string"),
        ({"static-properties": {}}, "no feature; expected at least one"),
        ({"static-properties": {"f": ["1"], "g": ["1"]}}, "feature-order: expected each of ['f', 'g'] once"),
        ({"static-properties": {"f": ["1"]}, "feature-order": ["f", "f"]}, "expected each of ['f'] once"),
        ({"static-properties": {"f": ["1"]}, "feature-order": [["f"]]}, "found a list, expected a string"),
        ({"static-properties": {"f-g": ["1"]}}, "feature 'f-g' does not match"),
    ],
)
def test_names_the_provider_that_is_wrong(provider: dict[str, Any], message: str) -> None:
    """`enable-if`, a key of PEP 817, makes released uv refuse the whole release, plain wheel included."""
    document = WHOLE | {"providers": {**WHOLE["providers"], "s": provider}}  # type: ignore[dict-item]
    assert message in _error(json.dumps(document).encode())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "v.json:1:1: not JSON: Expecting value"),
        (b'{"a": 1,\n}', "v.json:2:1: not JSON"),
        (b'{"a": 1, "a": 2}', "v.json: the key 'a' stands twice in one object"),
        (b"\xff", "v.json: not UTF-8 at byte 0"),
        (b"[" * 100_000, "v.json: JSON nested too deep"),
        (b"[" * 500 + b"]" * 500, "v.json: the file: found a list, expected an object"),
        (b"1" * 10_000, "v.json: Exceeds the limit"),
        (b" " * (8 << 20) + b"1", "8388609 bytes of variant metadata"),
    ],
)
def test_says_what_is_no_json(data: bytes, message: str) -> None:
    assert _error(data).startswith(message) or message in _error(data)


def test_deep_values_inside_a_sound_frame_are_refused() -> None:
    deep: Any = "1"
    for _ in range(300):
        deep = [deep]
    for change in (
        {"default-priorities": {"namespace": deep}},
        {"variants": {"a": {"s": {"f": deep}}}},
        {"$schema": deep},
        {"providers": deep},
    ):
        assert "found a list" in _error(json.dumps(WHOLE | change).encode())


def _places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path, *(place for key, value in inner for place in _places(value, (*path, key)))]


_JUNK_WORDS = st.sampled_from(["", "s", "f", "A", "1", "null", "v3"])
_JUNK_KEYS = st.sampled_from(["s", "f", "A", "null", "optional", "requires"])
_JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _JUNK_WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_JUNK_KEYS, inner, max_size=2),
    max_leaves=3,
)


@given(st.data())
def test_agrees_with_the_shape_on_changed_files(data: st.DataObject) -> None:
    document: Any = copy.deepcopy(WHOLE)
    place = data.draw(st.sampled_from(_places(document)[1:]))
    holder = document
    for key in place[:-1]:
        holder = holder[key]
    match data.draw(st.sampled_from(["replace", "remove", "add"])):
        case "remove":
            del holder[place[-1]]
        case "add" if isinstance(holder, dict):
            holder[data.draw(st.sampled_from(["s", "A", "null", "optional"]))] = data.draw(_JUNK)
        case _:
            holder[place[-1]] = data.draw(_JUNK)
    refusal = ""
    try:
        _parse(document)
    except BadInputError as error:
        refusal = str(error)
    assert _BEYOND_THE_SHAPE.search(refusal) or VALIDATOR.is_valid(document) == (not refusal)


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_metadata_or_bad_input(data: bytes) -> None:
    with pytest.raises(BadInputError, match=r"^v\.json"):
        VariantMetadata.parse(data, source="v.json")


@st.composite
def _release(draw: st.DrawFn) -> tuple[VariantMetadata, ...]:
    """Three wheels' metadata of one release, or of almost one."""
    whole = draw(metadata())
    wheels = []
    for _ in range(3):
        length = draw(st.integers(1, len(whole.namespaces)))
        namespaces = whole.namespaces[:length]
        providers = {name: whole.providers[name] for name in namespaces if name in whole.providers}
        labels = (
            draw(st.lists(st.sampled_from(sorted(whole.variants)), unique=True)) if whole.variants else []
        )
        wheels.append(
            VariantMetadata(namespaces, providers, {label: whole.variants[label] for label in labels})
        )
    if draw(st.booleans()):
        wheels[draw(st.integers(0, 2))] = draw(metadata())
    return tuple(wheels)


def _merged(*wheels: VariantMetadata) -> VariantMetadata | None:
    """Merge from the left; None where the wheels disagree."""
    first, *others = wheels
    try:
        for other in others:
            first = first.merge(other, source="release")
    except BadInputError:
        return None
    return first


@given(_release())
def test_merging_does_not_depend_on_the_order(wheels: tuple[VariantMetadata, ...]) -> None:
    one, two, three = wheels
    assert _merged(one, two) == _merged(two, one)
    assert _merged(one, one) == one
    answers = [_merged(*order) for order in ((one, two, three), (three, one, two), (two, three, one))]
    right = _merged(two, three)
    answers.append(None if right is None else _merged(one, right))
    assert all(answer == answers[0] for answer in answers)


def test_merging_says_what_disagrees() -> None:
    one = _parse(WHOLE)
    static = one.providers["s"]
    for other, message in (
        (VariantMetadata(("s",), {"s": static}), "namespace priorities"),
        (VariantMetadata(one.namespaces, {**one.providers, "b": static}), "the provider of namespace 'b'"),
        (VariantMetadata(one.namespaces, one.providers, {"cu12": {}}), "the properties of label 'cu12'"),
        (VariantMetadata(one.namespaces, {}), "some wheels of the release name providers"),
    ):
        with pytest.raises(BadInputError, match=f"^release: {message}"):
            one.merge(other, source="release")

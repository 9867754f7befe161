"""Ordering against PEP 825's own words, and against variantlib, the reference implementation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cmp_to_key

from hypothesis import given, settings
from hypothesis import strategies as st
from variantlib.api import get_variants_by_priority  # type: ignore[import-untyped]

from polywheel_variants.metadata import PluginProvider, StaticProvider, VariantMetadata
from polywheel_variants.ordering import Missing, Supported, first_missing, order, with_static_properties
from polywheel_variants.property import Properties, Property, group
from polywheel_variants.wheel_name import NULL_LABEL

_NAMESPACES = ("a", "b", "c")
_FEATURES = ("f", "g", "h")
_VALUES = ("1", "2", "3", "4", "5")

_WANTED = st.builds(Property, *(st.sampled_from(one) for one in (_NAMESPACES, _FEATURES, _VALUES)))
_LABELS = st.sampled_from([f"l{number}" for number in range(12)])
_PROPERTIES = st.lists(_WANTED, min_size=1, max_size=6).map(group)


def _some_in_any_order(items: Sequence[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(items), min_size=1, max_size=len(items), unique=True).map(tuple)


@st.composite
def static_metadata(draw: st.DrawFn) -> VariantMetadata:
    """Metadata that states all that is supported, so that no machine takes part."""
    namespaces = draw(st.permutations(_NAMESPACES))
    providers = {}
    for namespace in namespaces:
        features = draw(_some_in_any_order(_FEATURES))
        values = {feature: draw(_some_in_any_order(_VALUES)) for feature in sorted(features)}
        providers[namespace] = StaticProvider(values, features)
    variants = draw(st.dictionaries(_LABELS, _PROPERTIES, max_size=8))
    if draw(st.booleans()):
        variants[NULL_LABEL] = {}
    return VariantMetadata(tuple(namespaces), providers, variants)


def _pep_order(metadata: VariantMetadata, supported: Supported) -> list[str]:
    """PEP 825, "Variant ordering", step by step and nothing else."""

    def is_compatible(properties: Properties) -> bool:
        return all(
            any(value in supported.get(namespace, {}).get(feature, ()) for value in values)
            for namespace, features in properties.items()
            for feature, values in features.items()
        )

    def sort_keys(properties: Properties) -> list[tuple[int, int, int]]:
        keys = []
        for namespace, features in properties.items():
            for feature, values in features.items():
                offered = supported[namespace][feature]
                best = next(place for place, value in enumerate(offered) if value in values)
                keys.append(
                    (metadata.namespaces.index(namespace), list(supported[namespace]).index(feature), best)
                )
        return sorted(keys)

    def compare(one: str, other: str) -> int:
        for left, right in zip(keys[one], keys[other], strict=False):
            if left != right:
                return -1 if left < right else 1
        if len(keys[one]) != len(keys[other]):
            return -1 if len(keys[one]) > len(keys[other]) else 1
        return -1 if one < other else 1

    keys = {
        label: sort_keys(properties)
        for label, properties in metadata.variants.items()
        if label != NULL_LABEL and is_compatible(properties)
    }
    null = [NULL_LABEL] if NULL_LABEL in metadata.variants else []
    return [*sorted(keys, key=cmp_to_key(compare)), *null]


@given(static_metadata())
def test_is_pep_825s_order(metadata: VariantMetadata) -> None:
    supported = with_static_properties({}, metadata)
    answer = order(metadata, supported, metadata.variants)
    assert list(answer.ranking) == _pep_order(metadata, supported)
    assert set(answer.missing) == set(metadata.variants) - set(answer.ranking)


@settings(max_examples=40)
@given(static_metadata())
def test_is_variantlibs_order(metadata: VariantMetadata) -> None:
    theirs = get_variants_by_priority(variants_json=json.loads(metadata.to_json()))
    labels = [one.label for one in theirs if one.label in metadata.variants]  # it always adds a null variant
    ours = order(metadata, with_static_properties({}, metadata), metadata.variants)
    assert list(ours.ranking) == labels


@given(static_metadata(), st.data())
def test_does_not_depend_on_the_labels_order(metadata: VariantMetadata, data: st.DataObject) -> None:
    labels = data.draw(st.permutations(sorted(metadata.variants)))
    supported = with_static_properties({}, metadata)
    assert order(metadata, supported, labels) == order(metadata, supported, metadata.variants)


@given(static_metadata())
def test_says_what_each_refused_variant_lacks(metadata: VariantMetadata) -> None:
    supported = with_static_properties({}, metadata)
    for label, lack in order(metadata, supported, metadata.variants).missing.items():
        assert lack == first_missing(metadata.variants[label], supported)
        assert lack.wanted == metadata.variants[label][lack.namespace][lack.feature]
        assert not set(lack.wanted) & set(lack.supported)


def _metadata(namespaces: Sequence[str], variants: Mapping[str, Iterable[str]]) -> VariantMetadata:
    providers = {name: PluginProvider((f"{name}-provider",)) for name in namespaces}
    properties = {label: group(map(Property.parse, texts)) for label, texts in variants.items()}
    return VariantMetadata(tuple(namespaces), providers, properties)


def test_the_first_namespace_decides() -> None:
    metadata = _metadata(
        ["priority", "nvidia"],
        {
            "second": ["priority :: order :: 2", "nvidia :: sm_arch :: 90_real"],
            "first": ["priority :: order :: 1", "nvidia :: sm_arch :: 80_real"],
            "null": [],
        },
    )
    supported = {"priority": {"order": ("1", "2")}, "nvidia": {"sm_arch": ("90_real", "80_real")}}
    assert order(metadata, supported, metadata.variants).ranking == ("first", "second", "null")


def test_a_longer_list_wins_and_null_is_last() -> None:
    metadata = _metadata(["x"], {"a": ["x :: f :: 1"], "b": ["x :: f :: 1", "x :: g :: 1"], "null": []})
    supported = {"x": {"f": ("1",), "g": ("1",)}}
    assert order(metadata, supported, ["null", "a", "b"]).ranking == ("b", "a", "null")


def test_a_label_the_metadata_does_not_list_is_dropped() -> None:
    metadata = _metadata(["x"], {"a": ["x :: f :: 1"]})
    answer = order(metadata, {"x": {"f": ("1",)}}, ["a", "b", "null"])
    assert (answer.ranking, answer.missing) == (("a",), {})


def test_a_lack_reads_as_a_sentence() -> None:
    lack = Missing("nvidia", "sm_arch", ("80_real", "90_real"), ("75_real",))
    assert str(lack) == "needs nvidia :: sm_arch :: 80_real or 90_real, this machine has 75_real"
    assert str(Missing("a", "f", ("1",), ())) == "needs a :: f :: 1, this machine has none"
    many = Missing("a", "f", ("1",), tuple("23456789"))
    assert str(many) == "needs a :: f :: 1, this machine has 2, 3, 4, 5, 6, 7, ..."


def test_static_properties_come_before_the_machines_and_optional_ones_stay_off() -> None:
    metadata = VariantMetadata(
        ("s", "o", "p", "m"),
        {
            "s": StaticProvider({"g": ("1",), "f": ("2", "1")}, ("f", "g")),
            "o": StaticProvider({"f": ("1",)}, ("f",), optional=True),
            "p": PluginProvider(("p-provider",), optional=True),
            "m": PluginProvider(("m-provider",)),
        },
    )
    machine = {name: {"f": ("9",)} for name in ("s", "o", "p", "m", "other")}
    merged = with_static_properties(machine, metadata)
    assert merged == {
        "s": {"f": ("2", "1"), "g": ("1",)},
        "m": {"f": ("9",)},
        "other": {"f": ("9",)},
    }
    assert list(merged["s"]) == ["f", "g"]

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from polywheel_index.choice import Choice, Listing, Target, Unreadable, choose, is_pinned
from polywheel_index.python_target import Python
from polywheel_index.simple import IndexedFile
from polywheel_variants.known_providers import NAMESPACES, PROVIDERS
from polywheel_variants.metadata import PluginProvider, VariantMetadata
from polywheel_variants.ordering import Supported
from polywheel_variants.property import Properties

if TYPE_CHECKING:
    from tests.index.conftest import RandomCase

PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "linux_x86_64")
TAGS = Python(11).tags(PLATFORMS)
V3: Supported = {"x86_64": {"level": ("v3", "v2", "v1")}}


def listed(name: str, **attributes: Any) -> IndexedFile:
    return IndexedFile(name, f"https://index.invalid/files/{name}", {}, **attributes)


def release(variants: Mapping[str, Properties]) -> VariantMetadata:
    return VariantMetadata(NAMESPACES, PROVIDERS, variants)


LEVELS = release(
    {
        "null": {},
        "x86_64_v4": {"priority": {"order": ("1",)}, "x86_64": {"level": ("v4",)}},
        "x86_64_v3": {"priority": {"order": ("2",)}, "x86_64": {"level": ("v3",)}},
    }
)


def chosen_from(
    files: Iterable[IndexedFile | str],
    specifier: str = "",
    metadata: VariantMetadata | Unreadable = LEVELS,
    supported: Supported = V3,
) -> Choice:
    target = Target(TAGS, Version("3.11.7"), supported)
    listing = Listing.of(listed(one) if isinstance(one, str) else one for one in files)
    return choose(listing, SpecifierSet(specifier), target, lambda _version: metadata)


def name_of(choice: Choice) -> str | None:
    return choice.chosen.candidate.file.filename if choice.chosen else None


def codes(choice: Choice) -> dict[str, str]:
    return {one.filename: one.code for one in choice.rejected}


PLAIN = "demo-1-py3-none-any.whl"
NULL = "demo-1-py3-none-any-null.whl"
FAST = "demo-1-py3-none-any-x86_64_v3.whl"
FASTEST = "demo-1-py3-none-any-x86_64_v4.whl"


def test_the_best_variant_then_null_then_plain() -> None:
    choice = chosen_from([PLAIN, NULL, FAST, FASTEST])
    assert name_of(choice) == FAST
    assert choice.ranking == ("x86_64_v3", "null", None)
    (refused,) = choice.rejected
    assert (refused.filename, refused.code, refused.kind) == (FASTEST, "property", "variant")
    assert refused.reason == "needs x86_64 :: level :: v4, this machine has v3, v2, v1"


def test_the_json_is_the_documented_one() -> None:
    answer = chosen_from([PLAIN, FAST, FASTEST]).to_json()
    assert answer == {
        "schema": "polywheel/select/1",
        "chosen": {
            "filename": FAST,
            "kind": "variant",
            "label": "x86_64_v3",
            "url": f"https://index.invalid/files/{FAST}",
            "properties": {"priority": {"order": ["2"]}, "x86_64": {"level": ["v3"]}},
        },
        "ranking": ["x86_64_v3", None],
        "rejected": [
            {
                "filename": FASTEST,
                "kind": "variant",
                "label": "x86_64_v4",
                "code": "property",
                "reason": "needs x86_64 :: level :: v4, this machine has v3, v2, v1",
            }
        ],
        "warnings": [],
    }
    assert next(iter(answer)) == "schema"
    plain = chosen_from([PLAIN]).to_json()["chosen"]
    assert (plain["kind"], plain["label"], plain["properties"]) == ("plain", None, {})
    null = chosen_from([NULL]).to_json()["chosen"]
    assert (null["kind"], null["label"], null["properties"]) == ("null", "null", {})


def test_inside_a_label_the_platform_then_the_build_decides() -> None:
    names = [
        "demo-1-py3-none-linux_x86_64-null.whl",
        "demo-1-9-py3-none-manylinux_2_17_x86_64-null.whl",
        "demo-1-py3-none-manylinux_2_28_x86_64-null.whl",
        "demo-1-2-py3-none-manylinux_2_28_x86_64-null.whl",
        "demo-1-10-py3-none-manylinux_2_28_x86_64-null.whl",
        "demo-1-10a-py3-none-manylinux_2_28_x86_64-null.whl",
    ]
    for count in range(len(names), 0, -1):
        assert name_of(chosen_from(names[:count])) == names[count - 1]


def test_a_label_needs_a_wheel_for_this_platform() -> None:
    other = "demo-1-py3-none-win_amd64-x86_64_v3.whl"
    choice = chosen_from([PLAIN, other, "demo-1-cp312-cp312-linux_x86_64-null.whl"])
    assert choice.ranking == (None,)
    assert codes(choice) == {other: "platform", "demo-1-cp312-cp312-linux_x86_64-null.whl": "python"}
    assert "win_amd64" in choice.rejected[1].reason
    assert "cp311-cp311" in choice.rejected[0].reason


def test_the_highest_version_comes_first_even_without_its_variants() -> None:
    choice = chosen_from([FAST, "demo-2-py3-none-any.whl"])
    assert name_of(choice) == "demo-2-py3-none-any.whl"


def test_a_version_without_a_fitting_wheel_is_passed_over_and_told() -> None:
    choice = chosen_from([PLAIN, "demo-2-py3-none-win_amd64.whl", "demo-3-py3-none-any-x86_64_v4.whl"])
    assert name_of(choice) == PLAIN
    assert codes(choice) == {
        "demo-2-py3-none-win_amd64.whl": "platform",
        "demo-3-py3-none-any-x86_64_v4.whl": "property",
    }


@pytest.mark.parametrize(
    ("specifier", "expected"),
    [
        ("", "demo-2-py3-none-any.whl"),
        ("<2", "demo-1-py3-none-any.whl"),
        (">=3.0rc1", "demo-3rc1-py3-none-any.whl"),
        ("==3rc1", "demo-3rc1-py3-none-any.whl"),
        (">3", None),
    ],
)
def test_specifiers_and_pre_releases(specifier: str, expected: str | None) -> None:
    names = ["demo-1-py3-none-any.whl", "demo-2-py3-none-any.whl", "demo-3rc1-py3-none-any.whl"]
    assert name_of(chosen_from(names, specifier)) == expected


def test_versions_nobody_asked_for_are_told_only_when_nothing_fits() -> None:
    names = [PLAIN, "demo-2-py3-none-any.whl", "demo-3rc1-py3-none-any.whl"]
    assert codes(chosen_from(names, "<2")) == {}
    assert codes(chosen_from(names, ">4")) == dict.fromkeys(names, "specifier")


def test_a_pre_release_is_taken_where_nothing_else_is() -> None:
    assert name_of(chosen_from(["demo-3rc1-py3-none-any.whl"])) == "demo-3rc1-py3-none-any.whl"
    choice = chosen_from([PLAIN, "demo-3rc1-py3-none-any.whl"])
    assert codes(choice) == {"demo-3rc1-py3-none-any.whl": "prerelease"}


def test_a_yanked_file_is_taken_only_when_pinned() -> None:
    files = [listed(PLAIN), listed("demo-2-py3-none-any.whl", yanked="broken\nbuild")]
    choice = chosen_from(files)
    assert name_of(choice) == PLAIN
    assert codes(choice) == {"demo-2-py3-none-any.whl": "yanked"}
    assert choice.rejected[0].reason == "2 was yanked: broken build"
    pinned = chosen_from(files, "==2")
    assert name_of(pinned) == "demo-2-py3-none-any.whl"
    assert pinned.warnings == ("2 was yanked: broken build",)
    assert name_of(chosen_from(files, "==2.*")) is None


@pytest.mark.parametrize(
    ("specifier", "pinned"), [("==1", True), ("===1", True), ("==1.*", False), (">=1,<2", False), ("", False)]
)
def test_what_pins(specifier: str, pinned: bool) -> None:
    assert is_pinned(SpecifierSet(specifier)) is pinned


@pytest.mark.parametrize(
    ("wanted", "taken"),
    [(">=3.10", True), (">=3.12", False), ("<3.11", False), ("~=3.11", True), ("three", False)],
)
def test_requires_python_decides(wanted: str, taken: bool) -> None:
    choice = chosen_from([listed(PLAIN, requires_python=wanted)])
    assert (name_of(choice) is not None) is taken
    assert set(codes(choice).values()) == (set() if taken else {"requires-python"})


def test_unreadable_metadata_never_hides_the_plain_wheel() -> None:
    choice = chosen_from([PLAIN, NULL, FAST], metadata=Unreadable("it is broken"))
    assert name_of(choice) == PLAIN
    assert codes(choice) == {NULL: "metadata", FAST: "metadata"}
    assert choice.warnings == ("it is broken",)


def test_a_label_that_is_not_listed_is_refused() -> None:
    choice = chosen_from([PLAIN, "demo-1-py3-none-any-other.whl"])
    assert codes(choice) == {"demo-1-py3-none-any-other.whl": "label"}


def test_a_wheel_with_a_senseless_name_costs_only_itself() -> None:
    choice = chosen_from([PLAIN, "demo-1-none-any.whl", "demo-one-py3-none-any.whl", "demo.txt"])
    assert name_of(choice) == PLAIN
    assert set(codes(choice).values()) == {"filename"}
    assert len(choice.rejected) == 2


@pytest.mark.parametrize("part", ["9" * 6000, "1-" + "9" * 6000, "1.post" + "9" * 240])
def test_a_number_of_thousands_of_digits_costs_only_its_wheel(part: str) -> None:
    choice = chosen_from(
        [PLAIN, f"demo-{part}-cp27-none-any.whl", f"demo-{part}-variants.json", f"demo-{part}.tar.gz"]
    )
    assert name_of(choice) == PLAIN


def test_a_source_distribution_in_the_way_is_told() -> None:
    choice = chosen_from([PLAIN, "demo-2.tar.gz", "demo-2-py3-none-win_amd64.whl"])
    assert name_of(choice) == PLAIN
    assert choice.warnings == (
        "2 has a source distribution and no wheel that fits: pip and uv would build it",
    )
    assert chosen_from([PLAIN, "demo-1.tar.gz", "demo-2rc1.tar.gz"]).warnings == ()
    assert chosen_from([PLAIN, "demo-2.tar.gz"], "<2").warnings == ()


def test_nothing_at_all_is_an_answer() -> None:
    assert chosen_from([]).to_json()["chosen"] is None
    choice = chosen_from([FASTEST])
    assert choice.chosen is None
    assert choice.ranking == ()


# An independent reading of PEP 825, "Variant ordering": its pseudocode, written anew with none of our parts.


def pep_order(
    namespaces: Sequence[str],
    supported: Mapping[str, Mapping[str, Sequence[str]]],
    variants: Mapping[str, Mapping[str, Mapping[str, Sequence[str]]]],
) -> list[str]:
    def is_compatible(label: str) -> bool:
        return all(
            any(value in supported.get(namespace, {}).get(feature, []) for value in values)
            for namespace, features in variants[label].items()
            for feature, values in features.items()
        )

    def sort_key(label: str) -> list[tuple[int, int, int]]:
        triples = []
        for namespace, features in variants[label].items():
            for feature, values in features.items():
                offered = list(supported[namespace][feature])
                best = min(offered.index(value) for value in values if value in offered)
                triples.append((namespaces.index(namespace), list(supported[namespace]).index(feature), best))
        return sorted(triples)

    def is_before(one: str, other: str) -> bool:
        for left, right in zip(sort_key(one), sort_key(other), strict=False):
            if left != right:
                return left < right
        lengths = len(sort_key(one)), len(sort_key(other))
        return lengths[0] > lengths[1] if lengths[0] != lengths[1] else one < other

    ordered: list[str] = []
    for label in filter(is_compatible, variants):
        place = sum(is_before(other, label) for other in ordered)
        ordered.insert(place, label)
    return ordered


def our_ranking(
    namespaces: Sequence[str], supported: Supported, variants: Mapping[str, Properties]
) -> Choice:
    metadata = VariantMetadata(
        tuple(namespaces), {name: PluginProvider((name,)) for name in namespaces}, variants
    )
    names = [PLAIN, *(f"demo-1-py3-none-any-{label}.whl" for label in variants)]
    return chosen_from(names, metadata=metadata, supported=supported)


def test_the_ranking_is_the_pep_s_in_many_random_cases(random_case: RandomCase) -> None:
    for seed in range(2000):
        namespaces, supported, variants = random_case(seed)
        expected = pep_order(namespaces, supported, variants)
        if "null" in expected:  # the pseudocode sorts it last by its empty list; the plain wheel follows
            assert expected[-1] == "null"
        assert our_ranking(namespaces, supported, variants).ranking == (*expected, None)


def test_the_ranking_is_variantlib_s_in_random_cases(
    random_case: RandomCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolver = import_module("variantlib.resolver.lib")  # it has no types
    describe = import_module("variantlib.models.variant").VariantDescription
    # It would read every installed distribution anew for each case, for a namespace that no case has.
    monkeypatch.setattr(resolver, "inject_abi_dependency", lambda *_arguments: None)

    for seed in range(200):
        namespaces, supported, variants = random_case(seed)
        found = resolver.sort_and_filter_supported_variants(
            [describe(_described(properties), label) for label, properties in variants.items()],
            _described(supported),
            namespaces,
            {namespace: list(features) for namespace, features in supported.items()},
            {
                namespace: {feature: list(values) for feature, values in features.items()}
                for namespace, features in supported.items()
            },
        )
        # variantlib always offers a null variant, whether or not there is such a wheel.
        expected = [one.label for one in found if one.label != "null" or "null" in variants]
        assert our_ranking(namespaces, supported, variants).ranking == (*expected, None)


def _described(properties: Supported) -> list[Any]:
    make = import_module("variantlib.models.variant").VariantProperty
    return [
        make(namespace, feature, value)
        for namespace, features in properties.items()
        for feature, values in features.items()
        for value in values
    ]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.randoms(use_true_random=False))
def test_the_answer_does_not_depend_on_the_order_of_the_files(
    random_case: RandomCase, seed: int, chance: random.Random
) -> None:
    namespaces, supported, variants = random_case(seed)
    metadata = VariantMetadata(
        tuple(namespaces), {name: PluginProvider((name,)) for name in namespaces}, variants
    )
    names = [
        f"demo-{version}-{build}py3-none-{platform}{label}.whl"
        for version, build, platform, label in itertools.product(
            ("1", "2"), ("", "1-"), ("any", "linux_x86_64", "win32"), ("", *(f"-{one}" for one in variants))
        )
    ] + ["demo-1.tar.gz", "demo-3.zip", "junk.whl"]
    expected = chosen_from(names, metadata=metadata, supported=supported)
    chance.shuffle(names)
    assert chosen_from(names, metadata=metadata, supported=supported) == expected


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 100_000))
def test_the_chosen_wheel_never_needs_what_the_machine_lacks(random_case: RandomCase, seed: int) -> None:
    namespaces, supported, variants = random_case(seed)
    choice = our_ranking(namespaces, supported, variants)
    assert choice.chosen is not None
    for namespace, features in choice.chosen.properties.items():
        for feature, values in features.items():
            assert set(values) & set(supported[namespace][feature])

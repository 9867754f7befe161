"""From AMD facts to properties, masks and verdicts."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_providers import amd
from polywheel_providers.amd.facts import AmdDevice, AmdFacts
from polywheel_providers.amd.visibility import visible
from polywheel_providers.frozen import as_json, replace
from polywheel_providers.record import Fields
from polywheel_providers.vendor import Note


def machine(*words: str, **env: str) -> AmdFacts:
    return replace(amd.from_short_form(words), env=env)


def test_one_kind_of_gpu() -> None:
    found = amd.supported(machine("gfx942", "rocm=7.1"))
    assert found["gfx_arch"] == ("gfx942", "gfx9_4_generic")
    assert found["rocm_version"][:2] == ("7.1", "7.0")


def test_two_kinds_get_what_runs_on_both() -> None:
    assert amd.supported(machine("gfx1100", "gfx1101"))["gfx_arch"] == ("gfx11_generic",)
    assert "gfx_arch" not in amd.supported(machine("gfx1100", "gfx1201"))
    assert amd.serves(machine("gfx1100", "gfx1201"), ["gfx1100", "gfx1201"])
    refused = amd.serves(machine("gfx1100", "gfx1201"), ["gfx1100"])
    assert not refused
    assert "gfx1201" in refused.why


def test_an_integrated_gpu_beside_a_discrete_one_is_not_used() -> None:
    facts = machine("gfx1036", "gfx1201")
    assert [(device.arch, device.usable) for device in amd.devices(facts)] == [
        ("gfx1036", False),
        ("gfx1201", True),
    ]
    assert amd.supported(facts)["gfx_arch"] == ("gfx1201", "gfx12_generic")
    chosen = replace(facts, env={"HIP_VISIBLE_DEVICES": "0"})
    assert amd.supported(chosen)["gfx_arch"] == ("gfx1036", "gfx10_3_generic")
    assert amd.supported(machine("gfx1151"))["gfx_arch"][0] == "gfx1151"
    assert amd.supported(machine("gfx1151"), discrete_elsewhere=True) == {}


def test_an_unknown_gpu_hides_no_known_one() -> None:
    facts = machine("gfx1999", "gfx1100")
    assert [(device.arch, device.usable) for device in amd.devices(facts)] == [
        ("gfx1999", False),
        ("gfx1100", True),
    ]
    assert amd.supported(facts)["gfx_arch"] == ("gfx1100", "gfx11_generic")
    assert amd.supported(machine("gfx1999", "gfx1103"))["gfx_arch"] == ("gfx1103", "gfx11_generic")
    assert amd.supported(machine("gfx1999"))["gfx_arch"] == ("gfx1999",), "alone, by its own name"


@pytest.mark.parametrize(
    ("env", "places"),
    [
        ({}, [0, 1, 2]),
        ({"HIP_VISIBLE_DEVICES": "2,0"}, [2, 0]),
        ({"HIP_VISIBLE_DEVICES": ""}, []),
        ({"HIP_VISIBLE_DEVICES": "-1"}, []),
        ({"HIP_VISIBLE_DEVICES": "0,7,1"}, [0]),
        ({"HIP_VISIBLE_DEVICES": "1,1"}, [1]),
        ({"ROCR_VISIBLE_DEVICES": "1,2"}, [1, 2]),
        ({"ROCR_VISIBLE_DEVICES": ""}, []),
        ({"ROCR_VISIBLE_DEVICES": "2,1", "HIP_VISIBLE_DEVICES": "1"}, [1]),
        ({"ROCR_VISIBLE_DEVICES": "0", "HIP_VISIBLE_DEVICES": "1"}, []),
        ({"ROCR_VISIBLE_DEVICES": "GPU-00000000000000ff"}, [1]),
        ({"ROCR_VISIBLE_DEVICES": "GPU-"}, []),
        ({"CUDA_VISIBLE_DEVICES": "1"}, [1]),
        ({"CUDA_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "2"}, [2]),
    ],
)
def test_masks(env: dict[str, str], places: list[int]) -> None:
    facts = machine("gfx90a", "gfx90a", "gfx90a", **env)
    uuids = ("GPU-0000000000000001", "GPU-00000000000000ff", "")
    devices = tuple(replace(each, uuid=uuid) for each, uuid in zip(facts.devices, uuids, strict=True))
    assert visible(replace(facts, devices=devices)) == tuple(places)


def test_a_hidden_gpu_says_what_hides_it() -> None:
    listed = amd.devices(machine("gfx90a", "gfx90a", HIP_VISIBLE_DEVICES="1"))
    assert [(device.visible, device.why) for device in listed] == [
        (True, ""),
        (False, "hidden by HIP_VISIBLE_DEVICES=1"),
    ]


@pytest.mark.parametrize(
    ("forced", "archs"),
    [
        ("gfx1100", ("gfx1100", "gfx11_generic")),
        ("gfx942,gfx950", ("gfx9_4_generic",)),
        ("gfx90a; gfx90a", ("gfx90a",)),
    ],
)
def test_overrides_of_the_processor(forced: str, archs: tuple[str, ...]) -> None:
    facts = machine("gfx803", AMD_VARIANT_PROVIDER_FORCE_GFX_ARCH=forced)
    assert amd.supported(facts)["gfx_arch"] == archs


def test_an_override_that_names_nothing_supports_nothing() -> None:
    assert amd.supported(machine("gfx803", AMD_VARIANT_PROVIDER_FORCE_GFX_ARCH="radeon")) == {}


@pytest.mark.parametrize(
    ("forced", "first"), [("6.3.0", "6.3"), ("7.10.1", "7.10"), ("7.0", "7.0"), ("x", "7.1")]
)
def test_overrides_of_rocm(forced: str, first: str) -> None:
    facts = machine("gfx942", "rocm=7.1", AMD_VARIANT_PROVIDER_FORCE_ROCM_VERSION=forced)
    assert amd.supported(facts)["rocm_version"][0] == first


def test_supported_is_a_subset_of_all() -> None:
    for name in amd.FEATURES["gfx_arch"]:
        if name.endswith("_generic"):
            continue
        for feature, values in amd.supported(machine(name, "rocm=7.1")).items():
            assert set(values) <= set(amd.FEATURES[feature])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "a processor is missing"),
        (("rocm=7.1",), "a processor is missing"),
        (("mi300x",), "'mi300x' is no processor"),
        (("gfx11-generic",), "'gfx11-generic' is no processor"),
        (("gfx942:sramec+",), "'gfx942:sramec+' is no processor"),
        (("gfx942", "rocm=new"), "rocm='new' is no version"),
        (("gfx942", "driver=7.1"), "'driver=7.1' is not known here"),
    ],
)
def test_a_wrong_short_form_is_one_line(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(ValueError, match="amd: ") as raised:
        amd.from_short_form(words)
    assert said in str(raised.value)


_SHORT = st.text(max_size=5)
_NAMES = st.sampled_from(["", "gfx942", "gfx1036", "gfx1201", "gfx1999", "gfx9-4-generic"])
_FACTS = st.builds(
    AmdFacts,
    devices=st.lists(
        st.builds(AmdDevice, _SHORT, _NAMES, _SHORT, _SHORT, st.booleans(), _SHORT), max_size=3
    ).map(tuple),
    rocm=st.none() | st.tuples(st.integers(5, 8), st.integers(0, 20)),
    tried=st.dictionaries(_SHORT, _SHORT, max_size=2),
    env=st.dictionaries(st.sampled_from(amd.ENVIRONMENT), st.text(max_size=8), max_size=4),
    notes=st.lists(st.builds(Note, _SHORT, _SHORT), max_size=2).map(tuple),
)


@given(_FACTS, st.lists(_SHORT, max_size=3), st.booleans())
def test_a_record_reads_back_and_answers_alike(facts: AmdFacts, values: list[str], beside: bool) -> None:
    body: Any = json.loads(json.dumps(as_json(facts)))
    again = amd.from_fields(Fields(body, "facts.amd"))
    assert again == facts
    assert amd.supported(again, discrete_elsewhere=beside) == amd.supported(facts, discrete_elsewhere=beside)
    assert len(amd.devices(facts)) == len(facts.devices)
    amd.serves(facts, values, discrete_elsewhere=beside)


def test_a_wrong_record_names_its_key() -> None:
    body: Any = as_json(amd.from_short_form(("gfx942",)))
    with pytest.raises(ValueError, match=r"facts\.amd\.rocm: expected two numbers"):
        amd.from_fields(Fields({**body, "rocm": [7]}, "facts.amd"))


@given(st.lists(st.text(alphabet="gfx0123456789ac-:+=rocm.", max_size=10), max_size=3))
def test_a_short_form_is_facts_or_a_value_error(words: list[str]) -> None:
    with contextlib.suppress(ValueError):
        assert amd.devices(amd.from_short_form(tuple(words)))

"""From Intel facts to properties, masks and verdicts."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_providers import intel
from polywheel_providers.frozen import as_json, replace
from polywheel_providers.intel.facts import IntelDevice, IntelFacts
from polywheel_providers.intel.visibility import visible
from polywheel_providers.record import Fields
from polywheel_providers.vendor import Note


def machine(*words: str, **env: str) -> IntelFacts:
    return replace(intel.from_short_form(words), env=env)


@pytest.mark.parametrize(
    ("ip", "values"),
    [
        ("20.1.0", ("20.1.0",)),
        ("20.4.4", ("20.4.4", "20.1.0")),
        ("12.57.0", ("12.57.0", "12.55.8")),
        ("12.60.7", ("12.60.7",)),
        ("20.9.9", ("20.9.9", "20.1.0")),
        ("40.1.0", ("40.1.0",)),
    ],
)
def test_a_device_runs_its_own_code_and_its_bases(ip: str, values: tuple[str, ...]) -> None:
    facts = machine(ip)
    assert intel.supported(facts) == {"device_ip": values}
    assert all(intel.serves(facts, [value]) for value in values)


def test_two_kinds_get_what_runs_on_both() -> None:
    assert intel.supported(machine("12.56.5", "12.57.0"))["device_ip"] == ("12.55.8",)
    assert intel.supported(machine("20.1.0", "12.60.7")) == {}
    assert intel.serves(machine("20.1.0", "12.60.7"), ["12.60.7", "20.1.0"])
    refused = intel.serves(machine("20.1.0", "12.60.7"), ["20.1.0"])
    assert not refused
    assert "12.60.7" in refused.why


def test_an_integrated_gpu_beside_a_discrete_one_is_not_used() -> None:
    facts = machine("20.1.0", "12.2.0")
    assert [(device.arch, device.usable) for device in intel.devices(facts)] == [
        ("20.1.0", True),
        ("12.2.0", False),
    ]
    assert intel.supported(replace(facts, env={"ZE_AFFINITY_MASK": "1"}))["device_ip"] == ("12.2.0",)
    assert intel.supported(machine("12.2.0"), discrete_elsewhere=True) == {}


def test_an_unknown_gpu_hides_no_known_one() -> None:
    facts = machine("40.1.0", "20.1.0")
    assert [(device.arch, device.usable) for device in intel.devices(facts)] == [
        ("40.1.0", False),
        ("20.1.0", True),
    ]
    assert intel.supported(facts)["device_ip"] == ("20.1.0",)


@pytest.mark.parametrize(
    ("mask", "places"),
    [
        ("", [0, 1, 2]),
        ("default", [0, 1, 2]),
        ("0", [0]),
        ("2,0", [0, 2]),
        ("1.0,1.1", [1]),
        ("0.0.1", [0]),
        ("7", []),
        ("7,1", [1]),
        ("x,1", [1]),
        ("-1", []),
    ],
)
def test_masks(mask: str, places: list[int]) -> None:
    facts = machine("12.60.7", "12.60.7", "12.60.7", ZE_AFFINITY_MASK=mask)
    assert visible(facts) == tuple(places)
    hidden = [device for device in intel.devices(facts) if not device.visible]
    assert {device.why for device in hidden} <= {f"hidden by ZE_AFFINITY_MASK={mask}"}


@pytest.mark.parametrize(
    ("forced", "values"),
    [
        ("30.0.4", ("30.0.4",)),
        ("20.4.4", ("20.4.4", "20.1.0")),
        ("20.2.0, 20.4.4", ("20.1.0",)),
        ("b580", None),
    ],
)
def test_overrides(forced: str, values: tuple[str, ...] | None) -> None:
    facts = machine("12.2.0", INTEL_VARIANT_PROVIDER_FORCE_DEVICE_IP=forced)
    assert intel.supported(facts).get("device_ip") == values


def test_supported_is_a_subset_of_all() -> None:
    for ip in intel.FEATURES["device_ip"]:
        assert set(intel.supported(machine(ip))["device_ip"]) <= set(intel.FEATURES["device_ip"])


@pytest.mark.parametrize(("words", "said"), [((), "is missing"), (("b580",), "'b580' is no device IP")])
def test_a_wrong_short_form_is_one_line(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(ValueError, match="intel: ") as raised:
        intel.from_short_form(words)
    assert said in str(raised.value)


_SHORT = st.text(max_size=5)
_IPS = st.sampled_from(["", "20.1.0", "20.4.4", "12.2.0", "40.1.0"])
_FACTS = st.builds(
    IntelFacts,
    devices=st.lists(
        st.builds(IntelDevice, _SHORT, _IPS, _IPS, st.booleans(), st.sampled_from(["", "lost"])), max_size=3
    ).map(tuple),
    tried=st.dictionaries(_SHORT, _SHORT, max_size=2),
    env=st.dictionaries(st.sampled_from(intel.ENVIRONMENT), st.text(max_size=8), max_size=2),
    notes=st.lists(st.builds(Note, _SHORT, _SHORT), max_size=2).map(tuple),
)


@given(_FACTS, st.lists(_SHORT, max_size=3), st.booleans())
def test_a_record_reads_back_and_answers_alike(facts: IntelFacts, values: list[str], beside: bool) -> None:
    body: Any = json.loads(json.dumps(as_json(facts)))
    again = intel.from_fields(Fields(body, "facts.intel"))
    assert again == facts
    assert intel.supported(again, discrete_elsewhere=beside) == intel.supported(
        facts, discrete_elsewhere=beside
    )
    assert len(intel.devices(facts)) == len(facts.devices)
    intel.serves(facts, values, discrete_elsewhere=beside)


@given(st.lists(st.text(alphabet="0123456789.bmg", max_size=9), max_size=3))
def test_a_short_form_is_facts_or_a_value_error(words: list[str]) -> None:
    with contextlib.suppress(ValueError):
        assert intel.devices(intel.from_short_form(tuple(words)))

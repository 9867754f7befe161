"""Records of NVIDIA machines."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_providers import nvidia
from polywheel_providers.frozen import as_json
from polywheel_providers.nvidia.facts import MigInstance, NvidiaDevice, NvidiaFacts
from polywheel_providers.record import Fields
from polywheel_providers.vendor import Note

_SHORT = st.text(max_size=5)
_PAIR = st.none() | st.tuples(st.integers(1, 29), st.integers(0, 9))
_DEVICE = st.builds(
    NvidiaDevice,
    name=_SHORT,
    capability=_PAIR,
    bus=_SHORT,
    uuid=_SHORT,
    integrated=st.booleans(),
    mig_mode=st.none() | st.booleans(),
    mig=st.lists(st.builds(MigInstance, _SHORT, _SHORT), max_size=2).map(tuple),
    problem=st.just(""),
)
_FACTS = st.builds(
    NvidiaFacts,
    driver=_SHORT,
    cuda=_PAIR,
    devices=st.lists(_DEVICE, max_size=3).map(tuple),
    devices_known=st.booleans(),
    cuda_order=st.just(()),
    tegra=st.booleans(),
    wsl=st.booleans(),
    tried=st.dictionaries(_SHORT, _SHORT, max_size=2),
    env=st.dictionaries(st.sampled_from(nvidia.ENVIRONMENT), _SHORT, max_size=3),
    notes=st.lists(st.builds(Note, _SHORT, _SHORT), max_size=2).map(tuple),
)


def record(facts: NvidiaFacts) -> Any:
    return json.loads(json.dumps(as_json(facts)))


@given(_FACTS)
def test_a_record_reads_back_and_answers_alike(facts: NvidiaFacts) -> None:
    again = nvidia.from_fields(Fields(record(facts), "facts.nvidia"))
    assert again == facts
    assert nvidia.supported(again) == nvidia.supported(facts)
    assert nvidia.devices(again) == nvidia.devices(facts)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"cuda": [12]}, "facts.nvidia.cuda: expected two numbers"),
        ({"cuda": "12.8"}, "facts.nvidia.cuda: expected a list"),
        ({"cuda_order": [1]}, "facts.nvidia.cuda_order"),
        ({"extra": 1}, "unknown key 'extra'"),
        ({"devices": [{"name": "x"}]}, "facts.nvidia.devices[0]"),
    ],
)
def test_a_wrong_record_names_its_key(change: dict[str, object], said: str) -> None:
    body = {**record(nvidia.from_short_form(("9.0", "driver=12.8"))), **change}
    with pytest.raises(ValueError, match="facts") as raised:
        nvidia.from_fields(Fields(body, "facts.nvidia"))
    assert said in str(raised.value)


def test_a_capability_that_cannot_be_is_refused() -> None:
    body = record(nvidia.from_short_form(("9.0", "driver=12.8")))
    body["devices"][0]["capability"] = [90, 0]
    with pytest.raises(ValueError, match="no compute capability"):
        nvidia.from_fields(Fields(body, "facts.nvidia"))

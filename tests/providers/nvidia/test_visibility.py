"""`CUDA_VISIBLE_DEVICES` and `CUDA_DEVICE_ORDER`."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_providers import nvidia
from polywheel_providers.frozen import replace
from polywheel_providers.nvidia.facts import NvidiaFacts
from polywheel_providers.nvidia.visibility import visible

# The UUIDs and the answers for driver 525 of pytorch/pytorch#92315.
UUIDS = (
    "GPU-9942190a-aa31-4ff1-4aa9-c388d80f85f1",
    "GPU-9e8d35e3-a134-0fdd-0e01-23811fdbd293",
    "GPU-e429a63e-c61c-4795-b757-5132caeb8e70",
    "GPU-eee1dfbc-0a0f-6ad8-5ff6-dc942a8b9d98",
    "GPU-bbcd6503-5150-4e92-c266-97cc4390d04e",
    "GPU-472ea263-58d7-410d-cc82-f7fdece5bd28",
    "GPU-e56257c4-947f-6a5b-7ec9-0f45567ccf4e",
    "GPU-1c20e77d-1c1a-d9ed-fe37-18b8466a78ad",
)


@cache
def eight_gpus() -> NvidiaFacts:
    facts = nvidia.from_short_form((*["8.0"] * len(UUIDS), "driver=12.8"))
    devices = tuple(replace(device, uuid=uuid) for device, uuid in zip(facts.devices, UUIDS, strict=True))
    return replace(facts, devices=devices)


def machine(**env: str) -> NvidiaFacts:
    return replace(eight_gpus(), env=env)


@pytest.mark.parametrize(
    ("mask", "places"),
    [
        ("0", [0]),
        ("2,1", [2, 1]),
        ("0, 1, 2, -1, 3", [0, 1, 2]),
        ("0,-1,1", [0]),
        ("0, 1, 2, 1", []),
        ("0,0", []),
        ("", []),
        ("-1", []),
        (" ", []),
        ("8", []),
        ("1,8,2", [1]),
        ("1gpu2,2ampere", [1, 2]),
        ("2, +3, -0, 5", [2, 3, 0, 5]),
        ("one,two,3,4", []),
        ("4,3,one,two", [4, 3]),
        ("99999999999999999999", []),
        ("GPU-9e8d35e3", [1]),
        ("GPU-e4,GPU-9e8d35e3", [2, 1]),
        ("GPU-9e8d35e3,GPU-1,GPU-47", [1, 7, 5]),
        ("GPU-123,GPU-9e8d35e3", []),
        ("GPU-9e8d35e3,GPU-123,GPU-47", [1]),
        ("GPU-9e8d35e3,GPU-e,GPU-47", [1]),
        ("GPU-9e8d35e3,GPU-47,GPU-9e8d35e3", []),
        ("GPU-9e8d35e3,GPU-9e8d", []),
        ("gpu-9e8d35e3", []),
        ("MIG-89c850dc", []),
        ("NoDevFiles", []),
    ],
)
def test_masks(mask: str, places: list[int]) -> None:
    assert visible(machine(CUDA_VISIBLE_DEVICES=mask)).places == tuple(places)


def test_no_mask_hides_nothing() -> None:
    assert visible(machine()).places == tuple(range(8))


def test_uuids_that_no_source_gave_hide_nothing() -> None:
    facts = machine(CUDA_VISIBLE_DEVICES="GPU-9e8d35e3")
    blind = replace(facts, devices=tuple(replace(device, uuid="") for device in facts.devices))
    found = visible(blind)
    assert found.unresolved
    assert found.places == tuple(range(8))


def test_the_default_order_begins_with_the_fastest() -> None:
    unlike = replace(nvidia.from_short_form(("6.1", "8.9", "7.5", "driver=12.8")), cuda_order=())
    assert [device.arch for device in nvidia.devices(unlike)] == ["8.9", "7.5", "6.1"]
    first = replace(unlike, env={"CUDA_VISIBLE_DEVICES": "0"})
    assert [device.arch for device in nvidia.devices(first) if device.visible] == ["8.9"]
    by_bus = replace(unlike, env={"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
    assert [device.arch for device in nvidia.devices(by_bus) if device.visible] == ["6.1"]


def test_a_hidden_device_says_what_hides_it() -> None:
    listed = nvidia.devices(machine(CUDA_VISIBLE_DEVICES="3"))
    assert listed[0].visible
    assert {device.why for device in listed[1:]} == {"hidden by CUDA_VISIBLE_DEVICES=3"}
    assert not any(device.usable for device in listed[1:])


@pytest.mark.parametrize(("mode", "seen"), [(True, 1), (None, 1), (False, 0)])
@pytest.mark.parametrize("mask", ["MIG-feee0c61-26ec-5616-bb59-b6d777cc4f34", "MIG-89c850dc,MIG-f2b5fbbd"])
def test_a_mig_instance_no_source_listed_is_of_a_gpu_that_may_be_partitioned(
    mode: bool | None, seen: int, mask: str
) -> None:
    facts = nvidia.from_short_form(("8.0", "8.0", "driver=12.2"))
    devices = tuple(replace(device, mig_mode=mode) for device in facts.devices)
    listed = nvidia.devices(replace(facts, devices=devices, env={"CUDA_VISIBLE_DEVICES": mask}))
    assert [each.arch for each in listed if each.visible] == ["8.0"] * seen


def test_a_mig_instance_no_source_listed_is_of_no_gpu_where_they_are_unlike() -> None:
    facts = nvidia.from_short_form(("9.0", "8.0", "driver=12.2"))
    devices = tuple(replace(device, mig_mode=None) for device in facts.devices)
    facts = replace(facts, devices=devices, env={"CUDA_VISIBLE_DEVICES": "MIG-feee0c61"})
    assert not any(device.visible for device in nvidia.devices(facts))


@given(st.text())
def test_no_mask_escapes(mask: str) -> None:
    places = visible(machine(CUDA_VISIBLE_DEVICES=mask)).places
    assert len(set(places)) == len(places)
    assert set(places) <= set(range(8))

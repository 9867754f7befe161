from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_providers import devices, from_json, supported, to_json
from polywheel_providers.short_form import parse


def test_a_gpu_nobody_recorded() -> None:
    facts = parse("nvidia:9.0,driver=12.8")
    found = supported(facts)
    assert found["nvidia"]["cuda_version_lower_bound"][0] == "12.8"
    assert found["nvidia"]["sm_arch"][0] == "90_real"
    assert found["x86_64"]["level"] == ("v2", "v1")
    (device,) = devices(facts)
    assert (device.vendor, device.arch, device.visible, device.usable) == ("nvidia", "9.0", True, True)
    assert (facts.system, facts.machine) == ("Linux", "x86_64")


def test_other_vendors() -> None:
    assert "gfx942" in supported(parse("amd:gfx942"))["amd"]["gfx_arch"]
    assert "20.1.0" in supported(parse("intel:20.1.0"))["intel"]["device_ip"]


def test_parts_are_joined() -> None:
    found = supported(parse(" nvidia:9.0 , driver=12.8 + cpu : v4 "))
    assert found["x86_64"]["level"][0] == "v4"
    assert "nvidia" in found


def test_parts_of_one_vendor_add_up() -> None:
    facts = parse("nvidia:7.5,driver=12.8+cpu:v3+nvidia:9.0")
    assert [device.arch for device in devices(facts)] == ["7.5", "9.0"]
    assert facts == parse("NVIDIA:7.5,driver=12.8,9.0+CPU:v3")


def test_a_processors_own_plus_sign_joins_nothing() -> None:
    (device,) = devices(parse("amd:gfx942:sramecc+:xnack-"))
    assert device.arch == "gfx942"
    assert devices(parse("amd:gfx942:sramecc++cpu:v3")) == devices(parse("amd:gfx942:sramecc+"))


@pytest.mark.parametrize("text", ["cpu:v3", "x86_64:v3", "CPU:V3"])
def test_x86_levels(text: str) -> None:
    assert supported(parse(text))["x86_64"]["level"] == ("v3", "v2", "v1")


def test_arm_versions_and_features() -> None:
    facts = parse("aarch64:8.2a,sve2,i8mm")
    found = supported(facts)["aarch64"]
    assert facts.machine == "aarch64"
    assert found["version"] == ("8.2a", "8.1a", "8a")
    assert {"sve", "sve2", "i8mm"} <= found.keys()
    assert "dotprod" not in found
    assert supported(parse("aarch64:9.0a"))["aarch64"]["version"][:2] == ("9.0a", "8.5a")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no NAMESPACE:WORD"),
        ("nvidia", "is no NAMESPACE:WORD"),
        ("nvidia:", "is no NAMESPACE:WORD"),
        ("cpu:v3,", "is no NAMESPACE:WORD"),
        ("cpu:v3+", "'v3+' is not one of v4"),
        (":v3", "is no NAMESPACE:WORD"),
        ("ascend:910b", "'ascend' is not known; expected nvidia:9.0"),
        ("cpu:v5", "'v5' is not one of v4, v3, v2, v1"),
        ("cpu:v3,warp", "'warp' is not one of sse3"),
        ("aarch64:8.9a", "'8.9a' is not one of 9.2a"),
        ("aarch64:8.2a,neon9", "'neon9' is not one of dotprod"),
        ("cpu:v3+aarch64:8a", "'aarch64:8a' is a second processor"),
        ("nvidia:nine", "machine 'nvidia:nine': "),
        ("amd:9.0", "machine 'amd:9.0': "),
        ("intel:arc", "machine 'intel:arc': "),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=_literal(message)) as refusal:
        parse(text)
    assert "\n" not in str(refusal.value)


def _literal(text: str) -> str:
    return "".join(f"\\{letter}" if letter in ".[]()+" else letter for letter in text)


@pytest.mark.parametrize("text", ["cpu:v3,avx_vnni", "aarch64:8.4a,sve", "nvidia:9.0,driver=12.8+amd:gfx942"])
def test_a_short_form_can_be_recorded(text: str) -> None:
    facts = parse(text)
    assert from_json(to_json(facts)) == facts


WORDS = st.sampled_from(
    ["9.0", "driver=12.8", "gfx942", "20.1.0", "v3", "8.2a", "sve2", "", "x", "driver=", "=", "9"]
)
PARTS = st.tuples(
    st.sampled_from(["nvidia", "amd", "intel", "cpu", "aarch64", "", "tpu"]), st.lists(WORDS, max_size=4)
)


@given(
    st.text() | st.lists(PARTS.map(lambda part: f"{part[0]}:{','.join(part[1])}"), max_size=3).map("+".join)
)
def test_any_text_is_a_machine_or_refused_in_one_line(text: str) -> None:
    try:
        facts = parse(text)
    except ValueError as problem:
        refusal = str(problem)
    else:
        refusal = ""
        supported(facts)
        devices(facts)
    assert len(refusal.splitlines()) <= 1

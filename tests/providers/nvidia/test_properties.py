"""The lists, and the question they cannot answer."""

from __future__ import annotations

import contextlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_providers import nvidia
from polywheel_providers.frozen import replace
from polywheel_providers.nvidia.architecture import parse_architecture, runs_on
from polywheel_providers.nvidia.facts import NvidiaFacts

TORCH_CU128 = ("75_real", "80_real", "86_real", "90_real", "100_real", "120_real")
TORCH_CU126 = ("50_real", "60_real", "70_real", "75_real", "80_real", "86_real", "90_real")


def machine(*words: str) -> NvidiaFacts:
    return nvidia.from_short_form(words)


def test_the_lists_of_one_kind_of_gpu() -> None:
    found = nvidia.supported(machine("8.6", "driver=12.1"))
    assert list(found) == ["cuda_version_lower_bound", "cuda_version_upper_bound", "sm_arch"]
    lower, upper = found["cuda_version_lower_bound"], found["cuda_version_upper_bound"]
    assert lower[:4] == ("12.1", "12.0", "12", "11.20")
    assert lower[-2:] == ("11.0", "11")
    assert upper[:2] == ("15.20", "15.19")
    assert upper[-2:] == ("12.3", "12.2")
    assert found["sm_arch"] == (*(f"8{minor}_real" for minor in range(6, -1, -1)), "80_virtual")


def test_two_of_a_kind_are_as_one() -> None:
    assert nvidia.supported(machine("9.0", "9.0", "driver=12.8")) == nvidia.supported(
        machine("9.0", "driver=12.8")
    )


def test_two_kinds_get_what_runs_on_both() -> None:
    assert nvidia.supported(machine("8.6", "8.9", "driver=12.8"))["sm_arch"] == (
        *("86_real", "85_real", "84_real", "83_real", "82_real", "81_real", "80_real"),
        "80_virtual",
    )
    assert nvidia.supported(machine("7.5", "9.0", "driver=12.8"))["sm_arch"] == ("70_virtual",)


def test_a_pascal_gpu_is_not_served_by_wheels_without_its_code() -> None:
    pascal = machine("6.1", "driver=12.8")
    refused = nvidia.serves(pascal, TORCH_CU128)
    assert not refused
    assert "compute capability 6.1" in refused.why
    assert nvidia.serves(pascal, TORCH_CU126)


@pytest.mark.parametrize("arch", ["7.5", "9.0", "12.0"])
def test_ptx_runs_on_every_later_gpu(arch: str) -> None:
    verdict = nvidia.serves(machine(arch, "driver=13.0"), ["75_virtual"])
    assert (verdict.yes, verdict.ptx) == (True, True)


@pytest.mark.parametrize(
    ("value", "served", "refused"),
    [
        ("90_real", ["9.0"], ["8.9", "10.0"]),
        ("80_real", ["8.0", "8.6", "8.9"], ["8.7", "7.5", "9.0"]),
        ("86_real", ["8.6", "8.9"], ["8.0", "8.7"]),
        ("87_real", ["8.7"], ["8.9", "8.6"]),
        ("72_real", ["7.2"], ["7.0", "7.5"]),
        ("90a_real", ["9.0"], ["10.0"]),
        ("100_real", ["10.0", "10.3"], ["10.1", "11.0", "12.0"]),
        ("100a_real", ["10.0"], ["10.3"]),
        ("100f_real", ["10.0", "10.3"], ["10.1", "12.0"]),
        ("103f_real", ["10.3"], ["10.0"]),
        ("120_real", ["12.0", "12.1"], ["11.0"]),
        ("120f_real", ["12.0", "12.1"], ["10.3"]),
        ("110_real", ["11.0"], ["12.0"]),
        ("80_virtual", ["8.0", "8.7", "9.0", "12.1"], ["7.5"]),
        ("90a_virtual", ["9.0"], ["10.0", "12.0"]),
        ("100f_virtual", ["10.0", "10.3"], ["12.0"]),
    ],
)
def test_which_code_runs_where(value: str, served: list[str], refused: list[str]) -> None:
    answers = {arch: nvidia.serves(machine(arch, "driver=13.0"), [value]).yes for arch in served + refused}
    assert answers == {**dict.fromkeys(served, True), **dict.fromkeys(refused, False)}


def test_the_coverage_of_a_list_with_both_plain_and_a_targets() -> None:
    """pytorch's `10.0 10.0a` keeps 10.0, which covers a B300; 10.0a alone does not."""
    b300 = machine("10.3", "driver=13.0")
    assert nvidia.serves(b300, ["75_real", "90a_real", "100_real", "100a_real", "120_real"])
    assert not nvidia.serves(b300, ["75_real", "90a_real", "100a_real", "120_real"])


def test_every_visible_device_is_served_or_none() -> None:
    both = machine("7.5", "9.0", "driver=12.8")
    assert nvidia.serves(both, ["75_real", "90_real"])
    refused = nvidia.serves(both, ["90_real"])
    assert not refused
    assert "7.5" in refused.why
    hopper = replace(both, env={"CUDA_VISIBLE_DEVICES": "1"})
    assert nvidia.serves(hopper, ["90_real"])
    assert nvidia.supported(hopper)["sm_arch"] == ("90_real", "90_virtual")


def test_values_of_another_grammar_are_no_code() -> None:
    assert not nvidia.serves(machine("9.0", "driver=12.8"), ["sm_90", "90", "", "9_real", "90_both"])


def test_no_visible_gpu_is_served_by_nothing() -> None:
    hidden = replace(machine("9.0", "driver=12.8"), env={"CUDA_VISIBLE_DEVICES": ""})
    assert nvidia.supported(hidden) == {}
    assert not nvidia.serves(hidden, ["90_real"])


def test_a_kepler_gpu_blocks_nothing() -> None:
    facts = machine("3.5", "8.6", "driver=11.4")
    kepler, ampere = sorted(nvidia.devices(facts), key=lambda device: device.arch)
    assert (kepler.usable, ampere.usable) == (False, True)
    assert nvidia.serves(facts, ["86_real"])


def test_an_integrated_gpu_beside_a_discrete_one_is_not_used() -> None:
    drive = machine("8.7", "8.6", "driver=11.4")
    orin = next(device for device in nvidia.devices(drive) if device.integrated)
    assert (orin.visible, orin.usable) == (True, False)
    assert nvidia.serves(drive, ["86_real"])
    assert nvidia.supported(machine("8.7", "driver=12.6"), discrete_elsewhere=True) == {}


def test_overrides_replace_what_was_found() -> None:
    forced = {
        "NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION": "12.8",
        "NV_VARIANT_PROVIDER_FORCE_SM_ARCH": "12.0",
    }
    facts = replace(machine("6.1", "driver=11.4"), env=forced)
    assert nvidia.supported(facts) == nvidia.supported(machine("12.0", "driver=12.8"))
    assert nvidia.serves(facts, ["120_real"])
    assert not nvidia.serves(facts, ["61_real"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("9.0",), "driver= is missing"),
        (("driver=12.8",), "a compute capability is missing"),
        (("sm_90", "driver=12.8"), "'sm_90' is no compute capability"),
        (("9.0", "driver=twelve"), "driver='twelve'"),
        (("9.0", "driver=12.8", "driver=12.9"), "'driver=12.9' is not known here"),
        (("9.0", "cuda=12.8"), "'cuda=12.8' is not known here"),
    ],
)
def test_a_wrong_short_form_is_one_line(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(ValueError, match="nvidia: ") as raised:
        machine(*words)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_short_form_may_name_the_driver_itself() -> None:
    facts = machine("9.0", "driver=570.86.10")
    assert (facts.driver, facts.cuda) == ("570.86.10", (12, 8))


_CAPABILITIES = [
    "5.0",
    "6.1",
    "7.0",
    "7.5",
    "8.0",
    "8.6",
    "8.7",
    "8.9",
    "9.0",
    "10.0",
    "10.3",
    "11.0",
    "12.0",
    "12.1",
]


@pytest.mark.parametrize("pair", list(itertools.combinations_with_replacement(_CAPABILITIES, 2)))
def test_each_listed_value_alone_serves_every_device(pair: tuple[str, str]) -> None:
    facts = machine(*pair, "driver=13.0")
    unlike = len(set(pair)) > 1 or facts.tegra
    for value in nvidia.supported(facts).get("sm_arch", ()):
        # For one kind of desktop GPU the list is uv's, which also names the major's Tegra code.
        if unlike or value not in ("87_real", "88_real", "72_real", "62_real", "53_real", "101_real"):
            assert nvidia.serves(facts, [value]), value


def test_supported_is_a_subset_of_all() -> None:
    for arch in _CAPABILITIES:
        for feature, values in nvidia.supported(machine(arch, "driver=13.4")).items():
            assert set(values) <= set(nvidia.FEATURES[feature])


@given(st.text())
def test_no_value_escapes(value: str) -> None:
    target = parse_architecture(value)
    assert target is None or isinstance(runs_on(target, (9, 0)), bool)


@given(st.text(), st.text())
def test_no_override_escapes(cuda: str, sm: str) -> None:
    forced = {"NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION": cuda, "NV_VARIANT_PROVIDER_FORCE_SM_ARCH": sm}
    facts = replace(machine("9.0", "driver=12.8"), env=forced)
    for values in nvidia.supported(facts).values():
        assert 0 < len(values) <= 1024
    nvidia.serves(facts, ["90_real"])


@given(st.lists(st.text(alphabet="0123456789.=driv", max_size=12), max_size=4))
def test_a_short_form_is_facts_or_a_value_error(words: list[str]) -> None:
    with contextlib.suppress(ValueError):
        assert nvidia.devices(machine(*words))

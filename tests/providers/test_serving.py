"""Whether GPU code serves a whole machine."""

from __future__ import annotations

import pytest

from polywheel_providers import machine_named
from polywheel_providers.serving import serves


@pytest.mark.parametrize(
    ("machine", "namespace", "feature", "values", "yes"),
    [
        ("nvidia:9.0,driver=12.8", "nvidia", "sm_arch", ["75_virtual"], True),
        ("nvidia:7.5,9.0,driver=12.8", "nvidia", "sm_arch", ["90_real"], False),
        ("nvidia:7.5,9.0,driver=12.8", "nvidia", "sm_arch", ["75_real", "90_real"], True),
        ("amd:gfx1100,gfx1201", "amd", "gfx_arch", ["gfx1100", "gfx12_generic"], True),
        ("intel:20.4.4", "intel", "device_ip", ["20.1.0"], True),
        ("intel:20.4.4+nvidia:9.0,driver=12.8", "intel", "device_ip", ["20.1.0"], False),
        ("amd:gfx1036+intel:20.1.0", "amd", "gfx_arch", ["gfx1036"], False),
        ("nvidia:8.7,driver=12.6", "nvidia", "sm_arch", ["80_real"], False),
    ],
)
def test_a_whole_machine(machine: str, namespace: str, feature: str, values: list[str], yes: bool) -> None:
    verdict = serves(machine_named(machine), namespace, feature, values)
    assert verdict is not None
    assert bool(verdict) is yes
    assert verdict.why


@pytest.mark.parametrize(
    ("machine", "namespace", "feature"),
    [
        ("cpu:v3", "nvidia", "sm_arch"),
        ("nvidia:9.0,driver=12.8", "nvidia", "cuda_version_lower_bound"),
        ("nvidia:9.0,driver=12.8", "x86_64", "level"),
        ("nvidia:9.0,driver=12.8", "elapsed_ms", "sm_arch"),
        ("nvidia:9.0,driver=12.8", "tpu", "present"),
    ],
)
def test_the_rest_is_for_the_lists(machine: str, namespace: str, feature: str) -> None:
    assert serves(machine_named(machine), namespace, feature, ["90_real"]) is None

"""Whether GPU code serves a whole machine."""

from __future__ import annotations

import pytest

from polywheel_providers import machine_named, serves


@pytest.mark.parametrize(
    ("machine", "namespace", "values", "yes"),
    [
        ("nvidia:9.0,driver=12.8", "nvidia", ["75_virtual"], True),
        ("nvidia:7.5,9.0,driver=12.8", "nvidia", ["90_real"], False),
        ("nvidia:7.5,9.0,driver=12.8", "nvidia", ["75_real", "90_real"], True),
        ("nvidia:8.7,driver=12.6", "nvidia", ["80_real"], False),
        ("amd:gfx1100,gfx1201", "amd", ["gfx1100", "gfx12_generic"], True),
        ("amd:gfx1036+intel:20.1.0", "amd", ["gfx1036"], False),
        ("intel:20.4.4", "intel", ["20.1.0"], True),
        ("intel:20.4.4+nvidia:9.0,driver=12.8", "intel", ["20.1.0"], False),
        ("cpu:v3", "nvidia", ["90_real"], False),
        ("nvidia:9.0,driver=12.8", "tpu", ["true"], False),
    ],
)
def test_a_whole_machine(machine: str, namespace: str, values: list[str], yes: bool) -> None:
    verdict = serves(machine_named(machine), namespace, values)
    assert bool(verdict) is yes
    assert verdict.why

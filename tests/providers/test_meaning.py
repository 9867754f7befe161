from __future__ import annotations

import pytest

import polywheel_providers
from polywheel_providers import devices, serves, supported
from polywheel_providers.short_form import parse


@pytest.mark.parametrize(
    ("machine", "namespace", "values", "served"),
    [
        ("nvidia:9.0,driver=12.8", "nvidia", ("80_real", "90_real"), True),
        ("nvidia:9.0,driver=12.8", "nvidia", ("80_real",), False),
        ("nvidia:9.0,driver=12.8", "nvidia", ("75_virtual",), True),
        ("nvidia:7.0,9.0,driver=12.8", "nvidia", ("90_real",), False),
        ("amd:gfx942", "amd", ("gfx90a", "gfx942"), True),
        ("amd:gfx942", "amd", ("gfx1100",), False),
        ("intel:20.1.0", "intel", ("20.1.0",), True),
        ("cpu:v3", "nvidia", ("80_real",), False),
        ("amd:gfx942", "nvidia", ("80_real",), False),
    ],
)
def test_every_device_must_be_served(
    machine: str, namespace: str, values: tuple[str, ...], *, served: bool
) -> None:
    verdict = serves(parse(machine), namespace, values)
    assert bool(verdict) is served
    assert verdict.why


def test_what_is_reached_by_ptx_alone_is_said() -> None:
    assert serves(parse("nvidia:9.0,driver=12.8"), "nvidia", ("75_virtual",)).ptx
    assert not serves(parse("nvidia:9.0,driver=12.8"), "nvidia", ("90_real", "75_virtual")).ptx


def test_an_integrated_gpu_gives_way_to_another_vendors_discrete_one() -> None:
    facts = parse("amd:gfx1036+intel:20.1.0")
    assert not serves(facts, "amd", ("gfx1036",))
    assert serves(facts, "intel", ("20.1.0",))
    assert "amd" not in supported(facts)
    assert [device.usable for device in devices(facts)] == [False, True]
    assert supported(parse("amd:gfx1036"))["amd"]["gfx_arch"][0] == "gfx1036"


def test_namespaces_and_features_without_values_are_absent() -> None:
    assert supported(parse("aarch64:8a")) == {"aarch64": {"version": ("8a",)}}


def test_the_public_names_are_there() -> None:
    assert all(hasattr(polywheel_providers, name) for name in polywheel_providers.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(polywheel_providers, "nothing")  # noqa: B009 (a name that type checkers refuse)

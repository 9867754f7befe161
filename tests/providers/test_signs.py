from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from polywheel_providers import probe
from polywheel_providers.signs import graphics_vendors

if TYPE_CHECKING:
    from .conftest import Made


def asked(made: Made, files: dict[str, str | bytes], **env: str) -> set[str]:
    """Return the vendors whose probes ran."""
    facts = probe(made({"uname": "Linux x86_64 6.1\n", **files}, **env))
    assert facts.notes == ()
    return {name for name in ("nvidia", "amd", "intel") if getattr(facts, name) is not None}


def adapter(vendor: str, kind: str, address: str = "0000:01:00.0") -> dict[str, str | bytes]:
    folder = f"sys/bus/pci/devices/{address}"
    return {f"{folder}/vendor": f"{vendor}\n", f"{folder}/class": f"{kind}\n", f"{folder}/device": "0x1234\n"}


def test_a_machine_without_signs_loads_no_vendor(made: Made) -> None:
    assert asked(made, {}) == set()
    assert asked(made, adapter("0x8086", "0x060000")) == set()  # Intel's host bridge is no GPU
    assert asked(made, adapter("0x1af4", "0x030000")) == set()


@pytest.mark.parametrize("kind", ["0x030000", "0x030200", "0x038000", "0x120000"])
@pytest.mark.parametrize(("vendor", "name"), [("0x10de", "nvidia"), ("0x1002", "amd"), ("0x8086", "intel")])
def test_a_vendors_graphics_on_the_bus_is_a_sign(made: Made, vendor: str, name: str, kind: str) -> None:
    assert asked(made, adapter(vendor, kind)) == {name}


def test_a_device_whose_class_is_hidden_may_be_one(made: Made) -> None:
    assert asked(made, {"sys/bus/pci/devices/0000:01:00.0/vendor": "0x1002\n"}) == {"amd"}


def test_a_card_that_is_on_no_bus_is_a_sign(made: Made) -> None:
    assert asked(made, {"sys/class/drm/card0/device/vendor": "0x8086\n"}) == {"intel"}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("proc/driver/nvidia/version", "nvidia"),
        ("sys/module/nvidia/version", "nvidia"),
        ("etc/nv_tegra_release", "nvidia"),
        ("usr/bin/nvidia-smi", "nvidia"),
        ("usr/lib/libcuda.so.1", "nvidia"),
        ("usr/lib/libnvidia-ml.so.1", "nvidia"),
        ("sys/class/kfd/kfd/topology/nodes/0/properties", "amd"),
        ("usr/bin/rocminfo", "amd"),
        ("usr/bin/rocm_agent_enumerator", "amd"),
        ("usr/lib/libze_loader.so.1", "intel"),
    ],
)
def test_a_driver_or_a_tool_is_a_sign(made: Made, path: str, name: str) -> None:
    assert asked(made, {path: "#!/bin/sh\n"}) == {name}


@pytest.mark.parametrize(
    ("variable", "names"),
    [
        ("NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION", {"nvidia"}),
        ("CUDA_VISIBLE_DEVICES", {"nvidia", "amd"}),
        ("AMD_VARIANT_PROVIDER_FORCE_GFX_ARCH", {"amd"}),
        ("INTEL_VARIANT_PROVIDER_FORCE_DEVICE_IP", {"intel"}),
    ],
)
def test_a_variable_is_a_sign(made: Made, variable: str, names: set[str]) -> None:
    assert asked(made, {}, **{variable: "1"}) == names


def test_systems_without_sysfs_are_always_asked(made: Made) -> None:
    facts = probe(made({"uname": "Windows AMD64 10.0.22631\n"}))
    assert None not in (facts.nvidia, facts.amd, facts.intel)


def test_every_graphics_vendor_is_listed_once(made: Made) -> None:
    files = adapter("0x10de", "0x030000") | adapter("0x1002", "0x038000", "0000:02:00.0")
    assert graphics_vendors(made(files)) == {"0x10de", "0x1002"}

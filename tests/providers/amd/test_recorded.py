"""Every recorded AMD machine, by the report it came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from polywheel_providers import amd, devices, probe, supported

if TYPE_CHECKING:
    from tests.providers.conftest import Made, Recorded


@pytest.mark.parametrize(
    ("machine", "archs"),
    [
        ("enumerator-before-6.3", ["gfx90a"]),
        ("enumerator-6.3", ["gfx90a"]),
        ("enumerator-no-gpu", []),
        ("enumerator-empty", []),
        ("mi300x-enumerator-names", ["gfx942"]),
        ("mi300x-kfd", ["gfx942"] * 8),
        ("strix-halo-kfd", ["gfx1151"]),
        ("rx580-beside-raven", ["gfx803", "gfx902"]),
        ("strix-halo-beside-r9700", ["gfx1201", "gfx1151"]),
        ("rx9070xt-beside-igpu", ["gfx1036", "gfx1201"]),
    ],
)
def test_every_gpu_is_listed(recorded: Recorded, machine: str, archs: list[str]) -> None:
    assert [device.arch for device in amd.devices(amd.probe(recorded(machine)))] == archs


@pytest.mark.parametrize(
    ("machine", "values"),
    [
        ("rx9070xt-beside-igpu", ("gfx1201", "gfx12_generic")),  # Mooshieblob1/MooshieUI#2
        ("strix-halo-beside-r9700", ("gfx1201", "gfx12_generic")),
        ("rx580-beside-raven", ("gfx803",)),
        ("mi300x-enumerator-names", ("gfx942", "gfx9_4_generic")),
        ("mi350x-beside-unknown", ("gfx950", "gfx9_4_generic")),
        ("strix-halo-kfd", ("gfx1151", "gfx11_generic")),
    ],
)
def test_the_discrete_gpu_decides(recorded: Recorded, machine: str, values: tuple[str, ...]) -> None:
    assert amd.supported(amd.probe(recorded(machine)))["gfx_arch"] == values


def test_target_settings_are_kept(recorded: Recorded) -> None:
    (device,) = amd.probe(recorded("mi300x-enumerator-names")).devices
    assert (device.gfx, device.sramecc, device.xnack) == ("gfx942", "+", "-")
    assert {each.sramecc for each in amd.probe(recorded("mi300x-kfd")).devices} == {"+"}


def test_kfd_needs_no_rocm(recorded: Recorded) -> None:
    facts = amd.probe(recorded("mi300x-kfd"))
    assert (facts.rocm, list(facts.tried)) == (None, ["kfd"])
    assert {"7.1", "7.0", "6.4"} <= set(amd.supported(facts)["rocm_version"])
    assert "amd-no-rocm" in {note.code for note in facts.notes}


def test_an_installed_rocm_bounds_the_versions(recorded: Recorded) -> None:
    facts = amd.probe(recorded("strix-halo-beside-r9700"))
    assert facts.rocm == (7, 1)
    assert amd.supported(facts)["rocm_version"][:3] == ("7.1", "7.0", "6.4")


def test_an_override_of_the_runtime_is_noted(recorded: Recorded) -> None:
    """ROCm/legacy-rocm-build#5696: both GPUs were reported as the one."""
    facts = amd.probe(recorded("strix-halo-override", HSA_OVERRIDE_GFX_VERSION="12.0.1"))
    assert [device.arch for device in amd.devices(facts)] == ["gfx1201", "gfx1201"]
    (note,) = [note for note in facts.notes if note.code == "amd-hsa-override"]
    assert "HSA_OVERRIDE_GFX_VERSION=12.0.1" in note.message


@pytest.mark.parametrize("machine", ["amd-igpu-beside-arc-b580", "windows-amd-igpu-beside-arc-b580"])
def test_an_arc_beside_an_amd_processor_is_the_gpu(recorded: Recorded, machine: str) -> None:
    """Comfy-Org/Comfy-Desktop#345: the processor's Radeon was taken for the GPU."""
    facts = probe(recorded(machine))
    assert [(device.vendor, device.arch, device.usable) for device in devices(facts)] == [
        ("amd", "gfx1036", False),
        ("intel", "20.1.0", True),
    ]
    found = supported(facts)
    assert "amd" not in found
    assert found["intel"]["device_ip"] == ("20.1.0",)


def test_a_program_that_hangs_is_one_note(made: Made) -> None:
    facts = amd.probe(made({"usr/bin/rocm_agent_enumerator": "#!/bin/sh\nsleep 60\n"}))
    assert facts.tried == {"rocm_agent_enumerator": "0 devices, no answer within 2 s"}
    assert [note.code for note in facts.notes] == ["amd-rocm-agent-enumerator-failed"]


def test_a_mask_that_the_programs_honour_is_applied_once(made: Made) -> None:
    """ROCR shows its programs the masked GPUs alone, numbered anew."""
    listing = "[ -z \"$ROCR_VISIBLE_DEVICES\" ] && printf 'gfx1100\\n'; printf 'gfx942\\n'"
    programs: dict[str, str | bytes] = {"usr/bin/rocm_agent_enumerator": f"#!/bin/sh\n{listing}\n"}
    facts = amd.probe(made(programs, ROCR_VISIBLE_DEVICES="1"))
    assert [(device.arch, device.visible) for device in amd.devices(facts)] == [
        ("gfx942", True),
        ("gfx1100", False),
    ]


def test_where_the_enumerator_fails_rocminfo_answers(made: Made) -> None:
    info = "Agent 1\\n  Name: gfx1100\\n  Marketing Name: Radeon RX 7900 XTX\\n  Device Type: GPU\\n"
    programs: dict[str, str | bytes] = {
        "usr/bin/rocm_agent_enumerator": "#!/bin/sh\nexit 1\n",
        "usr/bin/rocminfo": f"#!/bin/sh\nprintf '{info}'\n",
    }
    facts = amd.probe(made(programs))
    assert [(device.name, device.arch) for device in amd.devices(facts)] == [
        ("Radeon RX 7900 XTX", "gfx1100")
    ]
    assert facts.notes[0].code == "amd-rocm-agent-enumerator-failed"


def test_a_chip_newer_than_the_pci_list_is_known_by_its_graphics_ip(made: Made) -> None:
    folder = "sys/class/drm/card0/device"
    core = f"{folder}/ip_discovery/die/0/GC/0"
    files = {f"{folder}/vendor": "0x1002", f"{folder}/device": "0x7fff"}
    ip = {f"{core}/major": "12\n", f"{core}/minor": "0\n", f"{core}/revision": "1\n"}
    assert [device.arch for device in amd.devices(amd.probe(made({**files, **ip})))] == ["gfx1201"]


def test_a_machine_without_amd_runs_nothing(made: Made) -> None:
    facts = amd.probe(made({"uname": "Linux x86_64 6.14.0\n"}))
    assert (facts.devices, facts.tried, facts.notes) == ((), {}, ())
    assert amd.probe(made({"uname": "Darwin arm64 24.5.0\n"})).devices == ()

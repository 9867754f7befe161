"""Intel machines: recorded ones, and the real ctypes path against a Level Zero that the tests compile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from polywheel_providers import intel

if TYPE_CHECKING:
    from tests.providers.conftest import Driven, Made, Recorded

LOADER = "libze_loader.so.1"
UNAME: dict[str, str | bytes] = {"uname": "Linux x86_64 6.14.0-15-generic\n"}


def on_bus(*adapters: tuple[str, str]) -> dict[str, str | bytes]:
    files = dict(UNAME)
    for address, device in adapters:
        folder = f"sys/bus/pci/devices/{address}"
        files |= {
            f"{folder}/vendor": "0x8086\n",
            f"{folder}/device": f"{device}\n",
            f"{folder}/class": "0x030000\n",
        }
    return files


def test_an_arc_beside_the_processors_own_graphics(recorded: Recorded) -> None:
    facts = intel.probe(recorded("alder-lake-igpu-beside-arc-a770"))
    assert [
        (device.name, device.arch, device.integrated, device.usable) for device in intel.devices(facts)
    ] == [
        ("Intel Arc A770 Graphics", "12.55.8", False, True),
        ("Intel Alder Lake-S UHD Graphics", "12.2.0", True, False),
    ]
    assert intel.supported(facts) == {"device_ip": ("12.55.8",)}


def test_sound_chips_and_neural_processors_are_no_gpus(made: Made) -> None:
    folder = "sys/bus/pci/devices/0000:00:0b.0"
    npu = {f"{folder}/vendor": "0x8086", f"{folder}/device": "0x7d1d", f"{folder}/class": "0x120000"}
    assert intel.probe(made({**on_bus(("0000:00:02.0", "0x7d55")), **npu})).tried == {"pci": "1 device"}


def test_graphics_before_xe_are_listed_and_not_used(made: Made) -> None:
    facts = intel.probe(made(on_bus(("0000:00:02.0", "0x3e92"))))
    (device,) = intel.devices(facts)
    assert (device.name, device.arch, device.integrated, device.usable) == (
        "Intel GPU [8086:3e92]",
        "",
        True,
        False,
    )
    assert intel.supported(facts) == {}
    assert [note.code for note in facts.notes] == ["intel-unknown-device"]


def test_a_new_battlemage_runs_its_familys_code(made: Made) -> None:
    facts = intel.probe(made(on_bus(("0000:03:00.0", "0xe2ff"))))
    (device,) = intel.devices(facts)
    assert (device.integrated, device.usable) == (False, True)
    assert intel.supported(facts) == {"device_ip": ("20.1.0",)}
    (note,) = facts.notes
    assert "it is taken for 20.1.0's family" in note.message


def test_a_machine_without_intel_runs_nothing(made: Made) -> None:
    facts = intel.probe(made(UNAME))
    assert (facts.devices, facts.tried, facts.notes) == ((), {}, ())
    assert intel.probe(made({"uname": "Darwin arm64 24.5.0\n"})).devices == ()


@pytest.mark.compiler
@pytest.mark.parametrize("definitions", [(), ("OLD",), ("NO_IP",), ("MASKED",)])
def test_level_zero_lists_devices_in_its_order(
    driven: Driven, made: Made, definitions: tuple[str, ...]
) -> None:
    driven(LOADER, "ze_loader.c", *definitions)
    facts = intel.probe(made(UNAME, ZE_AFFINITY_MASK="0"))
    assert [(device.name, device.arch, device.visible) for device in intel.devices(facts)] == [
        ("Intel(R) Arc(TM) B580 Graphics", "20.1.0", True),
        ("Intel(R) Graphics", "12.70.4", False),
    ]
    assert intel.supported(facts) == {"device_ip": ("20.1.0",)}
    assert facts.notes == ()


@pytest.mark.compiler
def test_a_device_ip_that_no_table_has(driven: Driven, made: Made) -> None:
    driven(LOADER, "ze_loader.c", "NEWER")
    facts = intel.probe(made(UNAME))
    assert intel.supported(facts) == {"device_ip": ("20.3.4", "20.1.0")}
    assert [note.code for note in facts.notes] == ["intel-unknown-device"]


@pytest.mark.compiler
def test_an_adapter_that_level_zero_does_not_list(driven: Driven, made: Made) -> None:
    driven(LOADER, "ze_loader.c")
    facts = intel.probe(
        made(on_bus(("0000:03:00.0", "0xe20b"), ("0000:00:02.0", "0x7d67"), ("0000:04:00.0", "0x56a0")))
    )
    listed = intel.devices(facts)
    assert [(device.arch, device.usable) for device in listed] == [
        ("20.1.0", True),
        ("12.70.4", False),
        ("12.55.8", False),
    ]
    assert listed[2].why == "Level Zero does not list it"


@pytest.mark.compiler
@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        ("HANG", "no answer within 2 s"),
        ("FLOOD", "no answer within 2 s"),
        ("NO_DRIVER", "zeInit failed with 0x78000001"),
    ],
)
def test_where_level_zero_fails_the_bus_answers(
    driven: Driven, made: Made, behaviour: str, said: str
) -> None:
    driven(LOADER, "ze_loader.c", behaviour)
    facts = intel.probe(made(on_bus(("0000:03:00.0", "0xe20b"))))
    assert intel.supported(facts) == {"device_ip": ("20.1.0",)}
    assert [(note.code, note.message) for note in facts.notes] == [
        ("intel-level-zero-failed", f"Level Zero: {said}")
    ]


@pytest.mark.compiler
def test_what_level_zero_told_before_a_crash_is_kept(driven: Driven, made: Made) -> None:
    driven(LOADER, "ze_loader.c", "CRASH")
    facts = intel.probe(made(UNAME))
    assert [device.arch for device in intel.devices(facts)] == ["20.1.0"]
    assert [note.message for note in facts.notes] == ["Level Zero: ended by SIGSEGV"]


@pytest.mark.compiler
def test_nonsense_is_unknown(driven: Driven, made: Made) -> None:
    driven(LOADER, "ze_loader.c", "GARBAGE")
    facts = intel.probe(made(UNAME))
    assert {device.arch for device in intel.devices(facts)} == {""}
    assert intel.supported(facts) == {}

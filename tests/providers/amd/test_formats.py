"""AMD's names, and the texts that the kernel and ROCm's programs write."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_providers.amd import gfx, kfd, pci_ids, programs, rocm_version
from polywheel_providers.amd.gfx import Target
from polywheel_providers.amd.programs import Agent


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("gfx90a", Target("gfx90a")),
        ("gfx942:sramecc+:xnack-", Target("gfx942", "+", "-")),
        ("amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", Target("gfx942", "+", "-")),
        ("amdgcn-amd-amdhsa--gfx12-generic   ", Target("gfx12-generic")),
        ("gfx9-4-generic", Target("gfx9-4-generic")),
        ("gfx9-generic:xnack+", Target("gfx9-generic", "", "+")),
        ("gfx000", None),
        ("gfx9", None),
        ("AMD Radeon RX 7900 XTX", None),
        ("gfx1100 gfx1101", None),
        ("", None),
    ],
)
def test_targets(text: str, target: Target | None) -> None:
    assert gfx.parse_target(text) == target


@pytest.mark.parametrize(
    ("version", "name"),
    [
        (90010, "gfx90a"),
        (90012, "gfx90c"),
        (90402, "gfx942"),
        (90500, "gfx950"),
        (80003, "gfx803"),
        (100300, "gfx1030"),
        (110000, "gfx1100"),
        (110501, "gfx1151"),
        (120001, "gfx1201"),
        (0, ""),
        (-1, ""),
        (990099, ""),
        (10**20, ""),
    ],
)
def test_names_of_kfd_versions(version: int, name: str) -> None:
    assert gfx.name_of_version(version) == name


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("gfx942", ("gfx942", "gfx9_4_generic")),
        ("gfx950", ("gfx950", "gfx9_4_generic")),
        ("gfx906", ("gfx906", "gfx9_generic")),
        ("gfx90a", ("gfx90a",)),
        ("gfx1036", ("gfx1036", "gfx10_3_generic")),
        ("gfx1151", ("gfx1151", "gfx11_generic")),
        ("gfx1201", ("gfx1201", "gfx12_generic")),
        ("gfx9-4-generic", ("gfx9_4_generic",)),
        ("gfx1999", ("gfx1999",)),
    ],
)
def test_what_runs_on_a_processor(name: str, values: tuple[str, ...]) -> None:
    assert gfx.values_of(name) == values


def test_no_processor_has_two_generic_targets() -> None:
    members = [name for family in gfx.GENERIC.values() for name in family]
    assert len(set(members)) == len(members)
    assert not set(members) & set(gfx.OTHERS)
    assert all(gfx.is_known(name) for name in gfx.INTEGRATED)


@pytest.mark.parametrize(
    ("device", "name"),
    [
        (0x13C0, "gfx1036"),  # Ryzen 9 9950X3D
        (0x164E, "gfx1036"),  # Ryzen 7 7800X3D
        (0x15BF, "gfx1103"),  # Ryzen 7 7840U
        (0x150E, "gfx1150"),  # Ryzen AI 9 HX 370
        (0x1586, "gfx1151"),  # Ryzen AI Max+ 395
        (0x67DF, "gfx803"),  # RX 580
        (0x740F, "gfx90a"),  # MI210
        (0x74A1, "gfx942"),  # MI300X
        (0x75A3, "gfx950"),  # MI355X
        (0x73BF, "gfx1030"),  # RX 6800 XT
        (0x73FF, "gfx1032"),  # RX 6600
        (0x73F0, "gfx1102"),  # RX 7600M XT
        (0x744C, "gfx1100"),  # RX 7900 XTX
        (0x7550, "gfx1201"),  # RX 9070 XT
        (0x7590, "gfx1200"),  # RX 9060 XT
        (0x6738, ""),  # a Radeon HD 6870
    ],
)
def test_pci_ids(device: int, name: str) -> None:
    assert pci_ids.processor_of(device) == name


def test_the_tables_name_known_processors() -> None:
    names = {name for *_, name in pci_ids._RANGES} | set(pci_ids._GRAPHICS_IPS.values())
    assert all(gfx.is_known(name) for name in names)


def test_a_kfd_node() -> None:
    node = kfd.gpu_of_node(
        "cpu_cores_count 0\nsimd_count 440\ngfx_target_version 90010\nvendor_id 4098\n"
        "device_id 29711\ncapability 738197504\nunique_id 12345678901234567890\n"
    )
    assert node is not None
    assert (node.gfx, node.sramecc, node.device) == ("gfx90a", "+", 0x740F)
    assert node.uuid == "GPU-ab54a98ceb1f0ad2"
    assert kfd.gpu_of_node("cpu_cores_count 16\nsimd_count 0\n") is None
    assert kfd.gpu_of_node("") is None


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("gfx000\ngfx90a\n", ["gfx90a"]),
        ("gfx90a\n", ["gfx90a"]),
        ("gfx000\n", []),
        ("", []),
        ("gfx000\ngfx803\ngfx902\n", ["gfx803", "gfx902"]),
        ("gfx1100\ngfx1100\n", ["gfx1100", "gfx1100"]),
        ("gfx942:sramecc+:xnack-\ngfx9-4-generic:sramecc+:xnack-\n", ["gfx942"]),
        ("gfx9-4-generic\n", ["gfx9-4-generic"]),
    ],
)
def test_the_enumerator(text: str, names: list[str]) -> None:
    assert [target.name for target in programs.parse_enumerator(text)] == names


def test_rocminfo_takes_an_agents_own_isa() -> None:
    text = (
        "*******\nAgent 1\n*******\n  Name: AMD EPYC\n  Device Type: CPU\n"
        "*******\nAgent 2\n*******\n  Name:  gfx90a\n  Uuid:  GPU-4344f7d6ac4df4cd\n"
        "  Marketing Name:  AMD Instinct MI210\n  Device Type:  GPU\n  Chip ID:  29711(0x740f)\n"
        "    ISA 1\n      Name:  amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-\n"
        "    ISA 2\n      Name:  amdgcn-amd-amdhsa--gfx9-generic:xnack+\n"
    )
    assert programs.parse_rocminfo(text) == (
        Agent(Target("gfx90a", "+", "-"), "AMD Instinct MI210", "GPU-4344f7d6ac4df4cd", 29711),
    )


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("7.0.2\n", (7, 0)),
        ("6.4.1-83", (6, 4)),
        ("7.10.0", (7, 10)),
        ("6.3", (6, 3)),
        ("", None),
        ("rocm", None),
        ("99.1", None),
    ],
)
def test_the_installed_version(text: str, version: tuple[int, int] | None) -> None:
    assert rocm_version.parse_rocm_version(text) == version


def test_versions_compare_as_numbers() -> None:
    """unslothai/unsloth#4720: a pattern for 7.1 took 7.10 for it."""
    found = rocm_version.compatible_versions((7, 10))
    assert found[:3] == ("7.10", "7.9", "7.8")
    assert {"7.2", "7.1", "7.0", "6.4", "6.0"} <= set(found)
    assert "7.11" not in found
    assert rocm_version.compatible_versions((7, 1))[:3] == ("7.1", "7.0", "6.4")
    assert set(found) <= set(rocm_version.all_versions())
    assert set(rocm_version.compatible_versions(None)) <= set(rocm_version.all_versions())


@given(st.text() | st.from_regex(r"(gfx[0-9a-f-]{1,6}(-generic)?(:xnack[+-])?\n)*", fullmatch=True))
def test_no_text_escapes(text: str) -> None:
    for parse in (
        *(gfx.parse_target, gfx.is_name, gfx.values_of, kfd.gpu_of_node, kfd.parse_properties),
        *(programs.parse_enumerator, programs.parse_rocminfo, rocm_version.parse_rocm_version),
    ):
        parse(text)


@given(st.integers())
def test_no_number_escapes(number: int) -> None:
    gfx.name_of_version(number)
    pci_ids.processor_of(number)


_LINES = st.sampled_from(
    [
        *("Agent 1", "Agent 2", "*******", "  Name: gfx90a", "  Device Type: GPU", "  Chip ID: 1(0x1)"),
        *("  Uuid: GPU-XX", "      Name: amdgcn-amd-amdhsa--gfx9-generic:xnack+", "  Name:", "Chip ID: x"),
    ]
)


@given(st.lists(_LINES))
def test_no_shuffled_rocminfo_escapes(lines: list[str]) -> None:
    programs.parse_rocminfo("\n".join(lines))

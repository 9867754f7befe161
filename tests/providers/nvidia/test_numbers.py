"""Versions, capabilities, and the tables that tell one from the other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_providers.nvidia import capability, cuda_version, driver_table, pci_ids, product_names, tegra


@pytest.mark.parametrize(
    ("number", "version"),
    [(10010, (10, 1)), (9000, (9, 0)), (12060, (12, 6)), (13020, (13, 2)), (11080, (11, 8))],
)
def test_decoding_what_the_driver_api_returns(number: int, version: tuple[int, int]) -> None:
    assert cuda_version.decode(number) == version


@pytest.mark.parametrize("number", [0, -1, 1, 12081, 4000, 12250, 25000, 57060, 2**31 - 1, -(2**31)])
def test_implausible_numbers_are_unknown(number: int) -> None:
    assert cuda_version.decode(number) is None


@pytest.mark.parametrize(
    ("text", "version"),
    [("12.8", (12, 8)), (" 11.6 ", (11, 6)), ("13.0.1", (13, 0)), ("N/A", None), ("ERR!", None), ("", None)],
)
def test_versions_as_nvidia_smi_prints_them(text: str, version: tuple[int, int] | None) -> None:
    assert cuda_version.parse(text) == version
    assert (
        cuda_version.parse("[Deprecated; will be removed in CUDA 14.0. Use CUDA UMD Version instead]") is None
    )


@pytest.mark.parametrize(
    ("driver", "version"),
    [
        ("346.46", (7, 0)),
        ("375.74", (8, 0)),
        ("450.80.02", (11, 0)),
        ("470.256.02", (11, 4)),
        ("510.68.02", (11, 6)),
        ("525.60.13", (12, 0)),
        ("535.104.05", (12, 2)),
        ("550.144.03", (12, 4)),
        ("566.36", (12, 7)),  # a Windows driver, between two Linux branches
        ("572.60", (12, 8)),
        ("580.95.05", (13, 0)),
        ("610.43.02", (13, 3)),
        ("700.10", (13, 4)),
        ("999.99", None),
        ("331.20", None),
        ("9999.1", None),
        ("570", None),
        ("57060", None),
        ("", None),
    ],
)
def test_the_published_driver_table(driver: str, version: tuple[int, int] | None) -> None:
    assert driver_table.cuda_of_driver(driver) == version


def test_the_driver_table_only_rises() -> None:
    firsts = [first for first, _ in driver_table._FIRST_DRIVERS]
    versions = [version for _, version in driver_table._FIRST_DRIVERS]
    assert firsts == sorted(set(firsts))
    assert versions == sorted(set(versions))


@pytest.mark.parametrize(
    ("device", "found"),
    [
        (0x102D, (3, 7)),  # Tesla K80
        (0x1B06, (6, 1)),  # GTX 1080 Ti
        (0x15F8, (6, 0)),  # Tesla P100
        (0x1DB6, (7, 0)),  # Tesla V100
        (0x1EB8, (7, 5)),  # Tesla T4
        (0x1F82, (7, 5)),  # GTX 1650
        (0x20B0, (8, 0)),  # A100
        (0x2204, (8, 6)),  # RTX 3090
        (0x2684, (8, 9)),  # RTX 4090
        (0x2330, (9, 0)),  # H100
        (0x2335, (9, 0)),  # H200
        (0x2901, (10, 0)),  # B200
        (0x2941, (10, 0)),  # GB200
        (0x3182, (10, 3)),  # B300
        (0x2B85, (12, 0)),  # RTX 5090
        (0x2E12, (12, 1)),  # GB10
        (0x3000, None),  # Rubin, whose capability is not published here
        (0x0001, None),
    ],
)
def test_pci_ids(device: int, found: tuple[int, int] | None) -> None:
    assert pci_ids.capability_of(device) == found


def test_pci_ranges_are_sorted_and_apart() -> None:
    edges = [edge for first, last, _ in pci_ids._RANGES for edge in (first, last)]
    assert edges == sorted(edges)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Tesla K80", (3, 7)),
        ("GeForce GTX TITAN X", (5, 2)),
        ("Quadro M1000M", (5, 0)),
        ("NVIDIA TITAN Xp", (6, 1)),
        ("GeForce GTX 1080", (6, 1)),
        ("GeForce GTX 1080 with Max-Q Design", (6, 1)),
        ("Tesla P100-PCIE-16GB", (6, 0)),
        ("Tesla V100-SXM2-16GB", (7, 0)),
        ("NVIDIA GeForce GTX 1650 Ti with Max-Q Design", (7, 5)),
        ("Quadro RTX 8000", (7, 5)),
        ("NVIDIA A100-SXM4-80GB", (8, 0)),
        ("NVIDIA A10G", (8, 6)),
        ("NVIDIA RTX A1000 6GB Laptop GPU", (8, 6)),
        ("NVIDIA GeForce RTX 3060 Laptop GPU", (8, 6)),
        ("Orin (nvgpu)", (8, 7)),
        ("NVIDIA RTX 6000 Ada Generation", (8, 9)),
        ("NVIDIA L40S", (8, 9)),
        ("NVIDIA GH200 480GB", (9, 0)),
        ("NVIDIA B200", (10, 0)),
        ("NVIDIA B300 SXM6 AC", (10, 3)),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", (12, 0)),
        ("NVIDIA GB10", (12, 1)),
        ("NVIDIA Graphics Device", None),
        ("", None),
    ],
)
def test_product_names(name: str, found: tuple[int, int] | None) -> None:
    assert product_names.capability_of_name(name) == found


def test_jetson_linux_releases() -> None:
    release = "# R39 (release), REVISION: 2.0, GCID: 45755727, BOARD: generic, EABI: aarch64, DATE: Mon"
    assert tegra.parse_release(release) == (39, 2)
    expected = {(28, 2): (9, 0), (32, 7): (10, 2), (35, 3): (11, 4), (36, 3): (12, 2), (36, 4): (12, 6)}
    assert {release: tegra.cuda_of_release(release) for release in expected} == expected
    assert tegra.cuda_of_release((21, 0)) is None
    assert tegra.parse_compatible("nvidia,p3737-0000+p3701-0005\0nvidia,tegra234\0nvidia,tegra23x") == (
        (8, 7),
        "Orin",
    )
    assert tegra.parse_compatible("raspberrypi,4-model-b\0brcm,bcm2711") is None


@given(st.text())
def test_no_text_escapes(text: str) -> None:
    for parse in (
        *(cuda_version.parse, cuda_version.parse_override, capability.parse, capability.parse_override),
        *(driver_table.normalise, driver_table.branch, driver_table.cuda_of_driver),
        *(product_names.capability_of_name, tegra.parse_release, tegra.parse_compatible),
    ):
        parse(text)


@given(st.integers())
def test_no_number_escapes(number: int) -> None:
    decoded = cuda_version.decode(number)
    assert decoded is None or cuda_version.plausible(decoded)
    pci_ids.capability_of(number)


@given(st.tuples(st.integers(0, 99), st.integers(0, 99)))
def test_overrides_read_as_they_are_written(version: tuple[int, int]) -> None:
    assert cuda_version.parse_override(cuda_version.text(version)) == version
    assert capability.parse_override(capability.text(version)) == version

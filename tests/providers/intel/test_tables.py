"""Intel's device IPs, PCI ids, and what Level Zero reports."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_providers.intel import products
from polywheel_providers.intel.answers import read_devices
from polywheel_providers.machine import DriverAnswer


@pytest.mark.parametrize(
    ("value", "ip"),
    [
        (0x05004000, "20.1.0"),
        (0x030F0007, "12.60.7"),
        (0x030DC008, "12.55.8"),
        (0x07800004, "30.0.4"),
        (0x08C2C000, "35.11.0"),
        (0, ""),
        (-1, ""),
        (0xFFFFFFFF, ""),
        (1 << 40, ""),
    ],
)
def test_decoding_a_device_ip(value: int, ip: str) -> None:
    assert products.decode(value) == ip


@pytest.mark.parametrize(
    ("ip", "base"),
    [
        ("20.1.0", ""),
        ("20.2.0", "20.1.0"),
        ("20.4.4", "20.1.0"),
        ("20.3.4", "20.1.0"),  # a newer device of the family
        ("30.0.4", ""),
        ("30.1.0", "30.0.4"),
        ("30.9.1", "30.0.4"),
        ("12.55.8", ""),
        ("12.56.5", "12.55.8"),
        ("12.71.4", "12.70.4"),
        ("12.74.4", ""),
        ("12.60.7", ""),
        ("40.1.0", ""),
        ("nonsense", ""),
    ],
)
def test_the_compatible_base(ip: str, base: str) -> None:
    assert products.base_of(ip) == base


def test_bases_are_products_that_have_none() -> None:
    known = {product.ip: product for product in products.PRODUCTS}
    assert all(not known[product.base].base for product in products.PRODUCTS if product.base)
    assert {ip for _, _, ip, _ in products._PCI_RANGES} <= set(known)


def test_pci_ranges_are_sorted_and_apart() -> None:
    edges = [edge for first, last, *_ in products._PCI_RANGES for edge in (first, last)]
    assert edges == sorted(edges)


@pytest.mark.parametrize(
    ("device", "ip", "name"),
    [
        (0xE20B, "20.1.0", "Intel Arc B580 Graphics"),
        (0xE212, "20.1.0", "Intel Arc Pro B50 Graphics"),
        (0xE223, "20.2.0", "Intel Arc Pro B-Series Graphics"),
        (0x56A0, "12.55.8", "Intel Arc A770 Graphics"),
        (0x56A5, "12.56.5", "Intel Arc A380 Graphics"),
        (0x56C0, "12.55.8", "Intel Data Center GPU Flex 170"),
        (0x56C1, "12.56.5", "Intel Data Center GPU Flex 140"),
        (0x0BD5, "12.60.7", "Intel Data Center GPU Max 1550"),
        (0x0BDA, "12.60.7", "Intel Data Center GPU Max 1100"),
        (0x64A0, "20.4.4", "Intel Lunar Lake Arc Graphics"),
        (0xB080, "30.0.4", "Intel Panther Lake Arc Graphics"),
        (0x7D55, "12.71.4", "Intel Meteor Lake-H Arc Graphics"),
        (0x4680, "12.2.0", "Intel Alder Lake-S UHD Graphics"),
        (0x3E92, "", ""),  # UHD Graphics 630, before Xe
    ],
)
def test_pci_ids(device: int, ip: str, name: str) -> None:
    assert products.by_pci_id(device) == (ip, name)


def test_a_newer_member_of_a_family_by_its_pci_id() -> None:
    assert products.family_of_pci_id(0xE2FF) == ("20.1.0", False, "Intel Arc B-Series Graphics")
    assert products.family_of_pci_id(0x3E92) == ("", None, "")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
_KEYS = st.sampled_from(["vendor", "device", "ip", "integrated", "name", "error", "code", "end"])


@given(st.lists(st.dictionaries(_KEYS, _JSON | st.just(0x8086), max_size=6) | _JSON, max_size=5))
def test_no_report_of_a_library_escapes(facts: list[object]) -> None:
    devices, _ = read_devices(DriverAnswer(tuple(facts), ""))
    for device in devices:
        assert 0 <= device.device <= 0xFFFF


@given(st.integers(), st.text())
def test_nothing_escapes(number: int, text: str) -> None:
    products.decode(number)
    products.by_pci_id(number)
    products.family_of_pci_id(number)
    products.base_of(text)
    products.numbers_of(text)

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_providers.cpuid import parse
from polywheel_providers.x86_64 import INSTRUCTION_SETS, LEVELS

ZEN3 = [
    "0, 0, 16, 1752462657, 1145913699, 1769238117",
    "1, 0, 10555152, 1050624, 4294586883, 395049983",
    "7, 0, 1, 4055828395, 4218694, 16",
    "2147483649, 0, 10555152, 0, 4195315, 802421759",
]


def test_an_identification_is_read() -> None:
    identified = parse("\n".join([*ZEN3, "xcr0, 231"]))
    assert identified is not None
    vendor, model, name, flags, known = identified
    assert (vendor, model, name, known) == ("AuthenticAMD", "25-17-0", "", True)
    assert all(needed <= set(flags) | {"sse3", "lzcnt"} for _, needed in LEVELS)


@pytest.mark.parametrize(
    ("xcr0", "has", "lacks"),
    [
        ("xcr0, 231", {"avx", "avx2", "fma", "avx512f"}, set()),
        ("xcr0, 7", {"avx", "avx2", "fma", "f16c"}, {"avx512f", "avx512bw"}),
        ("xcr0, 3", {"bmi2", "sse4_2", "movbe"}, {"avx", "avx2", "fma", "f16c", "vaes", "avx512f"}),
        ("", {"bmi2", "sse4_2"}, {"avx", "avx2", "fma", "avx512f"}),
    ],
)
def test_registers_the_system_does_not_save_are_not_usable(xcr0: str, has: set[str], lacks: set[str]) -> None:
    identified = parse("\n".join([*ZEN3, xcr0]))
    assert identified is not None
    assert has <= set(identified[3])
    assert not lacks & set(identified[3])


def test_flags_are_spelt_as_elsewhere() -> None:
    identified = parse(
        "\n".join(
            f"{leaf}, {sub}, {2**32 - 1}, {2**32 - 1}, {2**32 - 1}, {2**32 - 1}"
            for leaf in (0, 1, 7, 0x80000001)
            for sub in (0, 1)
        )
        + "\nxcr0, 18446744073709551615"
    )
    assert identified is not None
    assert set(identified[3]) <= {*INSTRUCTION_SETS, "lahf_lm"}


@pytest.mark.parametrize("text", ["", "garbage", "0, 0, 1, 2, 3, 4", "1, 0, x, 2, 3, 4", "1, 0, -1, 2, 3, 4"])
def test_what_is_no_identification_is_none(text: str) -> None:
    assert parse(text) is None


@given(
    st.text()
    | st.lists(st.lists(st.integers(), max_size=7)).map(
        lambda rows: "\n".join(str(row)[1:-1] for row in rows)
    )
)
def test_no_text_breaks_it(text: str) -> None:
    parse(text)

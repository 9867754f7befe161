from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_abi_check.platform_tag import PlatformTag, parse_platform_tags
from polywheel_variants.errors import BadInputError


@pytest.mark.parametrize(
    ("text", "system", "image_format", "machine"),
    [
        ("manylinux_2_28_x86_64", "manylinux", "elf", "x86_64"),
        ("manylinux2014_aarch64", "manylinux", "elf", "aarch64"),
        ("musllinux_1_2_aarch64", "musllinux", "elf", "aarch64"),
        ("linux_armv7l", "linux", "elf", "armv7l"),
        ("win_amd64", "win", "pe", "x86_64"),
        ("win32", "win", "pe", "i686"),
        ("macosx_14_0_arm64", "macosx", "macho", "aarch64"),
        ("macosx_10_15_universal2", "macosx", "macho", None),
        ("any", "any", None, None),
    ],
)
def test_tags(text: str, system: str, image_format: str | None, machine: str | None) -> None:
    assert PlatformTag.parse(text) == PlatformTag(text, system, image_format, machine)


def test_a_set_of_tags() -> None:
    tags = parse_platform_tags("manylinux_2_17_x86_64.manylinux2014_x86_64")
    assert [tag.text for tag in tags] == ["manylinux_2_17_x86_64", "manylinux2014_x86_64"]


@given(st.text(max_size=30))
def test_other_text_is_bad_input(text: str) -> None:
    try:
        named = PlatformTag.parse(text).text
    except BadInputError as error:
        named = str(error)
    assert text in named or repr(text) in named

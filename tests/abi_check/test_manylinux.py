from __future__ import annotations

import json
import re
from importlib import resources
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_abi_check import manylinux
from polywheel_abi_check.image import Image, ImportedSymbol
from polywheel_abi_check.manylinux import ManylinuxTag, TooNew, allowed_versions, needed_tag, too_new
from polywheel_variants.errors import BadInputError


def image(
    *imported: ImportedSymbol,
    machine: str = "x86_64",
    needed: tuple[str, ...] = (),
    bare: dict[str, str] | None = None,
) -> Image:
    needs: dict[str, set[str]] = {library: {version} for library, version in (bare or {}).items()}
    for symbol in imported:
        if symbol.library and symbol.version:
            needs.setdefault(symbol.library, set()).add(symbol.version)
    return Image(
        place="lib.so",
        format="elf",
        machine=machine,
        soname=None,
        needed=needed,
        imported=imported,
        exported=frozenset(),
        version_needs={library: frozenset(versions) for library, versions in needs.items()},
        version_definitions=frozenset(),
        sections={},
    )


def symbol(name: str, version: str, library: str = "libc.so.6") -> ImportedSymbol:
    return ImportedSymbol(name, version, library, weak=False)


EXP = symbol("exp", "GLIBC_2.29", "libm.so.6")
MALLOC = symbol("malloc", "GLIBC_2.2.5")


def policies() -> list[dict[str, Any]]:
    text = resources.files("auditwheel").joinpath("policy/manylinux-policy.json").read_text(encoding="utf-8")
    return [policy for policy in json.loads(text) if policy["name"] != "linux"]


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def test_limits_are_those_of_auditwheels_policies() -> None:
    rows = [
        (f"{policy['name']}_{arch}", arch, families)
        for policy in policies()
        for arch, families in policy["symbol_versions"].items()
    ]
    assert len(rows) > 100
    for tag, _, families in rows:
        allowed = allowed_versions(tag)
        for family, versions in families.items():
            highest = max((v for v in versions if re.fullmatch(r"[0-9.]+", v)), key=numbers, default=None)
            if family != "GLIBC":
                assert allowed.get(family) == highest, (tag, family)


def test_glibc_of_auditwheels_policies_is_within_the_tag() -> None:
    for policy in policies():
        for arch, families in policy["symbol_versions"].items():
            highest = max((v for v in families["GLIBC"] if re.fullmatch(r"[0-9.]+", v)), key=numbers)
            # One policy goes beyond its own tag; PEP 600 promises no more than the tag's glibc.
            beyond = (policy["name"], arch) == ("manylinux_2_17", "aarch64")
            assert (
                numbers(highest) <= numbers(policy["name"].removeprefix("manylinux_").replace("_", "."))
            ) != beyond


def test_named_versions_are_those_of_auditwheels_policies() -> None:
    first: dict[str, int] = {}
    for policy in policies():
        minor = int(policy["name"].split("_")[2])
        for families in policy["symbol_versions"].values():
            for family, versions in families.items():
                for version in versions:
                    if not re.fullmatch(r"[0-9.]+", version):
                        name = f"{family}_{version}"
                        first[name] = min(minor, first.get(name, minor))
    assert first == manylinux._NAMED


def test_architectures_begin_with_auditwheels_policies() -> None:
    first: dict[str, int] = {}
    for policy in policies():
        minor = int(policy["name"].split("_")[2])
        for arch in policy["symbol_versions"]:
            first[arch] = min(minor, first.get(arch, minor))
    assert first == manylinux._FIRST_MINOR
    assert max(int(policy["name"].split("_")[2]) for policy in policies()) == manylinux._LAST_SURVEYED_MINOR


def test_aliases_are_those_of_auditwheels_policies() -> None:
    aliases = {alias: policy["name"] for policy in policies() for alias in policy["aliases"]}
    assert aliases == manylinux._ALIASES
    for alias, name in aliases.items():
        assert str(ManylinuxTag.parse(f"{alias}_x86_64")) == f"{name}_x86_64"


def test_the_offending_symbols_are_named() -> None:
    pow_ = symbol("pow", "GLIBC_2.29", "libm.so.6")
    found = too_new(image(EXP, MALLOC, pow_), "manylinux_2_28_x86_64")
    assert found == (TooNew(("exp", "pow"), "libm.so.6", "GLIBC_2.29", "GLIBC_2.28"),)
    assert too_new(image(EXP, MALLOC), "manylinux_2_29_x86_64") == ()


def test_a_need_that_no_symbol_carries_counts() -> None:
    relr = image(bare={"libc.so.6": "GLIBC_ABI_DT_RELR"})
    assert too_new(relr, "manylinux_2_35_x86_64") == (TooNew((), "libc.so.6", "GLIBC_ABI_DT_RELR", None),)
    assert too_new(relr, "manylinux_2_36_x86_64") == ()


@pytest.mark.parametrize(
    ("version", "library", "tag"),
    [
        ("GLIBCXX_3.4.26", "libstdc++.so.6", "manylinux_2_31_x86_64"),
        ("GLIBCXX_3.4.24", "libstdc++.so.6", "manylinux_2_27_x86_64"),
        ("CXXABI_1.3.9", "libstdc++.so.6", "manylinux_2_24_x86_64"),
        ("GLIBC_2.32", "libc.so.6", "manylinux_2_32_x86_64"),
        ("GLIBC_2.50", "libc.so.6", "manylinux_2_50_x86_64"),
        ("GLIBC_2.2.5", "libc.so.6", "manylinux_2_5_x86_64"),
        ("GLIBC_PRIVATE", "libc.so.6", "linux_x86_64"),
        ("GLIBCXX_3.4.99", "libstdc++.so.6", "linux_x86_64"),
        ("OPENSSL_3.0.0", "libcrypto.so.3", "manylinux_2_5_x86_64"),
    ],
)
def test_needed_tag(version: str, library: str, tag: str) -> None:
    assert needed_tag(image(symbol("f", version, library))) == tag


def test_needed_tag_by_architecture_and_c_library() -> None:
    assert needed_tag(image(machine="aarch64")) == "manylinux_2_17_aarch64"
    assert needed_tag(image(machine="riscv64")) == "manylinux_2_31_riscv64"
    assert needed_tag(image(machine="elf-machine-9")) == "linux_elf-machine-9"
    assert needed_tag(image(needed=("libc.musl-x86_64.so.1",))) == "linux_x86_64"


FAMILIES = st.sampled_from(["GLIBC", "GLIBCXX", "CXXABI", "GCC"])
VERSIONS = st.tuples(FAMILIES, st.lists(st.integers(0, 40), min_size=1, max_size=3))


@given(st.lists(VERSIONS, max_size=6))
def test_needed_tag_is_the_oldest_that_allows_everything(versions: list[tuple[str, list[int]]]) -> None:
    names = [f"{family}_{'.'.join(map(str, parts))}" for family, parts in versions]
    library = image(*(symbol("f", name) for name in names))
    needed = needed_tag(library)
    if needed.startswith("manylinux"):
        assert too_new(library, needed) == ()
        minor = ManylinuxTag.parse(needed).minor
        if minor > 5:
            assert too_new(library, f"manylinux_2_{minor - 1}_x86_64")
    else:
        assert too_new(library, "manylinux_2_60_x86_64")


@pytest.mark.parametrize(
    "tag",
    [
        "",
        "linux_x86_64",
        "manylinux_2_x86_64",
        "manylinux_1_5_x86_64",
        "manylinux_2_4_x86_64",
        "manylinux2_x",
    ],
)
def test_other_tags_are_bad_input(tag: str) -> None:
    with pytest.raises(BadInputError, match="platform tag"):
        allowed_versions(tag)

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_abi_check import library_check
from polywheel_abi_check.elf import read_elf
from polywheel_abi_check.finding import Finding
from polywheel_abi_check.image import Image, ImportedSymbol
from polywheel_abi_check.library_check import check_library
from polywheel_abi_check.source import FileSource
from polywheel_variants.errors import BadInputError

SHIMS = frozenset({"torch_call_dispatcher"})


def image(
    *names: str,
    machine: str = "x86_64",
    needed: tuple[str, ...] = (),
    glibc: str = "2.2.5",
    weak: bool = False,
) -> Image:
    return Image(
        place="pkg/_C.so",
        format="elf",
        machine=machine,
        soname=None,
        needed=("libc.so.6", *needed),
        imported=(
            ImportedSymbol("malloc", f"GLIBC_{glibc}", "libc.so.6", weak=False),
            *(ImportedSymbol(name, None, None, weak) for name in names),
        ),
        exported=frozenset(),
        version_needs={"libc.so.6": frozenset({f"GLIBC_{glibc}"})},
        version_definitions=frozenset(),
        sections={},
    )


def check(
    subject: Image, tag: str = "manylinux_2_28_x86_64", shims: frozenset[str] | None = SHIMS
) -> tuple[Finding, ...]:
    return check_library(subject, platform_tag=tag, shims=shims)


def summary(findings: tuple[Finding, ...]) -> list[tuple[str, str]]:
    return [(finding.code, finding.severity) for finding in findings]


def test_a_stable_library_has_no_findings() -> None:
    assert check(image("torch_call_dispatcher")) == ()
    assert check(image("torch_call_dispatcher"), "manylinux_2_17_x86_64.manylinux2014_x86_64") == ()
    assert check(image("torch_call_dispatcher"), "linux_x86_64") == ()


def test_platform_too_new_names_symbol_version_and_mend() -> None:
    (finding,) = check(image(glibc="2.34"))
    assert finding == Finding(
        "platform-too-new",
        "error",
        "pkg/_C.so",
        "malloc of libc.so.6 needs GLIBC_2.34, manylinux_2_28_x86_64 allows GLIBC_2.28",
        "declare manylinux_2_34_x86_64, or build against an older C and C++ runtime",
    )


def test_two_names_of_one_promise_are_judged_once() -> None:
    assert len(check(image(glibc="2.34"), "manylinux_2_17_x86_64.manylinux2014_x86_64")) == 1


def test_private_symbols_fit_no_tag() -> None:
    (finding,) = check(image(glibc="PRIVATE"))
    assert finding.message.endswith("allows no such version")
    assert "no manylinux tag allows" in finding.hint


@pytest.mark.parametrize(
    ("tag", "code", "says"),
    [
        ("manylinux_2_28_aarch64", "platform-machine", "for x86_64, expected aarch64"),
        ("win_amd64", "platform-format", "is elf, expected pe"),
        ("macosx_14_0_arm64", "platform-format", "is elf, expected macho"),
        ("any", "platform-format", "no binary under the tag any"),
        ("musllinux_1_2_x86_64", "platform-format", "needs glibc, expected musl"),
    ],
)
def test_another_platform(tag: str, code: str, says: str) -> None:
    (finding,) = check(image(), tag)
    assert (finding.code, finding.severity) == (code, "error")
    assert says in finding.message


def test_unstable_symbols_are_counted_and_named() -> None:
    names = [f"_ZN2at1{letter}Ev" for letter in "abcdef"]
    (finding,) = check(image(*names, "THPVariableClass"))
    assert finding.code == "torch-unstable-symbol"
    assert finding.message.startswith("uses 7 torch symbols outside the stable ABI: _ZN2at1aEv, ")
    assert finding.message.endswith("_ZN2at1eEv and 2 more")


def test_unstable_symbols_are_found_without_a_list_of_shims() -> None:
    findings = check(image("torch_unheard_of", "THPVariableClass"), shims=None)
    assert summary(findings) == [("torch-unstable-symbol", "error")]


def test_unknown_shims_and_weak_ones() -> None:
    assert summary(check(image("torch_my_own_helper"))) == [("torch-unknown-shim", "error")]
    assert summary(check(image("torch_my_own_helper", weak=True))) == [("torch-unknown-shim", "warning")]


def test_python_library() -> None:
    assert summary(check(image(needed=("libtorch_python.so",)))) == [("torch-python-library", "warning")]


def test_every_code_is_documented() -> None:
    found = (
        *check(image(glibc="2.34")),
        *check(image(), "any"),
        *check(image(), "linux_aarch64"),
        *check(image("torch_x", "_ZN2at1fEv", needed=("libtorch_python.so",))),
    )
    documented = {
        line.split("`")[1] for line in (library_check.__doc__ or "").splitlines() if line.startswith("| `")
    }
    assert {finding.code for finding in found} == documented


def test_unknown_platform_tag_is_bad_input() -> None:
    with pytest.raises(BadInputError, match="platform tag 'beos'"):
        check(image(), "beos")


@given(st.lists(st.sampled_from(["torch_x", "torch_call_dispatcher", "_ZN2at1fEv", "THPX", "f"]), max_size=8))
def test_messages_are_single_lines(names: list[str]) -> None:
    for finding in check(image(*names, glibc="2.40")):
        assert "\n" not in finding.message + finding.hint
        assert finding.path == "pkg/_C.so"


@pytest.mark.compiler
def test_a_compiled_library_under_an_older_tag(tmp_path: Path) -> None:
    source, library = tmp_path / "e.c", tmp_path / "e.so"
    source.write_text("#include <math.h>\ndouble grow(double x) { return exp(x); }\n", encoding="utf-8")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, "-lm"], check=True)
    with FileSource(library) as opened:
        subject = read_elf(opened, "e.so")
    assert "libm.so.6" in subject.needed
    findings = check(subject, f"manylinux_2_28_{platform.machine()}")
    # glibc 2.29 gave exp a new version: the first thing a plain build on a newer system trips over.
    assert any(f.message.startswith("exp of libm.so.6 needs GLIBC_2.29, ") for f in findings)

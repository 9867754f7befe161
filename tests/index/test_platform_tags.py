from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging import tags

from polywheel_index.platform_tags import (
    System,
    machine_of_tag,
    platforms_here,
    platforms_of_system,
    platforms_of_tag,
)
from polywheel_index.python_target import Python, python_named, running_python
from polywheel_variants.errors import BadInputError


def test_this_machine_s_platforms_are_packaging_s_own() -> None:
    libc = " ".join(platform.libc_ver())
    here = System(platform.system(), platform.machine(), platform.release(), libc)
    assert platforms_of_system(here) == platforms_here()
    assert sorted(platforms_here()) == sorted(tags.platform_tags())


def test_the_running_python_s_tags_are_packaging_s_own() -> None:
    python = running_python()
    assert sorted(python.tags(python.platforms)) == sorted(str(tag) for tag in tags.sys_tags())


def test_an_executable_is_asked() -> None:
    assert python_named(sys.executable) == running_python()


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("3.12", Python(12)),
        ("cp310", Python(10)),
        ("3.15t", Python(15, 0, free_threaded=True)),
        ("cp315t", Python(15, 0, free_threaded=True)),
        ("312", Python(12)),
    ],
)
def test_a_python_by_its_tag(text: str, python: Python) -> None:
    assert python_named(text) == python


def test_free_threaded_and_gil_builds_take_their_own() -> None:
    gil, free = Python(15).tags(["x"]), Python(15, free_threaded=True).tags(["x"])
    assert "cp315-cp315-x" in gil
    assert "cp310-abi3-x" in gil
    assert "cp315-cp315t-x" in free
    assert "cp315-cp315-x" not in free
    assert "cp315-abi3-x" not in free
    assert "py3-none-x" in gil
    assert "py3-none-x" in free


@pytest.mark.parametrize("text", ["2.7", "", "nonsense", "cp3", "/none/python"])
def test_what_is_no_python_is_told(text: str) -> None:
    with pytest.raises(BadInputError, match="neither a tag"):
        python_named(text)


@pytest.mark.parametrize("answer", ["", "hello", "{}", "[1]", '{"implementation": "cpython", "version": 3}'])
def test_an_executable_that_is_no_python_is_told(tmp_path: Path, answer: str) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho '{answer}'\n")
    program.chmod(0o755)
    with pytest.raises(BadInputError, match="is no Python that answers"):
        python_named(str(program))


def test_another_implementation_is_told(tmp_path: Path) -> None:
    program = tmp_path / "pypy"
    answer = '{"implementation": "pypy", "version": [3, 11, 1], "threaded": false, "system": "Linux", '
    answer += '"machine": "x86_64", "release": "", "libc": ""}'
    program.write_text(f"#!/bin/sh\necho '{answer}'\n")
    program.chmod(0o755)
    with pytest.raises(BadInputError, match=r"is pypy 3\.11"):
        python_named(str(program))


@pytest.mark.parametrize(
    ("system", "best", "also", "never"),
    [
        ("Linux x86_64 - glibc 2.36", "manylinux_2_36", "manylinux1", "manylinux_2_37"),
        ("Linux aarch64 - ", "manylinux_2_28", "manylinux2014", "manylinux2010"),
        ("Linux x86_64 - musl 1.2", "musllinux_1_2", "musllinux_1_1", "manylinux_2_5"),
        ("Darwin arm64 23.6.0 ", "macosx_14_0", "macosx_11_0", "macosx_15_0"),
        ("Darwin arm64 25.0.0 ", "macosx_26_0", "macosx_15_0", "macosx_27_0"),
        ("Darwin x86_64 19.6.0 ", "macosx_10_15", "macosx_10_9", "macosx_11_0"),
        ("Darwin x86_64 - ", "macosx_11_0", "macosx_10_9", "macosx_12_0"),
    ],
)
def test_each_system_has_its_platforms(system: str, best: str, also: str, never: str) -> None:
    name, machine, release, libc = system.split(" ", 3)
    found = platforms_of_system(System(name, machine, release, libc))
    assert f"{best}_{machine}" in found[:2]
    assert f"{also}_{machine}" in found
    assert f"{never}_{machine}" not in found


@pytest.mark.parametrize(
    ("machine", "tag"), [("AMD64", "win_amd64"), ("ARM64", "win_arm64"), ("x86", "win32")]
)
def test_windows_has_one_platform(machine: str, tag: str) -> None:
    assert platforms_of_system(System("Windows", machine)) == (tag,)


def test_a_system_without_wheels_is_told() -> None:
    with pytest.raises(BadInputError, match="FreeBSD"):
        platforms_of_system(System("FreeBSD", "amd64"))


@pytest.mark.parametrize(
    ("tag", "also", "never", "machine"),
    [
        ("manylinux_2_28_x86_64", "manylinux2014_x86_64", "manylinux_2_29_x86_64", "x86_64"),
        ("manylinux2014_aarch64", "manylinux_2_17_aarch64", "manylinux_2_18_aarch64", "aarch64"),
        ("musllinux_1_2_aarch64", "musllinux_1_0_aarch64", "manylinux_2_17_aarch64", "aarch64"),
        ("macosx_14_0_arm64", "macosx_11_0_arm64", "macosx_14_0_x86_64", "aarch64"),
        ("win_amd64", "win_amd64", "win32", "x86_64"),
        ("linux_riscv64", "linux_riscv64", "linux_x86_64", ""),
    ],
)
def test_a_platform_by_its_tag(tag: str, also: str, never: str, machine: str) -> None:
    found = platforms_of_tag(tag)
    assert tag in found[:3]
    assert also in found
    assert never not in found
    assert machine_of_tag(tag) == machine


@pytest.mark.parametrize(
    "tag",
    ["manylinux_2_9999_x86_64", "musllinux_1_9999_x86_64", "macosx_10_9999_arm64", "manylinux_2_٢_x86_64"],
)
def test_a_number_no_system_has_is_told(tag: str) -> None:
    with pytest.raises(BadInputError, match="none that is known"):
        platforms_of_tag(tag)


@given(st.text())
def test_any_other_platform_is_told(text: str) -> None:
    with pytest.raises(BadInputError, match="none that is known"):
        platforms_of_tag(f"?{text}")


def test_tags_are_unique_and_best_first() -> None:
    found = Python(12).tags(platforms_of_tag("manylinux_2_28_x86_64"))
    assert len(found) == len(set(found))
    assert found[0] == "cp312-cp312-manylinux_2_28_x86_64"
    assert found[-1] == "py30-none-any"


def test_the_question_prints_one_line_whatever_the_site_prints(tmp_path: Path) -> None:
    wrapper = tmp_path / "python"
    wrapper.write_text(f'#!/bin/sh\necho "a greeting"\nexec {sys.executable} "$@"\n')
    wrapper.chmod(0o755)
    assert subprocess.run([wrapper, "--version"], check=True, capture_output=True).stdout
    assert python_named(str(wrapper)) == running_python()

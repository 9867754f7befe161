"""`polywheel build` from outside: what runs, what is reused, what appears."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from polywheel_variants.archive import WheelArchive

Build = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def build(run_polywheel: Any, warm_cache: Path) -> Build:
    """Return what builds a tiny project; `--json` unless other words are given."""

    def run(
        tiny: Any, *words: str, cache: Path = warm_cache, env: Mapping[str, str | None] | None = None
    ) -> subprocess.CompletedProcess[str]:
        changed = {"POLYWHEEL_CACHE": str(cache), "LC_ALL": "C.UTF-8", **(env or {})}
        result: subprocess.CompletedProcess[str] = run_polywheel(
            "build", *(words or ("--json",)), cwd=tiny.folder, env=changed
        )
        return result

    return run


def _ran(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The steps that ran, as standard error tells them; the answer counts the same."""
    assert done.returncode == 0, done.stderr
    steps = [line.partition("] ")[2] for line in done.stderr.splitlines() if re.match(r"\[[1-9]", line)]
    assert json.loads(done.stdout)["actions"]["run"] == len(steps)
    return sorted(step.partition(" (")[0] for step in steps)


_WHEELS = {f"tiny-1.0-py3-none-manylinux_2_28_x86_64{label}.whl" for label in ("", "-null", "-x86_64_v3")}


def test_builds_every_wheel_and_says_so(tiny_project: Any, build: Build, cold_cache: Path) -> None:
    tiny = tiny_project()
    done = build(tiny, cache=cold_cache)
    assert len(_ran(done)) == 9
    answer = json.loads(done.stdout)
    assert answer["schema"] == "polywheel/build/1"
    assert {wheel["filename"] for wheel in answer["wheels"]} == _WHEELS
    assert {path.name for path in tiny.dist.iterdir()} == _WHEELS
    for filename in _WHEELS:
        with WheelArchive(tiny.dist / filename) as archive:
            assert "tiny/_tiny.so" in archive.members
            assert "Requires-Dist: torch>=2.10" in archive.metadata().decode().splitlines()
            variant = archive.variant()
            assert (variant is None) == (archive.name.label is None)
            tags = archive.read("tiny-1.0.dist-info/WHEEL").decode().splitlines()
            assert "Tag: py3-none-manylinux_2_28_x86_64" in tags


def test_runs_only_what_changed(tiny_project: Any, build: Build) -> None:
    tiny = tiny_project()
    tiny.write("csrc/other.cpp", "int other() { return 1; }\n")
    assert _ran(build(tiny))
    assert _ran(build(tiny)) == []
    os.utime(tiny.source)
    tiny.write("csrc/answer.h", tiny.header.read_text())
    assert _ran(build(tiny)) == []
    tiny.write("csrc/other.cpp", "int other() { return 2; }\n")
    assert _ran(build(tiny)) == sorted(
        [*["compile csrc/other.cpp"] * 2, *["link _tiny.so"] * 2, *(f"pack {wheel}" for wheel in _WHEELS)]
    )


def test_a_lost_output_is_made_again(tiny_project: Any, build: Build, warm_cache: Path) -> None:
    tiny = tiny_project()
    build(tiny)
    objects = list((warm_cache / "store").rglob("tiny.o"))
    assert len(objects) == 2
    for path in objects:
        path.unlink()
    assert _ran(build(tiny)) == [], "nothing asks for the objects while the wheels are there"
    for path in list((warm_cache / "store").rglob("*.whl")):
        if path.name.endswith("-null.whl"):
            path.unlink()
        else:
            shutil.rmtree(path.parent)
    assert _ran(build(tiny)) == sorted(f"pack {wheel}" for wheel in _WHEELS)


def test_a_damaged_output_is_made_again(tiny_project: Any, build: Build, warm_cache: Path) -> None:
    tiny = tiny_project()
    build(tiny)
    before = {path.name: path.read_bytes() for path in tiny.dist.iterdir()}
    made = [path for path in (warm_cache / "store").rglob("*") if path.is_file() and path.suffix != ".json"]
    for number, path in enumerate(sorted(made)):
        with path.open("r+b") as file:
            file.truncate(0 if number % 2 else path.stat().st_size // 2)
    shutil.rmtree(tiny.dist)
    assert len(_ran(build(tiny))) == 9
    assert {path.name: path.read_bytes() for path in tiny.dist.iterdir()} == before
    assert _ran(build(tiny)) == []


def test_a_lost_or_changed_wheel_is_handed_over_again(tiny_project: Any, build: Build) -> None:
    tiny = tiny_project()
    build(tiny)
    before = {path.name: path.read_bytes() for path in tiny.dist.iterdir()}
    gone, damaged, whole = sorted(tiny.dist.iterdir())
    gone.unlink()
    damaged.write_bytes(b"damaged")
    inode = whole.stat().st_ino
    (tiny.dist / f".{whole.name}.1.tmp").write_bytes(b"half a copy of a build that was killed")
    assert _ran(build(tiny)) == []
    assert {path.name: path.read_bytes() for path in tiny.dist.iterdir()} == before
    assert whole.stat().st_ino == inode, "a wheel that is right stays untouched"


def test_select_and_skip(tiny_project: Any, build: Build) -> None:
    tiny = tiny_project()
    assert build(tiny, "--select", "x86_64_v3", "--select", "plain", "--skip", "pl*").returncode == 0
    assert [path.name[-14:] for path in tiny.dist.iterdir()] == ["-x86_64_v3.whl"]
    done = build(tiny, "--select", "v9")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no cell is called 'v9'; the labels are x86_64_v3, " in done.stderr
    assert build(tiny, "--skip", "*").returncode == 2


def test_a_failed_compile_says_what_and_how_to_run_it_again(
    tiny_project: Any, build: Build, tmp_path: Path
) -> None:
    tiny = tiny_project()
    build(tiny)
    before = {path.name: path.read_bytes() for path in tiny.dist.iterdir()}
    tiny.write("csrc/tiny.cpp", '#include "answer.h"\nint answer() { return ANSWR; }\n')
    done = build(tiny)
    assert (done.returncode, done.stdout) == (4, "")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("polywheel: compile csrc/tiny.cpp for x86-64")
    assert "csrc/tiny.cpp:2:23: error: 'ANSWR' was not declared" in done.stderr
    assert {path.name: path.read_bytes() for path in tiny.dist.iterdir()} == before
    script = last.partition("; run it again with: ")[2]
    c_locale = {**os.environ, "LC_ALL": "C"}
    again = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, env=c_locale, capture_output=True, text=True, check=False
    )
    assert again.returncode == 1
    assert "'ANSWR' was not declared" in again.stderr
    tiny.write("csrc/tiny.cpp", '#include "answer.h"\nint answer() { return ANSWER; }\n')
    assert _ran(build(tiny)) == []


def test_an_include_the_plan_cannot_see_fails(tiny_project: Any, build: Build) -> None:
    tiny = tiny_project()
    tiny.write("csrc/tiny.cpp", '#define NAME "answer.h"\n#include NAME\n')
    done = build(tiny)
    assert done.returncode == 4
    assert "csrc/answer.h, which the scan of #include lines did not find" in done.stderr


@pytest.mark.parametrize("platform", ["manylinux_2_17_x86_64", "manylinux_2_28_x86_64"])
def test_a_library_that_needs_a_newer_platform_fails(platform: str, tiny_project: Any, build: Build) -> None:
    tiny = tiny_project()
    tiny.write("matrix.yaml", tiny.matrix.read_text().replace("manylinux_2_28_x86_64", platform))
    tiny.write(
        "csrc/tiny.cpp",
        """\
        #include <cmath>
        extern "C" double input;
        double input = 1;
        __attribute__((constructor)) static void run() { input = std::exp(input); }
        """,
    )
    done = build(tiny, "--select", "null")
    assert done.returncode == 4, done.stderr
    assert (
        f"tiny/_tiny.so: exp of libm.so.6 needs GLIBC_2.29, {platform.rpartition('_x86')[0]}" in done.stderr
    )
    assert "[platform-too-new]" in done.stderr
    assert list(tiny.dist.iterdir()) == []


def test_a_library_with_unstable_torch_symbols_fails(tiny_project: Any, build: Build) -> None:
    tiny = tiny_project()
    tiny.write(
        "csrc/tiny.cpp", "namespace at { void f(); }\n__attribute__((constructor)) void g() { at::f(); }\n"
    )
    done = build(tiny, "--select", "null")
    assert done.returncode == 4, done.stderr
    assert "at::f()" in done.stderr or "_ZN2at1fEv" in done.stderr


def test_no_compiler_is_said_before_any_work(tiny_project: Any, build: Build, tmp_path: Path) -> None:
    tiny = tiny_project()
    empty = tmp_path / "empty"
    empty.mkdir()
    done = build(tiny, env={"PATH": str(empty)})
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        "polywheel: no C++ compiler: 'g++' is not on PATH; install it with 'apt-get install g++' "
        "(Debian, Ubuntu) or 'dnf install gcc-c++' (Fedora)\n"
    )
    assert not tiny.dist.exists()
    done = build(tiny, env={"CXX": "no-such-g++"})
    assert (done.returncode, done.stdout) == (3, "")
    assert "CXX names 'no-such-g++', which is no program; unset it" in done.stderr
    compiler = shutil.which("g++")
    done = build(tiny, env={"PATH": str(empty), "CXX": compiler})
    assert done.returncode == 3
    assert "finds no 'as', neither beside it nor on PATH; install it with" in done.stderr


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo no compiler", "is no GCC"),
        (
            "echo 'gcc version 9.4.0' >&2; echo 'Target: x86_64-linux-gnu' >&2",
            "is GCC 9.4.0; expected 11 or newer",
        ),
    ],
)
def test_a_compiler_that_will_not_do(script: str, message: str, tiny_project: Any, build: Build) -> None:
    tiny = tiny_project()
    compiler = tiny.write("g++", f"#!/bin/sh\n{script}\n")
    compiler.chmod(0o755)
    done = build(tiny, env={"CXX": str(compiler)})
    assert done.returncode == 3
    assert message in done.stderr
    assert "apt-get install g++" in done.stderr


def test_source_date_epoch_is_the_time_entries_state(tiny_project: Any, build: Build) -> None:
    tiny = tiny_project()
    words = ("--select", "plain")
    assert build(tiny, *words, env={"SOURCE_DATE_EPOCH": "1700000000"}).returncode == 0
    (wheel,) = tiny.dist.iterdir()
    with zipfile.ZipFile(wheel) as archive:
        assert {info.date_time for info in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}
    assert build(tiny, *words).returncode == 0
    with zipfile.ZipFile(wheel) as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize("epoch", ["now", "-1", "1.5", "4354819200", "9" * 5000, "٣"])
def test_source_date_epoch_must_be_one(epoch: str, tiny_project: Any, build: Build) -> None:
    done = build(tiny_project(), env={"SOURCE_DATE_EPOCH": epoch})
    assert done.returncode == 2
    assert done.stderr.startswith("polywheel: SOURCE_DATE_EPOCH is ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--jobs", "0"), "--jobs 0: expected 1 or more"),
        (("--jobs", "0", "-m", "gone.yaml"), "--jobs 0: expected 1 or more"),
        (("--out", "matrix.yaml"), "matrix.yaml: File exists; name a folder with --out"),
        (("--out", "matrix.yaml/dist"), "matrix.yaml/dist: Not a directory; name a folder with --out"),
        (("-m", "gone.yaml"), "gone.yaml: No such file or directory; name a matrix with -m"),
    ],
)
def test_wrong_options_are_one_line(
    words: tuple[str, ...], message: str, tiny_project: Any, build: Build
) -> None:
    done = build(tiny_project(), *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_path_may_hold_any_sign(tiny_project: Any, build: Build, cold_cache: Path) -> None:
    odd = os.fsdecode(b"a b$c#d:e'f\"g\xc3\xbc\xff")
    tiny = tiny_project(f"{odd}/tiny")
    moved = cold_cache.with_name(odd) / "cache"
    shutil.copytree(cold_cache, moved)
    assert len(_ran(build(tiny, cache=moved))) == 9
    plain = tiny_project("plain")
    build(plain)
    for path in plain.dist.iterdir():
        assert path.read_bytes() == (tiny.dist / path.name).read_bytes()

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING

from polywheel_providers import LiveMachine, cpuid, probe, x86_64
from polywheel_providers.driver import ask

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_it_is_this_machine() -> None:
    uname = LiveMachine().uname
    assert (uname.system, uname.machine, uname.release) == (
        platform.system(),
        platform.machine(),
        platform.release(),
    )
    assert LiveMachine().env["PATH"] == os.environ["PATH"]
    assert LiveMachine().libc.split()[0] == (platform.libc_ver()[0] or "musl")


def test_programs_run_untranslated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "polywheel-test-tool"
    tool.write_text('#!/bin/sh\necho "$LC_ALL $MARK"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("MARK", "here")
    ended = LiveMachine().run("polywheel-test-tool")
    assert ended is not None
    assert ended.stdout == "C here\n"
    without = LiveMachine().run("polywheel-test-tool", unset=("MARK",))
    assert without is not None
    assert without.stdout == "C \n"
    assert LiveMachine().run("polywheel-no-such-tool") is None


def test_a_library_is_found_where_the_loader_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = LiveMachine()
    assert machine.find_library("libpolywheel-none.so.1") is None
    (tmp_path / "libpolywheel-some.so.1").touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/nonexistent:{tmp_path}")
    assert machine.find_library("libpolywheel-some.so.1") == str(tmp_path / "libpolywheel-some.so.1")


def test_only_its_own_system_is_asked() -> None:
    machine = LiveMachine()
    if platform.system() != "Windows":
        assert machine.registry("HARDWARE") == {}
        assert machine.cpuid() is None
    if platform.system() != "Darwin":
        assert machine.sysctl("hw.ncpu") is None


def test_the_processor_itself_says_what_the_kernel_says() -> None:
    facts = probe(LiveMachine()).cpu
    if facts.architecture != "x86_64":
        return
    answer = ask("cpuid", "", env=os.environ, deadline=20.0)
    assert answer.failure == ""
    identified = cpuid.parse(str(answer.facts[0]))
    assert identified is not None
    vendor, model, _, flags, xcr0_known = identified
    assert xcr0_known
    assert (vendor, model) == (facts.cores[0].vendor, facts.cores[0].model)
    shown = set(facts.cores[0].flags) & set(x86_64.INSTRUCTION_SETS)
    # The kernel may hide a flag (a boot option, a mitigation); it never invents one.
    assert shown <= set(flags) | {"sha512", "sm3", "sm4", "avx10_1", "avx10_2", "apx_f"}

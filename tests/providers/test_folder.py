from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_providers import FolderMachine
from polywheel_providers.folder import registry_keys, sysctl_values

if TYPE_CHECKING:
    from .conftest import Made


def test_files_are_read_below_the_root(made: Made) -> None:
    machine = made({"proc/cpuinfo": "processor : 0\n", "sys/a/b": "1", "sys/a/c": b"\xff\xfe"})
    assert machine.read_text("/proc/cpuinfo") == "processor : 0\n"
    assert machine.list_dir("/sys/a") == ("b", "c")
    assert machine.read_text("/sys/a/c") == "\ufffd\ufffd"
    assert machine.read_bytes("/sys/a/c") == b"\xff\xfe"
    assert machine.read_text("/etc/passwd") is None
    assert machine.read_text("/sys/a") is None
    assert machine.list_dir("/nowhere") == ()
    assert machine.exists("/sys/a/b")
    assert not machine.exists("/etc")


@pytest.mark.parametrize(
    "path", ["/../../../../etc/passwd", "/proc/../../../../../../etc/passwd", "/a\0b", "", "/"]
)
def test_no_path_leads_out(made: Made, path: str) -> None:
    assert made({"proc/x": ""}).read_text(path) is None


def test_no_link_leads_out(made: Made, tmp_path: Path) -> None:
    machine = made({"proc/x": "inside"})
    (tmp_path / "secret").write_text("outside")
    root = tmp_path / "machine"
    (root / "absolute").symlink_to(tmp_path / "secret")
    (root / "relative").symlink_to("../secret")
    (root / "fine").symlink_to("proc/x")
    (root / "folder").symlink_to(tmp_path)
    assert machine.read_text("/absolute") is None
    assert machine.read_text("/relative") is None
    assert machine.read_text("/folder/secret") is None
    assert machine.list_dir("/folder") == ()
    assert machine.read_text("/fine") == "inside"
    assert machine.read_link("/fine") == "proc/x"
    assert machine.read_link("/proc/x") is None


def test_a_pipe_or_a_loop_never_holds_us(made: Made, tmp_path: Path) -> None:
    machine = made({"proc/x": ""})
    os.mkfifo(tmp_path / "machine" / "pipe")
    (tmp_path / "machine" / "loop").symlink_to("loop")
    assert machine.read_text("/pipe") is None
    assert machine.read_text("/loop") is None


def test_a_big_file_is_cut(made: Made) -> None:
    text = made({"big": "x" * (2 << 20)}).read_text("/big")
    assert text is not None
    assert len(text) == 1 << 20


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Linux aarch64 6.8.12-tegra\n", ("Linux", "aarch64", "6.8.12-tegra")),
        ("Linux x86_64 5.15.90 microsoft WSL2", ("Linux", "x86_64", "5.15.90")),
        ("Linux", ("Linux", "", "")),
        ("", ("Linux", "", "")),
    ],
)
def test_uname_is_one_line(made: Made, line: str, expected: tuple[str, str, str]) -> None:
    found = made({"uname": line}).uname
    assert (found.system, found.machine, found.release) == expected


@pytest.mark.parametrize(
    ("cpuinfo", "family"),
    [
        ("processor : 0\nflags\t: fpu\n", "x86_64"),
        ("CPU implementer : 0x41\n", "aarch64"),
        ("cpu : POWER9\n", ""),
    ],
)
def test_without_uname_cpuinfo_shows_the_family(made: Made, cpuinfo: str, family: str) -> None:
    assert made({"proc/cpuinfo": cpuinfo}).uname.machine == family


def test_programs_come_only_from_its_own_folder(made: Made) -> None:
    machine = made(
        {"usr/bin/tool": '#!/bin/sh\necho "$PATH|$GIVEN|$HOME|$1"\n', "sbin/other": "#!/bin/sh\n"},
        GIVEN="yes",
    )
    ended = machine.run("tool", "argument")
    assert ended is not None
    assert ended.stdout == "/usr/bin:/bin|yes||argument\n"
    without = machine.run("tool", unset=("GIVEN", "NOT_THERE"))
    assert without is not None
    assert without.stdout == "/usr/bin:/bin|||\n"
    assert machine.run("sh") is None
    assert machine.run("other") is None
    assert machine.run("/bin/sh") is None
    assert machine.run("../../../../bin/sh") is None


def test_a_file_that_is_no_program_is_none(made: Made, tmp_path: Path) -> None:
    machine = made({"usr/bin/text": "not a program", "usr/bin/blob": b"\x7fELFgarbage"})
    (tmp_path / "machine/usr/bin/text").chmod(0o644)
    assert machine.run("text") is None
    assert machine.run("blob") is None


def test_libraries_come_only_from_its_own_folder(made: Made, tmp_path: Path) -> None:
    machine = made({"usr/lib/libcuda.so.1": b""})
    assert machine.find_library("libcuda.so.1") == str(tmp_path / "machine/usr/lib/libcuda.so.1")
    assert machine.find_library("libc.so.6") is None


def test_the_environment_is_what_was_given() -> None:
    assert FolderMachine("/nonexistent").env == {}
    assert FolderMachine("/nonexistent", {"A": "b"}).env == {"A": "b"}


def test_a_registry_export_is_read() -> None:
    lines = [
        "Windows Registry Editor Version 5.00",
        "",
        "[HKEY_LOCAL_MACHINE\\HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0]",
        '"~MHz"=dword:000005a0',
        '"ProcessorNameString"="Snapdragon (TM) \\"8cx\\" C:\\\\x"',
        '"CP 4000"=hex(b):30,d4,0f,41,00,00,00,00',
        '"Component Information"=hex:00,00',
        "[HKEY_LOCAL_MACHINE\\HARDWARE\\OTHER]",
        '"~MHz"=dword:00000001',
    ]
    export = "\r\n".join(lines)
    keys = registry_keys(export)
    assert keys["hardware\\description\\system\\centralprocessor\\0"] == {
        "~MHz": 1440,
        "ProcessorNameString": 'Snapdragon (TM) "8cx" C:\\x',
        "CP 4000": 0x410FD430,
    }
    assert keys["hardware\\other"] == {"~MHz": 1}
    assert "hardware" not in keys


def test_sysctl_lines_are_read() -> None:
    assert sysctl_values("a.b: 1\nc:\nnoise\nd: x: y\n") == {"a.b": "1", "c": "", "d": "x: y"}


def test_a_registry_is_asked_by_keys_of_any_case(made: Made) -> None:
    machine = made(
        {"registry.reg": '[HKEY_LOCAL_MACHINE\\A\\b]\n"x"=dword:2\n[HKEY_USERS\\A\\b]\n"x"=dword:3\n'}
    )
    assert machine.registry("a\\B") == {"x": 2}
    assert machine.registry("a") == {}


@given(st.text())
def test_no_text_breaks_the_readers(text: str) -> None:
    assert isinstance(registry_keys(text), dict)
    assert isinstance(sysctl_values(text), dict)


@given(st.text())
def test_no_path_breaks_it(path: str) -> None:
    machine = FolderMachine(str(Path(__file__).parent / "nonexistent"))
    assert machine.read_text(path) is None
    assert machine.list_dir(path) == ()
    assert not machine.exists(path) or path == ""
    assert machine.read_link(path) is None
    assert machine.find_program(path) is None
    assert machine.find_library(path) is None

"""The launcher alone: scratch folder, clean environment, one rename."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_builder import launch


@dataclass(frozen=True)
class Bench:
    folder: Path

    @property
    def output(self) -> Path:
        return self.folder / "store" / "ab" / "abc" / "out.txt"

    @property
    def failure(self) -> Path:
        return self.folder / "failed" / "abc.log"

    def run(
        self,
        command: Sequence[str],
        *,
        stdin: str = "",
        files: Mapping[str, str] = {},
        env: Mapping[str, str] = {},
    ) -> subprocess.CompletedProcess[str]:
        scratch = self.folder / "scratch"
        scratch.mkdir(exist_ok=True)
        action = self.folder / "action.json"
        action.write_text(
            json.dumps(
                {
                    "command": list(command),
                    "stdin": stdin,
                    "output": str(self.output),
                    "scratch": str(scratch),
                    "files": list(files.items()),
                    "failure": str(self.failure),
                }
            )
        )
        done = subprocess.run(
            [sys.executable, "-I", "-S", launch.__file__, action],
            env={**os.environ, **env}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert list(scratch.iterdir()) == []
        return done


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_an_output_appears_with_its_hash_and_cost(bench: Bench) -> None:
    assert bench.run(["sh", "-c", 'cat > "$1"', "-", "{out}"], stdin="ünï").returncode == 0
    assert bench.output.read_text(encoding="utf-8") == "ünï"
    report = json.loads(bench.output.with_name(launch.REPORT).read_text())
    assert report["sha256"] == _digest("ünï".encode())
    assert report["seconds"] >= 0
    assert report["memory_mb"] > 0
    assert sorted(path.name for path in bench.output.parent.iterdir()) == [launch.REPORT, "out.txt"]


def test_the_environment_is_the_same_everywhere(bench: Bench) -> None:
    loud = {"CPATH": "/x", "CFLAGS": "-O0", "LANG": "de_DE", "TZ": "Asia/Kathmandu", "SOURCE_DATE_EPOCH": "7"}
    assert bench.run(["sh", "-c", "umask > $1; env >> $1", "-", "{out}"], env=loud).returncode == 0
    mask, *lines = bench.output.read_text().splitlines()
    environment = dict(line.split("=", 1) for line in lines)
    assert mask == "0022"
    assert {"LC_ALL": "C", "TZ": "UTC", "SOURCE_DATE_EPOCH": "315532800"}.items() <= environment.items()
    assert not environment.keys() & {"CPATH", "CFLAGS", "LANG", "PYTHONPATH"}
    assert environment["TMPDIR"] == environment["HOME"]
    assert environment["TMPDIR"].startswith(str(bench.folder / "scratch"))


def test_a_failure_keeps_its_words_and_no_output(bench: Bench) -> None:
    command = ["sh", "-c", "echo said; echo it loud >&2; cat; echo half > $1; exit 3", "-", "{out}"]
    assert bench.run(command, stdin="and input\n").returncode == 1
    assert not bench.output.parent.exists()
    assert bench.failure.read_text() == "said\nit loud\nand input\n"
    again = subprocess.run(
        ["sh", f"{bench.failure}.sh"], cwd=bench.folder, capture_output=True, text=True, check=False
    )
    assert (again.returncode, again.stdout, again.stderr) == (3, "said\nand input\n", "it loud\n")
    assert (bench.folder / "out.txt").read_text() == "half\n"


@pytest.mark.parametrize(
    ("command", "log"),
    [
        ("false", "the command exited with 1 and said nothing\n"),
        ("true", "the command succeeded without making its output\n"),
        ("/gone/tool", "/gone/tool does not run: No such file or directory\n"),
    ],
)
def test_a_silent_failure_is_given_words(command: str, log: str, bench: Bench) -> None:
    done = bench.run([command])
    assert (done.returncode, done.stderr) == (1, "")
    assert bench.failure.read_text() == log
    assert not bench.output.parent.exists()


def test_a_faster_build_is_left_alone(bench: Bench) -> None:
    bench.output.parent.mkdir(parents=True)
    bench.output.write_text("first")
    (bench.output.parent / launch.REPORT).write_text(json.dumps({"sha256": _digest(b"first")}))
    assert bench.run(["sh", "-c", 'echo second > "$1"', "-", "{out}"]).returncode == 0
    assert bench.output.read_text() == "first"


@pytest.mark.parametrize("report", [None, "{}", "[", json.dumps({"sha256": _digest(b"whole")})])
@pytest.mark.parametrize("left", [None, b"", b"who"])
def test_an_output_that_was_damaged_is_replaced(report: str | None, left: bytes | None, bench: Bench) -> None:
    bench.output.parent.mkdir(parents=True)
    if left is not None:
        bench.output.write_bytes(left)
    if report is not None:
        (bench.output.parent / launch.REPORT).write_text(report)
    assert bench.run(["sh", "-c", 'echo again > "$1"', "-", "{out}"]).returncode == 0
    assert bench.output.read_text() == "again\n"
    report_now = json.loads((bench.output.parent / launch.REPORT).read_text())
    assert report_now["sha256"] == _digest(b"again\n")


@pytest.mark.parametrize("there", [True, False])
def test_a_file_where_a_folder_belongs_makes_way_or_is_named(bench: Bench, *, there: bool) -> None:
    place = bench.output.parent if there else bench.output.parent.parent
    place.parent.mkdir(parents=True)
    place.write_text("in the way")
    done = bench.run(["sh", "-c", 'echo made > "$1"', "-", "{out}"])
    if there:
        assert (done.returncode, bench.output.read_text()) == (0, "made\n")
    else:
        assert (done.returncode, done.stderr) == (1, f"{place}: File exists\n")


@pytest.mark.parametrize("covers", [True, False])
def test_a_compile_opens_only_what_its_hash_covers(bench: Bench, *, covers: bool) -> None:
    first, second = bench.folder / "b c.h", bench.folder / "d.h"
    first.touch()
    second.touch()
    files = {str(second): _digest(b"")} | ({str(first): _digest(b"")} if covers else {})
    escaped = str(first).replace(" ", "\\\\ ")
    script = f'printf "object: {escaped} \\\\\n {second}\n" > {launch.DEPENDENCIES}; echo > "$1"'
    assert bench.run(["sh", "-c", script, "-", "{out}"], files=files).returncode == (0 if covers else 1)
    if not covers:
        assert bench.failure.read_text().startswith(f"the compiler opened {first}, which the scan")


@pytest.mark.parametrize("edit", ["echo edited > a.cpp", "rm a.cpp"])
def test_an_edit_while_a_step_runs_keeps_no_output(edit: str, bench: Bench) -> None:
    """An output of other bytes under the old bytes' name would be reused for ever."""
    source = bench.folder / "a.cpp"
    source.write_bytes(b"as it was named")
    script = f'cd {bench.folder}; echo of other bytes > "$1"; {edit}'
    done = bench.run(["sh", "-c", script, "-", "{out}"], files={str(source): _digest(b"as it was named")})
    assert done.returncode == 1
    assert bench.failure.read_text() == f"{source} changed while it was built; run the command again\n"
    assert not bench.output.parent.exists()


def _escaped(name: str) -> str:
    """As GCC's mkdeps writes a name: backslashes count only before a blank or a sign."""
    out = ""
    for place, sign in enumerate(name):
        if sign in " \t":
            slashes = len(name[:place]) - len(name[:place].rstrip("\\"))
            out += "\\" * slashes + "\\"
        elif sign in "#$":
            out += {"#": "\\", "$": "$"}[sign]
        out += sign
    return out


_NAMES = st.text("ab/.#$ü:-", min_size=1, max_size=8)


@given(st.lists(_NAMES | _NAMES.map(lambda name: f"{name} x"), max_size=6))
def test_reads_a_dependency_file_back(names: list[str]) -> None:
    rule = "object: " + " \\\n ".join(map(_escaped, names)) + "\n"
    assert launch._prerequisites(rule) == names

"""The launcher alone: scratch folder, clean environment, one rename."""

from __future__ import annotations

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
        allowed: Sequence[str] = (),
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
                    "allowed": list(allowed),
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


def test_an_output_appears_with_its_cost(bench: Bench) -> None:
    assert bench.run(["sh", "-c", 'cat > "$1"', "-", "{out}"], stdin="ünï").returncode == 0
    assert bench.output.read_text(encoding="utf-8") == "ünï"
    cost = json.loads(bench.output.with_name("cost.json").read_text())
    assert cost["seconds"] >= 0
    assert cost["memory_mb"] > 0
    assert sorted(path.name for path in bench.output.parent.iterdir()) == ["cost.json", "out.txt"]


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
    (bench.output.parent / "cost.json").write_text("{}")
    assert bench.run(["sh", "-c", 'echo second > "$1"', "-", "{out}"]).returncode == 0
    assert bench.output.read_text() == "first"


def test_an_output_that_was_removed_comes_back(bench: Bench) -> None:
    bench.output.parent.mkdir(parents=True)
    (bench.output.parent / "cost.json").write_text("{}")
    assert bench.run(["sh", "-c", 'echo again > "$1"', "-", "{out}"]).returncode == 0
    assert bench.output.read_text() == "again\n"


@pytest.mark.parametrize(("allowed", "code"), [(["/a/b c.h", "/d.h"], 0), (["/d.h"], 1)])
def test_a_compile_opens_only_what_its_hash_covers(allowed: list[str], code: int, bench: Bench) -> None:
    script = f'printf "object: /a/b\\\\\\\\ c.h \\\\\\\\\\n /d.h\\n" > {launch.DEPENDENCIES}; echo > "$1"'
    assert bench.run(["sh", "-c", script, "-", "{out}"], allowed=allowed).returncode == code
    if code:
        assert bench.failure.read_text().startswith("the compiler opened /a/b c.h, which the scan")


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

"""A build may end at any moment: what was there stays whole, and the next build completes."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import struct
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from polywheel_variants.archive import WheelArchive

_KILLS = 25

Start = Callable[[Any], "subprocess.Popen[str]"]


@pytest.fixture
def start(polywheel_environment: dict[str, str], warm_cache: Path) -> Iterator[Start]:
    """Return what starts a build in a process group of its own; the groups end with the test."""
    started: list[subprocess.Popen[str]] = []

    def run(tiny: Any) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "polywheel", "build", "--jobs", "2", "--json"],
            cwd=tiny.folder,
            env={**polywheel_environment, "POLYWHEEL_CACHE": str(warm_cache)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _of_the_build(cache: Path) -> list[int]:
    """The processes that still work for a build with this cache: ninja and below, by their arguments."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes()
        except (OSError, ValueError):
            continue
        if entry.name.isdigit() and str(cache).encode() in words:
            found.append(int(entry.name))
    return found


def _wait_for_the_last(cache: Path) -> None:
    while _of_the_build(cache):
        time.sleep(0.02)


def _require_whole(path: Path) -> None:
    """Fail unless an output is all there: a wheel's every checksum, an ELF file's last section header."""
    data = path.read_bytes()
    if path.suffix == ".whl":
        with WheelArchive(path) as archive:
            assert archive.metadata()
        with zipfile.ZipFile(path) as opened:
            assert opened.testzip() is None
    elif path.suffix in {".o", ".so"}:
        assert data[:4] == b"\x7fELF"
        (sections,) = struct.unpack_from("<Q", data, 0x28)
        size, number = struct.unpack_from("<HH", data, 0x3A)
        assert len(data) >= sections + size * number
    else:
        report = json.loads(data)
        assert report.keys() == {"sha256", "seconds", "memory_mb"}
        (output,) = (one for one in path.parent.iterdir() if one != path)
        assert hashlib.sha256(output.read_bytes()).hexdigest() == report["sha256"]


def _require_nothing_partial(tiny: Any, cache: Path) -> None:
    visible = [path for path in tiny.dist.glob("*") if not path.name.startswith(".")]
    for path in [*visible, *(one for one in (cache / "store").rglob("*") if one.is_file())]:
        _require_whole(path)


def test_sigkill_at_any_moment(tiny_project: Any, start: Start, warm_cache: Path) -> None:
    """Half of the kills hit the whole process group, half only the parent, whose steps then go on."""
    tiny = tiny_project()
    tiny.write(
        "matrix.yaml",
        tiny.matrix.read_text().replace("  - {cpu: v3}\n", "").replace("null}", "null}\nplain: none"),
    )
    moments = random.Random(20)  # the same moments each time, spread over the length of a build
    length = 1.0
    for number in range(_KILLS):
        tiny.write("csrc/answer.h", f"#define ANSWER {number}\n")
        process = start(tiny)
        time.sleep(moments.uniform(0, length))
        kill: Callable[[int, int], None] = os.kill if number % 2 else os.killpg
        kill(process.pid, signal.SIGKILL)
        process.communicate()
        _require_nothing_partial(tiny, warm_cache)
        began = time.monotonic()
        after = start(tiny)
        _, words = after.communicate()
        assert after.returncode == 0, words
        length = max(length, time.monotonic() - began)
        _require_nothing_partial(tiny, warm_cache)
        assert [path.name for path in tiny.dist.iterdir()] == [
            "tiny-1.0-py3-none-manylinux_2_28_x86_64-null.whl"
        ]
    _wait_for_the_last(warm_cache)
    last = start(tiny)
    answer, words = last.communicate()
    assert last.returncode == 0, words
    assert json.loads(answer)["actions"]["run"] == 0
    assert list((warm_cache / "graphs").iterdir()) == [], "folders of killed builds go with the next build"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_build_and_its_steps(
    number: signal.Signals, tiny_project: Any, start: Start, warm_cache: Path
) -> None:
    tiny = tiny_project()
    for source in range(8):
        tiny.write(f"csrc/more{source}.cpp", f"int more{source}() {{ return {source}; }}\n")
    process = start(tiny)
    assert process.stderr is not None
    while not process.stderr.readline().startswith("[1/"):
        assert process.poll() is None
    process.send_signal(number)
    _, words = process.communicate()
    assert process.returncode == 130
    assert words.splitlines()[-1] == "polywheel: interrupted; what was finished is kept"
    assert "Traceback" not in words
    assert _of_the_build(warm_cache) == []
    assert list((warm_cache / "graphs").iterdir()) == []
    _require_nothing_partial(tiny, warm_cache)
    again = start(tiny)
    answer, words = again.communicate()
    assert again.returncode == 0, words
    assert json.loads(answer)["actions"]["reused"] > 2, "what was finished was kept"

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from polywheel_providers.driver import ask_script
from polywheel_providers.machine import TEXT_LIMIT
from polywheel_providers.process import run_answering, run_captured


def shell(script: str, deadline: float = 5.0) -> tuple[int | None, tuple[bytes, ...], str]:
    ended = run_captured(["/bin/sh", "-c", script], env=os.environ, deadline=deadline)
    assert ended is not None
    return ended.returncode, ended.outputs, ended.failure


def test_output_and_exit_status() -> None:
    assert shell("echo out; echo err >&2; exit 3") == (3, (b"out\n", b"err\n"), "")


def test_a_signal_is_a_negative_status() -> None:
    assert shell("kill -SEGV $$")[0] == -11


@pytest.mark.parametrize("script", ["yes", "yes >&2", "yes & yes >&2"])
def test_a_flood_ends_the_program(script: str) -> None:
    status, outputs, failure = shell(script, deadline=60.0)
    assert status is None
    assert failure == "more than 1 MiB of output"
    assert max(len(output) for output in outputs) == TEXT_LIMIT


@pytest.mark.parametrize(
    "script", ["sleep 60", "trap '' TERM; sleep 60 & sleep 60", "exec >&- 2>&-; sleep 60"]
)
def test_the_deadline_ends_the_program(script: str) -> None:
    assert shell(script, deadline=0.2)[::2] == (None, "no answer within 0.2 s")


def test_the_whole_group_goes(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    shell(f"sleep 60 & echo $! > {mark}; wait", deadline=0.5)
    child = int(mark.read_text())
    for _ in range(100):
        if not _running(child):
            break
        time.sleep(0.02)
    assert not _running(child)


def _running(process: int) -> bool:
    """Say whether a process is there and no zombie."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
        return stat.rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_an_interrupt_ends_the_program_too(tmp_path: Path) -> None:
    script = (
        "import os, signal, threading, time; from polywheel_providers.process import run_captured\n"
        "threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        f"run_captured(['sh', '-c', 'echo $$ > {tmp_path}/pid; sleep 60'], env=os.environ, deadline=60)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "KeyboardInterrupt" in ended.stderr
    assert not _running(int((tmp_path / "pid").read_text()))


def test_a_background_child_that_keeps_the_pipe_open_does_not_hold_us() -> None:
    assert shell("sleep 60 & echo done", deadline=0.3) == (None, (b"done\n", b""), "no answer within 0.3 s")


def _pipes() -> set[str]:
    """Name the pipes this process holds, by what they are: numbers are used again, and by others too."""
    targets = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the listing's own
            targets.add(str(descriptor.readlink()))
    return {target for target in targets if target.startswith("pipe:")}


def _none_left_beside(before: set[str]) -> bool:
    """Whether no pipe was added; a reader of a program that was just killed has a moment to end."""
    until = time.monotonic() + 5.0
    while not _pipes() <= before and time.monotonic() < until:
        time.sleep(0.01)
    return _pipes() <= before


@pytest.mark.parametrize("command", [["/nonexistent"], ["/"], ["/etc/hostname"], ["a\0b"]])
def test_what_cannot_start_is_none(command: list[str]) -> None:
    before = _pipes()
    assert run_captured(command, env={}, deadline=1.0) is None
    assert run_answering(command, env={}, deadline=1.0) is None
    assert _none_left_beside(before)


def test_no_descriptor_is_left_open() -> None:
    before = _pipes()
    for _ in range(3):
        shell("echo x")
    assert _none_left_beside(before)


def ask(tmp_path: Path, body: str, deadline: float = 20.0) -> tuple[tuple[object, ...], str]:
    """Run a query with this body in a child and return its facts and how it failed."""
    script = tmp_path / "query.py"
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    script.write_text(f"import ctypes, os, signal, sys, time\n\ndef query(library, report):\n{lines}\n")
    answer = ask_script(str(script), "libfake.so.1", env=os.environ, deadline=deadline)
    return answer.facts, answer.failure


def test_facts_arrive_in_order(tmp_path: Path) -> None:
    body = "report({'library': library})\nreport([1, None, 'ü'])"
    assert ask(tmp_path, body) == (({"library": "libfake.so.1"}, [1, None, "ü"]), "")


def test_an_error_is_named_and_what_came_before_is_kept(tmp_path: Path) -> None:
    body = "report(1)\nctypes.CDLL('/nonexistent/libcuda.so.1')"
    facts, failure = ask(tmp_path, body)
    assert facts == (1,)
    assert failure.startswith("OSError: libcuda.so.1: cannot open"), "and no folder, which may be somebody's"


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        ("report(1)\nos.kill(os.getpid(), signal.SIGSEGV)", "ended by SIGSEGV"),
        ("report(1)\nos.abort()", "ended by SIGABRT"),
        ("report(1)\nctypes.string_at(0)", "ended by SIGSEGV"),
        ("report(1)\nos._exit(0)", "ended early with exit status 0"),
        ("report(1)\nsys.exit(5)", "SystemExit: 5"),
        ("report(1)\nwhile True: report('x' * 10000)", "more than 1 MiB of output"),
    ],
)
def test_however_it_ends_what_was_reported_is_kept(tmp_path: Path, body: str, failure: str) -> None:
    facts, why = ask(tmp_path, body)
    assert facts[0] == 1
    assert why == failure


def test_a_hang_costs_its_deadline(tmp_path: Path) -> None:
    assert ask(tmp_path, "report(1)\ntime.sleep(60)", deadline=1.0) == ((1,), "no answer within 1 s")


def test_what_a_library_prints_is_no_answer(tmp_path: Path) -> None:
    body = "for _ in range(3000): os.write(1, b'{}' * 5000); os.write(2, b'noise' * 5000)\nreport(7)"
    assert ask(tmp_path, body) == ((7,), "")


def test_a_hang_at_exit_does_not_matter(tmp_path: Path) -> None:
    body = "import atexit\natexit.register(time.sleep, 60)\nreport(7)"
    assert ask(tmp_path, body) == ((7,), "")


def test_the_child_is_isolated(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('imported from the folder of the script')")
    body = (
        "report([sys.flags.isolated, sys.flags.no_site, any('site-packages' in path for path in sys.path)])"
    )
    assert ask(tmp_path, body) == (([1, 1, False],), "")


def test_without_a_python_there_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    assert ask(tmp_path, "report(1)") == ((), "no child Python could be started")

from __future__ import annotations

import errno
import io
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from polywheel import front
from polywheel_variants.errors import BadInputError, BuildError, MissingError, NoAnswerError, PolywheelError


@pytest.fixture(autouse=True)
def _sigterm_stays_ours() -> Iterator[None]:
    """Take back the handler that `main` sets for its process."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def _main_raising(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    def fail(_words: object) -> int:
        raise error

    said = io.StringIO()
    monkeypatch.setattr(front, "_run", fail)
    monkeypatch.setattr(sys, "stderr", said)
    return front.main([]), said.getvalue()


@pytest.mark.parametrize(
    ("error", "code"),
    [(NoAnswerError("no"), 1), (BadInputError("no"), 2), (MissingError("no"), 3), (BuildError("no"), 4)],
)
def test_an_error_is_one_line_and_its_exit_code(
    error: PolywheelError, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _main_raising(error, monkeypatch) == (code, "polywheel: no\n")


def test_an_error_never_breaks_the_line_or_speaks_to_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    code, said = _main_raising(BadInputError("a\nb\x1b[31mc\ud800ü"), monkeypatch)
    assert (code, said) == (2, "polywheel: a\\nb\\x1b[31mc\\ud800ü\n")


def test_a_system_error_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    full = OSError(errno.ENOSPC, "No space left on device", "/a/b")
    assert _main_raising(full, monkeypatch) == (3, "polywheel: /a/b: No space left on device\n")


def test_an_interruption_says_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    code, said = _main_raising(KeyboardInterrupt(), monkeypatch)
    assert (code, said) == (130, "polywheel: interrupted; what was finished is kept\n")


def test_a_failed_steps_log_stands_before_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    error = BuildError("compile a.cpp failed")
    error.log = "a.cpp:1: error\n\n"  # type: ignore[attr-defined]
    assert _main_raising(error, monkeypatch) == (4, "a.cpp:1: error\npolywheel: compile a.cpp failed\n")


def test_an_argument_too_many_gets_the_usage_of_its_command(run_polywheel: Any) -> None:
    done = run_polywheel("plan", "matrix.yaml", "--outdir=x")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: polywheel plan [-h] [-m FILE]")
    assert done.stderr.endswith("\npolywheel plan: error: unrecognized arguments: matrix.yaml --outdir=x\n")


def test_help_names_every_command(run_polywheel: Any) -> None:
    done = run_polywheel("--help")
    assert (done.returncode, done.stderr) == (0, "")
    for command in front.COMMANDS:
        assert f"    {command} " in done.stdout


def test_usage_errors_exit_2(run_polywheel: Any) -> None:
    for words in (
        (),
        ("bild",),
        ("plan", "--formt", "json"),
        ("plan", "--format", "xml"),
        ("build", "--jobs", "x"),
        ("build", "--out", ""),
        ("plan", "-m", ""),
        ("index", "", "--out", "site"),
        ("index", "dist", "--out", ""),
        ("select", "demo", "--index", ""),
    ):
        done = run_polywheel(*words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert done.stderr.startswith("usage: polywheel")


def test_a_command_imports_only_itself(polywheel_environment: dict[str, str]) -> None:
    code = (
        "import sys; from polywheel.front import make_parser; make_parser(['plan', '--json']);"
        "print(*sorted(name for name in sys.modules if name.startswith('polywheel.commands.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=polywheel_environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "polywheel.commands.plan\n"


def test_a_reader_that_has_gone_is_no_traceback(
    polywheel_environment: dict[str, str], tmp_path: Path
) -> None:
    done = subprocess.run(
        ["sh", "-c", f"'{sys.executable}' -m polywheel --help | true"],
        cwd=tmp_path, env=polywheel_environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-", "2>/dev/full"])
@pytest.mark.parametrize(("words", "code"), [("--version", 0), ("plan -m gone.yaml", 2), ("bild", 2)])
def test_a_stream_that_takes_nothing_changes_no_exit_code(
    closed: str, words: str, code: int, polywheel_environment: dict[str, str], tmp_path: Path
) -> None:
    done = subprocess.run(
        ["sh", "-c", f"'{sys.executable}' -m polywheel {words} {closed}"],
        cwd=tmp_path, env=polywheel_environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code
    assert "Traceback" not in done.stderr


def test_a_full_stdout_is_one_line_and_exit_3(polywheel_environment: dict[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", f"'{sys.executable}' -m polywheel --version >/dev/full"],
        cwd=tmp_path, env=polywheel_environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (3, "polywheel: No space left on device\n")


def test_a_name_that_the_locale_lacks_is_escaped(
    polywheel_environment: dict[str, str], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from polywheel.streams import prepare_streams as p; p(); print('\\ud800ü')"],
        env={**polywheel_environment, "PYTHONIOENCODING": "ascii"},
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "\\ud800\\xfc\n")

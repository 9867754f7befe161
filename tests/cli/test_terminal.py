from __future__ import annotations

import io

import pytest

from polywheel.terminal import Bar, Lines, is_colourful, paint, seconds_text, shortened, size_text, table


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("size", "text"),
    [
        *((0, "0 B"), (999, "999 B"), (1000, "1.00 KB"), (74_049, "74.0 KB")),
        *((36_123, "36.1 KB"), (999_499, "999 KB")),
        *((999_500, "1.00 MB"), (1_234_567, "1.23 MB"), (512_000_000, "512 MB"), (3_000_000_000, "3.00 GB")),
    ],
)
def test_sizes(size: int, text: str) -> None:
    assert size_text(size) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.0 s"), (0.44, "0.4 s"), (12.3, "12 s"), (59.6, "1 min 0 s"), (200, "3 min 20 s")],
)
def test_durations(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


def test_table_lays_columns_out() -> None:
    rows = [("name", "n"), ("a", "10"), ("longer", "2")]
    assert table(rows, right=(1,)) == "name     n\na       10\nlonger   2\n"


@pytest.mark.parametrize(
    ("width", "text"),
    [(-3, "…"), (1, "…"), (3, "…hl"), (12, "pac…4_v3.whl"), (20, "pack a…x86_64_v3.whl"), (99, None)],
)
def test_a_long_text_keeps_its_end(width: int, text: str | None) -> None:
    whole = "pack a-1-py3-none-any-x86_64_v3.whl"
    said = shortened(whole, width)
    assert said == (text or whole)
    assert len(said) <= max(width, 1) or text is None


def test_colour_only_where_it_is_wanted() -> None:
    assert paint("x", "red", io.StringIO()) == "x"
    assert is_colourful(_Terminal(), {})
    assert not is_colourful(_Terminal(), {"NO_COLOR": "1"})
    assert not is_colourful(_Terminal(), {"TERM": "dumb"})
    assert not is_colourful(io.StringIO(), {})


def test_a_log_gets_lines() -> None:
    log = io.StringIO()
    lines = Lines(log)
    lines.note("hello")
    lines.step(1, 2, "compile a.cpp")
    lines.end()
    assert log.getvalue() == "hello\n[1/2] compile a.cpp\n"


def test_a_terminal_gets_one_line_drawn_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    screen = _Terminal()
    bar = Bar(screen)
    bar.step(1, 2, "compile " + "a" * 100)
    bar.step(2, 2, "link")
    bar.note("a line")
    bar.end()
    drawn = screen.getvalue().split("\r\x1b[K")
    assert len(drawn) == 3
    assert len(drawn[0]) == 59
    assert drawn[0].startswith("█" * 12 + "░" * 12 + " 1/2  ")
    assert drawn[1].startswith("█" * 24 + " 2/2  ")
    assert drawn[2] == "a line\n"

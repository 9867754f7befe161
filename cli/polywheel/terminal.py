"""What people see while and after a command works: a bar, lines, colour, tables, sizes."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TextIO

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_BAR_CELLS = 24


def is_colourful(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a stream takes colour: a terminal, and neither NO_COLOR nor a dumb one."""
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def paint(text: str, colour: str, stream: TextIO) -> str:
    """Colour a text for a stream that takes colour; leave it alone for any other."""
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if is_colourful(stream) else text


def table(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Lay rows out in columns two blanks apart; the columns named in `right` hold numbers."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def size_text(size: int) -> str:
    """Write a number of bytes in decimal units: `36.0 KB`, `1.23 MB`."""
    amount = float(size)
    for unit in ("B", "KB", "MB"):
        if amount < 999.5:
            return f"{amount:.0f} {unit}" if amount >= 100 or unit == "B" else f"{amount:#.3g} {unit}"
        amount /= 1000
    return f"{amount:#.3g} GB"


def seconds_text(seconds: float) -> str:
    """Write a duration: `0.4 s`, `12 s`, `3 min 20 s`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def shortened(text: str, width: int) -> str:
    """Leave out the middle of a text that is too wide; two wheels' names differ at their ends."""
    room = max(width, 1)
    if len(text) <= room:
        return text
    end = room * 2 // 3
    return f"{text[: room - 1 - end]}…{text[len(text) - end :]}"


class Bar:
    """Progress on a terminal: one line, drawn over and over."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._started = time.monotonic()
        self._drawn = False

    def note(self, text: str) -> None:
        """Print a line above the bar."""
        self._clear()
        self._stream.write(f"{text}\n")
        self._stream.flush()

    def step(self, done: int, total: int, text: str) -> None:
        """Redraw the bar."""
        filled = _BAR_CELLS * done // max(total, 1)
        bar = "█" * filled + "░" * (_BAR_CELLS - filled)
        elapsed = seconds_text(time.monotonic() - self._started)
        line = f"{bar} {done}/{total}  {elapsed}  "
        width = shutil.get_terminal_size().columns - 1
        self._clear()
        self._stream.write((line + shortened(text, width - len(line)))[:width])
        self._stream.flush()
        self._drawn = True

    def end(self) -> None:
        """Take the bar away."""
        self._clear()
        self._stream.flush()

    def _clear(self) -> None:
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._drawn = False


class Lines:
    """Progress in a log: one line a step."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def note(self, text: str) -> None:
        """Print a line."""
        self._stream.write(f"{text}\n")
        self._stream.flush()

    def step(self, done: int, total: int, text: str) -> None:
        """Print a line."""
        self.note(f"[{done}/{total}] {text}")

    def end(self) -> None:
        """Leave the lines as they are."""


def progress() -> Bar | Lines:
    """Return the progress that suits standard error."""
    return Bar(sys.stderr) if sys.stderr.isatty() else Lines(sys.stderr)

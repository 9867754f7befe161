"""The picture of the line: one box a stage, what went in, what came out, how long it took."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from polywheel.terminal import paint, seconds_text

_WIDTH = 78
_NAME = 9


@dataclass(frozen=True)
class Stage:
    """One stage of the line, when it is over."""

    name: str
    seconds: float
    lines: Sequence[str]
    """What it did; the first line is the summary."""


@dataclass(frozen=True)
class Glyphs:
    """What boxes are drawn with."""

    top: str
    bottom: str
    side: str
    down: str

    @classmethod
    def for_stream(cls, stream: TextIO) -> Glyphs:
        """Return box-drawing characters where the stream's encoding has them, else ASCII."""
        try:
            "╭─╮╰╯│▼".encode(stream.encoding or "ascii")
        except UnicodeEncodeError:
            return cls("+-+", "+-+", "|", "v")
        return cls("╭─╮", "╰─╯", "│", "▼")


def draw(stages: Sequence[Stage], stream: TextIO) -> None:
    """Draw the stages one below the other."""
    glyphs = Glyphs.for_stream(stream)
    for number, stage in enumerate(stages):
        if number:
            stream.write(" " * (_WIDTH // 2) + glyphs.down + "\n")
        _draw_stage(stage, glyphs, stream)


def _draw_stage(stage: Stage, glyphs: Glyphs, stream: TextIO) -> None:
    left, line, right = tuple(glyphs.top)
    stream.write(left + line * (_WIDTH - 2) + right + "\n")
    time = seconds_text(stage.seconds)
    room = _WIDTH - _NAME - len(time) - 6
    wrapped = [part for text in stage.lines for part in textwrap.wrap(text, room, subsequent_indent="  ")]
    for number, text in enumerate(wrapped):
        name, end = (stage.name, time) if number == 0 else ("", "")
        stream.write(
            f"{glyphs.side} {paint(name.ljust(_NAME), 'bold', stream)} {text.ljust(room)} "
            f"{paint(end.rjust(len(time)), 'dim', stream)} {glyphs.side}\n"
        )
    left, line, right = tuple(glyphs.bottom)
    stream.write(left + line * (_WIDTH - 2) + right + "\n")

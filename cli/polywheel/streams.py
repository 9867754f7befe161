"""The three standard streams, made fit for every answer before a command runs."""

from __future__ import annotations

import io
import os
import sys


def prepare_streams() -> None:
    """Open what is closed (`>&-`) on the null device, and let no name fail for want of a character.

    Without it the next file that is opened would take the closed stream's number, and get its words.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            _reserve(number)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as stderr has it: LC_ALL=C, surrogates


def _reserve(number: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    if null != number:
        os.dup2(null, number)
        os.close(null)


def silence(number: int) -> None:
    """Lead a stream that takes no more to the null device: what it still holds must not fail the exit."""
    _reserve(number)

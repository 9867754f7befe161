"""Argument types that take no empty text: `--out "$UNSET"` must not come to mean the current folder."""

from __future__ import annotations

import argparse
from pathlib import Path


def given(text: str) -> str:
    """Return the text. Raises ArgumentTypeError for an empty one."""
    if not text:
        raise argparse.ArgumentTypeError("empty (a variable that is not set?)")
    return text


def given_path(text: str) -> Path:
    """Return the path. Raises ArgumentTypeError for an empty one."""
    return Path(given(text))

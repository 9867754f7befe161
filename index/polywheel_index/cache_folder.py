"""Where polywheel keeps what it may fetch again at any time."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def cache_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Return $POLYWHEEL_CACHE, else $XDG_CACHE_HOME/polywheel, else ~/.cache/polywheel.

    The XDG specification says that a relative XDG_CACHE_HOME is to be ignored.
    """
    if environ.get("POLYWHEEL_CACHE"):
        return Path(environ["POLYWHEEL_CACHE"]).absolute()
    xdg = environ.get("XDG_CACHE_HOME", "")
    if xdg and Path(xdg).is_absolute():
        return Path(xdg) / "polywheel"
    home = environ.get("HOME")
    return (Path(home).absolute() if home else Path.home()) / ".cache" / "polywheel"

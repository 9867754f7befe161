"""Which variant of the wheel is installed."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, distribution

__all__ = ["installed_variant"]


def installed_variant() -> str | None:
    """Return the label of the installed variant wheel, such as ``x86_64_v3``; None for a plain wheel.

    A variant wheel's ``variant.json`` (PEP 825) has one key in ``variants``: its own label.
    """
    try:
        text = distribution("polywheel-kernels").read_text("variant.json")
    except PackageNotFoundError:
        return None
    return None if text is None else str(next(iter(json.loads(text)["variants"])))

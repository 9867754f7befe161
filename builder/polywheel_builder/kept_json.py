"""JSON that a later command reads back as it was written, or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

from polywheel_variants.atomic_file import replacing


def load(path: Path, form: int) -> Any:
    """Return what `save` wrote in this form; None for a file that is missing, damaged or of another form."""
    try:
        document = json.loads(path.read_bytes())
        kept = document["kept"]
        return kept if document["sha256"] == _digest(kept, form) else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def save(path: Path, form: int, kept: Any) -> None:
    """Write a file, whole or not at all. `form` is a number that changes with the meaning of `kept`.

    What is kept saves time and decides nothing, so a cache that is read-only or full is no error.
    """
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as stream:
            stream.write(json.dumps({"sha256": _digest(kept, form), "kept": kept}).encode())


def _digest(kept: Any, form: int) -> str:
    return hashlib.sha256(json.dumps([form, kept]).encode()).hexdigest()

"""Machines a person names: a recorded file, a short form, or what POLYWHEEL_MACHINE says."""

from __future__ import annotations

import os

from . import reading
from .facts import Facts, from_json
from .live import LiveMachine
from .probing import probe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

OVERRIDE = "POLYWHEEL_MACHINE"
"""The variable that stands for `--machine`: a recorded file or a short form."""

_RECORD_LIMIT = 1 << 24
"""Bytes; a record of the largest machine has a hundredth of it."""


def machine_named(text: str) -> Facts:
    """Return the facts of a recorded file (of `detect --record` or `detect --json`) or a short form.

    A name with a folder in it, or that ends in `.json`, or that a file has, is a file. Raises `ValueError`
    with one line that names the file and key, or the part of the short form.
    """
    if "/" in text or os.sep in text or text.lower().endswith(".json") or reading.exists(text):
        return _recorded(text)
    from .short_form import parse  # noqa: PLC0415 (a recorded or a live machine never needs it)

    return parse(text)


def this_machine(env: Mapping[str, str]) -> Facts:
    """Return what `env` names in POLYWHEEL_MACHINE, or else the facts of the machine we run on.

    Raises `ValueError` only for a POLYWHEEL_MACHINE that is neither a record nor a short form.
    """
    name = env.get(OVERRIDE, "").strip()
    if not name:
        return probe(LiveMachine())
    try:
        return machine_named(name)
    except ValueError as problem:
        raise ValueError(f"{OVERRIDE}: {problem}") from problem


def _recorded(path: str) -> Facts:
    import json  # noqa: PLC0415

    raw = reading.read_bytes(path, _RECORD_LIMIT)
    if raw is None:
        raise ValueError(f"{path}: no such file, or it cannot be read; expected what `detect --record` wrote")
    if len(raw) == _RECORD_LIMIT:
        raise ValueError(f"{path}: {_RECORD_LIMIT >> 20} MiB or more; expected what `detect --record` wrote")
    try:
        value = json.loads(raw)
    except json.JSONDecodeError as problem:
        raise ValueError(f"{path}:{problem.lineno}: not JSON ({problem.msg})") from problem
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"{path}: not JSON ({problem})") from problem
    if isinstance(value, dict) and "schema" in value and isinstance(value.get("facts"), dict):
        value = value["facts"]  # all of `detect --json`, whose other keys follow from the facts
    return from_json(value, path)

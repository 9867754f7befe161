# ruff: noqa: PTH118, PTH120, PTH100
# Without pathlib, which would cost a third of this package's import budget.
"""Asking a driver library a question in a child process, so that it can neither hang nor crash us."""

from __future__ import annotations

import os
import sys

from .machine import DriverAnswer
from .process import run_answering

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .process import Ended

_HERE = os.path.dirname(os.path.abspath(__file__))


def ask(query: str, library: str, *, env: Mapping[str, str], deadline: float) -> DriverAnswer:
    """Run a query module of this package on `library` in a child Python; see `Machine.driver`."""
    return ask_script(os.path.join(_HERE, *query.split(".")) + ".py", library, env=env, deadline=deadline)


def ask_script(script: str, library: str, *, env: Mapping[str, str], deadline: float) -> DriverAnswer:
    """Run the `query` function of the Python file `script` on `library` in a child Python."""
    # -I: no user site, no PYTHON* variables, no current folder; -S: no site-packages, no .pth files.
    command = [sys.executable, "-I", "-S", os.path.join(_HERE, "driver_child.py"), script, library]
    ended = run_answering(command, env=env, deadline=deadline) if sys.executable else None
    if ended is None:
        return DriverAnswer((), "no child Python could be started")
    return _read(ended, library)


def _read(ended: Ended, library: str) -> DriverAnswer:
    """Take the complete lines; the last one says how the query ended."""
    import json  # noqa: PLC0415 (only a machine with a driver needs it here)

    from .privacy import without_folders  # noqa: PLC0415 (as json)

    facts: list[object] = []
    failure = ended.failure or _ending(ended.returncode)
    for line in ended.outputs[0].decode("utf-8", "replace").splitlines():
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            continue
        match message:
            case ["fact", value]:
                facts.append(value)
            case ["error", str(text)]:
                failure = without_folders(text, library)
            case ["done"]:
                failure = ""
    return DriverAnswer(tuple(facts), failure)


def _ending(returncode: int | None) -> str:
    """Say in one clause how a child that did not report its end went."""
    if returncode is None or returncode >= 0:
        return f"ended early with exit status {returncode}"
    import signal  # noqa: PLC0415

    try:
        return f"ended by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"ended by signal {-returncode}"

"""The MACHINE options that `detect`, `select` and others share, and the facts they stand for."""

from __future__ import annotations

import os

from polywheel_providers import this_machine
from polywheel_variants.errors import BadInputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from polywheel_providers import Facts


def add_machine_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--machine`, `--root` and `--env`, which `resolve_machines` reads."""
    group = parser.add_argument_group("machine", "default: POLYWHEEL_MACHINE, or else this machine")
    group.add_argument(
        "--machine",
        action="append",
        default=[],
        metavar="M",
        help="a file written by `detect --record`, or a short form: nvidia:9.0,driver=12.8+cpu:v3",
    )
    group.add_argument("--root", metavar="DIR", help="replay the machine whose files DIR holds")
    group.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="K=V",
        help="an environment variable of the --root machine",
    )


def resolve_machines(arguments: argparse.Namespace) -> list[Facts]:
    """Return the facts of each machine the options name, at least one.

    Raises `BadInputError` for a record, short form, folder or variable that is none, and for options that
    contradict each other.
    """
    if arguments.root is not None and arguments.machine:
        raise BadInputError("--machine and --root both name a machine: give one of them")
    if arguments.env and arguments.root is None:
        raise BadInputError("--env sets a variable of the --root machine: give --root DIR too")
    if arguments.root is not None:
        return [_replayed(arguments.root, arguments.env)]
    try:
        return _named(arguments.machine) or [this_machine(os.environ)]
    except ValueError as problem:
        raise BadInputError(str(problem)) from problem


def _named(names: list[str]) -> list[Facts]:
    from polywheel_providers import machine_named  # noqa: PLC0415 (start-up time is a promise of `detect`)

    return [machine_named(name) for name in names]


def _replayed(root: str, assignments: list[str]) -> Facts:
    from pathlib import Path  # noqa: PLC0415 (start-up time is a promise of `detect`)

    from polywheel_providers import FolderMachine, probe  # noqa: PLC0415 (as above)

    if not root or not Path(root).is_dir():
        raise BadInputError(
            f"--root {root!r}: not a folder; expected one with proc/cpuinfo, uname and the like"
        )
    env = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not key or not equals or "\0" in assignment:
            raise BadInputError(f"--env {assignment!r}: expected NAME=VALUE")
        env[key] = value
    return probe(FolderMachine(root, env))

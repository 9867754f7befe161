"""The command line's front: finds the command, runs it, turns errors into one line and an exit code."""

from __future__ import annotations

import argparse
import importlib
import signal
import sys

from polywheel.one_line import one_line
from polywheel.streams import prepare_streams, silence
from polywheel_variants.errors import MissingError, PolywheelError

TYPE_CHECKING = False  # every command starts here; typing would cost it more than the rest of this file
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType
    from typing import Any, NoReturn

COMMANDS = ("detect", "select", "plan", "build", "index", "demo")
"""In the order of the work; each is a module of `polywheel.commands`."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code (docs: reference/exit-codes)."""
    words = list(sys.argv[1:] if argv is None else argv)
    prepare_streams()
    signal.signal(signal.SIGTERM, _terminate)
    try:
        return _run(words)
    except PolywheelError as error:
        log = getattr(error, "log", "")
        _say((f"{log.rstrip()}\n" if log else "") + f"polywheel: {one_line(str(error))}\n")
        return error.exit_code
    except KeyboardInterrupt:
        _say("polywheel: interrupted; what was finished is kept\n")
        return 130
    except BrokenPipeError:
        # The reader of our answer has gone; nothing is left to say, not even at exit.
        silence(1)
        return 141
    except OSError as error:
        # A full disk, a folder that may not be written: no module's own business, and no fault of the code.
        place = f"{error.filename}: " if error.filename else ""
        _say(f"polywheel: {one_line(place)}{error.strerror or error}\n")
        return MissingError.exit_code


def _say(text: str) -> None:
    """Tell people, if they can still be told: a full standard error changes no exit code."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        silence(2)


def _run(words: Sequence[str]) -> int:
    parser = make_parser(words)
    arguments, unknown = parser.parse_known_args(words)
    if unknown:
        arguments.refuse(f"unrecognized arguments: {' '.join(unknown)}")  # with that command's usage
    code: int = arguments.run(arguments)
    sys.stdout.flush()
    return code


def make_parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Make the parser; with words that begin with a command, only that command's module is imported."""
    parser = argparse.ArgumentParser(
        prog="polywheel",
        description="One source tree, many wheels; every machine gets the one that fits it.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print polywheel's version and exit")
    # The prog is given because argparse would import shutil to lay out a usage line and take it from there.
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True, prog="polywheel")
    wanted = words[:1] if words and words[0] in COMMANDS else COMMANDS
    for name in wanted:
        command: Any = importlib.import_module(f"polywheel.commands.{name}")
        subparser = subparsers.add_parser(name, help=command.HELP, description=f"{command.HELP}.")
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run, refuse=subparser.error)
    return parser


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> NoReturn:
        from importlib.metadata import version  # noqa: PLC0415

        del namespace, values, option_string
        sys.stdout.write(f"polywheel {version('polywheel')}\n")
        parser.exit()


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    """End on SIGTERM as on Ctrl-C: children stopped, nothing half written."""
    del number, frame
    raise KeyboardInterrupt

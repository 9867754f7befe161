"""The command line's front: finds the command, runs it, turns errors into one line and an exit code."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys

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
    signal.signal(signal.SIGTERM, _terminate)
    try:
        return _run(words)
    except PolywheelError as error:
        log = getattr(error, "log", "")
        sys.stderr.write(f"{log.rstrip()}\n" if log else "")
        sys.stderr.write(f"polywheel: {_one_line(str(error))}\n")
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("polywheel: interrupted; what was finished is kept\n")
        return 130
    except BrokenPipeError:
        # The reader of our answer has gone; nothing is left to say, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        # A full disk, a folder that may not be written: no module's own business, and no fault of the code.
        place = f"{error.filename}: " if error.filename else ""
        sys.stderr.write(f"polywheel: {_one_line(place)}{error.strerror or error}\n")
        return MissingError.exit_code


def _one_line(text: str) -> str:
    """Escape what would break a line, or tell a terminal something: names in files are anybody's words."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def _run(words: Sequence[str]) -> int:
    parser = make_parser(words)
    arguments = parser.parse_args(words)
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
        subparser.set_defaults(run=command.run)
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

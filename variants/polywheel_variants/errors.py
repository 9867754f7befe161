"""The errors polywheel shows to people, one class an exit code.

Each message is one line that says what was found where, what was expected, and what to do next.
The command line prints it without a traceback and exits with the class's code.
"""

from __future__ import annotations

TYPE_CHECKING = False  # this module is imported at every start; typing would double its cost
if TYPE_CHECKING:
    from typing import ClassVar


class PolywheelError(Exception):
    """Anything polywheel reports to its user instead of raising a traceback."""

    exit_code: ClassVar[int] = 1
    """The process exit code (docs: reference/exit-codes)."""


class NoAnswerError(PolywheelError):
    """The answer is no: nothing compatible, a finding, an index that does not verify."""

    exit_code = 1


class BadInputError(PolywheelError):
    """What the user wrote is wrong: usage, a malformed file, an unknown key."""

    exit_code = 2


class MissingError(PolywheelError):
    """A tool, a file or the network is missing; found before any work started."""

    exit_code = 3


class BuildError(PolywheelError):
    """A build step failed."""

    exit_code = 4

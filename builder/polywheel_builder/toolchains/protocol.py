"""What every toolchain offers the planner."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class Toolchain(Protocol):
    """A compiler found on this machine.

    Commands are written with `action.OUT` for the output; a compile also lists the files it opened in
    `launch.DEPENDENCIES`.
    """

    @property
    def label(self) -> str:
        """Name and version, for people: `g++ 12.2.0`."""

    @property
    def digest(self) -> str:
        """SHA-256 over the bytes of everything the toolchain brings to an output."""

    @property
    def system_include(self) -> Sequence[Path]:
        """The compiler's own include folders, in its order."""

    def compile(
        self,
        source: str,
        *,
        arch: str,
        defines: Sequence[str],
        include: Sequence[str],
        foreign: Sequence[str],
    ) -> Sequence[str]:
        """Return the command that makes an object of a source.

        Headers in the `include` folders are the project's own; those in the `foreign` ones are not, so
        their warnings are nobody's to mend here.
        """

    def stub(self, soname: str) -> Sequence[str]:
        """Return the command that makes an empty library of that name, to link against."""

    def link(self, objects: Sequence[str], *, needed: Sequence[str], soname: str) -> Sequence[str]:
        """Return the command that makes a shared library, bound to each library in `needed`."""

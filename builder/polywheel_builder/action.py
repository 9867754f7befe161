"""An action: one compile, link or pack step, named by the hash of all that decides its output."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

ActionKind = Literal["compile", "stub", "link", "pack"]

OUT = "{out}"
"""Stands for the output's path in a command."""


def output_of(key: str) -> str:
    """Return what stands in a command for another action's output."""
    return "{" + key + "}"


@dataclass(frozen=True)
class Action:
    """One step of the compile graph.

    Commands and files are written with the names of `roots.Roots` in braces (`{project}/csrc/a.cpp`), so
    that the same step has the same name in every checkout and on every machine.
    """

    kind: ActionKind
    tool: str
    """The tool's name, for people: `g++ 12.2.0`."""
    arch: str
    """What the output runs on: `x86-64-v3`."""
    subject: str
    """What the step is about, for people: a source, a library, a wheel."""
    output: str
    """The output's file name."""
    command: tuple[str, ...]
    tool_digest: str
    """SHA-256 over the bytes of the tool and of whatever it brings along."""
    files: tuple[tuple[str, str], ...] = ()
    """Every file the step may read besides its inputs: (name, SHA-256)."""
    inputs: tuple[str, ...] = ()
    """The keys of the actions whose outputs the step reads."""
    stdin: str = ""
    """Text the command reads on its standard input."""

    @cached_property
    def key(self) -> str:
        """The action's name: SHA-256 over everything that decides the output, never over a time."""
        decides = [
            self.kind, self.output, self.command, self.tool_digest, self.files, self.inputs, self.stdin,
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(decides).encode()).hexdigest()

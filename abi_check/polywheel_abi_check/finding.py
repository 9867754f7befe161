"""One thing a check has to say about a binary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Finding:
    """What is wrong where, and how to mend it."""

    code: str
    """The stable name of the kind of finding, such as `platform-too-new`."""
    severity: Severity
    path: str
    """The binary, as the caller named it."""
    message: str
    """One line: what was found and what was expected."""
    hint: str
    """One line: the next step."""

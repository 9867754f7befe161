"""RECORD: the list of a wheel's files with their hashes (PEP 376, binary distribution format)."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class RecordRow:
    """One file of a wheel."""

    path: str
    digest: bytes | None
    """The SHA-256 digest; None for RECORD itself, which cannot hold its own."""
    size: int | None
    """Bytes; None for RECORD itself."""


def to_csv(rows: Iterable[RecordRow]) -> bytes:
    """Write the rows in their order; names with commas or quotes are quoted as CSV asks."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow((row.path, _hash_text(row.digest), "" if row.size is None else row.size))
    return text.getvalue().encode()


def _hash_text(digest: bytes | None) -> str:
    """`sha256=` and the digest in URL-safe base64 without padding, or nothing."""
    if digest is None:
        return ""
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def digest_of(data: bytes) -> bytes:
    """Return the SHA-256 digest that RECORD holds for a file of these bytes."""
    return hashlib.sha256(data).digest()

"""A file that appears whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

SUFFIX = ".tmp"
"""What the name of an unfinished file ends with; it begins with a dot."""


@contextmanager
def replacing(target: Path) -> Iterator[IO[bytes]]:
    """Open a file beside the target for writing, and rename it over the target when the block ends.

    A reader sees the old file or the new one, never a part. If the block raises, the target stays as it
    was. A process that is killed leaves at most the hidden file beside it.
    """
    scratch = target.with_name(f".{target.name}.{os.getpid()}{SUFFIX}")
    try:
        with scratch.open("wb") as stream:
            yield stream
        scratch.replace(target)
    finally:
        scratch.unlink(missing_ok=True)

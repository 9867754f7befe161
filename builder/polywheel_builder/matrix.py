"""The matrix: what one release builds, as its author wrote it (matrix.yaml, format 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["null", "cpu", "cuda", "rocm", "xpu"]
"""What a variant is made for; `null` has no properties."""

KINDS: tuple[Kind, ...] = ("null", "cpu", "cuda", "rocm", "xpu")

NO_PLAIN = "none"
"""What `plain` says for a release without a plain wheel; no label may be this word."""


@dataclass(frozen=True)
class Library:
    """One shared library of the wheel, named as the file in the package folder is."""

    name: str
    sources: tuple[str, ...]
    """Glob patterns below the project folder."""
    kinds: tuple[Kind, ...]
    """The kinds of variant whose wheels hold it."""
    include: tuple[str, ...] = ()
    """Include folders below the project folder."""
    archs: tuple[str, ...] = ()
    """Architectures of its own; empty means the variant's."""
    memory_mb: int | None = None
    """Peak memory of one compile, where the author knows it."""


@dataclass(frozen=True)
class Variant:
    """One way the project is built. Its place in the list is its preference."""

    label: str
    kind: Kind
    version: str
    """The toolkit's version (`13.0`), or the CPU level (`v3`, `8.2a`); empty for null."""
    archs: tuple[str, ...]
    requires: tuple[str, ...]
    platforms: tuple[str, ...]
    """Glob patterns that narrow the matrix's platforms; empty means all its kind can have."""
    channels: tuple[str, ...]
    min_driver: str | None
    where: str
    """`file:line:column`, for messages."""


@dataclass(frozen=True)
class Matrix:
    """A whole matrix.yaml."""

    source: str
    """The file's name, for messages."""
    project: str
    """The project's folder, relative to the file."""
    torch: str
    """TORCH_TARGET_VERSION as `2.10`: the oldest torch the wheels run on."""
    pythons: tuple[str, ...]
    platforms: tuple[str, ...]
    plain: str
    """The label whose bytes the plain wheel has, or NO_PLAIN."""
    sdist: bool
    generate: tuple[str, ...]
    """A command that writes sources before planning; empty for none."""
    libraries: Mapping[str, Library]
    variants: tuple[Variant, ...]

"""The file name of a wheel, with or without a variant label (PEP 427, PEP 825)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from polywheel_variants.errors import BadInputError

NULL_LABEL = "null"
"""The label reserved for the variant without properties (PEP 825, "Variant label")."""

_LONGEST = 255
"""Of a file name, in bytes, on every common file system; a wheel's name is ASCII."""
_LABEL = re.compile(r"[0-9a-z_.]+")
_DISTRIBUTION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._]*[A-Za-z0-9])?")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!]*")
_BUILD = re.compile(r"[0-9][A-Za-z0-9_.]*")
_TAG = re.compile(r"[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*")


@dataclass(frozen=True, order=True)
class WheelName:
    """`{distribution}-{version}(-{build})?-{python}-{abi}-{platform}(-{label})?.whl`.

    Use `parse` for anything read from outside; the constructor trusts its caller.
    """

    distribution: str
    """As escaped in the file name: runs of `-_.` are one underscore in names polywheel writes."""
    version: str
    python: str
    """Python tags joined by dots, such as `py3` or `cp310`; the first never starts with a digit."""
    abi: str
    platform: str
    label: str | None = None
    """The variant label; None for a plain wheel."""
    build: str | None = None
    """The build tag, which starts with a digit."""

    @classmethod
    def parse(cls, filename: str) -> WheelName:
        """Read a file name.

        Six parts are ambiguous on their face; the rule that no Python tag starts with a digit decides
        whether the third is a build tag or the sixth a label.

        Raises BadInputError, naming the part that is wrong.
        """
        if len(filename) > _LONGEST:
            raise BadInputError(
                f"{filename[:40]!r}... has {len(filename)} characters; a file's name has at most {_LONGEST}"
            )
        stem = filename[: -len(".whl")]
        if not filename.endswith(".whl"):
            raise BadInputError(f"{filename!r} is no wheel: its name does not end in .whl")
        parts = stem.split("-")
        if len(parts) not in (5, 6, 7):
            raise BadInputError(
                f"{filename!r} has {len(parts)} parts between dashes; a wheel has 5, "
                "6 with a build tag or a variant label, 7 with both"
            )
        has_build = len(parts) > 5 and parts[2][:1].isdigit()
        build = parts.pop(2) if has_build else None
        label = parts.pop() if len(parts) == 6 else None
        if len(parts) != 5:
            raise BadInputError(f"{filename!r} has 7 parts, but its third, {parts[2]!r}, is no build tag")
        distribution, version, python, abi, platform = parts
        name = cls(distribution, version, python, abi, platform, label, build)
        name._require_valid(filename)
        return name

    def _require_valid(self, filename: str) -> None:
        for what, text, pattern in (
            ("distribution", self.distribution, _DISTRIBUTION),
            ("version", self.version, _VERSION),
            ("build tag", self.build, _BUILD),
            ("Python tag", self.python, _TAG),
            ("ABI tag", self.abi, _TAG),
            ("platform tag", self.platform, _TAG),
            ("variant label", self.label, _LABEL),
        ):
            if text is not None and not pattern.fullmatch(text):
                raise BadInputError(f"{filename!r}: the {what} {text!r} does not match {pattern.pattern}")
        if self.python[:1].isdigit():
            raise BadInputError(f"{filename!r}: the Python tag {self.python!r} starts with a digit")

    @property
    def filename(self) -> str:
        """The whole file name, `.whl` included."""
        return f"{self.distribution}-{self.version}-{self.cell_id}.whl"

    @property
    def cell_id(self) -> str:
        """The name after the version: what tells the wheels of one release apart."""
        parts = (self.build, self.python, self.abi, self.platform, self.label)
        return "-".join(part for part in parts if part is not None)

    @property
    def dist_info(self) -> str:
        """The name of the `.dist-info` folder inside the wheel."""
        return f"{self.distribution}-{self.version}.dist-info"

    @property
    def project(self) -> str:
        """The project's normalised name (PEP 503)."""
        return normalized_project(self.distribution)

    @property
    def tags(self) -> tuple[str, ...]:
        """Every tag the compressed tag set stands for, in the file name's own order (PEP 425)."""
        return tuple(
            f"{python}-{abi}-{platform}"
            for python in self.python.split(".")
            for abi in self.abi.split(".")
            for platform in self.platform.split(".")
        )

    def plain(self) -> WheelName:
        """Return the same wheel's name without a label."""
        return replace(self, label=None)


def is_label(text: str) -> bool:
    """Whether `text` may be a variant label (PEP 825: `^[0-9a-z_.]+$`, of any length)."""
    return _LABEL.fullmatch(text) is not None


def normalized_project(name: str) -> str:
    """Normalise a project name for an index (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def escaped_project(name: str) -> str:
    """Escape a project name for a file name (binary distribution format, "Escaping")."""
    return normalized_project(name).replace("-", "_")

"""The symbol versions a manylinux tag allows, and the tag a binary's symbol versions need.

PEP 600: a wheel tagged manylinux_X_Y works wherever glibc is X.Y or newer. So the tag itself bounds GLIBC.
What else such a system has (libstdc++, libgcc, libatomic, zlib) is a survey of distributions, kept by
auditwheel as its policies; `_LIMITS` states the facts of the policies of auditwheel 6.8.2
(https://github.com/pypa/auditwheel, manylinux-policy.json), one row where a limit rises.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polywheel_variants.errors import BadInputError

if TYPE_CHECKING:
    from polywheel_abi_check.image import Image

_TAG = re.compile(r"manylinux_([0-9]{1,4})_([0-9]{1,4})_(\w+)")
_ALIASES = {
    "manylinux1": "manylinux_2_5",
    "manylinux2010": "manylinux_2_12",
    "manylinux2014": "manylinux_2_17",
}

# Family: minor X of the first manylinux_2_X with the limit, the limit, and architectures where it differs.
_Row = tuple[int, str | None, dict[str, str | None]]
_LIMITS: dict[str, tuple[_Row, ...]] = {
    "GLIBCXX": (
        (5, "3.4.8", {}),
        (12, "3.4.13", {}),
        (17, "3.4.19", {}),
        (24, "3.4.22", {}),
        (26, "3.4.24", {"x86_64": "3.4.22"}),
        (27, "3.4.24", {}),
        (31, "3.4.28", {}),
        (34, "3.4.29", {}),
        (35, "3.4.30", {}),
        (39, "3.4.33", {"loongarch64": "3.4.32"}),
        (40, "3.4.33", {}),
    ),
    "CXXABI": (
        (5, "1.3.1", {}),
        (12, "1.3.3", {}),
        (17, "1.3.7", {}),
        (24, "1.3.10", {}),
        (26, "1.3.11", {"x86_64": "1.3.10"}),
        (27, "1.3.11", {}),
        (31, "1.3.12", {}),
        (34, "1.3.13", {}),
        (39, "1.3.15", {}),
    ),
    "GCC": (
        (5, "4.2.0", {}),
        (12, "4.3.0", {"i686": "4.5.0"}),
        (17, "4.7.0", {"i686": "4.8.0", "x86_64": "4.8.0", "ppc64": "4.8.0"}),
        (26, "7.0.0", {"x86_64": "4.8.0"}),
        (27, "7.0.0", {}),
        (34, "7.0.0", {"aarch64": "11.0"}),
        (35, "7.0.0", {"aarch64": "11.0", "i686": "12.0.0", "x86_64": "12.0.0"}),
        (39, "14.0.0", {}),
    ),
    "LIBATOMIC": ((17, "1.0", {"x86_64": None, "s390x": None}), (24, "1.2", {})),
    "ZLIB": (
        (12, "1.2.2.4", {}),
        (17, "1.2.5.2", {}),
        (26, "1.2.9", {"x86_64": "1.2.5.2", "aarch64": "1.2.5.2"}),
        (27, "1.2.9", {"aarch64": "1.2.9"}),
        (36, "1.2.9", {"i686": "1.2.12"}),
        (37, "1.2.12", {}),
    ),
}

# Versions whose names are no numbers, with the minor X of the first manylinux_2_X that has them.
_NAMED = {
    "CXXABI_TM_1": 17,
    "CXXABI_ARM_1.3.3": 17,
    "CXXABI_LDBL_1.3": 17,
    "GLIBCXX_LDBL_3.4": 17,
    "GLIBCXX_LDBL_3.4.7": 17,
    "GLIBCXX_LDBL_3.4.10": 17,
    "CXXABI_FLOAT128": 24,
    "GLIBCXX_LDBL_3.4.21": 24,
    "CXXABI_IEEE128_1.3.13": 34,
    "GLIBCXX_IEEE128_3.4.29": 34,
    "GLIBCXX_LDBL_3.4.29": 34,
    "GLIBCXX_IEEE128_3.4.30": 35,
    "GLIBC_ABI_DT_RELR": 36,
    "GLIBCXX_IEEE128_3.4.31": 39,
    "GLIBCXX_LDBL_3.4.31": 39,
}

# The first manylinux_2_X each architecture has; a libc of the architecture's own first release.
_FIRST_MINOR = {
    "i686": 5,
    "x86_64": 5,
    "aarch64": 17,
    "armv7l": 17,
    "ppc64": 17,
    "ppc64le": 17,
    "s390x": 17,
    "riscv64": 31,
    "loongarch64": 36,
}
_LAST_SURVEYED_MINOR = 41


@dataclass(frozen=True)
class ManylinuxTag:
    """A manylinux platform tag (PEP 600)."""

    major: int
    """The glibc version's first number."""
    minor: int
    architecture: str

    @classmethod
    def parse(cls, tag: str) -> ManylinuxTag:
        """Read `manylinux_2_28_x86_64` or a legacy name such as `manylinux2014_x86_64`.

        Raises BadInputError for other text, and for a glibc older than manylinux_2_5 or of another major.
        """
        name, _, architecture = tag.partition("_")
        match = _TAG.fullmatch(f"{_ALIASES[name]}_{architecture}" if name in _ALIASES else tag)
        if match is None:
            raise BadInputError(
                f"platform tag {tag!r}: expected manylinux_X_Y_ARCH, such as manylinux_2_28_x86_64"
            )
        major, minor = int(match[1]), int(match[2])
        if major != 2 or minor < min(_FIRST_MINOR.values()):
            raise BadInputError(
                f"platform tag {tag!r}: glibc {major}.{minor}, expected 2.5 or a later 2.x; mend the tag"
            )
        return cls(major, minor, match[3])

    def __str__(self) -> str:
        return f"manylinux_{self.major}_{self.minor}_{self.architecture}"


@dataclass(frozen=True)
class TooNew:
    """A symbol version that a tag's systems need not have."""

    symbols: tuple[str, ...]
    """The imported names that carry the version; empty where the library asks for it without a symbol."""
    library: str
    needed: str
    """The version, such as `GLIBC_2.29`."""
    allowed: str | None
    """The highest version of the family that the tag allows, None where it allows none."""


def allowed_versions(tag: str) -> dict[str, str]:
    """Return the highest version of each family (GLIBC, GLIBCXX, CXXABI, GCC ...) that `tag` allows.

    A family that is absent is not allowed at all. Raises BadInputError as `ManylinuxTag.parse`.
    """
    return _allowed(ManylinuxTag.parse(tag))


def too_new(image: Image, tag: str) -> tuple[TooNew, ...]:
    """Return the symbol versions `image` needs and `tag` does not allow, by library and version.

    Raises BadInputError as `ManylinuxTag.parse`.
    """
    parsed = ManylinuxTag.parse(tag)
    allowed = _allowed(parsed)
    return tuple(
        TooNew(_symbols(image, library, version), library, version, _highest(allowed, version))
        for library in sorted(image.version_needs)
        for version in sorted(image.version_needs[library], key=_sort_key)
        if not _allows(allowed, parsed, version)
    )


def needed_tag(image: Image) -> str:
    """Return the oldest manylinux tag that allows every symbol version of `image`.

    `linux_ARCH` where no manylinux tag does: private glibc symbols, musl, an architecture without policies.
    """
    versions = {version for needs in image.version_needs.values() for version in needs}
    first = _FIRST_MINOR.get(image.machine)
    musl = any(library.startswith("libc.musl-") for library in image.needed)
    if first is None or musl:
        return f"linux_{image.machine}"
    newest = max((_glibc_minor(version) for version in versions), default=0)
    for minor in range(first, max(newest, _LAST_SURVEYED_MINOR) + 1):
        tag = ManylinuxTag(2, minor, image.machine)
        allowed = _allowed(tag)
        if all(_allows(allowed, tag, version) for version in versions):
            return str(tag)
    return f"linux_{image.machine}"


def _allowed(tag: ManylinuxTag) -> dict[str, str]:
    allowed = {"GLIBC": f"{tag.major}.{tag.minor}"}
    for family, rows in _LIMITS.items():
        limit = None
        for first_minor, version, exceptions in rows:
            if tag.minor >= first_minor:
                limit = exceptions.get(tag.architecture, version)
        if limit is not None:
            allowed[family] = limit
    return allowed


def _allows(allowed: dict[str, str], tag: ManylinuxTag, version: str) -> bool:
    family, numbers = _parts(version)
    if family != "GLIBC" and family not in _LIMITS:
        return True
    if numbers is None:
        return version in _NAMED and tag.minor >= _NAMED[version]
    limit = allowed.get(family)
    return limit is not None and numbers <= _numbers(limit)


def _highest(allowed: dict[str, str], version: str) -> str | None:
    family, numbers = _parts(version)
    limit = allowed.get(family)
    return None if numbers is None or limit is None else f"{family}_{limit}"


def _symbols(image: Image, library: str, version: str) -> tuple[str, ...]:
    return tuple(s.name for s in image.imported if s.version == version and s.library == library)


def _parts(version: str) -> tuple[str, tuple[int, ...] | None]:
    """Split `GLIBC_2.29` into its family and its numbers, None where the rest is a name."""
    family, _, rest = version.partition("_")
    return family, _numbers(rest) if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})*", rest) else None


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def _glibc_minor(version: str) -> int:
    """Return Y of `GLIBC_2.Y`, 0 for other versions."""
    match = re.fullmatch(r"GLIBC_2\.([0-9]{1,3})(\.[0-9]+)*", version)
    return int(match[1]) if match else 0


def _sort_key(version: str) -> tuple[str, tuple[int, ...], str]:
    family, numbers = _parts(version)
    return family, numbers or (), version

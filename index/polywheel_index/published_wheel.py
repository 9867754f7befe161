"""A wheel as an index publishes it: checked against its own name, hashed, its metadata taken out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.metadata import parse_email
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from polywheel_variants.archive import WheelArchive
from polywheel_variants.errors import BadInputError
from polywheel_variants.metadata import VariantMetadata
from polywheel_variants.wheel_name import WheelName, escaped_project, normalized_project

_BLOCK = 1024 * 1024


@dataclass(frozen=True)
class PublishedWheel:
    """One wheel of a site."""

    path: Path
    """Where its bytes are now."""
    name: WheelName
    version: Version
    sha256: str
    size: int
    """In bytes."""
    metadata: bytes
    """METADATA as the wheel holds it (PEP 658)."""
    requires_python: str | None
    variant: VariantMetadata | None
    """What variant.json states; None for a wheel without a label."""

    @property
    def project(self) -> str:
        """The project's normalised name."""
        return self.name.project

    @classmethod
    def read(cls, path: Path) -> PublishedWheel:
        """Read and check one file.

        Raises BadInputError, naming the file, for what is no wheel, or not the same one for every reader;
        for a METADATA whose name or version is not the file name's; and for a label that variant.json does
        not state.
        """
        with WheelArchive(path) as archive:
            name, metadata = archive.name, archive.metadata()
            variant = archive.variant() if name.label is not None else None
            version, requires_python = _agreeing(path, name, metadata)
            _require_providers(path, variant)
            archive.require_sound()
        sha256, size = hash_file(path)
        return cls(path, name, version, sha256, size, metadata, requires_python, variant)


def _agreeing(path: Path, name: WheelName, metadata: bytes) -> tuple[Version, str | None]:
    """Return METADATA's version and Requires-Python, once its name and version are the file name's."""
    raw, _ = parse_email(metadata)
    stated_name, stated_version = raw.get("name", ""), raw.get("version", "")
    if normalized_project(stated_name) != name.project:
        raise BadInputError(
            f"{path}: METADATA's Name is {stated_name!r}, the file name says {name.distribution!r}"
        )
    try:
        version, named = Version(stated_version), Version(name.version)
    except ValueError as error:
        raise BadInputError(f"{path}: METADATA or the file name states no version: {error}") from None
    if version != named:
        raise BadInputError(
            f"{path}: METADATA's Version is {stated_version!r}, the file name says {name.version!r}"
        )
    requires_python = raw.get("requires_python")
    try:
        SpecifierSet(requires_python or "")
    except InvalidSpecifier:
        raise BadInputError(f"{path}: METADATA's Requires-Python {requires_python!r} is malformed") from None
    return version, requires_python


def _require_providers(path: Path, variant: VariantMetadata | None) -> None:
    """Refuse a variant.json in the older form without providers: no released client can resolve it."""
    if variant is not None and set(variant.providers) != set(variant.namespaces):
        raise BadInputError(
            f"{path}: variant.json names no providers (PEP 850), so no installer could choose it; "
            "build it again with polywheel"
        )


def hash_file(path: Path) -> tuple[str, int]:
    """Return a file's sha256 in hexadecimal and its size in bytes, in constant memory."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
            size += len(block)
    return digest.hexdigest(), size


def find_wheels(places: Iterable[Path]) -> tuple[Path, ...]:
    """List the wheels named, and those in the folders named (not below them), in the order given.

    Raises BadInputError for a place that is not there and for a folder without a wheel. A file that is
    named and is no wheel stays in the list, for `PublishedWheel.read` to refuse.
    """
    found: list[Path] = []
    for place in places:
        if not place.exists():
            raise BadInputError(f"{place}: no such file or folder")
        inside = sorted(place.glob("*.whl")) if place.is_dir() else [place]
        if not inside:
            raise BadInputError(f"{place}: holds no wheel; `polywheel build` writes wheels to dist/")
        found += inside
    return tuple(found)


def read_wheels(paths: Iterable[Path]) -> tuple[PublishedWheel, ...]:
    """Read every wheel, sorted by project, version and file name; the same file twice counts once.

    Raises BadInputError for two files of one name with different bytes, and as PublishedWheel.read does.
    """
    by_name: dict[str, PublishedWheel] = {}
    for path in paths:
        wheel = PublishedWheel.read(path)
        other = by_name.setdefault(wheel.name.filename, wheel)
        if other.sha256 != wheel.sha256:
            raise BadInputError(f"{path}: another file of this name, {other.path}, has other bytes")
    return tuple(sorted(by_name.values(), key=lambda one: (one.project, one.version, one.name.filename)))


def merged_variants(wheels: Sequence[PublishedWheel]) -> VariantMetadata | None:
    """Join the variant metadata of one release's wheels; None when none has a label.

    Raises BadInputError, naming the file, where PEP 825's consistency is broken: one label with two
    property sets, namespaces in two orders, two providers for one namespace.
    """
    merged: VariantMetadata | None = None
    for wheel in wheels:
        if wheel.variant is not None:
            merged = wheel.variant if merged is None else merged.merge(wheel.variant, source=str(wheel.path))
    return merged


def variants_filename(project: str, version: Version) -> str:
    """Return the name an index lists a release's variant metadata by (PEP 825, "Index-level metadata")."""
    return f"{escaped_project(project)}-{version}-variants.json"

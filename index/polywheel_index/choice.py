"""Which wheel of a project a machine gets, and why each other one is refused. Pure.

The order is PEP 825's: the highest version that has a compatible wheel; in it the best variant, the null
variant after all others, the plain wheel after null; within one label the best platform tag, then the
highest build.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from polywheel_index.simple import IndexedFile
from polywheel_variants.errors import BadInputError
from polywheel_variants.metadata import PluginProvider, VariantMetadata
from polywheel_variants.ordering import (
    Serves,
    Supported,
    Verdict,
    lists_decide,
    order,
    with_static_properties,
)
from polywheel_variants.property import Properties
from polywheel_variants.wheel_name import NULL_LABEL, WheelName

_VARIANTS = re.compile(r".+-(?P<version>[^-]+)-variants\.json")
_SDIST = re.compile(r".+-(?P<version>[^-]+)\.(?:tar\.gz|zip)")


@dataclass(frozen=True)
class Target:
    """What a wheel is chosen for."""

    tags: Sequence[str]
    """Every tag that is taken, best first."""
    python: Version
    supported: Supported
    """What the machine offers to each variant namespace."""
    serves: Serves = lists_decide
    """What a provider says of GPU code, where lists cannot."""

    @cached_property
    def ranks(self) -> Mapping[str, int]:
        """Tag -> its place, 0 for the best."""
        return {tag: place for place, tag in reversed(list(enumerate(self.tags)))}

    @cached_property
    def platforms(self) -> tuple[str, ...]:
        """The platform tags, best first."""
        return tuple(dict.fromkeys(tag.split("-", 2)[2] for tag in self.tags))


@dataclass(frozen=True)
class Unreadable:
    """Why a release's variant metadata cannot be used."""

    reason: str


VariantsOf = Callable[[Version], "VariantMetadata | Unreadable"]
"""Version -> what its `-variants.json` says."""


@dataclass(frozen=True)
class Candidate:
    """One wheel that an index lists."""

    file: IndexedFile
    name: WheelName
    version: Version

    @property
    def kind(self) -> str:
        """`plain`, `null` or `variant`."""
        return "plain" if self.name.label is None else "null" if self.name.label == NULL_LABEL else "variant"

    @property
    def build(self) -> tuple[int, str]:
        """The build tag, to be compared: the number first (binary distribution format)."""
        match = re.match(r"\d+", self.name.build or "")
        return (int(match[0]), (self.name.build or "")[match.end() :]) if match else (-1, "")


@dataclass(frozen=True)
class Chosen:
    """The wheel that is taken."""

    candidate: Candidate
    properties: Properties
    """Of its label; empty for the null variant and the plain wheel."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {
            "filename": self.candidate.file.filename,
            "kind": self.candidate.kind,
            "label": self.candidate.name.label,
            "url": self.candidate.file.url,
            "properties": {
                namespace: {feature: list(values) for feature, values in features.items()}
                for namespace, features in self.properties.items()
            },
        }


@dataclass(frozen=True)
class Rejected:
    """A wheel that cannot be taken."""

    filename: str
    kind: str
    label: str | None
    code: str
    """`filename`, `specifier`, `prerelease`, `yanked`, `requires-python`, `platform`, `python`,
    `metadata`, `label` or `property`."""
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {
            "filename": self.filename,
            "kind": self.kind,
            "label": self.label,
            "code": self.code,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Choice:
    """The answer. It does not depend on the order in which the index lists its files."""

    chosen: Chosen | None
    ranking: tuple[str | None, ...]
    """The compatible labels of the chosen version, best first; None is the plain wheel."""
    rejected: tuple[Rejected, ...]
    """Of the chosen version and those above it that were asked for; of every version when none is chosen."""
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of `polywheel select --json`."""
        return {
            "schema": "polywheel/select/1",
            "chosen": self.chosen.to_json() if self.chosen else None,
            "ranking": list(self.ranking),
            "rejected": [one.to_json() for one in self.rejected],
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True)
class Listing:
    """A project's files, sorted by what they are."""

    wheels: Mapping[Version, tuple[Candidate, ...]]
    variants: Mapping[Version, IndexedFile]
    """Version -> the listed `-variants.json`."""
    sdists: frozenset[Version]
    unnamed: tuple[Rejected, ...]
    """Wheels whose file names make no sense."""

    @classmethod
    def of(cls, files: Iterable[IndexedFile]) -> Listing:
        """Sort files; a file listed twice counts once."""
        wheels: dict[Version, list[Candidate]] = {}
        variants: dict[Version, IndexedFile] = {}
        sdists: set[Version] = set()
        unnamed: list[Rejected] = []
        unique = {file.filename: file for file in sorted(files, key=lambda one: (one.filename, one.url))}
        for file in unique.values():
            if file.filename.endswith(".whl"):
                candidate = _candidate(file)
                if isinstance(candidate, Rejected):
                    unnamed.append(candidate)
                else:
                    wheels.setdefault(candidate.version, []).append(candidate)
            elif (version := _version(_VARIANTS, file.filename)) is not None:
                variants.setdefault(version, file)
            elif (version := _version(_SDIST, file.filename)) is not None:
                sdists.add(version)
        return cls(
            {version: tuple(found) for version, found in wheels.items()},
            variants,
            frozenset(sdists),
            tuple(unnamed),
        )


def _candidate(file: IndexedFile) -> Candidate | Rejected:
    try:
        name = WheelName.parse(file.filename)
        return Candidate(file, name, Version(name.version))
    except (BadInputError, ValueError) as error:
        return Rejected(file.filename, "plain", None, "filename", str(error))


def _version(pattern: re.Pattern[str], filename: str) -> Version | None:
    match = pattern.fullmatch(filename)
    try:
        return Version(match["version"]) if match else None
    except ValueError:  # InvalidVersion is one; so is a number of thousands of digits
        return None


def choose(listing: Listing, specifier: SpecifierSet, target: Target, variants_of: VariantsOf) -> Choice:
    """Choose among a project's files.

    `variants_of` is asked only for versions that have a labelled wheel for these tags. Pre-releases and
    yanked files follow PEP 440 and PEP 592: the first only where the specifier asks for them or nothing
    else is there, the second only where it pins one version.
    """
    allowed = set(specifier.filter(listing.wheels))
    rejected = list(listing.unnamed)
    unasked: list[Rejected] = []
    warnings: list[str] = []
    for version in sorted(listing.wheels.keys() | listing.sdists, reverse=True):
        candidates = listing.wheels.get(version, ())
        if not specifier.contains(version, prereleases=True):
            unasked += (_rejection(one, "specifier", f"{version} is not {specifier}") for one in candidates)
            continue
        if candidates and version not in allowed:
            reason = f"{version} is a pre-release, which nobody asked for"
            rejected += (_rejection(one, "prerelease", reason) for one in candidates)
            continue
        found = _Release(version, target, is_pinned(specifier), variants_of).choose(candidates)
        rejected += found.rejected
        warnings += found.warnings
        if found.chosen is not None:
            return Choice(found.chosen, found.ranking, tuple(rejected), tuple(warnings))
        if version in listing.sdists and not version.is_prerelease:
            warnings.append(
                f"{version} has a source distribution and no wheel that fits: pip and uv would build it"
            )
    return Choice(None, (), (*rejected, *unasked), tuple(warnings))


def is_pinned(specifier: SpecifierSet) -> bool:
    """Whether a specifier names exactly one version (PEP 592: only then may a yanked file be taken)."""
    return any(one.operator in {"==", "==="} and not one.version.endswith(".*") for one in specifier)


def _rejection(candidate: Candidate, code: str, reason: str) -> Rejected:
    return Rejected(candidate.file.filename, candidate.kind, candidate.name.label, code, reason)


@dataclass(frozen=True)
class _Release:
    """One version's files against one target."""

    version: Version
    target: Target
    pinned: bool
    variants_of: VariantsOf

    def choose(self, candidates: Iterable[Candidate]) -> Choice:
        rejected: list[Rejected] = []
        fitting: list[Candidate] = []
        for candidate in candidates:
            refusal = self._refusal(candidate)
            if refusal is None:
                fitting.append(candidate)
            else:
                rejected.append(refusal)
        metadata, warnings = self._metadata(fitting)
        labels, refusals = self._rank(fitting, metadata)
        rejected += refusals
        ranking: list[str | None] = list(labels)
        if any(candidate.name.label is None for candidate in fitting):
            ranking.append(None)
        chosen = self._best(fitting, ranking, metadata)
        if chosen is not None and chosen.candidate.file.yanked is not None:
            warnings.append(_yank(chosen.candidate))
        return Choice(
            chosen, tuple(ranking), tuple(sorted(rejected, key=lambda one: one.filename)), tuple(warnings)
        )

    def _refusal(self, candidate: Candidate) -> Rejected | None:
        """Say why no machine with this Python and platform takes the file, whatever its variant."""
        if candidate.file.yanked is not None and not self.pinned:
            return _rejection(candidate, "yanked", _yank(candidate))
        wanted = candidate.file.requires_python
        if wanted is not None and not _takes_python(wanted, self.target.python):
            return _rejection(
                candidate, "requires-python", f"needs Python {wanted}, this one is {self.target.python}"
            )
        if self._tag_rank(candidate) is None:
            return self._tag_refusal(candidate)
        return None

    def _tag_rank(self, candidate: Candidate) -> int | None:
        ranks = self.target.ranks
        return min((ranks[tag] for tag in candidate.name.tags if tag in ranks), default=None)

    def _tag_refusal(self, candidate: Candidate) -> Rejected:
        name = candidate.name
        if set(name.platform.split(".")).isdisjoint(self.target.platforms):
            best, *older = self.target.platforms
            return _rejection(
                candidate,
                "platform",
                f"is for {name.platform}, here {best}{' or older' if older else ''} fits",
            )
        own = self.target.tags[0].rpartition("-")[0]
        return _rejection(
            candidate, "python", f"is for Python {name.python} with ABI {name.abi}, this one is {own}"
        )

    def _metadata(self, fitting: Iterable[Candidate]) -> tuple[VariantMetadata | Unreadable, list[str]]:
        if all(candidate.name.label is None for candidate in fitting):
            return Unreadable(""), []
        metadata = self.variants_of(self.version)
        return metadata, [metadata.reason] if isinstance(metadata, Unreadable) else []

    def _rank(
        self, fitting: Sequence[Candidate], metadata: VariantMetadata | Unreadable
    ) -> tuple[tuple[str, ...], list[Rejected]]:
        """Order the labels the machine can take, and refuse the other variants."""
        labelled = [candidate for candidate in fitting if candidate.name.label is not None]
        if isinstance(metadata, Unreadable):
            return (), [_rejection(candidate, "metadata", metadata.reason) for candidate in labelled]
        labels = (candidate.name.label or "" for candidate in labelled)
        supported = with_static_properties(self.target.supported, metadata)
        found = order(metadata, supported, labels, self._serves(metadata))
        refused = []
        for candidate in labelled:
            label = candidate.name.label or ""
            if label in found.missing:
                refused.append(_rejection(candidate, "property", str(found.missing[label])))
            elif label not in metadata.variants:
                reason = f"the release's variants.json does not list the label {label!r}"
                refused.append(_rejection(candidate, "label", reason))
        return found.ranking, refused

    def _serves(self, metadata: VariantMetadata) -> Serves:
        """Ask the machine's provider only for a namespace that the metadata leaves to one."""

        def serves(namespace: str, feature: str, wanted: Sequence[str]) -> Verdict | None:
            provider = metadata.providers.get(namespace)
            if not isinstance(provider, PluginProvider) or provider.optional:
                return None
            return self.target.serves(namespace, feature, wanted)

        return serves

    def _best(
        self,
        fitting: Iterable[Candidate],
        ranking: Sequence[str | None],
        metadata: VariantMetadata | Unreadable,
    ) -> Chosen | None:
        if not ranking:
            return None
        label = ranking[0]
        same = [candidate for candidate in fitting if candidate.name.label == label]
        # min() keeps the first of equals, and candidates come sorted by file name.
        best = min(same, key=lambda one: (self._tag_rank(one) or 0, -one.build[0], _descending(one.build[1])))
        if label is None or isinstance(metadata, Unreadable):
            return Chosen(best, {})
        return Chosen(best, metadata.variants[label])


def _descending(text: str) -> tuple[int, ...]:
    """Turn a text into a key that sorts the other way."""
    return (*(-ord(letter) for letter in text), 1)


def _takes_python(specifier: str, python: Version) -> bool:
    """Whether a Requires-Python admits a Python; a malformed one admits none."""
    try:
        return SpecifierSet(specifier).contains(python, prereleases=True)
    except InvalidSpecifier:
        return False


def _yank(candidate: Candidate) -> str:
    reason = candidate.file.yanked
    return f"{candidate.version} was yanked" + (f": {' '.join(reason.split())}" if reason else "")

"""Ask an index, then choose: the effects round `choice`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from packaging.requirements import Requirement
from packaging.version import Version

from polywheel_index.choice import Choice, Listing, Target, Unreadable, choose
from polywheel_index.http_client import HttpClient
from polywheel_index.location import Index, NotThereError, open_index
from polywheel_index.simple import IndexedFile
from polywheel_variants.errors import BadInputError
from polywheel_variants.metadata import VariantMetadata
from polywheel_variants.ordering import Serves, Supported, Verdict

_LARGEST_METADATA = 16 * 1024 * 1024


def select(requirement: str, location: str, target: Target) -> Choice:
    """Choose the wheel of a requirement from an index.

    `location` is a URL, a site's folder or a flat folder of wheels. Raises BadInputError for a
    requirement or an index that is none, MissingError when the index cannot be read.
    """
    wanted = parse_requirement(requirement)
    with HttpClient() as client:
        index = open_index(location, client)
        page = index.project(wanted.name)
        if page is None:
            return Choice(None, (), (), (_missing(wanted.name),))
        listing = Listing.of(page.files)
        variants = _Variants(index, listing)
        choice = choose(listing, wanted.specifier, target, variants.of)
    return Choice(choice.chosen, choice.ranking, choice.rejected, (*page.problems, *choice.warnings))


def _missing(project: str) -> str:
    return (
        f"the index has no project named {project}; check the name, and the index's address, "
        "which ends in /simple as a rule"
    )


def parse_requirement(text: str) -> Requirement:
    """Read a requirement by name and version. Raises BadInputError for one by URL or with a marker."""
    try:
        requirement = Requirement(text)
        requirement.specifier.contains("0")  # packaging reads a version no sooner than it is compared
    except ValueError as error:  # InvalidRequirement is one; so is a version of thousands of digits
        message = str(error).partition("\n")[0]  # packaging's next lines point into the text from below
        raise BadInputError(
            f"requirement {text!r}: {message}; expected one such as demo, demo==1.2 or 'demo>=1,<2'"
        ) from None
    if requirement.url is not None or requirement.marker is not None:
        raise BadInputError(
            f"requirement {text!r}: expected a name and versions, such as 'demo>=1.2', without URL or marker"
        )
    return requirement


@dataclass(frozen=True)
class _Variants:
    """Reads a release's variant metadata when the choice asks for it."""

    index: Index
    listing: Listing

    def of(self, version: Version) -> VariantMetadata | Unreadable:
        file = self.listing.variants.get(version)
        if file is None:
            return Unreadable(
                f"the index lists no variants.json for {version}, so installers ignore its variants; "
                "`polywheel index` writes one"
            )
        try:
            data = self.index.read(file.url, _LARGEST_METADATA)
            _require_hash(file, data)
            return VariantMetadata.parse(data, source=file.filename)
        except (BadInputError, NotThereError) as error:
            return Unreadable(f"{error}; released uv refuses all of {version} for it")


def _require_hash(file: IndexedFile, data: bytes) -> None:
    stated = file.hashes.get("sha256")
    if stated is not None and stated != hashlib.sha256(data).hexdigest():
        raise BadInputError(f"{file.filename}: its sha256 is not what the index states")


def all_serve(machines: Sequence[Serves]) -> Serves:
    """Return one answer for machines that share an environment: the first no, else what all agree on.

    Where a machine has no verdict of its own, the lists decide, and `common` holds what it lacks.
    """

    def serves(namespace: str, feature: str, wanted: Sequence[str]) -> Verdict | None:
        verdicts = [machine(namespace, feature, wanted) for machine in machines]
        refusal = next((one for one in verdicts if one is not None and not one.yes), None)
        return refusal or (None if None in verdicts else verdicts[0])

    return serves


def common(machines: Sequence[Supported]) -> Supported:
    """Return what every one of the machines supports, in the first one's order of preference."""
    first, *others = machines
    shared: dict[str, dict[str, tuple[str, ...]]] = {}
    for namespace, features in first.items():
        for feature, values in features.items():
            kept = tuple(
                value
                for value in values
                if all(value in other.get(namespace, {}).get(feature, ()) for other in others)
            )
            if kept:
                shared.setdefault(namespace, {})[feature] = kept
    return shared

"""Which variants a machine can take, and in which order (PEP 825, "Variant ordering").

A variant is compatible when every feature it lists has at least one supported value. Compatible
variants are compared by the places of their best values in the publisher's namespace list, the
provider's feature list and the provider's value list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from polywheel_variants.metadata import StaticProvider, VariantMetadata
from polywheel_variants.property import Properties
from polywheel_variants.wheel_name import NULL_LABEL

Supported = Mapping[str, Mapping[str, Sequence[str]]]
"""namespace -> feature -> values, features and values in order of preference, best first."""

Key = tuple[tuple[float, ...], ...]


class Verdict(Protocol):
    """Whether code for some values serves a machine."""

    @property
    def yes(self) -> bool:
        """Every device it must serve is served."""

    @property
    def why(self) -> str:
        """One sentence; for a no, what is not served."""


Serves = Callable[[str, str, Sequence[str]], "Verdict | None"]
"""(namespace, feature, wanted values) -> a provider's own verdict; None where the lists decide.

A list cannot say that code of an older architecture runs here by way of PTX, nor that two values together
serve two kinds of device.
"""


def lists_decide(namespace: str, feature: str, wanted: Sequence[str]) -> None:
    """Leave every decision to the lists, as PEP 825 does."""
    del namespace, feature, wanted


@dataclass(frozen=True)
class Missing:
    """Why a machine cannot take a variant: the feature it lacks every wanted value of."""

    namespace: str
    feature: str
    wanted: tuple[str, ...]
    supported: tuple[str, ...]
    """What the machine offers for that feature; empty when it offers nothing."""
    why: str = ""
    """The provider's own words, where it gave a verdict."""

    def __str__(self) -> str:
        if self.why:
            return self.why
        have = ", ".join(self.supported[:6]) + (", ..." if len(self.supported) > 6 else "")
        return (
            f"needs {self.namespace} :: {self.feature} :: {' or '.join(self.wanted)}, "
            f"this machine has {have or 'none'}"
        )


@dataclass(frozen=True)
class Order:
    """The compatible labels, best first, and for each other label what it lacks."""

    ranking: tuple[str, ...]
    missing: Mapping[str, Missing]


def with_static_properties(supported: Supported, metadata: VariantMetadata) -> Supported:
    """Replace what the machine says by what the metadata states for its static namespaces.

    The order of decision is PEP 850's: static properties in the metadata come before any provider.
    An optional provider stays off, since nobody enabled it.
    """
    merged: dict[str, Mapping[str, Sequence[str]]] = {
        namespace: features
        for namespace, features in supported.items()
        if not _is_disabled(metadata, namespace)
    }
    for namespace, provider in metadata.providers.items():
        if isinstance(provider, StaticProvider) and not provider.optional:
            merged[namespace] = {feature: provider.values[feature] for feature in provider.feature_order}
    return merged


def _is_disabled(metadata: VariantMetadata, namespace: str) -> bool:
    provider = metadata.providers.get(namespace)
    return provider is not None and provider.optional


def order(
    metadata: VariantMetadata, supported: Supported, labels: Iterable[str], serves: Serves = lists_decide
) -> Order:
    """Sort the labels that have wheels: the null variant last, ties by label.

    `supported` already holds the static namespaces (`with_static_properties`). Where `serves` gives a
    verdict, it decides instead of list membership, and values that only it accepts rank after all listed
    ones. A label the metadata does not list is left out of both results: PEP 825 drops such a wheel.
    """
    keyed: list[tuple[Key, str]] = []
    missing: dict[str, Missing] = {}
    for label in dict.fromkeys(labels):
        properties = metadata.variants.get(label)
        if properties is None:
            continue
        lack = first_missing(properties, supported, serves)
        if lack is None:
            keyed.append((_key(properties, metadata.namespaces, supported), label))
        else:
            missing[label] = lack
    keyed.sort(key=lambda pair: (pair[1] == NULL_LABEL, pair[0], pair[1]))
    return Order(tuple(label for _, label in keyed), missing)


def first_missing(
    properties: Properties, supported: Supported, serves: Serves = lists_decide
) -> Missing | None:
    """Return the first feature no wanted value of which is supported, or None when all are."""
    for namespace, features in properties.items():
        for feature, wanted in features.items():
            offered = tuple(supported.get(namespace, {}).get(feature, ()))
            verdict = serves(namespace, feature, wanted)
            if verdict is not None and not verdict.yes:
                return Missing(namespace, feature, wanted, offered, verdict.why)
            if verdict is None and not set(wanted).intersection(offered):
                return Missing(namespace, feature, wanted, offered)
    return None


def _key(properties: Properties, namespaces: Sequence[str], supported: Supported) -> Key:
    """Build the sort key of one compatible variant; the closing infinity lets a longer list win."""
    places = [
        (
            _place(namespace, namespaces),
            _place(feature, list(supported.get(namespace, {}))),
            min(_place(value, supported.get(namespace, {}).get(feature, ())) for value in wanted),
        )
        for namespace, features in properties.items()
        for feature, wanted in features.items()
    ]
    return (*sorted(places), (float("inf"),))


def _place(wanted: str, listed: Sequence[str]) -> int:
    """Return the place in a list; what a list does not hold comes after all it holds."""
    return listed.index(wanted) if wanted in listed else len(listed)

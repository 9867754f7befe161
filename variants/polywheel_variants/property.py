"""Variant properties: `namespace :: feature :: value` (PEP 825, "Variant properties")."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from polywheel_variants.errors import BadInputError

NAME = re.compile(r"[a-z0-9_]+")
"""What a namespace and a feature look like."""
VALUE = re.compile(r"[a-z0-9_.]+")
"""What a value looks like."""

Properties = Mapping[str, Mapping[str, tuple[str, ...]]]
"""namespace -> feature -> values, sorted: one variant needs one value of every feature."""


@dataclass(frozen=True, order=True)
class Property:
    """One namespace, feature and value."""

    namespace: str
    feature: str
    value: str

    @classmethod
    def parse(cls, text: str) -> Property:
        """Read `namespace :: feature :: value`; blanks round `::` do not count.

        Raises BadInputError, naming the part that is wrong.
        """
        parts = [part.strip() for part in text.split("::")]
        if len(parts) != 3:
            raise BadInputError(f"property {text!r}: expected 'namespace :: feature :: value'")
        for what, part, pattern in zip(
            ("namespace", "feature", "value"), parts, (NAME, NAME, VALUE), strict=True
        ):
            if not pattern.fullmatch(part):
                raise BadInputError(f"property {text!r}: {what} {part!r} does not match {pattern.pattern}")
        return cls(*parts)

    def __str__(self) -> str:
        return f"{self.namespace} :: {self.feature} :: {self.value}"


def group(properties: Iterable[Property]) -> Properties:
    """Gather properties by namespace and feature; duplicates fold, everything is sorted."""
    grouped: dict[str, dict[str, set[str]]] = {}
    for one in properties:
        grouped.setdefault(one.namespace, {}).setdefault(one.feature, set()).add(one.value)
    return MappingProxyType(
        {
            namespace: MappingProxyType(
                {feature: tuple(sorted(values)) for feature, values in sorted(features.items())}
            )
            for namespace, features in sorted(grouped.items())
        }
    )


def flatten(properties: Properties) -> tuple[Property, ...]:
    """List every property of a variant, sorted."""
    return tuple(
        sorted(
            Property(namespace, feature, value)
            for namespace, features in properties.items()
            for feature, values in features.items()
            for value in values
        )
    )

"""A variant's properties, derived from what it is made for and its place in the matrix."""

from __future__ import annotations

from polywheel_builder.matrix import Matrix, Variant
from polywheel_builder.matrix_file import is_x86_level
from polywheel_variants.errors import BadInputError
from polywheel_variants.known_providers import MAX_VARIANTS, NAMESPACES, PRIORITY, PROVIDERS
from polywheel_variants.metadata import VariantMetadata
from polywheel_variants.property import Properties, Property, group

BUILT_KINDS = ("null", "cpu")
"""The kinds of variant that this version has a compiler for."""


def properties_of(matrix: Matrix, variant: Variant) -> Properties:
    """Return the properties of a variant.

    Every variant but null states its place in the matrix as `priority :: order :: N`, which the
    metadata's first namespace ranks, so the author's order decides between two that fit.

    Raises BadInputError for a variant this version cannot build.
    """
    if variant.kind == "null":
        return {}
    place = matrix.variants.index(variant) + 1
    if place > MAX_VARIANTS:
        raise BadInputError(f"{variant.where}: variant number {place}; a matrix has at most {MAX_VARIANTS}")
    return group([Property(PRIORITY, "order", str(place)), _capability(variant)])


def _capability(variant: Variant) -> Property:
    if variant.kind != "cpu" or not is_x86_level(variant.version):
        raise BadInputError(
            f"{variant.where}: variant {variant.label!r} is of kind {variant.kind} {variant.version}, "
            "which no compiler of this version builds; it builds: cpu v2, v3, v4, and null"
        )
    if variant.version == "v1":
        raise BadInputError(
            f"{variant.where}: level v1 is every x86-64 machine, as null is; write {{name: null}}"
        )
    return Property("x86_64", "level", variant.version)


def variant_metadata(label: str, properties: Properties) -> VariantMetadata:
    """Return what a wheel's variant.json states: all namespaces and providers, and its own variant."""
    return VariantMetadata(NAMESPACES, PROVIDERS, {label: properties})

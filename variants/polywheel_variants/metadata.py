"""Variant metadata: `variant.json` in a wheel and `{name}-{version}-variants.json` on an index.

Readers take PEP 825 v0.1.x (no providers) and PEP 850 v0.2.x; the writer emits PEP 850 v0.2.0, which
released uv accepts. Provider names found here are data: nothing they name is ever installed or run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from polywheel_variants.errors import BadInputError
from polywheel_variants.property import NAME, VALUE, Properties, Property, group
from polywheel_variants.wheel_name import NULL_LABEL, is_label

SCHEMA = "https://variants-schema.wheelnext.dev/peps/850/v0.2.0.json"
"""The schema that written files declare."""

SCHEMA_WITHOUT_PROVIDERS = "https://variants-schema.wheelnext.dev/peps/825/v0.1.1.json"
"""The schema of files that name no providers, as PEP 825 alone has them."""

_SCHEMA_MAJOR = re.compile(r"/v(\d+)\.\d+\.\d+\.json$")
_MAX_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True)
class StaticProvider:
    """A namespace whose supported values the metadata itself states (PEP 850, `static-properties`)."""

    values: Mapping[str, tuple[str, ...]]
    """feature -> values, best first."""
    feature_order: tuple[str, ...]
    optional: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object; `feature-order` is written only where it decides something."""
        out: dict[str, Any] = {"static-properties": {name: list(v) for name, v in self.values.items()}}
        if len(self.values) > 1:
            out["feature-order"] = list(self.feature_order)
        return _with_optional(out, self.optional)


@dataclass(frozen=True)
class PluginProvider:
    """A namespace that a provider plugin speaks for (PEP 850). The names are data, never run."""

    requires: tuple[str, ...]
    """PEP 508 requirements of the plugin."""
    plugin_api: str | None = None
    """`module:attribute`; None means the module named after the first requirement."""
    optional: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        out: dict[str, Any] = {"requires": list(self.requires)}
        if self.plugin_api is not None:
            out["plugin-api"] = self.plugin_api
        return _with_optional(out, self.optional)


@dataclass(frozen=True)
class BuiltinProvider:
    """A namespace the installer itself answers, such as `abi_dependency` (PEP 850)."""

    builtin: str
    optional: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return _with_optional({"builtin": self.builtin}, self.optional)


Provider = StaticProvider | PluginProvider | BuiltinProvider


def _with_optional(out: dict[str, Any], optional: bool) -> dict[str, Any]:
    return out | {"optional": True} if optional else out


@dataclass(frozen=True)
class VariantMetadata:
    """The variants of one release, or the one variant of a wheel."""

    namespaces: tuple[str, ...]
    """`default-priorities.namespace`: best first."""
    providers: Mapping[str, Provider]
    """namespace -> provider; empty for a PEP 825 file."""
    variants: Mapping[str, Properties] = field(default_factory=dict)
    """label -> properties; the null variant's are empty."""

    @classmethod
    def parse(cls, data: bytes, *, source: str) -> VariantMetadata:
        """Read a file.

        Raises BadInputError, naming `source` and the key, for JSON that is malformed, too large, of an
        unknown major version or inconsistent with itself.
        """
        return _Reader(source).metadata(_load(data, source))

    def to_json(self) -> bytes:
        """Serialise for a wheel or an index: the same metadata gives the same bytes."""
        providers = {
            name: self.providers[name].to_json() for name in self.namespaces if name in self.providers
        }
        document = {
            "$schema": SCHEMA if providers else SCHEMA_WITHOUT_PROVIDERS,
            "default-priorities": {"namespace": list(self.namespaces)},
            **({"providers": providers} if providers else {}),
            "variants": {
                label: {
                    namespace: {feature: sorted(values) for feature, values in sorted(features.items())}
                    for namespace, features in sorted(properties.items())
                }
                for label, properties in sorted(self.variants.items())
            },
        }
        return (json.dumps(document, indent=2, ensure_ascii=True) + "\n").encode()

    def merge(self, other: VariantMetadata, *, source: str) -> VariantMetadata:
        """Join the metadata of two wheels of one release (PEP 825, "Metadata consistency").

        One namespace list must begin with the other; a namespace has one provider; a label has one set
        of properties. Raises BadInputError, naming `source` and the disagreement.
        """
        longer, shorter = sorted((self.namespaces, other.namespaces), key=len, reverse=True)
        if longer[: len(shorter)] != shorter:
            raise BadInputError(
                f"{source}: namespace priorities {list(other.namespaces)} and {list(self.namespaces)} "
                "disagree; one must begin with the other in every wheel of a release"
            )
        if bool(self.providers) != bool(other.providers):
            raise BadInputError(
                f"{source}: some wheels of the release name providers (PEP 850) and some do not (PEP 825)"
            )
        return VariantMetadata(
            longer,
            _union("provider of namespace", self.providers, other.providers, source),
            _union("properties of label", self.variants, other.variants, source),
        )


def _union(what: str, one: Mapping[str, Any], other: Mapping[str, Any], source: str) -> dict[str, Any]:
    for key in one.keys() & other.keys():
        if one[key] != other[key]:
            raise BadInputError(
                f"{source}: the {what} {key!r} is not what the release's other wheels say; "
                "one release has one meaning for each"
            )
    return {**one, **other}


def _load(data: bytes, source: str) -> Any:
    if len(data) > _MAX_BYTES:
        raise BadInputError(f"{source}: {len(data)} bytes of variant metadata; the limit is {_MAX_BYTES}")
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=lambda pairs: _object(pairs, source))
    except UnicodeDecodeError as error:
        raise BadInputError(f"{source}: not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise BadInputError(f"{source}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise BadInputError(f"{source}: JSON nested too deep") from None
    except ValueError as error:  # an integer of thousands of digits
        raise BadInputError(f"{source}: {error}") from None


def _object(pairs: Sequence[tuple[str, Any]], source: str) -> dict[str, Any]:
    """Refuse a key said twice: two readers could take two meanings."""
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out:
            raise BadInputError(f"{source}: the key {key!r} stands twice in one object")
        out[key] = value
    return out


@dataclass(frozen=True)
class _Reader:
    """Turns parsed JSON into metadata, one method a place in the format."""

    source: str

    def metadata(self, document: Any) -> VariantMetadata:
        top = self._table(document, "the file", {"$schema", "default-priorities", "variants", "providers"})
        self._require(top, "the file", "$schema", "default-priorities", "variants")
        self._check_schema(top["$schema"])
        namespaces = self._namespaces(top["default-priorities"])
        providers = self._providers(top["providers"], namespaces) if "providers" in top else {}
        return VariantMetadata(namespaces, providers, self._variants(top["variants"], namespaces))

    def _check_schema(self, schema: Any) -> None:
        url = self._text(schema, "$schema")
        version = _SCHEMA_MAJOR.search(url)
        if version is None or version[1] != "0":
            raise self._bad(
                "$schema", f"{url!r} is of a version this polywheel does not read; expected v0.x.y"
            )

    def _namespaces(self, value: Any) -> tuple[str, ...]:
        place = "default-priorities"
        table = self._table(value, place, {"namespace"})
        self._require(table, place, "namespace")
        return self._names(table["namespace"], f"{place}.namespace", NAME)

    def _providers(self, value: Any, namespaces: tuple[str, ...]) -> dict[str, Provider]:
        table = self._table(value, "providers", None)
        if set(table) != set(namespaces):
            raise self._bad(
                "providers",
                f"namespaces {sorted(table)} are not those of default-priorities.namespace, "
                f"{sorted(namespaces)}",
            )
        return {name: self._provider(table[name], f"providers.{name}") for name in namespaces}

    def _provider(self, value: Any, place: str) -> Provider:
        keys = {"static-properties", "feature-order", "requires", "plugin-api", "builtin", "optional"}
        table = self._table(value, place, keys)
        optional = table.get("optional", False)
        if not isinstance(optional, bool):
            raise self._bad(f"{place}.optional", f"found {_kind(optional)}, expected true or false")
        match sorted(set(table) - {"optional"}):
            case ["static-properties"] | ["feature-order", "static-properties"]:
                return self._static(table, place, optional)
            case ["requires"] | ["plugin-api", "requires"]:
                return self._plugin(table, place, optional)
            case ["builtin"]:
                return BuiltinProvider(self._text(table["builtin"], f"{place}.builtin"), optional)
            case found:
                raise self._bad(
                    place, f"keys {found}; expected static-properties, requires, or builtin, each alone"
                )

    def _plugin(self, table: Mapping[str, Any], place: str, optional: bool) -> PluginProvider:
        requires = self._texts(table["requires"], f"{place}.requires")
        if not requires:
            raise self._bad(f"{place}.requires", "empty, expected a requirement")
        api = self._text(table["plugin-api"], f"{place}.plugin-api") if "plugin-api" in table else None
        return PluginProvider(requires, api, optional)

    def _static(self, table: Mapping[str, Any], place: str, optional: bool) -> StaticProvider:
        where = f"{place}.static-properties"
        features = self._table(table["static-properties"], where, None)
        if not features:
            raise self._bad(where, "no feature; expected at least one")
        values = self._features(features, where)
        if "feature-order" not in table and len(values) == 1:
            return StaticProvider(values, tuple(values), optional)
        order = self._texts(table.get("feature-order", []), f"{place}.feature-order")
        if sorted(order) != sorted(values):
            raise self._bad(f"{place}.feature-order", f"expected each of {sorted(values)} once")
        return StaticProvider(values, order, optional)

    def _variants(self, value: Any, namespaces: tuple[str, ...]) -> dict[str, Properties]:
        table = self._table(value, "variants", None)
        for label in table:
            if not is_label(label):
                raise self._bad(
                    "variants", f"{label!r} is no label: expected lower-case letters, digits, '_' and '.'"
                )
        return {label: self._variant(label, one, namespaces) for label, one in table.items()}

    def _variant(self, label: str, value: Any, namespaces: tuple[str, ...]) -> Properties:
        place = f"variants.{label}"
        features = self._table(value, place, set(namespaces))
        properties = group(
            Property(namespace, feature, one)
            for namespace, table in features.items()
            for feature, values in self._features(table, f"{place}.{namespace}").items()
            for one in values
        )
        if (label == NULL_LABEL) != (not properties):
            raise self._bad(place, "the null variant has no properties, and every other variant has some")
        return properties

    def _features(self, value: Any, place: str) -> dict[str, tuple[str, ...]]:
        table = self._table(value, place, None)
        for feature in table:
            if not NAME.fullmatch(feature):
                raise self._bad(place, f"feature {feature!r} does not match {NAME.pattern}")
        return {
            feature: self._names(values, f"{place}.{feature}", VALUE) for feature, values in table.items()
        }

    def _table(self, value: Any, place: str, allowed: set[str] | None) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._bad(place, f"found {_kind(value)}, expected an object")
        unknown = sorted(set(value) - allowed) if allowed is not None else []
        if unknown:
            raise self._bad(place, f"unknown key {unknown[0]!r}; known: {', '.join(sorted(allowed or ()))}")
        return value

    def _list(self, value: Any, place: str) -> list[Any]:
        if not isinstance(value, list):
            raise self._bad(place, f"found {_kind(value)}, expected a list")
        return value

    def _names(self, value: Any, place: str, pattern: re.Pattern[str]) -> tuple[str, ...]:
        items = self._texts(value, place)
        if not items or len(set(items)) != len(items):
            raise self._bad(place, "expected at least one value, each once")
        for item in items:
            if not pattern.fullmatch(item):
                raise self._bad(place, f"{item!r} does not match {pattern.pattern}")
        return items

    def _texts(self, value: Any, place: str) -> tuple[str, ...]:
        return tuple(self._text(one, place) for one in self._list(value, place))

    def _text(self, value: Any, place: str) -> str:
        if not isinstance(value, str):
            raise self._bad(place, f"found {_kind(value)}, expected a string")
        return value

    def _require(self, table: Mapping[str, Any], place: str, *keys: str) -> None:
        for key in keys:
            if key not in table:
                raise self._bad(place, f"the key {key!r} is missing")

    def _bad(self, place: str, message: str) -> BadInputError:
        return BadInputError(f"{self.source}: {place}: {message}")


def _kind(value: Any) -> str:
    names: Iterable[tuple[type, str]] = (
        (bool, "true or false"), (dict, "an object"), (list, "a list"), (str, "a string"), (int, "a number"),
        (float, "a number"),
    )  # fmt: skip
    return next((name for kind, name in names if isinstance(value, kind)), "null")

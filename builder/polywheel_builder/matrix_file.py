"""Reads matrix.yaml: positions in every message, nearest key on every slip."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from polywheel_builder.matrix import KINDS, NO_PLAIN, Kind, Library, Matrix, Variant
from polywheel_builder.positioned_yaml import MAX_BYTES, Items, Node, Scalar, Table, parse, quoted
from polywheel_variants.errors import BadInputError
from polywheel_variants.wheel_name import NULL_LABEL, is_label

FORMAT = "1"
_TOOLKITS: tuple[Kind, ...] = ("cuda", "rocm", "xpu")
_TOP = (
    "matrix",
    "project",
    "torch",
    "pythons",
    "platforms",
    "plain",
    "sdist",
    "generate",
    "libraries",
    "variants",
)
_VARIANT = ("name", "cuda", "rocm", "xpu", "cpu", "archs", "requires", "platforms", "channels", "min_driver")
_VERSION = re.compile(r"[0-9]+\.[0-9]+")
_CPU_LEVEL = re.compile(r"v[1-4]|[89](?:\.[0-9]+)?a|sve2?")
_X86_LEVEL = re.compile(r"v[1-4]")
_PYTHON = re.compile(r"py3|cp3[0-9]{1,2}(?:t|-abi3|-abi3\.abi3t|-abi3t)?")
_PLATFORM = re.compile(
    r"(?:manylinux|musllinux)_[0-9]+_[0-9]+_(?:x86_64|aarch64|i686|armv7l|ppc64le|s390x|riscv64)"
    r"|macosx_[0-9]+_[0-9]+_(?:arm64|x86_64|universal2)|win_(?:amd64|arm64)"
)
_LIBRARY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MEMORY = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) ?(MB|GB)")

T = TypeVar("T")


def read_matrix(path: Path) -> Matrix:
    """Read a matrix.yaml.

    Raises BadInputError, one line with file, line, column, key, what was found and what was expected.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise BadInputError(
            f"{path}: {error.strerror or error}; name a matrix with -m, or run where matrix.yaml lies"
        ) from None
    return parse_matrix(data, source=str(path))


def parse_matrix(data: bytes, *, source: str) -> Matrix:
    """Read a matrix from bytes; see `read_matrix`."""
    top = _Keys.of(_Value(source, "", parse(data, source=source)), *_TOP)
    _require_format(top)
    matrix = Matrix(
        source=source,
        project=top.take("project", _text, default="."),
        torch=top.take("torch", _matching(_VERSION, "a version such as 2.10")),
        pythons=top.take("pythons", _list(_matching(_PYTHON, "a tag such as py3, cp310-abi3 or cp315t"))),
        platforms=top.take("platforms", _list(_matching(_PLATFORM, "a wheel's platform tag"))),
        plain=top.take("plain", _text, default=NULL_LABEL),
        sdist=top.take("sdist", _yes_no, default=False),
        generate=top.take("generate", _list(_text), default=()),
        libraries={one.name: one for one in top.take("libraries", _libraries)},
        variants=top.take("variants", _variants),
    )
    _require_consistent(matrix, top)
    return matrix


@dataclass(frozen=True)
class _Value:
    """A node with the path of keys that leads to it."""

    source: str
    path: str
    node: Node

    @property
    def where(self) -> str:
        return f"{self.source}:{self.node.place}"

    def bad(self, message: str) -> BadInputError:
        return BadInputError(f"{self.where}: {self.path + ': ' if self.path else ''}{message}")


@dataclass(frozen=True)
class _Keys:
    """A table all of whose keys are known."""

    source: str
    path: str
    table: Table

    @classmethod
    def of(cls, value: _Value, *known: str) -> _Keys:
        """Open a table; a key that is not among `known` is refused with the nearest that is."""
        path = value.path
        if not isinstance(value.node, Table):
            raise value.bad(f"found {_kind(value.node)}, expected keys and values")
        for name, _ in value.node.entries:
            if name.text not in known:
                at = f"{path}: " if path else ""
                hint = _nearest(name.text, known)
                raise BadInputError(
                    f"{value.source}:{name.place}: {at}unknown key {quoted(name.text)}; {hint}"
                )
        return cls(value.source, path, value.node)

    def value(self, key: str) -> _Value | None:
        path = f"{self.path}.{key}" if self.path else key
        for name, node in self.table.entries:
            if name.text == key:
                return _Value(self.source, path, node)
        return None

    def take(self, key: str, read: Callable[[_Value], T], *, default: T | None = None) -> T:
        value = self.value(key)
        if value is not None:
            return read(value)
        if default is not None:
            return default
        raise self.bad(f"the key {key!r} is missing")

    def optional(self, key: str, read: Callable[[_Value], T]) -> T | None:
        value = self.value(key)
        return None if value is None else read(value)

    def bad(self, message: str) -> BadInputError:
        return _Value(self.source, self.path, self.table).bad(message)


def _kind(node: Node) -> str:
    match node:
        case Scalar(text):
            return quoted(text)
        case Items():
            return "a list"
        case Table():
            return "keys and values"


def _text(value: _Value) -> str:
    if not isinstance(value.node, Scalar):
        raise value.bad(f"found {_kind(value.node)}, expected one text")
    if not value.node.text:
        raise value.bad("empty, expected a text")
    if not value.node.text.isprintable():
        raise value.bad(f"{_kind(value.node)} holds a character that cannot be seen")
    return value.node.text


def _matching(pattern: re.Pattern[str], expected: str) -> Callable[[_Value], str]:
    def read(value: _Value) -> str:
        text = _text(value)
        if not pattern.fullmatch(text):
            raise value.bad(f"found {_kind(value.node)}, expected {expected}")
        return text

    return read


def _list(read: Callable[[_Value], T]) -> Callable[[_Value], tuple[T, ...]]:
    """Read a list whose items are all different."""

    def read_all(value: _Value) -> tuple[T, ...]:
        if not isinstance(value.node, Items):
            raise value.bad(f"found {_kind(value.node)}, expected a list")
        if not value.node.items:
            raise value.bad("an empty list, expected at least one item")
        seen: dict[T, None] = {}
        for number, node in enumerate(value.node.items):
            one = _Value(value.source, f"{value.path}[{number}]", node)
            item = read(one)
            if item in seen:
                raise one.bad(f"{_kind(node)} stands twice in the list")
            seen[item] = None
        return tuple(seen)

    return read_all


def _one_or_list(read: Callable[[_Value], T]) -> Callable[[_Value], tuple[T, ...]]:
    def read_any(value: _Value) -> tuple[T, ...]:
        return _list(read)(value) if isinstance(value.node, Items) else (read(value),)

    return read_any


def _yes_no(value: _Value) -> bool:
    text = _text(value)
    if text not in {"yes", "no", "true", "false"}:
        raise value.bad(f"found {_kind(value.node)}, expected yes or no")
    return text in {"yes", "true"}


def _kind_name(value: _Value) -> Kind:
    text = _text(value)
    if text not in KINDS:
        raise value.bad(f"unknown kind {_kind(value.node)}; {_nearest(text, KINDS)}")
    return text


def _nearest(text: str, known: Iterable[str]) -> str:
    """Say the next step after a slip: the nearest known word, or all of them."""
    words = [word for word in known if len(word) <= 40]
    near = difflib.get_close_matches(text[:40], words, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(words)}"


def _require_format(top: _Keys) -> None:
    value = top.value("matrix")
    if value is None:
        raise top.bad(f"the key 'matrix' is missing; the file starts with 'matrix: {FORMAT}'")
    if _text(value) != FORMAT:
        raise value.bad(f"format {_kind(value.node)}; this polywheel reads format {FORMAT}")


def _libraries(value: _Value) -> tuple[Library, ...]:
    if not isinstance(value.node, Table) or not value.node.entries:
        raise value.bad(f"found {_kind(value.node)}, expected names such as _cpu, each with its sources")
    return tuple(
        _library(name, _Value(value.source, f"{value.path}.{name.text}", node))
        for name, node in value.node.entries
    )


def _library(name: Scalar, value: _Value) -> Library:
    if not _LIBRARY.fullmatch(name.text):
        raise BadInputError(
            f"{value.source}:{name.place}: libraries: {quoted(name.text)} is no name of a library; "
            "expected one such as _cpu"
        )
    keys = _Keys.of(value, "sources", "for", "include", "archs", "memory")
    return Library(
        name=name.text,
        sources=keys.take("sources", _one_or_list(_inside_project)),
        kinds=keys.take("for", _one_or_list(_kind_name), default=KINDS),
        include=keys.take("include", _one_or_list(_inside_project), default=()),
        archs=keys.take("archs", _list(_text), default=()),
        memory_mb=keys.optional("memory", _memory),
    )


def _inside_project(value: _Value) -> str:
    text = _text(value)
    if text.startswith("/") or ".." in Path(text).parts:
        raise value.bad(f"{_kind(value.node)} leaves the project's folder; expected a path below it")
    return text


def _memory(value: _Value) -> int:
    text = _text(value)
    found = _MEMORY.fullmatch(text)
    if found is None:
        raise value.bad(f"found {_kind(value.node)}, expected an amount such as 2GB or 800MB")
    return int(float(found[1]) * (1000 if found[2] == "GB" else 1))


def _variants(value: _Value) -> tuple[Variant, ...]:
    if not isinstance(value.node, Items) or not value.node.items:
        raise value.bad(f"found {_kind(value.node)}, expected a list of variants, most preferred first")
    return tuple(
        _variant(_Value(value.source, f"{value.path}[{number}]", node))
        for number, node in enumerate(value.node.items)
    )


def _variant(value: _Value) -> Variant:
    keys = _Keys.of(value, *_VARIANT)
    kind, version = _kind_and_version(keys)
    variant = Variant(
        label=keys.take("name", _label, default=_default_label(kind, version)),
        kind=kind,
        version=version,
        archs=_archs(keys, kind),
        requires=keys.take("requires", _list(_requirement), default=()),
        platforms=keys.take("platforms", _one_or_list(_text), default=()),
        channels=keys.take("channels", _list(_text), default=()),
        min_driver=_min_driver(keys, kind),
        where=value.where,
    )
    if (variant.label == NULL_LABEL) != (kind == "null"):
        raise value.bad(
            "the name null belongs to the variant without cuda, rocm, xpu or cpu, and to it alone"
        )
    return variant


def _kind_and_version(keys: _Keys) -> tuple[Kind, str]:
    version = _matching(_VERSION, "a toolkit's version such as 13.0")
    level = _matching(_CPU_LEVEL, "a CPU level: v2, v3, v4 on x86-64; 8.2a, sve2 ... on Arm")
    found: list[tuple[Kind, str]] = [
        (kind, text) for kind in _TOOLKITS if (text := keys.optional(kind, version)) is not None
    ]
    if (text := keys.optional("cpu", level)) is not None:
        found.append(("cpu", text))
    if len(found) > 1:
        raise keys.bad(f"{' and '.join(kind for kind, _ in found)} in one variant; expected one of them")
    return found[0] if found else ("null", "")


def _default_label(kind: Kind, version: str) -> str:
    match kind:
        case "cuda":
            return "cu" + version.replace(".", "")
        case "rocm" | "xpu":
            return kind + version
        case "cpu":
            return f"x86_64_{version}" if is_x86_level(version) else f"aarch64_{version}"
        case "null":
            return NULL_LABEL


def is_x86_level(version: str) -> bool:
    """Whether a CPU level is one of x86-64 (`v3`) rather than of Arm (`8.2a`)."""
    return _X86_LEVEL.fullmatch(version) is not None


def _archs(keys: _Keys, kind: Kind) -> tuple[str, ...]:
    value = keys.value("archs")
    if kind in _TOOLKITS:
        if value is None:
            raise keys.bad(f"the key 'archs' is missing; a {kind} variant names the devices it has code for")
        return _list(_text)(value)
    if value is not None:
        raise value.bad(f"a {kind} variant has no archs; they belong to cuda, rocm and xpu")
    return ()


def _min_driver(keys: _Keys, kind: Kind) -> str | None:
    value = keys.value("min_driver")
    if value is not None and kind != "cuda":
        raise value.bad(f"a {kind} variant has no min_driver; it belongs to cuda")
    return keys.optional("min_driver", _matching(_VERSION, "a CUDA version such as 12.4"))


def _label(value: _Value) -> str:
    text = _text(value)
    if not is_label(text) or text == NO_PLAIN:
        raise value.bad(
            f"label {_kind(value.node)}; expected lower-case letters, digits, '_' and '.' (PEP 825)"
        )
    return text


def _requirement(value: _Value) -> str:
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415 - most have none

    text = _text(value)
    try:
        return str(Requirement(text))
    except InvalidRequirement as error:
        raise value.bad(f"{_kind(value.node)} is no requirement: {str(error).splitlines()[0]}") from None


def _require_consistent(matrix: Matrix, top: _Keys) -> None:
    """Check what only the whole file shows: labels once, null last, plain known."""
    labels: dict[str, Variant] = {}
    for variant in matrix.variants:
        if variant.label in labels:
            first = labels[variant.label].where
            raise BadInputError(
                f"{variant.where}: label {quoted(variant.label)} stood already at {first}; "
                "one label is one variant: give one of them another name"
            )
        labels[variant.label] = variant
    if NULL_LABEL in labels and matrix.variants[-1].label != NULL_LABEL:
        raise BadInputError(f"{labels[NULL_LABEL].where}: null is not last; every installer ranks it last")
    if matrix.plain not in {NO_PLAIN, *labels}:
        value = top.value("plain") or _Value(matrix.source, "plain", top.table)
        raise value.bad(
            f"no variant is named {quoted(matrix.plain)}; {_nearest(matrix.plain, [*labels, NO_PLAIN])}"
        )

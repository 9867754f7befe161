"""Reads matrix.yaml: positions in every message, nearest key on every slip."""

from __future__ import annotations

import re
from pathlib import Path

from polywheel_builder.matrix import KINDS, NO_PLAIN, Kind, Library, Matrix, Variant
from polywheel_builder.positioned_value import (
    Keys,
    Value,
    described,
    list_of,
    matching,
    nearest,
    one_or_list,
    text_of,
    yes_or_no,
)
from polywheel_builder.positioned_yaml import MAX_BYTES, Items, Scalar, Table, parse, quoted
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
    top = Keys.of(Value(source, "", parse(data, source=source)), *_TOP)
    _require_format(top)
    matrix = Matrix(
        source=source,
        project=top.take("project", text_of, default="."),
        torch=top.take("torch", matching(_VERSION, "a version such as 2.10")),
        pythons=top.take("pythons", list_of(matching(_PYTHON, "a tag such as py3, cp310-abi3 or cp315t"))),
        platforms=top.take("platforms", list_of(matching(_PLATFORM, "a tag such as manylinux_2_28_x86_64"))),
        plain=top.take("plain", text_of, default=NULL_LABEL),
        sdist=top.take("sdist", yes_or_no, default=False),
        generate=top.take("generate", list_of(text_of), default=()),
        libraries={one.name: one for one in top.take("libraries", _libraries)},
        variants=top.take("variants", _variants),
    )
    _require_consistent(matrix, top)
    return matrix


def _require_format(top: Keys) -> None:
    value = top.value("matrix")
    if value is None:
        raise top.bad(f"the key 'matrix' is missing; the file starts with 'matrix: {FORMAT}'")
    if text_of(value) != FORMAT:
        raise value.bad(f"format {described(value.node)}; this polywheel reads format {FORMAT}")


def _libraries(value: Value) -> tuple[Library, ...]:
    if not isinstance(value.node, Table) or not value.node.entries:
        raise value.bad(f"found {described(value.node)}, expected names such as _cpu, each with its sources")
    return tuple(
        _library(name, Value(value.source, f"{value.path}.{name.text}", node))
        for name, node in value.node.entries
    )


def _library(name: Scalar, value: Value) -> Library:
    if not _LIBRARY.fullmatch(name.text):
        raise BadInputError(
            f"{value.source}:{name.place}: libraries: {quoted(name.text)} is no name of a library; "
            "expected one such as _cpu"
        )
    keys = Keys.of(value, "sources", "for", "include", "archs", "memory")
    return Library(
        name=name.text,
        sources=keys.take("sources", one_or_list(_inside_project)),
        kinds=keys.take("for", one_or_list(_kind_name), default=KINDS),
        include=keys.take("include", one_or_list(_inside_project), default=()),
        archs=keys.take("archs", list_of(text_of), default=()),
        memory_mb=keys.optional("memory", _memory),
    )


def _kind_name(value: Value) -> Kind:
    text = text_of(value)
    if text not in KINDS:
        raise value.bad(f"unknown kind {described(value.node)}; {nearest(text, KINDS)}")
    return text


def _inside_project(value: Value) -> str:
    text = text_of(value)
    if text.startswith("/") or ".." in Path(text).parts:
        raise value.bad(f"{described(value.node)} leaves the project's folder; expected a path below it")
    return text


def _memory(value: Value) -> int:
    text = text_of(value)
    found = _MEMORY.fullmatch(text)
    if found is None:
        raise value.bad(f"found {described(value.node)}, expected an amount such as 2GB or 800MB")
    return int(float(found[1]) * (1000 if found[2] == "GB" else 1))


def _variants(value: Value) -> tuple[Variant, ...]:
    if not isinstance(value.node, Items) or not value.node.items:
        raise value.bad(f"found {described(value.node)}, expected a list of variants, most preferred first")
    return tuple(
        _variant(Value(value.source, f"{value.path}[{number}]", node))
        for number, node in enumerate(value.node.items)
    )


def _variant(value: Value) -> Variant:
    keys = Keys.of(value, *_VARIANT)
    kind, version = _kind_and_version(keys)
    variant = Variant(
        label=keys.take("name", _label, default=_default_label(kind, version)),
        kind=kind,
        version=version,
        archs=_archs(keys, kind),
        requires=keys.take("requires", list_of(_requirement), default=()),
        platforms=keys.take("platforms", one_or_list(text_of), default=()),
        channels=keys.take("channels", list_of(text_of), default=()),
        min_driver=_min_driver(keys, kind),
        where=value.where,
    )
    if (variant.label == NULL_LABEL) != (kind == "null"):
        raise value.bad(
            "the name null belongs to the variant without cuda, rocm, xpu or cpu, and to it alone"
        )
    return variant


def _kind_and_version(keys: Keys) -> tuple[Kind, str]:
    version = matching(_VERSION, "a toolkit's version such as 13.0")
    level = matching(_CPU_LEVEL, "a CPU level: v2, v3, v4 on x86-64; 8.2a, sve2 ... on Arm")
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


def _archs(keys: Keys, kind: Kind) -> tuple[str, ...]:
    value = keys.value("archs")
    if kind in _TOOLKITS:
        if value is None:
            raise keys.bad(f"the key 'archs' is missing; a {kind} variant names the devices it has code for")
        return list_of(text_of)(value)
    if value is not None:
        raise value.bad(f"a {kind} variant has no archs; they belong to cuda, rocm and xpu")
    return ()


def _min_driver(keys: Keys, kind: Kind) -> str | None:
    value = keys.value("min_driver")
    if value is not None and kind != "cuda":
        raise value.bad(f"a {kind} variant has no min_driver; it belongs to cuda")
    return keys.optional("min_driver", matching(_VERSION, "a CUDA version such as 12.4"))


def _label(value: Value) -> str:
    text = text_of(value)
    if not is_label(text) or text == NO_PLAIN:
        raise value.bad(
            f"label {described(value.node)}; expected lower-case letters, digits, '_' and '.' (PEP 825)"
        )
    return text


def _requirement(value: Value) -> str:
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415 - most have none

    text = text_of(value)
    try:
        return str(Requirement(text))
    except InvalidRequirement as error:
        raise value.bad(f"{described(value.node)} is no requirement: {str(error).splitlines()[0]}") from None


def _require_consistent(matrix: Matrix, top: Keys) -> None:
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
        value = top.value("plain") or Value(matrix.source, "plain", top.table)
        raise value.bad(
            f"no variant is named {quoted(matrix.plain)}; {nearest(matrix.plain, [*labels, NO_PLAIN])}"
        )

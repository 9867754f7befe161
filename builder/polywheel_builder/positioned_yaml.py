"""YAML whose scalars are all text and whose every node knows its line and column.

`2.10` stays "2.10" and `null` stays "null". Anchors, aliases, tags and repeated keys are refused: they
let two readers of one file see two matrices, and aliases let ten lines expand to gigabytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from polywheel_variants.errors import BadInputError

MAX_BYTES = 1 << 20
MAX_DEPTH = 16


@dataclass(frozen=True)
class Place:
    """Where a node starts; lines and columns count from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


@dataclass(frozen=True)
class Scalar:
    """One piece of text."""

    text: str
    place: Place


@dataclass(frozen=True)
class Items:
    """A sequence."""

    items: tuple[Node, ...]
    place: Place


@dataclass(frozen=True)
class Table:
    """A mapping, in the file's order."""

    entries: tuple[tuple[Scalar, Node], ...]
    place: Place


Node = Scalar | Items | Table


def quoted(text: str) -> str:
    """Quote a text of the file for a message: on one line, and cut where it is long."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def parse(data: bytes, *, source: str) -> Node:
    """Read one document.

    Raises BadInputError (`source:line:column: what`) for anything that is not plain, small UTF-8 YAML.
    """
    if len(data) > MAX_BYTES:
        raise BadInputError(f"{source}: larger than {MAX_BYTES} bytes; that is no matrix")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInputError(f"{source}:{line}: not UTF-8: byte 0x{data[error.start]:02x}") from None
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        return _build(yaml.parse(text, Loader=loader), source)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise BadInputError(f"{source}{place}: not YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise BadInputError(f"{source}: not YAML: {' '.join(str(error).split())}") from None


def _build(events: Iterator[yaml.Event], source: str) -> Node:
    """Fold the events into nodes with a stack of our own, so that depth is ours to bound."""
    stack: list[_Open] = []
    root: Node | None = None
    for event in events:
        match event:
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                _require_plain(event, source)
                stack.append(_Open(event, []))
                if len(stack) > MAX_DEPTH:
                    raise BadInputError(f"{source}:{_place(event)}: nested deeper than {MAX_DEPTH} levels")
                continue
            case yaml.ScalarEvent():
                _require_plain(event, source)
                node: Node = Scalar(event.value, _place(event))
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                node = stack.pop().close(source)
            case yaml.AliasEvent():
                alias = quoted(f"*{event.anchor}")
                raise BadInputError(f"{source}:{_place(event)}: alias {alias}; write the value out instead")
            case yaml.DocumentStartEvent() if root is not None:
                raise BadInputError(f"{source}:{_place(event)}: a second document; a matrix is one document")
            case _:
                continue
        if stack:
            stack[-1].nodes.append(node)
        else:
            root = node
    if root is None:
        raise BadInputError(f"{source}: empty; a matrix starts with 'matrix: 1'")
    return root


@dataclass(frozen=True)
class _Open:
    """A sequence or mapping whose end has not been read yet."""

    start: yaml.Event
    nodes: list[Node]

    def close(self, source: str) -> Node:
        place = _place(self.start)
        if isinstance(self.start, yaml.SequenceStartEvent):
            return Items(tuple(self.nodes), place)
        entries: dict[str, tuple[Scalar, Node]] = {}
        for key, value in zip(self.nodes[::2], self.nodes[1::2], strict=True):
            if not isinstance(key, Scalar):
                raise BadInputError(f"{source}:{key.place}: a key that is no text")
            if key.text in entries:
                first = entries[key.text][0].place
                raise BadInputError(
                    f"{source}:{key.place}: the key {quoted(key.text)} stood already at {first}"
                )
            entries[key.text] = (key, value)
        return Table(tuple(entries.values()), place)


def _place(event: yaml.Event) -> Place:
    mark = event.start_mark
    return Place(mark.line + 1, mark.column + 1) if mark is not None else Place(1, 1)


def _require_plain(event: yaml.NodeEvent, source: str) -> None:
    if event.anchor is not None:
        anchor = quoted(f"&{event.anchor}")
        raise BadInputError(f"{source}:{_place(event)}: anchor {anchor}; a matrix has no aliases")
    tag = getattr(event, "tag", None)
    if tag is not None:
        raise BadInputError(f"{source}:{_place(event)}: tag {quoted(tag)}; all scalars of a matrix are text")

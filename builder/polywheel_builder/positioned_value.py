"""Readers of positioned YAML: each takes a node and returns what it means, or names its place in an error.

Small readers combine: `list_of(matching(...))` reads a list of texts of one form.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from polywheel_builder.positioned_yaml import Items, Node, Scalar, Table, quoted
from polywheel_variants.errors import BadInputError

T = TypeVar("T")


@dataclass(frozen=True)
class Value:
    """A node with the path of keys that leads to it."""

    source: str
    path: str
    node: Node

    @property
    def where(self) -> str:
        """`file:line:column`."""
        return f"{self.source}:{self.node.place}"

    def bad(self, message: str) -> BadInputError:
        """Return the error that names this place."""
        return BadInputError(f"{self.where}: {self.path + ': ' if self.path else ''}{message}")


@dataclass(frozen=True)
class Keys:
    """A table all of whose keys are known."""

    source: str
    path: str
    table: Table

    @classmethod
    def of(cls, value: Value, *known: str) -> Keys:
        """Open a table; a key that is not among `known` is refused with the nearest that is."""
        path = value.path
        if not isinstance(value.node, Table):
            raise value.bad(f"found {described(value.node)}, expected keys and values")
        for name, _ in value.node.entries:
            if name.text not in known:
                at = f"{path}: " if path else ""
                hint = nearest(name.text, known)
                raise BadInputError(
                    f"{value.source}:{name.place}: {at}unknown key {quoted(name.text)}; {hint}"
                )
        return cls(value.source, path, value.node)

    def value(self, key: str) -> Value | None:
        """Return what stands under a key."""
        path = f"{self.path}.{key}" if self.path else key
        for name, node in self.table.entries:
            if name.text == key:
                return Value(self.source, path, node)
        return None

    def take(self, key: str, read: Callable[[Value], T], *, default: T | None = None) -> T:
        """Read what stands under a key; without a default the key must be there."""
        value = self.value(key)
        if value is not None:
            return read(value)
        if default is not None:
            return default
        raise self.bad(f"the key {key!r} is missing")

    def optional(self, key: str, read: Callable[[Value], T]) -> T | None:
        """Read what stands under a key, or return None."""
        value = self.value(key)
        return None if value is None else read(value)

    def bad(self, message: str) -> BadInputError:
        """Return the error that names the table."""
        return Value(self.source, self.path, self.table).bad(message)


def described(node: Node) -> str:
    """Say what was found, for a message."""
    match node:
        case Scalar(text):
            return quoted(text)
        case Items():
            return "a list"
        case Table():
            return "keys and values"


def text_of(value: Value) -> str:
    """Read one printable text that is not empty."""
    if not isinstance(value.node, Scalar):
        raise value.bad(f"found {described(value.node)}, expected one text")
    if not value.node.text:
        raise value.bad("empty, expected a text")
    if not value.node.text.isprintable():
        raise value.bad(f"{described(value.node)} holds a character that cannot be seen")
    return value.node.text


def matching(pattern: re.Pattern[str], expected: str) -> Callable[[Value], str]:
    """Return what reads one text of a form; `expected` says the form in words."""

    def read(value: Value) -> str:
        text = text_of(value)
        if not pattern.fullmatch(text):
            raise value.bad(f"found {described(value.node)}, expected {expected}")
        return text

    return read


def list_of(read: Callable[[Value], T]) -> Callable[[Value], tuple[T, ...]]:
    """Return what reads a list whose items are all different."""

    def read_all(value: Value) -> tuple[T, ...]:
        if not isinstance(value.node, Items):
            raise value.bad(f"found {described(value.node)}, expected a list")
        if not value.node.items:
            raise value.bad("an empty list, expected at least one item")
        seen: dict[T, None] = {}
        for number, node in enumerate(value.node.items):
            one = Value(value.source, f"{value.path}[{number}]", node)
            item = read(one)
            if item in seen:
                raise one.bad(f"{described(node)} stands twice in the list")
            seen[item] = None
        return tuple(seen)

    return read_all


def one_or_list(read: Callable[[Value], T]) -> Callable[[Value], tuple[T, ...]]:
    """Return what reads a list, or one item as a list of one."""

    def read_any(value: Value) -> tuple[T, ...]:
        return list_of(read)(value) if isinstance(value.node, Items) else (read(value),)

    return read_any


def yes_or_no(value: Value) -> bool:
    """Read yes or no; true and false mean the same."""
    text = text_of(value)
    if text not in {"yes", "no", "true", "false"}:
        raise value.bad(f"found {described(value.node)}, expected yes or no")
    return text in {"yes", "true"}


def nearest(text: str, known: Iterable[str]) -> str:
    """Say the next step after a slip: the nearest known word, or all of them."""
    words = [word for word in known if len(word) <= 40]
    near = difflib.get_close_matches(text[:40], words, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(words)}"

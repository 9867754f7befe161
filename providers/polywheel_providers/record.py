"""Writing records as JSON (`as_json`) and reading them, strictly: a problem names the key it is at."""

from __future__ import annotations

from .frozen import as_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_HUGE = 1e300
"""Beyond any real measure; the comparison also refuses NaN and infinity, which JSON cannot hold."""


class Fields:
    """One JSON object being read: each key is asked for once, and none may be left over.

    Every method raises `ValueError` with one line: where, what was expected, what was found.
    """

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise ValueError(f"{where}: expected an object, found {_kind(value)}")  # noqa: TRY004 (one class)
        self.where = where
        self._left = dict(value)

    def has(self, key: str) -> bool:
        """Say whether the key is there and not null."""
        return self._left.get(key) is not None

    def left(self) -> tuple[str, ...]:
        """Return the keys not yet asked for."""
        return tuple(self._left)

    def take(self, key: str) -> object:
        """Remove and return a key's value."""
        if key not in self._left:
            raise ValueError(f"{self.where}: key {key!r} is missing")
        return self._left.pop(key)

    def text(self, key: str) -> str:
        """Return a string."""
        value = self.take(key)
        if not isinstance(value, str):
            raise self._wrong(key, "text", value)
        return value

    def integer(self, key: str) -> int:
        """Return a whole number (no booleans)."""
        value = self.take(key)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._wrong(key, "a whole number", value)
        return value

    def number(self, key: str) -> float:
        """Return a finite number (no booleans)."""
        value = self.take(key)
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not abs(value) < _HUGE:
            raise self._wrong(key, "a number", value)
        return float(value)

    def boolean(self, key: str) -> bool:
        """Return true or false."""
        value = self.take(key)
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false", value)
        return value

    def optional_text(self, key: str) -> str | None:
        """Return a string, or `None` for null."""
        if self.has(key):
            return self.text(key)
        self.take(key)
        return None

    def optional_integer(self, key: str) -> int | None:
        """Return a whole number, or `None` for null."""
        if self.has(key):
            return self.integer(key)
        self.take(key)
        return None

    def optional_boolean(self, key: str) -> bool | None:
        """Return true or false, or `None` for null."""
        if self.has(key):
            return self.boolean(key)
        self.take(key)
        return None

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of strings."""
        found: list[str] = []
        for item in self._list(key):
            if not isinstance(item, str):
                raise self._wrong(key, "a list of text", item)
            found.append(item)
        return tuple(found)

    def integers(self, key: str) -> tuple[int, ...]:
        """Return a list of whole numbers."""
        found: list[int] = []
        for item in self._list(key):
            if not isinstance(item, int) or isinstance(item, bool):
                raise self._wrong(key, "a list of whole numbers", item)
            found.append(item)
        return tuple(found)

    def text_map(self, key: str) -> dict[str, str]:
        """Return an object whose values are all strings."""
        inner = self.child(key)
        return {name: inner.text(name) for name in inner.left()}

    def number_map(self, key: str) -> dict[str, float]:
        """Return an object whose values are all numbers."""
        inner = self.child(key)
        return {name: inner.number(name) for name in inner.left()}

    def child(self, key: str) -> Fields:
        """Return a nested object, to be read in turn."""
        return Fields(self.take(key), _place(self.where, key))

    def optional_child(self, key: str) -> Fields | None:
        """Return a nested object, or `None` for null."""
        if self.has(key):
            return self.child(key)
        self.take(key)
        return None

    def children(self, key: str) -> Iterator[Fields]:
        """Yield the objects of a list, to be read in turn."""
        for place, item in enumerate(self._list(key)):
            yield Fields(item, f"{_place(self.where, key)}[{place}]")

    def done(self) -> None:
        """Raise when a key was not asked for: a misspelt key must not silently mean nothing."""
        if self._left:
            raise ValueError(f"{self.where}: unknown key {min(self._left)!r}")

    def _list(self, key: str) -> list[object]:
        value = self.take(key)
        if not isinstance(value, list):
            raise self._wrong(key, "a list", value)
        return value

    def _wrong(self, key: str, expected: str, value: object) -> ValueError:
        return ValueError(f"{_place(self.where, key)}: expected {expected}, found {_kind(value)}")


def _place(where: str, key: str) -> str:
    """Name a key below a place; a key that is no word is quoted, since it may hold anything."""
    return f"{where}.{key}" if key.isidentifier() and key.isascii() else f"{where}[{key!r}]"


def _kind(value: object) -> str:
    """Name a JSON value for a message."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    return "a list" if isinstance(value, list) else "an object"


__all__ = ["Fields", "as_json"]

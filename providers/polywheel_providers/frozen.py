"""Frozen dataclasses without the `dataclasses` module.

Its import and the code it generates a class would be half of the time `polywheel detect` may take
(bench/detect.py holds it to 4.5 times an empty Python). The names mean what they mean there, for classes
declared `@dataclass(frozen=True)` with annotated fields, defaults and `field(default_factory=...)` and no
inheritance; the functions of `dataclasses` accept their objects. Type checkers see the real ones.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class _Frozen:
    """The methods every class declared here gets."""

    __match_args__: tuple[str, ...] = ()
    _defaults: dict[str, Any]

    def __init__(self, *values: Any, **named: Any) -> None:
        """Take the fields in order or by name."""
        names = self.__match_args__
        given = dict(zip(names, values, strict=False))
        if len(values) > len(names) or given.keys() & named.keys() or named.keys() - set(names):
            raise TypeError(f"{type(self).__name__} takes {', '.join(names)}, each once")
        given.update(named)
        for name in names:
            if name not in given:
                given[name] = self._default(name)
        self.__dict__.update(given)

    def _default(self, name: str) -> Any:
        if name not in self._defaults:
            raise TypeError(f"{type(self).__name__} needs {name}")
        default = self._defaults[name]
        return default.factory() if isinstance(default, _Factory) else default

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
        return f"{type(self).__qualname__}({inside})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__match_args__)

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in self.__match_args__))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot assign {value!r} to field {name!r} of a frozen {type(self).__name__}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"cannot delete field {name!r} of a frozen {type(self).__name__}")


_METHODS = ("__init__", "_default", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__")


class _StandardFields:
    """What `dataclasses.fields`, `replace` and `asdict` look for, made when one of them does."""

    def __get__(self, value: object, cls: Any) -> Any:
        import dataclasses  # noqa: PLC0415 (see the module)

        same: Any = dataclasses.make_dataclass(cls.__name__, cls.__match_args__, frozen=True)
        return same.__dataclass_fields__


class _Factory:
    """A default made anew for each object."""

    def __init__(self, factory: Callable[[], object]) -> None:
        self.factory = factory


def _field(*, default_factory: Callable[[], object]) -> Any:
    return _Factory(default_factory)


def _dataclass(*, frozen: bool) -> Callable[[Any], Any]:
    if not frozen:
        raise TypeError("only frozen dataclasses are made here")
    return _made


def _made(cls: Any) -> Any:
    names = tuple(cls.__annotations__)
    setattr(cls, "__match_args__", names)  # noqa: B010 (type checkers hold it for fixed)
    cls._defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
    cls.__dataclass_fields__ = _StandardFields()
    for method in _METHODS:
        setattr(cls, method, _Frozen.__dict__[method])
    return cls


def _replace(value: Any, /, **changes: Any) -> Any:
    return type(value)(**{name: getattr(value, name) for name in value.__match_args__} | changes)


def field_names(value: object) -> tuple[str, ...]:
    """Return the names of a dataclass object's fields, in order, of either kind; else none."""
    if hasattr(value, "_defaults"):
        return tuple(getattr(value, "__match_args__", ()))
    return tuple(getattr(value, "__dataclass_fields__", ()))


def as_json(value: object) -> object:
    """Turn dataclasses, mappings and sequences into plain JSON values, keys in their given order."""
    if field_names(value):
        return fields_as_json(value)
    if isinstance(value, dict):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [as_json(item) for item in value]
    return value


def fields_as_json(value: object) -> dict[str, object]:
    """Turn a dataclass into a JSON object, its fields in their declared order."""
    return {name: as_json(getattr(value, name)) for name in field_names(value)}


if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
else:
    dataclass, field, replace = _dataclass, _field, _replace

__all__ = ["as_json", "dataclass", "field", "field_names", "fields_as_json", "replace"]

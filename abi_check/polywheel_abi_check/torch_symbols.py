"""Which of torch's symbols a library uses: stable C shims, unstable C++, or Python's side of torch.

The stable surface is the C functions of torch's stable headers (PyTorch's note "LibTorch Stable ABI").
Everything else that lives in torch's namespaces may change in any release.
C++ names are judged by their mangled grammar: the entity's own name decides, never a parameter, a template
argument or a namespace of the same name elsewhere. Grammar: the Itanium C++ ABI, section 5.1
(https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

NAMESPACES = frozenset({"at", "c10", "torch", "caffe2"})
"""The namespaces that libtorch's C++ lives in."""
STABLE_NAMESPACES = frozenset({"stable", "headeronly"})
"""The namespaces inside `torch` that are compiled into the extension itself."""

_SHIM_PREFIXES = ("aoti_torch_", "aoti_record_", "torch_")
# libtorch_python's globals and functions: THPVariableClass, THPGenerator_initDefaultGenerator ...
_PYTHON_GLOBAL = re.compile(r"THP[A-Z]\w*")


class TorchSymbol(Enum):
    """What an imported name is to torch."""

    SHIM = "shim"
    """A function of the stable C headers."""
    UNKNOWN_SHIM = "unknown-shim"
    """Named like a function of the stable C headers, but not declared there."""
    UNSTABLE = "unstable"
    """A C++ entity of libtorch outside the stable namespaces."""
    PYTHON = "python"
    """A global of libtorch_python."""
    UNRELATED = "unrelated"


@dataclass(frozen=True)
class TorchImports:
    """The torch symbols among a library's imports, each in the order of the imports."""

    shims: tuple[str, ...]
    unknown_shims: tuple[str, ...]
    unstable: tuple[str, ...]
    python: tuple[str, ...]


def classify(name: str, shims: frozenset[str]) -> TorchSymbol:
    """Return what the imported symbol `name` is, `shims` being the declared functions.

    Works on ELF names; C++ ones mangled by the Itanium grammar.
    """
    if name in shims:
        return TorchSymbol.SHIM
    if name.startswith(_SHIM_PREFIXES):
        return TorchSymbol.UNKNOWN_SHIM
    if _PYTHON_GLOBAL.fullmatch(name):
        return TorchSymbol.PYTHON
    return _classify_cpp(own_scope(name)) if name.startswith("_Z") else TorchSymbol.UNRELATED


def torch_imports(names: Iterable[str], shims: frozenset[str]) -> TorchImports:
    """Sort the imported `names` by what they are to torch; unrelated ones are left out."""
    found: dict[TorchSymbol, list[str]] = {kind: [] for kind in TorchSymbol}
    for name in names:
        found[classify(name, shims)].append(name)
    return TorchImports(
        shims=tuple(found[TorchSymbol.SHIM]),
        unknown_shims=tuple(found[TorchSymbol.UNKNOWN_SHIM]),
        unstable=tuple(found[TorchSymbol.UNSTABLE]),
        python=tuple(found[TorchSymbol.PYTHON]),
    )


def _classify_cpp(scope: tuple[str, ...]) -> TorchSymbol:
    if len(scope) == 1 and _PYTHON_GLOBAL.fullmatch(scope[0]):
        return TorchSymbol.PYTHON
    if len(scope) < 2 or scope[0] not in NAMESPACES:
        return TorchSymbol.UNRELATED
    # A function or class named torch::stable is no member of a namespace torch::stable.
    nested = len(scope) > 2
    if scope[0] == "torch" and scope[1] in STABLE_NAMESPACES and nested:
        return TorchSymbol.UNRELATED
    return TorchSymbol.UNSTABLE


_SPECIAL = re.compile(
    r"""
      TV | TT | TI | TS                     # vtable, VTT, typeinfo, typeinfo name: <type>
    | Th n?[0-9]+_ | Tv n?[0-9]+_n?[0-9]+_           # thunks: <call-offset> <encoding>
    | Tc (?:h n?[0-9]+_ | v n?[0-9]+_n?[0-9]+_){2}   # covariant return thunk
    | TC                                    # construction vtable: <type> ...
    | TH | TW | GV | GR                     # thread-local and static initialisation: <name>
    | GTt | GTn                             # transaction clones: <encoding>
    """,
    re.VERBOSE,
)
_TYPE_QUALIFIERS = re.compile(r"[PRKVOr]*")
_NESTED = re.compile(r"NH?[rVK]*[RO]?")
_LENGTH = re.compile(r"L?([1-9][0-9]{0,5})")
_ANONYMOUS = re.compile(r"_GLOBAL_[._$]N")
# One name more than a decision needs tells a namespace from the entity itself.
_ENOUGH = 3


def own_scope(mangled: str) -> tuple[str, ...]:
    """Return the leading names of the entity's own qualified name, at most three.

    `_ZNK2at10TensorBase3dimEv` gives `("at", "TensorBase", "dim")`. The last name stands as `""` where the
    grammar gives an operator, a constructor or template arguments in its place. Empty for a name in `std`,
    for types without a name of their own, and for text that is no Itanium name.
    """
    if not mangled.startswith("_Z"):
        return ()
    at = 2
    special = _SPECIAL.match(mangled, at)
    if special:
        at = special.end()
        if special[0] in ("TV", "TT", "TI", "TS", "TC"):
            at = _end(_TYPE_QUALIFIERS, mangled, at)
    # An entity local to a function belongs to it: skip to the outermost enclosing function's name.
    while mangled.startswith("Z", at):
        at += 1
    nested = _NESTED.match(mangled, at)
    if nested is None:
        name, _ = _source_name(mangled, at)
        return (name,) if name else ()
    return _nested_names(mangled, nested.end())


def _nested_names(mangled: str, at: int) -> tuple[str, ...]:
    names: list[str] = []
    while len(names) < _ENOUGH:
        name, after = _source_name(mangled, at)
        if not name:
            # The end, template arguments, or a name that is spelt by other means.
            if names and mangled[at : at + 1] not in ("E", "I", ""):
                names.append("")
            break
        names.append(name)
        at = after
    return tuple(names)


def _source_name(mangled: str, at: int) -> tuple[str, int]:
    """Return the identifier at `at` and where it ends, empty where none stands there."""
    match = _LENGTH.match(mangled, at)
    if match is None:
        return "", at
    end = match.end() + int(match[1])
    name = mangled[match.end() : end]
    if len(name) < int(match[1]) or _ANONYMOUS.match(name):
        return "", at
    # ABI tags belong to the identifier before them.
    while mangled.startswith("B", end):
        tag = _LENGTH.match(mangled, end + 1)
        if tag is None:
            break
        end = tag.end() + int(tag[1])
    return name, end


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# A directive and its continuation lines: the export macro's own definition is no declaration.
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\r?\n)*[^\n]*", re.MULTILINE)
_ATTRIBUTE = re.compile(
    r"""
      \[\[ .*? \]\]
    | \b(?: __attribute__ \s* \( | __declspec \s* ) \( (?: [^()] | \([^()]*\) )* \)+
    """,
    re.DOTALL | re.VERBOSE,
)
# The name before the first parenthesis after the macro; variables and types have none before their end.
_DECLARATION = re.compile(r"\bAOTI_TORCH_EXPORT\b[^;{}()=]*?\b([A-Za-z_]\w*)\s*\(")


def declared_shims(header_texts: Iterable[str]) -> frozenset[str]:
    """Return the names of the C functions that torch's stable C headers export, whatever version guards them.

    The headers are `torch/csrc/stable/c/shim.h` and `shim*.h`, `c_shim_*.h` of
    `torch/csrc/inductor/aoti_torch/`; a declaration carries `AOTI_TORCH_EXPORT`.
    """
    names: set[str] = set()
    for text in header_texts:
        code = _ATTRIBUTE.sub(" ", _DIRECTIVE.sub("", _COMMENT.sub(" ", text)))
        names.update(_DECLARATION.findall(code))
    return frozenset(names)

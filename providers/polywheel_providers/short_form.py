"""Short forms: the facts of a machine nobody recorded, such as `nvidia:9.0,driver=12.8+cpu:v3`.

Parts are joined by `+`; a part is a namespace, a colon and comma-separated words. `cpu` (or `x86_64`) and
`aarch64` say which processor it is, otherwise it is an x86-64 one that says nothing. Blanks do not count.
"""

from __future__ import annotations

from .aarch64 import EXTENSIONS, VERSIONS
from .cpu import CpuFacts
from .facts import Facts, namespace_module
from .vendor import VENDORS
from .x86_64 import FEATURES, INSTRUCTION_SETS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EXAMPLES = "nvidia:9.0,driver=12.8 · amd:gfx942 · intel:20.1.0 · cpu:v3 · aarch64:8.2a,sve2, joined by +"
"""What a message shows to someone who got it wrong."""

_SOURCE = "short form"
_PROCESSORS = {"cpu": "x86_64", "x86_64": "x86_64", "aarch64": "aarch64"}


def parse(text: str) -> Facts:
    """Make the facts a short form stands for: a Linux machine of which nothing else is known.

    Raises `ValueError` with one line that names the part and shows the forms there are.
    """
    cpu: CpuFacts | None = None
    vendors: dict[str, Any] = {}
    for part in "".join(text.split()).split("+"):
        namespace, words = _split(part, text)
        if namespace in VENDORS and namespace not in vendors:
            vendors[namespace] = _vendor(namespace, words, part)
        elif namespace in _PROCESSORS and cpu is None:
            cpu = _processor(_PROCESSORS[namespace], words, part)
        elif namespace in VENDORS or namespace in _PROCESSORS:
            raise ValueError(f"machine {text!r}: {part!r} says a second time what the machine has")
        else:
            raise ValueError(f"machine {text!r}: {namespace!r} is not known; expected {EXAMPLES}")
    cpu = cpu or CpuFacts("x86_64", _SOURCE)
    return Facts("Linux", cpu.architecture, "", "", cpu, **vendors)


def _split(part: str, text: str) -> tuple[str, tuple[str, ...]]:
    namespace, colon, rest = part.partition(":")
    words = tuple(rest.split(","))
    if not namespace or not colon or not all(words):
        raise ValueError(f"machine {text!r}: {part!r} is no NAMESPACE:WORD,WORD; expected {EXAMPLES}")
    return namespace.lower(), words


def _vendor(namespace: str, words: tuple[str, ...], part: str) -> Any:
    try:
        return namespace_module(namespace).from_short_form(words)
    except ValueError as problem:
        raise ValueError(f"machine {part!r}: {problem}") from problem


def _processor(architecture: str, words: tuple[str, ...], part: str) -> CpuFacts:
    """Read `v3` or `8.2a` and the extensions after it."""
    declared, extensions = words[0].lower(), tuple(word.lower() for word in words[1:])
    flags = {name: {name} for name in INSTRUCTION_SETS} if architecture == "x86_64" else EXTENSIONS
    values = FEATURES["level"] if architecture == "x86_64" else VERSIONS
    if declared not in values:
        raise ValueError(f"machine {part!r}: {words[0]!r} is not one of {', '.join(values)}")
    unknown = [word for word in extensions if word not in flags]
    if unknown:
        raise ValueError(f"machine {part!r}: {unknown[0]!r} is not one of {', '.join(flags)}")
    found = sorted({flag for word in extensions for flag in flags[word]})
    return CpuFacts(architecture, _SOURCE, declared=declared, declared_flags=tuple(found))

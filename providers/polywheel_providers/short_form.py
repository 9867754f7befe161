"""Short forms: the facts of a machine nobody recorded, such as `nvidia:9.0,driver=12.8+cpu:v3`.

Parts are joined by `+`; a part is a namespace, a colon and comma-separated words. `cpu` (or `x86_64`) and
`aarch64` say which processor it is, otherwise it is an x86-64 one that says nothing. Blanks and case do not
count.
"""

from __future__ import annotations

import re

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

    Parts of one GPU vendor add up. Raises `ValueError` with one line that names the part and shows the
    forms there are.
    """
    cpu: CpuFacts | None = None
    words_of: dict[str, tuple[str, ...]] = {}
    # amd:gfx942:sramecc+ holds a plus sign of its own, so one that joins has NAMESPACE: after it.
    for part in re.split(r"\+(?=[a-z0-9_]+:)", "".join(text.split()).lower()):
        namespace, words = _split(part, text)
        if namespace in VENDORS:
            words_of[namespace] = words_of.get(namespace, ()) + words
        elif namespace not in _PROCESSORS:
            raise ValueError(f"machine {text!r}: {namespace!r} is not known; expected {EXAMPLES}")
        elif cpu is not None:
            raise ValueError(f"machine {text!r}: {part!r} is a second processor; a machine has one kind")
        else:
            cpu = _processor(_PROCESSORS[namespace], words, part)
    cpu = cpu or CpuFacts("x86_64", _SOURCE)
    vendors = {namespace: _vendor(namespace, words) for namespace, words in words_of.items()}
    return Facts("Linux", cpu.architecture, "", "", cpu, **vendors)


def _split(part: str, text: str) -> tuple[str, tuple[str, ...]]:
    namespace, colon, rest = part.partition(":")
    words = tuple(rest.split(","))
    if not namespace or not colon or not all(words):
        raise ValueError(f"machine {text!r}: {part!r} is no NAMESPACE:WORD,WORD; expected {EXAMPLES}")
    return namespace, words


def _vendor(namespace: str, words: tuple[str, ...]) -> Any:
    try:
        return namespace_module(namespace).from_short_form(words)
    except ValueError as problem:
        raise ValueError(f"machine '{namespace}:{','.join(words)}': {problem}") from problem


def _processor(architecture: str, words: tuple[str, ...], part: str) -> CpuFacts:
    """Read `v3` or `8.2a` and the extensions after it."""
    declared, extensions = words[0], words[1:]
    flags = {name: {name} for name in INSTRUCTION_SETS} if architecture == "x86_64" else EXTENSIONS
    values = FEATURES["level"] if architecture == "x86_64" else VERSIONS
    if declared not in values:
        raise ValueError(
            f"machine {part!r}: {words[0]!r} is not one of {', '.join(values)}; "
            "one of them comes first, instruction sets after it"
        )
    unknown = [word for word in extensions if word not in flags]
    if unknown:
        raise ValueError(f"machine {part!r}: {unknown[0]!r} is not one of {', '.join(flags)}")
    found = sorted({flag for word in extensions for flag in flags[word]})
    return CpuFacts(architecture, _SOURCE, declared=declared, declared_flags=tuple(found))

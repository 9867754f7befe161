"""What one library's bytes say against the platform it is to be published for, and against torch's promise.

| code                    | severity | says                                                              |
|-------------------------|----------|-------------------------------------------------------------------|
| `platform-format`       | error    | the file format or C library is not that of the platform tag      |
| `platform-machine`      | error    | the binary is for another architecture than the platform tag      |
| `platform-too-new`      | error    | a symbol version is newer than the manylinux tag allows           |
| `torch-unstable-symbol` | error    | a torch symbol outside the stable ABI is used, C++ or Python's    |
| `torch-unknown-shim`    | error    | a name like a stable C function that torch does not declare       |
|                         | warning  | ... imported weakly, so that the library still loads without it   |
| `torch-python-library`  | warning  | libtorch_python is needed, to which stable code need not be bound |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polywheel_abi_check.finding import Finding
from polywheel_abi_check.manylinux import ManylinuxTag, needed_tag, too_new
from polywheel_abi_check.platform_tag import parse_platform_tags
from polywheel_abi_check.torch_symbols import torch_imports

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polywheel_abi_check.image import Image
    from polywheel_abi_check.manylinux import TooNew
    from polywheel_abi_check.platform_tag import PlatformTag
    from polywheel_abi_check.torch_symbols import TorchImports

_PYTHON_LIBRARIES = ("libtorch_python.so", "libtorch_python.dylib", "torch_python.dll")
# A message stays one readable line; `torch_imports` and `too_new` give all names.
_NAMED_IN_MESSAGE = 5


def check_library(image: Image, *, platform_tag: str, shims: frozenset[str] | None) -> tuple[Finding, ...]:
    """Return what contradicts `platform_tag` (one tag, or several joined by dots) and torch's stable ABI.

    `shims` are the C functions that the torch asked for declares (`declared_shims`); None leaves unknown
    shims unjudged. Raises BadInputError for a platform tag of no known form.
    """
    tags = parse_platform_tags(platform_tag)
    return (*_platform_findings(image, tags), *_torch_findings(image, shims))


def _platform_findings(image: Image, tags: Sequence[PlatformTag]) -> Iterator[Finding]:
    for tag in tags:
        if tag.format != image.format:
            yield _wrong_format(image, tag)
        elif tag.machine is not None and tag.machine != image.machine:
            yield _wrong_machine(image, tag)
        elif tag.system == "musllinux" and _needs_glibc(image):
            yield _wrong_c_library(image, tag)
    fitting = [tag for tag in tags if (tag.format, tag.machine) == (image.format, image.machine)]
    # manylinux_2_17 and manylinux2014 are one promise, to be judged once.
    promises = dict.fromkeys(
        str(ManylinuxTag.parse(tag.text)) for tag in fitting if tag.system == "manylinux"
    )
    for promise in promises:
        for excess in too_new(image, promise):
            yield _too_new(image, promise, excess)


def _wrong_format(image: Image, tag: PlatformTag) -> Finding:
    expected = f"{tag.format} for {tag.text}" if tag.format else f"no binary under the tag {tag.text}"
    return Finding(
        "platform-format",
        "error",
        image.place,
        f"the binary is {image.format}, expected {expected}",
        "build the library for this platform, or declare the platform it was built for",
    )


def _wrong_machine(image: Image, tag: PlatformTag) -> Finding:
    return Finding(
        "platform-machine",
        "error",
        image.place,
        f"the binary is for {image.machine}, expected {tag.machine} for {tag.text}",
        "check that the cell's own compiler built it",
    )


def _needs_glibc(image: Image) -> bool:
    return any(version.startswith("GLIBC_") for needs in image.version_needs.values() for version in needs)


def _wrong_c_library(image: Image, tag: PlatformTag) -> Finding:
    return Finding(
        "platform-format",
        "error",
        image.place,
        f"the binary needs glibc, expected musl for {tag.text}",
        f"build it with a musl toolchain, or declare {needed_tag(image)}",
    )


def _too_new(image: Image, tag: str, excess: TooNew) -> Finding:
    subject = f"{_listed(excess.symbols)} of {excess.library}" if excess.symbols else excess.library
    needs = "need" if len(excess.symbols) > 1 else "needs"
    allows = excess.allowed or "no such version"
    return Finding(
        "platform-too-new",
        "error",
        image.place,
        f"{subject} {needs} {excess.needed}, {tag} allows {allows}",
        _runtime_hint(needed_tag(image)),
    )


def _runtime_hint(needed: str) -> str:
    if needed.startswith("manylinux"):
        return f"declare {needed}, or build against an older C and C++ runtime"
    return "no manylinux tag allows all it needs: build against an older runtime, public symbols only"


def _torch_findings(image: Image, shims: frozenset[str] | None) -> Iterator[Finding]:
    uses = torch_imports((symbol.name for symbol in image.imported), shims or frozenset())
    if uses.unstable or uses.python:
        yield _unstable(image, uses)
    if shims is not None and uses.unknown_shims:
        yield from _unknown_shims(image, uses.unknown_shims)
    for library in image.needed:
        if library in _PYTHON_LIBRARIES:
            yield Finding(
                "torch-python-library",
                "warning",
                image.place,
                f"needs {library}, expected only libtorch's own libraries",
                "link with libtorch_cpu (and libtorch_cuda) alone",
            )


def _unstable(image: Image, uses: TorchImports) -> Finding:
    names = (*uses.unstable, *uses.python)
    return Finding(
        "torch-unstable-symbol",
        "error",
        image.place,
        f"uses {_counted(names, 'torch symbol')} outside the stable ABI: {_listed(names)}",
        "define TORCH_TARGET_VERSION and include only torch/csrc/stable and torch/headeronly",
    )


def _unknown_shims(image: Image, unknown: Sequence[str]) -> Iterator[Finding]:
    weak = {symbol.name for symbol in image.imported if symbol.weak}
    firm_names = [name for name in unknown if name not in weak]
    weak_names = [name for name in unknown if name in weak]
    hint = "set TORCH_TARGET_VERSION to the lowest torch supported, and link what defines names of your own"
    if firm_names:
        message = (
            f"needs {_counted(firm_names, 'C function')} that torch does not declare: {_listed(firm_names)}"
        )
        yield Finding("torch-unknown-shim", "error", image.place, message, hint)
    if weak_names:
        message = f"weakly imports {_listed(weak_names)}, which torch does not declare"
        yield Finding("torch-unknown-shim", "warning", image.place, message, hint)


def _counted(names: Sequence[str], noun: str) -> str:
    return f"{len(names)} {noun}{'' if len(names) == 1 else 's'}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED_IN_MESSAGE])
    rest = len(names) - _NAMED_IN_MESSAGE
    return f"{shown} and {rest} more" if rest > 0 else shown

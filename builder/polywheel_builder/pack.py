"""Pack one wheel: check what its libraries need, then write it. Run as `python -m polywheel_builder.pack`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from polywheel_abi_check.elf import read_elf
from polywheel_abi_check.finding import Finding
from polywheel_abi_check.library_check import check_library
from polywheel_abi_check.source import FileSource
from polywheel_abi_check.torch_symbols import declared_shims
from polywheel_builder.roots import Roots
from polywheel_variants.archive import Member, write_wheel
from polywheel_variants.errors import PolywheelError
from polywheel_variants.wheel_name import WheelName


@dataclass(frozen=True)
class PackSpec:
    """What goes into one wheel. Files are written with the names of `roots.Roots`."""

    filename: str
    files: Mapping[str, str]
    """Path in the wheel -> file."""
    libraries: Mapping[str, str]
    """Path in the wheel -> shared library."""
    texts: Mapping[str, str]
    """Path in the wheel -> content: METADATA, WHEEL, variant.json."""
    epoch: int
    """The time every entry states, in seconds since 1970."""

    def to_json(self) -> str:
        """Serialise; the same wheel gives the same text."""
        return json.dumps(asdict(self), sort_keys=True)


def main(arguments: Sequence[str]) -> int:
    """Pack the spec on standard input: `OUTPUT NAME=PATH...`, the names being what the spec refers to."""
    out, *names = arguments
    roots = Roots({name: Path(path) for name, _, path in (one.partition("=") for one in names)})
    spec = PackSpec(**json.load(sys.stdin))
    try:
        findings = list(_findings(spec, roots))
        if not findings:
            write_wheel(
                Path(out).parent, WheelName.parse(spec.filename), _members(spec, roots), epoch=spec.epoch
            )
    except PolywheelError as error:
        sys.stdout.write(f"{error}\n")
        return 1
    for finding in findings:
        sys.stdout.write(f"{finding.path}: {finding.message} [{finding.code}]\n  {finding.hint}\n")
    return 1 if findings else 0


def _findings(spec: PackSpec, roots: Roots) -> Iterator[Finding]:
    """Check that declared is built: a library that breaks the wheel's promise never gets into a wheel."""
    platform = WheelName.parse(spec.filename).platform
    headers = roots.paths["torch"].rglob("*.h")
    shims = declared_shims(path.read_text(encoding="utf-8") for path in headers)
    for inside, name in spec.libraries.items():
        with FileSource(Path(roots.expand(name))) as source:
            yield from check_library(read_elf(source, inside), platform_tag=platform, shims=shims)


def _members(spec: PackSpec, roots: Roots) -> Iterator[Member]:
    for inside, name in spec.files.items():
        yield Member(inside, Path(roots.expand(name)))
    for inside, name in spec.libraries.items():
        yield Member(inside, Path(roots.expand(name)), executable=True)
    for inside, text in spec.texts.items():
        yield Member(inside, text.encode())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

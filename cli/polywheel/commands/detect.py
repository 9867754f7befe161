"""`polywheel detect`: what a machine is, what it can run, what was tried, and why something was left out."""

from __future__ import annotations

import json
import os
import sys

from polywheel.machine_option import add_machine_arguments, resolve_machines
from polywheel_providers import devices, supported, to_json
from polywheel_providers.vendor import VENDORS
from polywheel_variants.errors import BadInputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from polywheel_providers import Device, Facts, Note

HELP = "say what this machine, or a named one, is and can run"

SCHEMA = "polywheel/detect/1"

_LINE = 78
"""How long a line may be, without the two blanks before it."""

_SHOWN_VALUES = 6
"""How many of a feature's values fit a line; CUDA versions are dozens."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_machine_arguments(parser)
    parser.add_argument(
        "--record", metavar="FILE", help="write the facts there, for --machine FILE elsewhere"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument(
        "--json", dest="format", action="store_const", const="json", help="short for --format json"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the answer; always 0, since no GPU is an answer."""
    machines = resolve_machines(arguments)
    if len(machines) > 1:
        raise BadInputError("detect describes one machine: give --machine once")
    facts = machines[0]
    if arguments.record is not None:
        _record(facts, arguments.record)
    if arguments.format == "json":
        sys.stdout.write(json.dumps(as_json(facts)) + "\n")
    else:
        from polywheel.terminal import is_colourful  # noqa: PLC0415 (JSON starts quicker without)

        sys.stdout.write(as_text(facts, colour=is_colourful(sys.stdout)))
    return 0


def as_json(facts: Facts) -> dict[str, object]:
    """Return the answer as `--json` prints it, `schema` first."""
    return {
        "schema": SCHEMA,
        "facts": to_json(facts),
        "supported": supported(facts),
        "devices": [vars(device) for device in devices(facts)],
        "notes": [vars(note) for note in facts.all_notes()],
        "elapsed_ms": facts.elapsed_ms,
    }


def as_text(facts: Facts, *, colour: bool) -> str:
    """Return the answer as a table for people."""
    sections = (
        _machine(facts),
        _devices(devices(facts), colour=colour),
        _supported(supported(facts)),
        _tried(facts),
        _notes(facts.all_notes()),
    )
    blocks = []
    for title, lines in sections:
        heading = f"\033[1m{title}\033[0m" if colour else title
        blocks.append("\n".join([heading, *(f"  {line}".rstrip() for line in lines)]))
    return "\n\n".join(blocks) + "\n"


def _printable(text: str) -> str:
    """Escape what would tell a terminal something: a driver may call its device anything."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def _machine(facts: Facts) -> tuple[str, list[str]]:
    words = (facts.system, facts.machine, facts.release, facts.libc)
    lines = [_printable(" ".join(word for word in words if word))]
    for core in facts.cpu.cores:
        name = core.name or " ".join(filter(None, (core.vendor, core.model))) or "unnamed core"
        lines.append(_printable(f"{core.count} x {name} ({facts.cpu.source})"))
    return "Machine", lines


def _devices(found: tuple[Device, ...], *, colour: bool) -> tuple[str, list[str]]:
    rows = [
        (
            device.vendor,
            _printable(device.name),
            _printable(device.arch) or "?",
            "integrated" if device.integrated else "discrete",
        )
        for device in found
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)] if rows else []
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        + "  "
        + _state(device, colour=colour)
        for row, device in zip(rows, found, strict=True)
    ]
    return "Accelerators", lines or ["none found"]


def _state(device: Device, *, colour: bool) -> str:
    state = "usable" if device.visible and device.usable else "not usable" if device.visible else "hidden"
    if colour:
        state = f"\033[{32 if state == 'usable' else 33}m{state}\033[0m"
    return f"{state}: {_printable(device.why)}" if device.why else state


def _supported(found: dict[str, dict[str, tuple[str, ...]]]) -> tuple[str, list[str]]:
    """One line a feature; features that are merely there share their namespace's last line."""
    lines = []
    for namespace, features in found.items():
        lines += [
            f"{namespace} :: {feature} :: {_values(values)}"
            for feature, values in features.items()
            if values != ("on",)
        ]
        if present := [feature for feature, values in features.items() if values == ("on",)]:
            lines += _wrapped(f"{namespace} :: {' '.join(present)} :: on")
    return "Supported variants, best first", lines or ["the plain wheel"]


def _wrapped(line: str) -> list[str]:
    """Break a line between words, so that a terminal of 80 columns does not break it inside one."""
    lines = [""]
    for word in line.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > _LINE:
            lines.append(" ")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines


def _values(values: tuple[str, ...]) -> str:
    if len(values) <= _SHOWN_VALUES + 2:
        return " ".join(values)
    hidden = len(values) - _SHOWN_VALUES - 1
    return f"{' '.join(values[:_SHOWN_VALUES])} ({hidden} more) {values[-1]}"


def _tried(facts: Facts) -> tuple[str, list[str]]:
    """One line a vendor: its sources and what each gave, then the variables that were set."""
    lines = []
    for name in VENDORS:
        if (vendor_facts := getattr(facts, name)) is not None:
            said = [f"{source}: {outcome}" for source, outcome in vendor_facts.tried.items()]
            said += [f"{variable}={value}" for variable, value in vendor_facts.env.items()]
            lines.append(_printable(f"{name}: {'; '.join(said) or 'nothing answered'}"))
        elif name in facts.elapsed_ms:
            lines.append(f"{name}: no sign of a device or a driver")
    return "Tried", lines or ["nothing: the machine was described, not probed"]


def _notes(notes: tuple[Note, ...]) -> tuple[str, list[str]]:
    return "Notes", [_printable(f"{note.message} [{note.code}]") for note in notes] or ["none"]


def _record(facts: Facts, path: str) -> None:
    """Write the record by rename, so that a reader never sees half of one."""
    from pathlib import Path  # noqa: PLC0415 (start-up time is a promise of this command)

    target = Path(path)
    if not target.name:
        raise BadInputError(
            f"--record {path!r}: not a file's name; expected one to write, such as machine.json"
        )
    partial = target.with_name(f".{os.getpid()}.part")
    try:
        partial.write_text(json.dumps(to_json(facts), indent=2) + "\n", encoding="utf-8")
        partial.replace(target)
    except OSError as problem:
        partial.unlink(missing_ok=True)
        raise BadInputError(f"--record {path}: cannot be written ({problem.strerror})") from problem
    sys.stderr.write(f"recorded {path}\n")

"""`polywheel index`: a static index of wheels that stock pip and uv install from."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from polywheel.given import given_path
from polywheel.terminal import size_text

if TYPE_CHECKING:
    import argparse

    from polywheel_index.site import Written

HELP = "write a static index of wheels that pip and uv install from"

SCHEMA = "polywheel/index/1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "wheels",
        nargs="+",
        type=given_path,
        metavar="WHEEL|DIR",
        help="a wheel, or a folder whose wheels are all taken",
    )
    parser.add_argument(
        "--out",
        required=True,
        type=given_path,
        metavar="SITE",
        help="the site's folder: new, empty, or written by this command",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument(
        "--json", dest="format", action="store_const", const="json", help="short for --format json"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the site and say what it holds."""
    from polywheel_index.site import write_site  # noqa: PLC0415 - `packaging` is slow to import

    out: Path = arguments.out
    written = write_site(arguments.wheels, out)
    if arguments.format == "json":
        sys.stdout.write(json.dumps(as_json(written, out)) + "\n")
    else:
        sys.stdout.write(as_text(written, out))
    return 0


def as_json(written: Written, out: Path) -> dict[str, object]:
    """Return the answer as `--json` prints it, `schema` first."""
    return {
        "schema": SCHEMA,
        "site": str(out),
        "index_url": simple_url(out),
        "projects": {project: list(files) for project, files in written.projects.items()},
        "size": written.size,
        "removed": list(written.removed),
    }


def as_text(written: Written, out: Path) -> str:
    """Return the answer for people, with the lines that install from the site."""
    lines = []
    for project, files in written.projects.items():
        wheels = sum(name.endswith(".whl") for name in files)
        lines.append(f"{project}: {wheels} wheel{'' if wheels == 1 else 's'}")
    old = f", {len(written.removed)} old files removed" if written.removed else ""
    lines.append(f"{out}: {size_text(written.size)}{old}")
    first = next(iter(written.projects))
    lines += [
        "",
        f"uv pip install --preview-features wheel-variants --index {simple_url(out)} {first}",
        f"pip install --no-deps --index-url {simple_url(out)} {first}",
    ]
    return "\n".join(lines) + "\n"


def simple_url(out: Path) -> str:
    """Return the URL of the site's index, as it lies on this machine."""
    return (out / "simple").resolve().as_uri()

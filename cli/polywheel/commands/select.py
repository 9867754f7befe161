"""`polywheel select`: the wheel that runs best on a machine, and why each other one was refused."""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from typing import TYPE_CHECKING

from polywheel.given import given
from polywheel.machine_option import add_machine_arguments, resolve_machines
from polywheel.one_line import one_line
from polywheel.terminal import paint
from polywheel_providers import GPU_CODE, OVERRIDE, machine_named, serves, supported
from polywheel_variants.errors import BadInputError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from polywheel_index.choice import Choice, Target
    from polywheel_index.python_target import Python
    from polywheel_providers import Facts, Verdict

HELP = "say which wheel of an index fits a machine best, and why not each other one"

_BASELINES = {"x86_64": "cpu:v2", "aarch64": "aarch64:8a"}
"""What uv takes a machine to be of which only the platform is known."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("requirement", metavar="REQUIREMENT", help="such as demo, demo==1.2 or 'demo>=1,<2'")
    parser.add_argument(
        "--index",
        required=True,
        type=given,
        metavar="URL|DIR",
        help="a simple index, a site that `index` wrote, or a flat folder of wheels",
    )
    add_machine_arguments(parser)
    parser.add_argument(
        "--python", metavar="EXE|TAG", help="an interpreter, or 3.12, cp312, 3.15t; default: this one"
    )
    parser.add_argument(
        "--platform",
        metavar="TAG",
        help="a platform such as manylinux_2_28_x86_64; without a machine, one of which only this is known",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument(
        "--json", dest="format", action="store_const", const="json", help="short for --format json"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the answer; 0 when a wheel was chosen, 1 when none fits."""
    from polywheel_index.select import select  # noqa: PLC0415 - `packaging` is slow to import

    choice = select(arguments.requirement, arguments.index, target_of(arguments))
    if arguments.format == "json":
        sys.stdout.write(json.dumps(choice.to_json()) + "\n")
    else:
        sys.stdout.write(as_text(choice))
    return 0 if choice.chosen is not None else 1


def target_of(arguments: argparse.Namespace) -> Target:
    """Work out what to choose for: the machine or machines, their platform and the Python."""
    from polywheel_index.choice import Target  # noqa: PLC0415
    from polywheel_index.python_target import python_named, running_python  # noqa: PLC0415
    from polywheel_index.select import all_serve, common  # noqa: PLC0415

    python = running_python() if arguments.python is None else python_named(arguments.python)
    machines = _machines(arguments)
    platforms = _platforms(arguments, python, machines)
    if not platforms:
        raise BadInputError("the machines named have no platform in common: no wheel can serve them all")
    return Target(
        python.tags(platforms),
        python.version,
        common([supported(facts) for facts in machines]),
        all_serve([partial(_verdict, facts) for facts in machines]),
    )


def _verdict(facts: Facts, namespace: str, feature: str, wanted: Sequence[str]) -> Verdict | None:
    """Ask the provider of a GPU vendor about code for its architectures; lists decide all else."""
    return serves(facts, namespace, wanted) if GPU_CODE.get(namespace) == feature else None


def _is_named(arguments: argparse.Namespace) -> bool:
    """Whether the options or the environment name a machine other than this one."""
    return bool(arguments.machine or arguments.root or os.environ.get(OVERRIDE))


def _machines(arguments: argparse.Namespace) -> list[Facts]:
    from polywheel_index.platform_tags import machine_of_tag  # noqa: PLC0415

    if arguments.platform is None or _is_named(arguments):
        return resolve_machines(arguments)
    baseline = _BASELINES.get(machine_of_tag(arguments.platform))
    if baseline is None:
        raise BadInputError(f"--platform {arguments.platform}: name its --machine too")
    return [machine_named(baseline)]


def _platforms(arguments: argparse.Namespace, python: Python, machines: Iterable[Facts]) -> Sequence[str]:
    """List the platform tags that every machine takes, best first."""
    from polywheel_index.platform_tags import System, platforms_of_system, platforms_of_tag  # noqa: PLC0415
    from polywheel_index.python_target import running_python  # noqa: PLC0415

    if arguments.platform is not None:
        return platforms_of_tag(arguments.platform)
    if not _is_named(arguments):
        return python.platforms or running_python().platforms
    first, *others = [
        platforms_of_system(System(facts.system, facts.machine, facts.release, facts.libc))
        for facts in machines
    ]
    return [tag for tag in first if all(tag in other for other in others)]


def as_text(choice: Choice) -> str:
    """Return the answer for people."""
    lines = []
    if choice.chosen is None:
        lines.append(paint("nothing fits", "red", sys.stdout))
    else:
        lines.append(f"chosen   {paint(choice.chosen.candidate.file.filename, 'green', sys.stdout)}")
        lines += [
            f"         {namespace} :: {feature} :: {' '.join(values)}"
            for namespace, features in choice.chosen.properties.items()
            for feature, values in features.items()
        ]
        lines.append(f"ranking  {' > '.join(label or 'plain' for label in choice.ranking)}")
    if choice.rejected:
        lines.append("refused")
        for one in choice.rejected:
            lines += [f"  {one_line(one.filename)}", f"    {one_line(one.reason)}"]
    lines += [f"{paint('warning', 'yellow', sys.stdout)}  {one_line(warning)}" for warning in choice.warnings]
    return "\n".join(lines) + "\n"

"""Writes the reference's generated parts, each read from the code that it describes.

`python docs/generate.py` writes them by hand; a build of the manual does it first of all. Each function
returns Markdown (MyST), so that a test can ask what it covers.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from polywheel.front import COMMANDS, make_parser
from polywheel_abi_check import library_check
from polywheel_providers.vendor import VENDORS
from polywheel_variants import errors
from polywheel_variants.known_providers import NAMESPACES, PROVIDERS
from polywheel_variants.metadata import StaticProvider

REPOSITORY = Path(__file__).resolve().parent.parent

_USAGE_COLUMNS = 88


def write_all(folder: Path) -> None:
    """Write every part; one that has not changed is left alone, so that a rebuild stays small."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in PARTS.items():
        path, text = folder / f"{name}.md", make()
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8", newline="\n")


def command_line() -> str:
    """Write one section a command: its usage and every argument, from the parsers themselves."""
    return "\n".join(_command(name, parser) for name, parser in command_parsers().items())


def command_parsers() -> dict[str, argparse.ArgumentParser]:
    """Command name -> its parser, in the order of `COMMANDS`."""
    parser = make_parser()
    (subparsers,) = (one for one in parser._actions if isinstance(one, argparse._SubParsersAction))  # noqa: SLF001
    return {name: subparsers.choices[name] for name in COMMANDS}


def _command(name: str, parser: argparse.ArgumentParser) -> str:
    lines = [f"## polywheel {name}", "", _sentence(parser.description or ""), ""]
    lines += ["```text", _usage(parser), "```", ""]
    for group in parser._action_groups:  # noqa: SLF001 - argparse has no other way to list them
        actions = [one for one in group._group_actions if one.help != argparse.SUPPRESS]  # noqa: SLF001
        actions = [one for one in actions if not isinstance(one, argparse._HelpAction)]  # noqa: SLF001
        if not actions:
            continue
        if group.description:
            lines += [f"**{(group.title or '').capitalize()}.** {_sentence(_escaped(group.description))}", ""]
        for action in actions:
            lines += [_names(action), f": {_sentence(_help(action))}", ""]
    return "\n".join(lines)


def _usage(parser: argparse.ArgumentParser) -> str:
    """Wrap the usage to one width wherever the manual is built, without colour."""
    formatter = argparse.HelpFormatter(parser.prog, width=_USAGE_COLUMNS)
    formatter.add_usage(parser.usage, parser._actions, parser._mutually_exclusive_groups, prefix="")  # noqa: SLF001
    return re.sub(r"\x1b\[[0-9;]*m", "", formatter.format_help()).strip()


def _names(action: argparse.Action) -> str:
    words = _value(action)
    if not action.option_strings:
        return f"`{words}`"
    return ", ".join(f"`{name} {words}`" if words else f"`{name}`" for name in action.option_strings)


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices is not None:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return action.dest if not action.option_strings else action.dest.upper()


def _help(action: argparse.Action) -> str:
    text = action.help or ""
    fields = {**vars(action), "prog": "polywheel"}
    text = _escaped(text % fields if "%" in text else text)
    repeatable = isinstance(action, argparse._AppendAction) and "repeatable" not in text  # noqa: SLF001
    return f"{text}; repeatable" if repeatable else text


def _sentence(text: str) -> str:
    """Begin with a capital and end with one full stop, as the manual's prose does."""
    text = text.strip().rstrip(".")
    first = text.split(" ", 1)[0]
    begun = text if first.startswith(("-", "`")) or not first.islower() else text[:1].upper() + text[1:]
    return f"{begun}."


def exit_codes() -> str:
    """List every code that the command line ends with, from the error classes."""
    rows = [("`0`", "", "Yes, or done.")]
    rows += [
        (f"`{one.exit_code}`", f"`{one.__name__}`", _first_paragraph(one.__doc__)) for one in error_classes()
    ]
    rows += [
        ("`130`", "", "Interrupted by Ctrl-C or SIGTERM. What was finished is kept, and a rerun goes on."),
        ("`141`", "", "The reader of standard output has gone, as with `head -1`."),
    ]
    return _table(("Code", "Python class", "Meaning"), rows)


def error_classes() -> list[type[errors.PolywheelError]]:
    """List every class of error that polywheel shows to people, by exit code."""
    classes = [
        one
        for one in vars(errors).values()
        if isinstance(one, type)
        and issubclass(one, errors.PolywheelError)
        and one is not errors.PolywheelError
    ]
    return sorted(classes, key=lambda one: one.exit_code)


def namespaces() -> str:
    """List the namespaces of written wheels, the most decisive first, and who answers for each."""
    rows = []
    for place, name in enumerate(NAMESPACES, 1):
        provider = PROVIDERS[name]
        if isinstance(provider, StaticProvider):
            spans = [f"`{feature}`: `{v[0]}` to `{v[-1]}`" for feature, v in provider.values.items()]
            speaks = f"the metadata itself: {'; '.join(spans)}"
        else:
            document = provider.to_json()
            speaks = "<br>".join(
                f"`{one}`" for one in (*document["requires"], document.get("plugin-api")) if one
            )
        rows.append((str(place), f"`{name}`", speaks))
    return _table(("Place", "Namespace", "Provider, as `variant.json` names it"), rows)


def features() -> str:
    """List what `polywheel detect` can say in each namespace, from the providers."""
    parts = []
    for name in (*VENDORS, "x86_64", "aarch64"):
        speaker = _speaker(name)
        parts += [f"### {name}", "", _first_paragraph(speaker.__doc__), ""]
        present = [f"`{feature}`" for feature, values in speaker.FEATURES.items() if values == ("on",)]
        for feature, values in speaker.FEATURES.items():
            if values != ("on",):
                parts += [f"`{feature}`", f": {_values(values)}", ""]
        if present:
            parts += ["Present or absent, with the value `on`", f": {' '.join(present)}", ""]
    return "\n".join(parts)


def _values(values: tuple[str, ...]) -> str:
    shown = [f"`{one}`" for one in values]
    if len(shown) <= 24:
        return " ".join(shown)
    return f"{' '.join(shown[:6])} ... {' '.join(shown[-2:])} ({len(shown)} values)"


def probe_variables() -> str:
    """List the masks and overrides that change what a machine is said to support."""
    rows = [(f"`{name}`", f"`{vendor}`") for vendor in VENDORS for name in _speaker(vendor).ENVIRONMENT]
    return _table(("Variable", "Namespace"), rows)


def _speaker(namespace: str) -> Any:
    return import_module(f"polywheel_providers.{namespace}")


def findings() -> str:
    """Return the table of finding codes, as the module that makes them states it."""
    lines = inspect.getdoc(library_check) or ""
    return "\n".join(line for line in lines.splitlines() if line.startswith("|")) + "\n"


def finding_codes() -> frozenset[str]:
    """Return every code that the check can give, read from its source."""
    tree = ast.parse(inspect.getsource(library_check))
    return frozenset(
        str(call.args[0].value)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        and getattr(call.func, "id", "") == "Finding"
        and isinstance(call.args[0], ast.Constant)
    )


def detect_json() -> str:
    """Ask for a real answer of `polywheel detect --machine cpu:v3 --json`."""
    from polywheel.commands.detect import as_json  # noqa: PLC0415 - a command is imported where it runs
    from polywheel_providers import machine_named  # noqa: PLC0415

    text = json.dumps(as_json(machine_named("cpu:v3")), indent=2)
    lists = re.sub(r"\[\s+((?:\"[^\"]*\",?\s+)+)\]", lambda found: f"[{' '.join(found[1].split())}]", text)
    return f"```json\n{lists}\n```\n"


def matrix_schema() -> dict[str, Any]:
    """Return the schema that the builder ships; numbers stay as written, 2.10 is not 2.1."""
    text = files("polywheel_builder").joinpath("matrix-1.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text, parse_float=str)
    return schema


def matrix_keys() -> str:
    """List every key of matrix.yaml, table by table, from the schema."""
    schema = matrix_schema()
    parts = []
    for title, table in matrix_tables(schema).items():
        parts += [f"## {title}", "", _escaped(table["description"]) if "description" in table else "", ""]
        for key, value in table["properties"].items():
            text = _key_text(_resolved(value, schema), needed=key in table.get("required", ()))
            parts += [f"`{key}`", f": {text}", ""]
    return "\n".join(parts)


def matrix_tables(schema: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return each kind of table in the file: the top, one library, one variant."""
    return {
        "The file": schema,
        "A library": schema["$defs"]["library"],
        "A variant": schema["$defs"]["variant"],
    }


def _resolved(value: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow a `$ref` into the schema's definitions; what stands beside it wins."""
    if "$ref" not in value:
        return value
    target: Any = schema
    for step in value["$ref"].removeprefix("#/").split("/"):
        target = target[step]
    return {**_resolved(target, schema), **value}


def _key_text(value: Mapping[str, Any], *, needed: bool) -> str:
    said = [_escaped(value["description"])]
    if needed:
        said.append("Required.")
    elif "default" in value:
        said.append(f"Default: `{_yaml_text(value['default'])}`.")
    if value.get("type") == "array":
        said.append("A list.")
    elif "if" in value:
        said.append("One, or a list.")
    if "enum" in value and len(value["enum"]) > 1 and not value.get("examples"):
        words = dict.fromkeys(one for one in value["enum"] if isinstance(one, str))
        said.append("One of " + ", ".join(f"`{word}`" for word in words) + ".")
    if value.get("examples"):
        said.append("Such as " + " or ".join(f"`{_yaml_text(one)}`" for one in value["examples"]) + ".")
    return " ".join(said)


def _yaml_text(value: object) -> str:
    """Write a value as matrix.yaml does, in flow style."""
    match value:
        case bool():
            return "yes" if value else "no"
        case None:
            return "null"
        case list():
            return f"[{', '.join(map(_yaml_text, value))}]"
        case dict():
            return f"{{{', '.join(f'{key}: {_yaml_text(one)}' for key, one in value.items())}}}"
        case _:
            return str(value)


def _escaped(text: str) -> str:
    return re.sub(r"([*_{}<])", r"\\\1", text)


def operators() -> str:
    """Describe the reference extension's operators, read from its source: importing it would need torch."""
    path = REPOSITORY / "kernels/polywheel_kernels/operators.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parts = []
    for function in tree.body:
        if isinstance(function, ast.FunctionDef) and not function.name.startswith("_"):
            returns = f" -> {ast.unparse(function.returns)}" if function.returns else ""
            signature = f"polywheel_kernels.{function.name}({ast.unparse(function.args)}){returns}"
            parts += [f"## {function.name}", "", f"````{{py:function}} {signature}", ""]
            parts += [_google_sections(ast.get_docstring(function) or ""), "````", ""]
    return "\n".join(parts)


def _google_sections(docstring: str) -> str:
    """Turn `Args:`, `Returns:` and `Raises:` of a docstring into Markdown."""
    body, *sections = re.split(r"^(Args|Returns|Raises):\n", docstring, flags=re.MULTILINE)
    parts = [body.replace("``", "`").strip(), ""]
    for title, text in zip(sections[::2], sections[1::2], strict=True):
        lines = textwrap.dedent(text).replace("``", "`").strip()
        parts += [f"**{'Arguments' if title == 'Args' else title}**", ""]
        entries = re.split(r"^(\w+): ", lines, flags=re.MULTILINE)
        if entries[0]:
            parts += [entries[0], ""]
        for name, said in zip(entries[1::2], entries[2::2], strict=True):
            parts += [f"`{name}`", ": " + " ".join(said.split()), ""]
    return "\n".join(parts)


def _first_paragraph(docstring: str | None) -> str:
    return " ".join(inspect.cleandoc(docstring or "").split("\n\n")[0].split())


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    titles = list(head)
    lines = [titles, ["---"] * len(titles), *map(list, rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


PARTS: Mapping[str, Callable[[], str]] = {
    "command-line": command_line,
    "exit-codes": exit_codes,
    "namespaces": namespaces,
    "features": features,
    "probe-variables": probe_variables,
    "findings": findings,
    "detect-json": detect_json,
    "matrix": matrix_keys,
    "operators": operators,
}
"""File name -> what writes it."""


if __name__ == "__main__":
    write_all(Path(__file__).resolve().parent / "reference" / "generated")

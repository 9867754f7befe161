"""The generated reference covers all there is in the code."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from polywheel.front import COMMANDS
from polywheel_builder import matrix_file
from polywheel_variants import errors
from polywheel_variants.known_providers import NAMESPACES

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
SOURCE_ROOTS = ("variants", "abi_check", "index", "builder", "ci", "cli")


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    """Return docs/generate.py, which is a script of the manual and no installed module."""
    spec = importlib.util.spec_from_file_location("manual_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_command_and_option_is_listed(generate: ModuleType) -> None:
    text = generate.command_line()
    assert re.findall(r"^## polywheel (\w+)$", text, re.MULTILINE) == list(COMMANDS)
    for name, parser in generate.command_parsers().items():
        section = text.partition(f"## polywheel {name}\n")[2].partition("\n## ")[0]
        options = {option for action in parser._actions for option in action.option_strings}
        terms = set(re.findall(r"`(--?[a-z][a-z-]*)", section))
        assert options - {"-h", "--help"} <= terms


def test_every_option_says_what_it_does(generate: ModuleType) -> None:
    for parser in generate.command_parsers().values():
        assert all(action.help for action in parser._actions)


def test_every_key_of_matrix_yaml_is_listed(generate: ModuleType) -> None:
    file, library, variant = (
        set(re.findall(r"^`(\w+)`$", section, re.MULTILINE))
        for section in re.split(r"^## .*$", generate.matrix_keys(), flags=re.MULTILINE)[1:]
    )
    assert file == set(matrix_file._TOP)
    assert library == {"sources", "for", "include", "archs", "memory"}
    assert variant == set(matrix_file._VARIANT)


def test_every_exit_code_is_listed(generate: ModuleType) -> None:
    text = generate.exit_codes()
    classes = generate.error_classes()
    assert errors.BadInputError in classes
    assert all(f"| `{one.exit_code}` | `{one.__name__}` |" in text for one in classes)


def test_every_finding_code_is_listed_and_advised_on(generate: ModuleType) -> None:
    listed = set(re.findall(r"^\| `([a-z-]+)`", generate.findings(), re.MULTILINE))
    assert listed == generate.finding_codes()
    advice = (DOCS / "reference" / "findings.md").read_text(encoding="utf-8").partition("## What to do")[2]
    assert listed <= set(re.findall(r"`([a-z-]+)`", advice))


def test_every_namespace_is_listed(generate: ModuleType) -> None:
    assert re.findall(r"^\| \d \| `(\w+)`", generate.namespaces(), re.MULTILINE) == list(NAMESPACES)


def test_every_environment_variable_that_the_code_reads_is_listed() -> None:
    page = (DOCS / "reference" / "environment.md").read_text(encoding="utf-8")
    read: set[str] = set()
    for root in SOURCE_ROOTS:
        for path in (REPOSITORY / root).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            read |= set(re.findall(r"""environ(?:\.get\(|\[)\s*"([A-Z_]+)\"""", text))
    inherited = {"PATH", "HOME", "USERPROFILE", "APPDATA", "XDG_CONFIG_HOME"}
    assert {"POLYWHEEL_CACHE", "SOURCE_DATE_EPOCH"} <= read
    assert {name for name in read - inherited if f"`{name}`" not in page} == set()


def test_every_operator_of_the_kernels_is_listed(generate: ModuleType) -> None:
    assert re.findall(r"^## (\w+)$", generate.operators(), re.MULTILINE) == ["rms_norm", "flash_decode"]


def test_an_unchanged_part_is_not_written_again(generate: ModuleType, tmp_path: Path) -> None:
    generate.write_all(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    generate.write_all(tmp_path)
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert {path.stem for path in before} == set(generate.PARTS)

"""Every example of the manual is true: matrices parse, commands exist, shown answers are the real ones."""

from __future__ import annotations

import doctest
import inspect
import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml
from uv import find_uv_bin

from polywheel.front import make_parser
from polywheel_builder.matrix_file import parse_matrix
from polywheel_index import choice
from polywheel_variants.errors import BadInputError

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
PAGES = sorted(
    page
    for page in (*DOCS.rglob("*.md"), *REPOSITORY.glob("*.md"))
    if not {"_build", "generated"}.intersection(page.parts) and not page.name.startswith("verification")
)
SAXPY = DOCS / "tutorial" / "saxpy"

_FENCE = re.compile(
    r"^(?:% check: (?P<check>\w+)\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_HEAD = """\
matrix: 1
torch: 2.10
pythons: [py3]
platforms: [manylinux_2_28_x86_64]
libraries: {_cpu: {sources: csrc/*.cpp}}
"""

Run = Callable[..., CompletedProcess[str]]


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: str
    line: int
    language: str
    check: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def read_blocks() -> Iterator[Block]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for found in _FENCE.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            name = page.relative_to(REPOSITORY).as_posix()
            yield Block(name, line, found["language"], found["check"] or "", found["text"])


BLOCKS = tuple(read_blocks())
COMMANDS = sorted(
    {
        line
        for block in BLOCKS
        for line in block.text.splitlines()
        if block.language in {"console", "sh"} and re.search(r"(^|[/ ])polywheel [a-z]", line)
    }
)


def is_matrix(block: Block) -> bool:
    return block.language == "yaml" and block.text.startswith(("matrix:", "variants:"))


@pytest.mark.parametrize("block", [one for one in BLOCKS if is_matrix(one) and not one.check], ids=str)
def test_a_matrix_is_one_that_polywheel_reads(block: Block) -> None:
    text = block.text if block.text.startswith("matrix:") else _HEAD + block.text
    assert parse_matrix(text.encode(), source="matrix.yaml").variants


@pytest.mark.parametrize("block", [one for one in BLOCKS if one.check == "refused"], ids=str)
def test_a_mistake_gets_the_message_shown_below_it(block: Block) -> None:
    shown = BLOCKS[BLOCKS.index(block) + 1]
    with pytest.raises(BadInputError) as caught:
        parse_matrix(block.text.encode(), source="matrix.yaml")
    assert str(caught.value) == shown.text.strip()


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_line_is_one_that_polywheel_takes(line: str) -> None:
    line = re.sub(r"\s#\s.*$|\$\([^)]*\)", "", line)  # a comment, or a value that a shell fills in
    words = shlex.split(line, posix=True)
    start = next(place for place, word in enumerate(words) if word.rpartition("/")[2] == "polywheel")
    ends = (">", "|", "&&", "&")
    own = list(itertools.takewhile(lambda word: word not in ends, words[start + 1 :]))
    assert callable(make_parser(own).parse_args(own).run)


@pytest.mark.parametrize("block", [one for one in BLOCKS if one.check == "output"], ids=str)
def test_an_answer_is_the_one_shown(block: Block, run_polywheel: Run) -> None:
    command, _, shown = block.text.partition("\n")
    done = run_polywheel(*shlex.split(command.removeprefix("$ polywheel ")))
    assert (done.returncode, done.stdout) == (0, shown)


@pytest.mark.parametrize("block", [one for one in BLOCKS if one.language == "pycon"], ids=str)
def test_a_python_session_goes_as_shown(block: Block) -> None:
    session = doctest.DocTestParser().get_doctest(block.text, {}, str(block), block.page, block.line)
    assert doctest.DocTestRunner(verbose=False).run(session).failed == 0


@pytest.mark.parametrize("block", [one for one in BLOCKS if one.language in {"yaml", "json"}], ids=str)
def test_a_document_is_well_formed(block: Block) -> None:
    assert (json.loads if block.language == "json" else yaml.safe_load)(block.text) or block.text.startswith(
        "#"
    )


def test_the_workflow_calls_commands_that_there_are() -> None:
    workflow = yaml.safe_load((DOCS / "how-to" / "release.yml").read_text(encoding="utf-8"))
    steps = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    calls = [found for step in steps for found in re.findall(r"polywheel ((?:plan|build|index)[^)]*)", step)]
    assert len(calls) == 3
    for call in calls:
        words = shlex.split(call)
        assert callable(make_parser(words).parse_args(words).run)


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory: pytest.TempPathFactory, run_polywheel: Run) -> Path:
    """Walk through the tutorial's sections 1 to 6; returns its folder."""
    folder = tmp_path_factory.mktemp("tutorial") / "saxpy"
    shutil.copytree(SAXPY, folder)
    for words in (["build"], ["index", "dist", "--out", "site"]):
        done = run_polywheel(*words, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


def _entries(value: Any) -> list[dict[str, Any]]:
    """The objects in a list, or in a table whose keys are names."""
    items = value.values() if isinstance(value, dict) else value
    return [one for one in items if isinstance(one, dict)]


def _documented(command: str) -> set[str]:
    """The keys that reference/json.md explains under a command's heading."""
    page = (DOCS / "reference" / "json.md").read_text(encoding="utf-8")
    section = page.partition(f"\n## {command}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"^`(\w+)`$", section, re.MULTILINE))


@pytest.mark.compiler
@pytest.mark.network
def test_the_tutorial_builds_the_wheels_it_shows(tutorial: Path) -> None:
    page = (DOCS / "tutorial" / "first-matrix.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"^dist/(\S+\.whl)", page, re.MULTILINE))
    assert {path.name for path in (tutorial / "dist").iterdir()} == shown


@pytest.mark.compiler
@pytest.mark.network
@pytest.mark.parametrize("block", [one for one in BLOCKS if one.check == "tutorial"], ids=str)
def test_an_answer_about_the_tutorials_wheels_is_the_one_shown(
    tutorial: Path, run_polywheel: Run, block: Block
) -> None:
    command, _, shown = block.text.partition("\n")
    done = run_polywheel(*shlex.split(command.removeprefix("$ polywheel ")), cwd=tutorial)
    assert (done.returncode, done.stdout) == (0, shown)


@pytest.mark.compiler
@pytest.mark.network
def test_the_tutorials_uv_takes_the_wheel_that_select_names(tutorial: Path, run_polywheel: Run) -> None:
    page = (DOCS / "tutorial" / "first-matrix.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\$ (uv .*)$", page, re.MULTILINE)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("UV_")}
    environment |= {
        "UV_CACHE_DIR": str(tutorial / "uv-cache"),
        "UV_PYTHON": sys.executable,
        "UV_NO_CONFIG": "1",
    }
    assert len(commands) == 2
    for command in commands:
        _, *words = shlex.split(command.replace("$PWD", str(tutorial)))
        subprocess.run(
            [find_uv_bin(), *words], cwd=tutorial, env=environment, capture_output=True, check=True
        )
    (installed,) = (tutorial / "try").glob("lib/python3*/site-packages/saxpy-0.1.0.dist-info/variant.json")
    (label,) = json.loads(installed.read_bytes())["variants"]
    done = run_polywheel("select", "saxpy", "--index", "site", "--json", cwd=tutorial)
    assert label == json.loads(done.stdout)["chosen"]["label"]


@pytest.mark.compiler
@pytest.mark.network
def test_the_tutorial_shows_the_plan_there_is(tutorial: Path, run_polywheel: Run) -> None:
    done = run_polywheel("plan", cwd=tutorial)
    page = (DOCS / "tutorial" / "first-matrix.md").read_text(encoding="utf-8")
    cells = [line.rsplit(maxsplit=1)[0] for line in done.stdout.splitlines() if line.startswith("py3-")]
    assert cells
    assert all(line in page for line in cells)
    assert done.stdout.splitlines()[-1].partition(";")[0] in page


@pytest.mark.compiler
@pytest.mark.network
def test_the_plan_that_is_explained_is_this_repositorys(run_polywheel: Run) -> None:
    page = (DOCS / "explanation" / "actions.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^cell .*\n(py3(?:.*\n)+)\n(.*)\n```", page, re.MULTILINE)
    lines = run_polywheel("plan").stdout.splitlines()
    assert [line for line in lines if line.startswith("py3")]
    for line in "\n".join(shown).splitlines():
        assert any(one.startswith(line) for one in lines), line


@pytest.mark.compiler
@pytest.mark.network
@pytest.mark.parametrize(
    ("machine", "label"), [("cpu:v4", "x86_64_v4"), ("cpu:v3", "x86_64_v3"), ("cpu:v2", "null")]
)
def test_the_tutorials_select_gives_each_machine_its_wheel(
    tutorial: Path, run_polywheel: Run, machine: str, label: str
) -> None:
    done = run_polywheel("select", "saxpy", "--index", "site", "--machine", machine, "--json", cwd=tutorial)
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["chosen"]["label"]) == (0, label)
    assert set(answer) == _documented("select") | {"schema"}


@pytest.mark.compiler
@pytest.mark.network
@pytest.mark.parametrize("command", ["plan", "build", "index dist --out again"])
def test_the_json_reference_explains_every_key(tutorial: Path, run_polywheel: Run, command: str) -> None:
    done = run_polywheel(*command.split(), "--json", cwd=tutorial)
    answer = json.loads(done.stdout)
    assert set(answer) == _documented(command.split(maxsplit=1)[0]) | {"schema"}
    entries = [entry for key in ("cells", "wheels", "actions") for entry in _entries(answer.get(key, ()))]
    page = (DOCS / "reference" / "json.md").read_text(encoding="utf-8")
    assert {name for entry in entries for name in entry if f"`{name}`" not in page} == set()


def test_the_json_reference_explains_every_code_of_a_refusal() -> None:
    page = (DOCS / "reference" / "json.md").read_text(encoding="utf-8")
    codes = set(re.findall(r"`([a-z-]+)`", inspect.getsource(choice.Rejected)))
    assert len(codes) == 10
    assert codes <= set(
        re.findall(r"`([a-z-]+)`", page.partition("| `code` | Says |")[2].partition("\n## ")[0])
    )


def test_the_json_reference_explains_every_key_of_detect(run_polywheel: Run) -> None:
    done = run_polywheel("detect", "--machine", "cpu:v3", "--json")
    assert set(json.loads(done.stdout)) == _documented("detect") | {"schema"}

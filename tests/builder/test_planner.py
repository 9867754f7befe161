from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from polywheel_builder.memo import Memo
from polywheel_builder.plan import Plan
from polywheel_builder.workshop import Workshop
from polywheel_variants.errors import BadInputError

PlanOf = Callable[..., Plan]
Tiny = Callable[..., Any]


def _keys(plan: Plan) -> dict[tuple[str, str, str], str]:
    return {(action.kind, action.subject, action.arch): key for key, action in plan.actions.items()}


def _changed(before: Plan, after: Plan) -> set[str]:
    """What of a plan has another key than before: `compile csrc/a.cpp x86-64`."""
    old, new = _keys(before), _keys(after)
    assert old.keys() == new.keys()
    return {" ".join(about) for about in old if old[about] != new[about]}


def test_cells_share_what_they_can(tiny_sources: Tiny, plan_of: PlanOf) -> None:
    tiny = tiny_sources()
    matrix = tiny.matrix.read_text()
    tiny.write("matrix.yaml", matrix.replace("  - {cpu: v3}\n", "  - {cpu: v4}\n  - {cpu: v3}\n"))
    plan = plan_of(tiny.folder)
    # v4, v3 and null compile and link; the plain wheel is null's library under another name.
    assert Counter(action.kind for action in plan.actions.values()) == {
        "compile": 3 + 1,  # and the runtime's part, once for all
        "stub": 1,
        "link": 3,
        "pack": 4,
    }
    assert [len(plan.actions_of(cell)) for cell in plan.cells] == [5, 5, 5, 5]


def test_inputs_come_before_what_reads_them(tiny_sources: Tiny, plan_of: PlanOf) -> None:
    plan = plan_of(tiny_sources().folder)
    seen: set[str] = set()
    for key, action in plan.actions.items():
        assert seen.issuperset(action.inputs)
        seen.add(key)


def test_names_hold_no_path_of_this_machine(tiny_sources: Tiny, plan_of: PlanOf, tmp_path: Path) -> None:
    for action in plan_of(tiny_sources().folder).actions.values():
        words = [*action.command, action.stdin, *(name for name, _ in action.files)]
        assert not [word for word in words if str(tmp_path) in word.replace(str(tmp_path / "workshop"), "")]


def test_a_second_plan_of_the_same_is_the_same(tiny_sources: Tiny, plan_of: PlanOf) -> None:
    tiny = tiny_sources()
    assert list(plan_of(tiny.folder).actions) == list(plan_of(tiny.folder).actions)


@pytest.mark.parametrize("parent", ["/dev/shm", "/var/tmp"])  # sorted before and after /usr/include
def test_a_moved_checkout_and_other_times_change_nothing(
    tiny_sources: Tiny, plan_of: PlanOf, request: pytest.FixtureRequest, parent: str
) -> None:
    tiny = tiny_sources()
    before = plan_of(tiny.folder)
    elsewhere = tempfile.TemporaryDirectory(dir=parent)
    request.addfinalizer(elsewhere.cleanup)
    moved = Path(elsewhere.name) / "else where" / "moved"
    shutil.copytree(tiny.folder, moved)
    for number, path in enumerate(sorted(moved.rglob("*"))):
        os.utime(path, (number, number))
    after = plan_of(moved)
    assert list(before.actions) == list(after.actions)


def _afresh(workshop: Workshop) -> Workshop:
    """The next process's workshop: nothing remembered."""
    return replace(workshop, memo=Memo(workshop.memo.path))


ReplanOf = Callable[[Any], AbstractContextManager[set[str]]]


@pytest.fixture
def replan_of(plan_of: PlanOf, workshop: Workshop) -> ReplanOf:
    """Return what plans before and after a change, and then holds what got another key."""

    @contextmanager
    def replan(tiny: Any) -> Iterator[set[str]]:
        before, found = plan_of(tiny.folder), set[str]()
        yield found
        found.update(_changed(before, plan_of(tiny.folder, _afresh(workshop))))

    return replan


_LINKS = {"link _tiny.so x86-64", "link _tiny.so x86-64-v3"}
_COMPILES = {"compile csrc/tiny.cpp x86-64", "compile csrc/tiny.cpp x86-64-v3"}
_PACKS = {
    f"pack tiny-1.0-py3-none-manylinux_2_28_x86_64{label}.whl manylinux_2_28_x86_64"
    for label in ("", "-null", "-x86_64_v3")
}


@pytest.mark.parametrize(
    ("file", "text", "changed"),
    [
        ("csrc/tiny.cpp", '#include "answer.h"\nint answer() { return 1; }\n', _COMPILES | _LINKS | _PACKS),
        ("csrc/answer.h", "#define ANSWER 43\n", _COMPILES | _LINKS | _PACKS),
        ("tiny/__init__.py", "answer = 42\n", _PACKS),
        ("pyproject.toml", '[project]\nname = "tiny"\nversion = "1.0"\ndescription = "d"\n', _PACKS),
        ("csrc/unrelated.h", "", set()),
        ("README.md", "", set()),
        ("tiny/__pycache__/x.pyc", "", set()),
        ("tiny/_tiny.so", "an earlier build", set()),
    ],
)
def test_a_file_changes_the_actions_that_read_it(
    file: str, text: str, changed: set[str], tiny_sources: Tiny, replan_of: ReplanOf
) -> None:
    tiny = tiny_sources()
    with replan_of(tiny) as found:
        tiny.write(file, text)
    assert found == changed


def test_a_new_header_that_hides_another_changes_the_compile(
    tiny_sources: Tiny, plan_of: PlanOf, workshop: Workshop
) -> None:
    tiny = tiny_sources()
    tiny.write("csrc/tiny.cpp", "#include <answer.h>\n")
    (workshop.gcc.system_include[0] / "answer.h").write_text("")
    before = plan_of(tiny.folder)
    (workshop.torch_headers / "answer.h").write_text("")
    assert _changed(before, plan_of(tiny.folder, _afresh(workshop))) >= _COMPILES


def test_the_oldest_torch_is_a_flag_and_a_requirement(
    tiny_sources: Tiny, plan_of: PlanOf, workshop: Workshop
) -> None:
    tiny = tiny_sources()
    before = plan_of(tiny.folder)
    tiny.write("matrix.yaml", tiny.matrix.read_text().replace("2.10", "2.11"))
    after = plan_of(tiny.folder, _afresh(workshop))
    assert _changed(before, after) >= _COMPILES | _PACKS
    commands = [action.command for action in after.actions.values() if action.kind == "compile"]
    assert all("-DTORCH_TARGET_VERSION=0x020b000000000000ULL" in command for command in commands)
    pack = next(action for action in after.actions.values() if action.kind == "pack")
    assert "Requires-Dist: torch>=2.11" in pack.stdin


def test_another_compiler_changes_what_it_makes(
    tiny_sources: Tiny, plan_of: PlanOf, workshop: Workshop
) -> None:
    tiny = tiny_sources()
    before = plan_of(tiny.folder)
    other = replace(workshop, gcc=replace(workshop.gcc, digest="of another"))
    assert _changed(before, plan_of(tiny.folder, other)) >= _COMPILES | _LINKS | _PACKS


def test_another_epoch_packs_anew_and_compiles_nothing(
    tiny_sources: Tiny, plan_of: PlanOf, workshop: Workshop
) -> None:
    tiny = tiny_sources()
    later = replace(workshop, epoch=1_700_000_000)
    assert _changed(plan_of(tiny.folder), plan_of(tiny.folder, later)) == _PACKS


def test_a_variant_added_at_the_end_changes_no_other(
    tiny_sources: Tiny, plan_of: PlanOf, workshop: Workshop
) -> None:
    tiny = tiny_sources()
    before = plan_of(tiny.folder)
    tiny.write("matrix.yaml", tiny.matrix.read_text().replace("  - {name", "  - {cpu: v2}\n  - {name"))
    after = plan_of(tiny.folder, _afresh(workshop))
    assert set(before.actions) <= set(after.actions)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[py3]", "[cp312]", "pythons: cp312 needs Python's headers"),
        ("[py3]", "[cp310-abi3]", "pythons: cp310 needs Python's headers"),
        ("manylinux_2_28_x86_64", "win_amd64", "platforms: no compiler here builds win_amd64; g"),
        ("manylinux_2_28_x86_64", "musllinux_1_2_x86_64", "no compiler here builds musllinux_1_2_x86_64"),
        ("matrix: 1", "matrix: 1\nsdist: yes", "sdist: this version writes no source distribution"),
        ("matrix: 1", "matrix: 1\ngenerate: [python, g.py]", "generate: this version runs no generator"),
        ("csrc/*.cpp", "csrc/*.cu", r"libraries\._tiny\.sources: 'csrc/\*\.cu' matches nothing in "),
        ("csrc/*.cpp", "csrc", r"sources: 'csrc' is a folder; name its files, such as csrc/\*\.cpp"),
        ("csrc/*.cpp", "'csrc/**x'", r"sources: 'csrc/\*\*x' (is no pattern: |matches nothing in )"),
        ("csrc/*.cpp}", "csrc/*.cpp, include: inc}", r"libraries\._tiny\.include: .*/inc is no folder"),
    ],
)
def test_refuses_what_it_does_not_build(
    old: str, new: str, message: str, tiny_sources: Tiny, plan_of: PlanOf
) -> None:
    tiny = tiny_sources()
    text = tiny.matrix.read_text()
    assert old in text
    tiny.write("matrix.yaml", text.replace(old, new, 1))
    with pytest.raises(BadInputError, match=message) as caught:
        plan_of(tiny.folder)
    assert str(caught.value).isprintable()


def test_a_source_whose_name_cannot_be_seen_is_named(tiny_sources: Tiny, plan_of: PlanOf) -> None:
    tiny = tiny_sources()
    tiny.write("csrc/a\nb.cpp", "")
    with pytest.raises(BadInputError, match=r"cannot be seen: 'csrc/a\\nb.cpp'"):
        plan_of(tiny.folder)


def test_a_machine_whose_compiler_builds_no_level(
    tiny_sources: Tiny, plan_of: PlanOf, workshop: Workshop
) -> None:
    arm = replace(workshop, gcc=replace(workshop.gcc, machine="aarch64"))
    with pytest.raises(BadInputError, match="no compiler here builds manylinux_2_28_x86_64"):
        plan_of(tiny_sources().folder, arm)

"""The local executor: ninja's graph, its progress, its failures."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from polywheel_builder.action import Action, output_of
from polywheel_builder.build import Builder, missing_actions
from polywheel_builder.local import ActionFailedError, LocalExecutor
from polywheel_builder.memo import Memo
from polywheel_builder.ninja_graph import GraphWriter
from polywheel_builder.plan import Plan
from polywheel_builder.progress import Silence
from polywheel_builder.roots import Roots
from polywheel_builder.store import Store
from polywheel_variants.errors import BadInputError


@dataclass
class Told:
    steps: list[tuple[int, int, str]] = field(default_factory=list)

    def note(self, text: str) -> None:
        raise AssertionError(text)

    def step(self, done: int, total: int, text: str) -> None:
        self.steps.append((done, total, text))

    def end(self) -> None:
        raise AssertionError("the command that draws it ends it")


def _step(subject: str, script: str, *inputs: Action) -> Action:
    arguments = [output_of(action.key) for action in inputs]
    return Action(
        "compile", "sh", "any", subject, f"{subject}.txt",
        ("sh", "-c", script, "-", "{out}", *arguments), "digest", inputs=tuple(one.key for one in inputs),
    )  # fmt: skip


def _plan(*actions: Action) -> Plan:
    return Plan((), {action.key: action for action in actions}, {"cell": actions[-1].key}, Roots({}))


def test_runs_inputs_first_and_tells_each_step(tmp_path: Path) -> None:
    first = _step("first", "echo 1 > $1")
    second = _step("second $:", 'cat "$2" "$2" > "$1"', first)
    plan, store, told = _plan(first, second), Store(tmp_path / "store"), Told()
    LocalExecutor(tmp_path, 4).run(plan, store, [first, second], told)
    assert store.output_of(second).read_text() == "1\n1\n"
    assert told.steps == [
        (0, 2, "4 at a time"),
        (1, 2, "compile first (any)"),
        (2, 2, "compile second $: (any)"),
    ]
    assert missing_actions(plan, store) == ()


def test_a_failure_names_the_step_and_keeps_what_finished(tmp_path: Path) -> None:
    good, bad = _step("good", "echo > $1"), _step("bad", "echo why >&2; exit 1")
    last = _step("last", "echo > $1", good, bad)
    plan, store = _plan(good, bad, last), Store(tmp_path / "store")
    with pytest.raises(
        ActionFailedError, match=r"^compile bad for any failed; its log is .*\.log; run it"
    ) as caught:
        LocalExecutor(tmp_path, 1).run(plan, store, [good, bad, last], Silence())
    assert caught.value.log == "why\n"
    assert store.has(good)
    assert missing_actions(plan, store) == (bad, last)
    assert list((tmp_path / "graphs").iterdir()) == []


def test_only_what_is_wanted_and_not_there_is_missing(tmp_path: Path) -> None:
    first = _step("first", "echo 1 > $1")
    second, unwanted = _step("second", "cat $2 > $1", first), _step("unwanted", "echo > $1")
    plan, store = _plan(first, unwanted, second), Store(tmp_path)
    assert missing_actions(plan, store) == (first, second)
    LocalExecutor(tmp_path, 1).run(plan, store, [first, second], Silence())
    assert missing_actions(plan, store) == ()
    store.output_of(first).write_text("damaged, but nothing asks for it")
    assert missing_actions(plan, store) == ()
    store.output_of(second).write_text("damaged")
    assert missing_actions(plan, store) == (first, second)


def test_the_graph_names_only_inputs_that_run(tmp_path: Path) -> None:
    first = _step("first", "echo 1 > $1")
    second = _step("second", "cat $2 > $1", first)
    writer = GraphWriter(
        _plan(first, second), Store(tmp_path / "store"), tmp_path / "graph", tmp_path / "failed"
    )
    writer.write([second])
    graph = (tmp_path / "graph" / "build.ninja").read_text()
    assert "first.txt" not in graph
    described = json.loads((tmp_path / "graph" / f"{second.key}.json").read_text())
    assert described["command"][-1] == str(Store(tmp_path / "store").output_of(first))
    assert described["files"] == []


def test_an_output_folder_that_is_read_only_is_said_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = _step("step", "echo > $1")
    store = Store(tmp_path / "store")
    builder = Builder(store, LocalExecutor(tmp_path, 1), Memo(tmp_path / "memo.json"), tmp_path / "dist")
    monkeypatch.setattr("polywheel_builder.build.os.access", lambda *_: False)  # root may write anywhere
    with pytest.raises(BadInputError, match="dist: may not be written to; name another folder with --out"):
        builder.build(_plan(step), Silence())
    assert not store.has(step)


def test_a_ninja_that_cannot_work_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polywheel_builder.ninja_graph._LAUNCH", tmp_path / "gone.py")
    step = _step("step", "echo > $1")
    with pytest.raises(ActionFailedError, match="a step could not be run at all") as caught:
        LocalExecutor(tmp_path, 1).run(_plan(step), Store(tmp_path / "store"), [step], Silence())
    assert "gone.py" in caught.value.log

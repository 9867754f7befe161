from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from polywheel_providers import OVERRIDE, LiveMachine, machine_named, probe, this_machine, to_json
from polywheel_providers.short_form import parse

if TYPE_CHECKING:
    from pathlib import Path


def test_a_record_is_read(tmp_path: Path) -> None:
    facts = parse("aarch64:8.2a,sve2")
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(to_json(facts)))
    assert machine_named(str(path)) == facts


def test_the_whole_answer_of_detect_is_read_too(tmp_path: Path) -> None:
    facts = parse("cpu:v4")
    path = tmp_path / "answer"
    path.write_text(json.dumps({"schema": "polywheel/detect/1", "facts": to_json(facts), "supported": {}}))
    assert machine_named(str(path)) == facts


def test_a_file_of_the_current_folder_needs_no_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "login-node").write_text(json.dumps(to_json(parse("cpu:v1"))))
    assert machine_named("login-node") == parse("cpu:v1")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"machine\.json:1: not JSON"),
        (b'{\n"facts": }', r"machine\.json:2: not JSON"),
        (b"[]", r"machine\.json: expected an object, found a list"),
        (b"{}", r"machine\.json: key 'facts' is missing"),
        (b'{"facts": 9}', r"machine\.json\.facts: version 9 is not known"),
        (b"\xff\xfe\x00", r"machine\.json: not JSON"),
        (b"[" * 100_000, r"machine\.json: not JSON"),
        (b" " * (1 << 24) + b"{}", r"machine\.json: 16 MiB or more"),
        (b'{"schema": "polywheel/select/1", "chosen": 1}', r"machine\.json: key 'facts' is missing"),
    ],
)
def test_a_file_that_is_no_record_is_named_with_its_fault(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "machine.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as refusal:
        machine_named(str(path))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", ["/nonexistent/machine", "nonexistent.json", "./cpu:v3"])
def test_a_missing_file_is_no_short_form(name: str) -> None:
    with pytest.raises(ValueError, match="no such file"):
        machine_named(name)


def test_the_override_stands_for_this_machine() -> None:
    assert this_machine({OVERRIDE: " cpu:v1 "}) == parse("cpu:v1")
    assert this_machine({OVERRIDE: " "}).cpu == probe(LiveMachine()).cpu
    with pytest.raises(ValueError, match=r"^POLYWHEEL_MACHINE: machine 'what':"):
        this_machine({OVERRIDE: "what"})

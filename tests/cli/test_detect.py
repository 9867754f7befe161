from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from polywheel.commands import detect
from polywheel.front import main
from polywheel_providers import machine_named, to_json

MACHINES = Path(__file__).parents[1] / "data" / "machines"


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run `polywheel detect ARGUMENTS` here and return its stdout."""
    assert main(["detect", *arguments]) == 0
    return capsys.readouterr().out


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run it and return the one line of a refusal."""
    assert main(["detect", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    return printed.err


def test_json_has_the_keys_of_the_design_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    found: dict[str, Any] = json.loads(answer(capsys, "--machine", "nvidia:9.0,driver=12.8", "--json"))
    assert list(found) == ["schema", "facts", "supported", "devices", "notes", "elapsed_ms"]
    assert found["schema"] == "polywheel/detect/1"
    assert found["facts"]["facts"] == 1
    assert found["supported"]["nvidia"]["cuda_version_lower_bound"][0] == "12.8"
    assert [list(device) for device in found["devices"]] == [
        ["vendor", "name", "arch", "integrated", "visible", "usable", "why"]
    ]


@pytest.mark.parametrize("folder", ["arm-tensor-g1", "x86-zen4", "x86-sapphirerapids"])
def test_no_line_of_instruction_sets_is_wider_than_a_terminal(
    capsys: pytest.CaptureFixture[str], folder: str
) -> None:
    said = answer(capsys, "--root", str(MACHINES / folder))
    (block,) = re.findall(r"^Supported.*\n((?:  .*\n)+)", said, re.MULTILINE)
    assert max(map(len, block.splitlines())) <= 80
    found = json.loads(answer(capsys, "--root", str(MACHINES / folder), "--json"))["supported"]
    (namespace,) = found
    present = [name for name, values in found[namespace].items() if values == ["on"]]
    assert f"{namespace} :: {' '.join(present)} :: on" in " ".join(block.split())


@pytest.mark.parametrize(
    "folder", ["arm-tensor-g1", "x86-zen4", "mac-m4-max", "windows-icelake", "arm-emulated"]
)
def test_a_folder_is_replayed(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    found = json.loads(answer(capsys, "--root", str(MACHINES / folder), "--json"))
    (namespace,) = found["supported"]
    assert namespace == found["facts"]["cpu"]["architecture"]
    assert found["devices"] == []
    assert found["elapsed_ms"].keys() == {namespace, "nvidia", "amd", "intel"}


def test_a_root_machine_has_only_the_environment_it_is_given(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION", "12.8")
    root = ("--root", str(MACHINES / "x86-zen4"))
    assert "nvidia" not in json.loads(answer(capsys, *root, "--json"))["supported"]
    forced = ("--env", "NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION=12.6")
    found = json.loads(answer(capsys, *root, *forced, "--json"))["supported"]
    assert found["nvidia"]["cuda_version_lower_bound"][0] == "12.6"


def test_a_record_replays_what_it_recorded(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    record = tmp_path / "machine.json"
    first = json.loads(
        answer(capsys, "--root", str(MACHINES / "arm-gb10"), "--record", str(record), "--json")
    )
    second = json.loads(answer(capsys, "--machine", str(record), "--json"))
    assert first == second
    assert [path.name for path in tmp_path.iterdir()] == ["machine.json"]


def test_the_answer_itself_is_a_record(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    saved = tmp_path / "answer.json"
    saved.write_text(answer(capsys, "--machine", "aarch64:8.2a,sve2", "--json"))
    assert machine_named(str(saved)) == machine_named("aarch64:8.2a,sve2")


def test_the_override_is_a_machine_and_options_come_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYWHEEL_MACHINE", "cpu:v1")
    assert json.loads(answer(capsys, "--json"))["supported"]["x86_64"]["level"] == ["v1"]
    assert (
        json.loads(answer(capsys, "--json", "--machine", "cpu:v2"))["supported"]["x86_64"]["level"][0] == "v2"
    )
    monkeypatch.setenv("POLYWHEEL_MACHINE", "toaster")
    assert "POLYWHEEL_MACHINE: machine 'toaster'" in refusal(capsys)


def test_no_gpu_is_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    text = answer(capsys, "--machine", "cpu:v3")
    assert "none found" in text
    assert "x86_64 :: level :: v3 v2 v1" in text


def test_the_table_says_what_each_device_is(capsys: pytest.CaptureFixture[str]) -> None:
    text = answer(capsys, "--machine", "nvidia:9.0,driver=12.8+amd:gfx942")
    assert re.search(r"^  nvidia  .*9\.0 +discrete +usable", text, re.MULTILINE)
    assert re.search(r"^  amd  .*gfx942 +discrete +usable", text, re.MULTILINE)
    assert re.search(r"cuda_version_lower_bound :: 12\.8 12\.7 .* \(\d+ more\) 11$", text, re.MULTILINE)
    assert all(len(line) < 400 for line in text.splitlines())


def test_an_integrated_gpu_beside_a_discrete_one_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(answer(capsys, "--machine", "amd:gfx1036+intel:20.1.0", "--json"))
    integrated, discrete = found["devices"]
    assert (integrated["integrated"], integrated["usable"]) == (True, False)
    assert integrated["why"]
    assert (discrete["integrated"], discrete["usable"]) == (False, True)
    assert "amd" not in found["supported"]


def test_the_table_says_what_was_tried(capsys: pytest.CaptureFixture[str]) -> None:
    text = answer(capsys, "--root", str(MACHINES / "x86-zen4"), "--env", "CUDA_VISIBLE_DEVICES=0")
    assert "  nvidia: CUDA_VISIBLE_DEVICES=0\n" in text
    assert "  intel: no sign of a device or a driver\n" in text
    assert "was described, not probed" in answer(capsys, "--machine", "cpu:v3")


def test_no_name_tells_the_terminal_anything(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    facts = to_json(machine_named("cpu:v3"))
    facts["release"] = "6\033[2J"
    facts["notes"] = [{"code": "x", "message": "\033]0;title\007"}]
    (tmp_path / "odd.json").write_text(json.dumps(facts))
    assert "\033" not in answer(capsys, "--machine", str(tmp_path / "odd.json"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--machine", "toaster:5"), "'toaster' is not known"),
        (("--machine", "/nonexistent.json"), "no such file"),
        (("--machine", "cpu:v3", "--root", "/"), "--machine and --root both name a machine"),
        (("--env", "A=b"), "give --root DIR too"),
        (("--root", "/nonexistent"), "--root '/nonexistent': not a folder"),
        (("--root", "/", "--env", "novalue"), "expected NAME=VALUE"),
        (("--root", "/", "--env", "=x"), "expected NAME=VALUE"),
        (("--machine", "cpu:v3", "--machine", "cpu:v4"), "give --machine once"),
        (("--root", ""), "--root '': not a folder"),
        (("--machine", "cpu:v3", "--record", "/nonexistent/folder/x"), "cannot be written"),
        (("--machine", "cpu:v3", "--record", ""), "--record '': not a file's name"),
        (("--machine", "cpu:v3", "--record", "x" * 300), "cannot be written"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert message in refusal(capsys, *arguments)


def test_stdout_holds_the_answer_only(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "polywheel", "detect", "--json", "--record", str(tmp_path / "r.json")]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    json.loads(ended.stdout)
    assert "r.json" in ended.stderr


@pytest.mark.parametrize(("no_color", "coloured"), [(None, True), ("1", False)])
def test_colour_is_for_terminals_that_want_it(no_color: str | None, *, coloured: bool) -> None:
    kept = {
        name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "POLYWHEEL_MACHINE")
    }
    environment = {**kept, "TERM": "xterm"} | ({"NO_COLOR": no_color} if no_color else {})
    terminal, inside = pty.openpty()
    command = [sys.executable, "-m", "polywheel", "detect", "--machine", "cpu:v3"]
    subprocess.run(command, stdout=inside, env=environment, check=True)
    os.close(inside)
    shown = os.read(terminal, 1 << 16).decode()
    os.close(terminal)
    assert ("\033[1m" in shown) is coloured


def test_a_pipe_gets_no_colour() -> None:
    assert "\033" not in detect.as_text(machine_named("nvidia:9.0,driver=12.8"), colour=False)
    assert "\033[32musable" in detect.as_text(machine_named("nvidia:9.0,driver=12.8"), colour=True)

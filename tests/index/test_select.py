from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from polywheel.commands import index as index_command
from polywheel.commands import select as select_command
from polywheel_index.choice import Target
from polywheel_index.python_target import Python
from polywheel_index.select import common, parse_requirement, select
from polywheel_index.simple import JSON_TYPE
from polywheel_index.site import write_site
from polywheel_variants.errors import BadInputError, MissingError
from polywheel_variants.ordering import Supported

if TYPE_CHECKING:
    from tests.index.conftest import MakeWheel, Web

HERE = Target(Python(11).tags(["linux_x86_64"]), Python(11).version, {"x86_64": {"level": ("v3", "v2")}})


@pytest.fixture
def site(release: tuple[Path, ...], tmp_path: Path) -> Path:
    write_site(release, tmp_path / "site")
    return tmp_path / "site"


def test_a_site_is_asked_and_the_best_wheel_chosen(site: Path) -> None:
    choice = select("Demo.Kit>=1", str(site), HERE)
    assert choice.chosen is not None
    assert choice.chosen.candidate.name.label == "x86_64_v3"
    assert choice.warnings == ()


def test_a_project_that_is_not_there_is_an_answer(site: Path) -> None:
    choice = select("other", str(site), HERE)
    assert choice.to_json()["chosen"] is None
    (warning,) = choice.warnings
    assert warning.startswith("the index has no project named other; check the name, and the index's address")


def test_an_index_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="no such folder"):
        select("demo-kit", str(tmp_path / "none"), HERE)


@pytest.mark.parametrize(
    "text",
    ["", "demo kit", "demo @ https://a/b.whl", "demo; python_version > '3'", "-demo", "demo==" + "9" * 6000],
)
def test_a_requirement_that_is_none_is_told(text: str) -> None:
    with pytest.raises(BadInputError, match="requirement") as error:
        parse_requirement(text)
    assert "\n" not in str(error.value)


def _changed(data: bytes) -> bytes:
    return data.replace(b"v3", b"v2")


def _other_schema(data: bytes) -> bytes:
    return data.replace(b"v0.2.0", b"v9.0.0")


def _enable_if(data: bytes) -> bytes:
    """A key of PEP 817 for which uv 0.13.9 refuses the plain wheel, too."""
    return data.replace(b'"requires"', b'"enable-if": "x", "requires"', 1)


@pytest.mark.parametrize(
    ("change", "rehash", "said"),
    [
        (_changed, False, "sha256 is not what the index states"),
        (_other_schema, True, "does not read"),
        (_enable_if, True, "unknown key 'enable-if'"),
        (lambda _data: b"{", True, "not JSON"),
        (lambda _data: b"", True, "not JSON"),
        (None, False, "listed by the index, but not there"),
    ],
)
def test_broken_variant_metadata_costs_the_variants_and_not_the_plain_wheel(
    web: Web, site: Path, change: Callable[[bytes], bytes] | None, rehash: bool, said: str
) -> None:
    page = json.loads((site / "simple/demo-kit/index.json").read_bytes())
    for file in page["files"]:
        data = (site / "simple/demo-kit" / file["url"]).resolve().read_bytes()
        path = f"/{file['url'].removeprefix('../../')}"
        if file["filename"].endswith(".json"):
            if change is None:
                continue
            data = change(data)
            if rehash:
                file["hashes"]["sha256"] = hashlib.sha256(data).hexdigest()
        web.files[path] = ("application/octet-stream", data)
    web.files["/simple/demo-kit/"] = (JSON_TYPE, json.dumps(page).encode())
    choice = select("demo-kit", f"{web.root}/simple", HERE)
    assert choice.chosen is not None
    assert choice.chosen.candidate.kind == "plain"
    (warning,) = choice.warnings
    assert said in warning
    assert "\n" not in warning
    assert {one.code for one in choice.rejected} == {"metadata"}


def test_a_folder_of_wheels_is_asked_for_requires_python(make_wheel: MakeWheel, tmp_path: Path) -> None:
    make_wheel("demo_kit-1-py3-none-any.whl")
    make_wheel("demo_kit-2-py3-none-any.whl", requires_python=">=3.12")
    (tmp_path / "dist" / "demo_kit-3-py3-none-any.whl").write_bytes(b"no wheel")
    choice = select("demo-kit", str(tmp_path / "dist"), HERE)
    assert choice.chosen is not None
    assert choice.chosen.candidate.file.filename == "demo_kit-1-py3-none-any.whl"
    assert [one.code for one in choice.rejected] == ["requires-python"]
    assert "demo_kit-3" in choice.warnings[0]


def test_without_variants_json_installers_ignore_the_variants_and_so_do_we(
    release: tuple[Path, ...],
) -> None:
    choice = select("demo-kit", str(release[0].parent), HERE)
    assert choice.chosen is not None
    assert choice.chosen.candidate.kind == "plain"
    assert "lists no variants.json" in choice.warnings[0]


def test_what_machines_have_in_common() -> None:
    one: Supported = {"x86_64": {"level": ("v4", "v3", "v2"), "amx": ("on",)}, "nvidia": {"sm": ("90",)}}
    two: Supported = {"x86_64": {"level": ("v3", "v2")}, "amd": {"gfx": ("gfx942",)}}
    assert common([one]) == one
    assert common([one, two]) == {"x86_64": {"level": ("v3", "v2")}}
    assert common([one, {}]) == {}


Command = Callable[[Sequence[str]], tuple[int, str]]


def run_command(module: Any, words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    code: int = module.run(parser.parse_args(list(words)))
    return code, capsys.readouterr().out


@pytest.fixture
def selecting(site: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.delenv("POLYWHEEL_MACHINE", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")

    def run(words: Sequence[str]) -> tuple[int, str]:
        return run_command(select_command, ["--index", str(site), *words], capsys)

    return run


def test_select_tells_people_the_wheel_the_ranking_and_each_refusal(selecting: Command) -> None:
    code, said = selecting(["demo-kit", "--machine", "cpu:v3"])
    assert code == 0
    assert "chosen   demo_kit-1.0-py3-none-any-x86_64_v3.whl" in said
    assert "x86_64 :: level :: v3" in said
    assert "x86_64_v3 > null > plain" in said
    assert "needs x86_64 :: level :: v4, this machine has v3, v2, v1" in said
    assert "x86_64_v4" in said.partition("refused")[2]


def test_select_exits_1_when_nothing_fits(selecting: Command) -> None:
    code, said = selecting(["demo-kit>=2"])
    assert code == 1
    assert said.startswith("nothing fits\n")
    code, said = selecting(["demo-kit>=2", "--json"])
    assert code == 1
    answer = json.loads(said)
    assert next(iter(answer)) == "schema"
    assert (answer["chosen"], answer["ranking"]) == (None, [])
    assert {one["code"] for one in answer["rejected"]} == {"specifier"}


@pytest.mark.parametrize(
    ("words", "label"),
    [
        (["--machine", "cpu:v4"], "x86_64_v4"),
        (["--machine", "cpu:v4", "--machine", "cpu:v3"], "x86_64_v3"),
        (["--machine", "cpu:v3", "--machine", "cpu:v4"], "x86_64_v3"),
        (["--machine", "cpu:v4", "--machine", "cpu:v2"], "null"),
        (["--machine", "aarch64:8.2a"], "null"),
        (["--machine", "cpu:v4", "--platform", "win_amd64"], "x86_64_v4"),
        (["--platform", "win_amd64"], "null"),
        (["--platform", "macosx_14_0_arm64"], "null"),
        (["--machine", "cpu:v4", "--python", "3.15t"], "x86_64_v4"),
    ],
)
def test_select_for_other_machines(selecting: Command, words: Sequence[str], label: str) -> None:
    code, said = selecting(["demo-kit", "--json", *words])
    assert code == 0
    assert json.loads(said)["chosen"]["label"] == label


def test_a_machine_s_platform_decides_too(
    make_wheel: MakeWheel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for platform in ("manylinux_2_28_x86_64", "manylinux_2_28_aarch64", "win_amd64", "macosx_11_0_arm64"):
        make_wheel(f"demo_kit-1-py3-none-{platform}.whl")
    for words, expected in (
        (["--machine", "cpu:v3"], "manylinux_2_28_x86_64"),
        (["--machine", "aarch64:8.2a"], "manylinux_2_28_aarch64"),
        (["--platform", "win_amd64"], "win_amd64"),
        (["--platform", "macosx_14_0_arm64"], "macosx_11_0_arm64"),
    ):
        asked = ["demo-kit", "--json", "--index", str(tmp_path / "dist"), *words]
        code, said = run_command(select_command, asked, capsys)
        assert code == 0
        assert expected in json.loads(said)["chosen"]["filename"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--machine", "cpu:v3", "--machine", "aarch64:8a"], "no platform in common"),
        (["--machine", "cpu:v9"], "v9"),
        (["--platform", "beos"], "beos"),
        (["--platform", "linux_riscv64"], "name its --machine"),
        (["--python", "two"], "neither a tag"),
    ],
)
def test_select_refuses_bad_options_in_one_line(selecting: Command, words: Sequence[str], said: str) -> None:
    with pytest.raises(BadInputError, match=said) as error:
        selecting(["demo-kit", *words])
    assert "\n" not in str(error.value)


def test_index_writes_a_site_and_says_how_to_use_it(
    release: tuple[Path, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(release[0].parent), "--out", str(tmp_path / "site")]
    code, said = run_command(index_command, words, capsys)
    assert code == 0
    assert "demo-kit: 4 wheels" in said
    assert f"{(tmp_path / 'site' / 'simple').as_uri()}" in said
    code, said = run_command(index_command, [*words, "--json"], capsys)
    answer = json.loads(said)
    assert next(iter(answer.items())) == ("schema", "polywheel/index/1")
    assert len(answer["projects"]["demo-kit"]) == 5
    assert answer["removed"] == []


def test_choosing_from_a_folder_loads_no_http_library(site: Path) -> None:
    code = (
        "import sys; from polywheel_index.choice import Target; from polywheel_index.select import select; "
        "from packaging.version import Version; "
        "select('demo-kit', sys.argv[1], Target(('py3-none-any',), Version('3.11'), {})); "
        "assert 'requests' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(site)], check=True)

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

import pytest

from polywheel_index.file_lock import locked
from polywheel_index.http_client import HttpClient
from polywheel_index.location import open_index
from polywheel_index.simple import ProjectPage, parse_html, parse_json
from polywheel_index.site import write_site
from polywheel_variants.archive import WheelArchive
from polywheel_variants.errors import BadInputError, MissingError
from polywheel_variants.known_providers import NAMESPACES, PROVIDERS
from polywheel_variants.metadata import VariantMetadata
from polywheel_variants.property import Property, group

if TYPE_CHECKING:
    from tests.index.conftest import MakeWheel


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".polywheel-site.lock"
    }


def pages(site: Path) -> list[ProjectPage]:
    found = []
    for path in sorted((site / "simple").glob("*/index.*")):
        read = parse_json if path.suffix == ".json" else parse_html
        found.append(read(path.parent.name, path.as_uri(), path.read_bytes()))
    return found


def require_whole(site: Path) -> None:
    """Every page of the site leads to files that have the hashes it states."""
    for page in pages(site):
        assert page.files
        for file in page.files:
            path = Path(url2pathname(urlsplit(file.url).path))
            data = path.read_bytes()
            assert hashlib.sha256(data).hexdigest() == file.hashes["sha256"]
            assert file.size in (None, len(data))
            if file.core_metadata is not None:
                metadata = path.with_name(f"{path.name}.metadata").read_bytes()
                assert hashlib.sha256(metadata).hexdigest() == file.core_metadata["sha256"]


def test_html_and_json_list_the_same_files(release: tuple[Path, ...], tmp_path: Path) -> None:
    """pytorch/pytorch#153469: some links had no hash. `require_whole` asks one of every file."""
    site = tmp_path / "site"
    written = write_site(release, site)
    require_whole(site)
    from_json, from_html = pages(site)[1], pages(site)[0]
    if "html" in from_json.url:
        from_json, from_html = from_html, from_json
    assert [(f.filename, f.url, f.hashes, f.core_metadata) for f in from_json.files] == [
        (f.filename, f.url, f.hashes, f.core_metadata) for f in from_html.files
    ]
    names = sorted(path.name for path in release)
    assert [file.filename for file in from_json.files] == [*names, "demo_kit-1.0-variants.json"]
    assert written.projects == {"demo-kit": (*names, "demo_kit-1.0-variants.json")}


def test_the_json_page_has_what_pep_700_asks(release: tuple[Path, ...], tmp_path: Path) -> None:
    write_site(release, tmp_path / "site")
    page = json.loads((tmp_path / "site/simple/demo-kit/index.json").read_bytes())
    assert page["meta"] == {"api-version": "1.1"}
    assert (page["name"], page["versions"]) == ("demo-kit", ["1.0"])
    assert all(isinstance(file["size"], int) for file in page["files"])
    root = json.loads((tmp_path / "site/simple/index.json").read_bytes())
    assert root["projects"] == [{"name": "demo-kit"}]
    assert b'<a href="demo-kit/">demo-kit</a>' in (tmp_path / "site/simple/index.html").read_bytes()


def test_metadata_files_are_the_wheels_own_bytes(make_wheel: MakeWheel, tmp_path: Path) -> None:
    """pytorch/pytorch#197552: a line was added to a .metadata file; vLLM's index: `+` is `%2B`, once."""
    wheel = make_wheel("demo_kit-1.0+local-py3-none-any.whl", requires_python=">=3.10,<4")
    write_site([wheel], tmp_path / "site")
    (metadata,) = tmp_path.glob("site/files/*/*.metadata")
    with WheelArchive(wheel) as archive:
        assert metadata.read_bytes() == archive.metadata()
    html = (tmp_path / "site/simple/demo-kit/index.html").read_text()
    assert 'data-requires-python="&gt;=3.10,&lt;4"' in html
    assert "demo_kit-1.0%2Blocal-py3-none-any.whl#sha256=" in html
    assert "data-core-metadata" in html
    assert "data-dist-info-metadata" in html
    require_whole(tmp_path / "site")


def test_variants_json_joins_the_wheels(release: tuple[Path, ...], tmp_path: Path) -> None:
    write_site(release, tmp_path / "site")
    (path,) = tmp_path.glob("site/files/*/demo_kit-1.0-variants.json")
    merged = VariantMetadata.parse(path.read_bytes(), source=str(path))
    assert sorted(merged.variants) == ["null", "x86_64_v3", "x86_64_v4"]
    assert merged.namespaces == NAMESPACES


def test_each_release_has_its_own_variants(make_wheel: MakeWheel, tmp_path: Path) -> None:
    wheels = [
        make_wheel("demo_kit-1.0-py3-none-any-null.whl"),
        make_wheel("demo_kit-2.0-py3-none-any.whl"),
        make_wheel("demo_kit-10.0-py3-none-any-null.whl"),
        make_wheel("Other.Kit-1-py3-none-any.whl"),
    ]
    written = write_site(wheels, tmp_path / "site")
    assert written.projects["demo-kit"] == (
        "demo_kit-1.0-py3-none-any-null.whl",
        "demo_kit-1.0-variants.json",
        "demo_kit-2.0-py3-none-any.whl",
        "demo_kit-10.0-py3-none-any-null.whl",
        "demo_kit-10.0-variants.json",
    )
    assert written.projects["other-kit"] == ("Other.Kit-1-py3-none-any.whl",)
    require_whole(tmp_path / "site")


def test_the_same_wheels_give_the_same_bytes(release: tuple[Path, ...], tmp_path: Path) -> None:
    write_site(release, tmp_path / "one")
    write_site([release[0].parent], tmp_path / "two")
    write_site(reversed(release), tmp_path / "three")
    assert tree(tmp_path / "one") == tree(tmp_path / "two") == tree(tmp_path / "three")


def test_a_second_write_touches_nothing(release: tuple[Path, ...], tmp_path: Path) -> None:
    site = tmp_path / "site"
    write_site(release, site)
    before = {path: path.stat().st_mtime_ns for path in site.rglob("*") if path.is_file()}
    written = write_site(release, site)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert written.removed == ()


def test_a_damaged_file_is_mended(release: tuple[Path, ...], tmp_path: Path) -> None:
    site = tmp_path / "site"
    write_site(release, site)
    before = tree(site)
    for path in site.rglob("*.*"):
        if path.is_file() and path.name != "polywheel-site.json":
            path.write_bytes(path.read_bytes()[:-1] + b"?")
    write_site(release, site)
    assert tree(site) == before


def test_a_new_generation_replaces_the_old(make_wheel: MakeWheel, tmp_path: Path) -> None:
    site = tmp_path / "site"
    gone = make_wheel("gone-1-py3-none-any.whl")
    old = make_wheel("demo-1-py3-none-any.whl", folder=tmp_path / "old")
    new = make_wheel("demo-1-py3-none-any.whl", folder=tmp_path / "new", members={"demo/x.py": b""})
    write_site([gone, old], site)
    published = {path: data for path, data in tree(site).items() if path.startswith("files/")}
    written = write_site([new], site)
    require_whole(site)
    assert set(written.removed) > set(published)
    assert not (site / "simple" / "gone").exists()
    assert not set(tree(site)) & set(published)  # the same name, but never the same URL


def _text(name: str, text: bytes) -> Callable[[MakeWheel, Path], list[Path]]:
    def plant(_make: MakeWheel, folder: Path) -> list[Path]:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text)
        return [folder / name]

    return plant


def _level(level: str) -> dict[str, dict[str, tuple[str, ...]]]:
    return {"x86_64": {"level": (level,)}}


def _two_property_sets(make: MakeWheel, _folder: Path) -> list[Path]:
    return [
        make("demo-1-py3-none-linux_x86_64-fast.whl", _level("v3")),
        make("demo-1-py3-none-win_amd64-fast.whl", _level("v4")),
    ]


def _two_bytes(make: MakeWheel, folder: Path) -> list[Path]:
    name = "demo-1-py3-none-any.whl"
    return [
        make(name, folder=folder / "a"),
        make(name, folder=folder / "b", members={"demo/other.py": b""}),
    ]


def _unlabelled(make: MakeWheel, folder: Path) -> list[Path]:
    return [Path(shutil.copy(make("demo-1-py3-none-any.whl"), folder / "demo-1-py3-none-any-fast.whl"))]


def _mislabelled(make: MakeWheel, folder: Path) -> list[Path]:
    wheel = make("demo-1-py3-none-any-fast.whl", _level("v3"))
    return [Path(shutil.copy(wheel, folder / "demo-1-py3-none-any-slow.whl"))]


def _misnamed(make: MakeWheel, _folder: Path) -> list[Path]:
    metadata = b"Metadata-Version: 2.1\nName: other\nVersion: 1\n"
    return [make("demo-1-py3-none-any.whl", members={"demo-1.dist-info/METADATA": metadata})]


def _misversioned(make: MakeWheel, _folder: Path) -> list[Path]:
    metadata = b"Metadata-Version: 2.1\nName: demo\nVersion: 2\n"
    return [make("demo-1-py3-none-any.whl", members={"demo-1.dist-info/METADATA": metadata})]


def _bad_python(make: MakeWheel, _folder: Path) -> list[Path]:
    return [make("demo-1-py3-none-any.whl", requires_python="three")]


def _two_namespace_orders(make: MakeWheel, _folder: Path) -> list[Path]:
    turned = (NAMESPACES[1], NAMESPACES[0], *NAMESPACES[2:])
    properties = group([Property("x86_64", "level", "v3")])
    return [
        make("demo-1-py3-none-any-a.whl", properties),
        make("demo-1-py3-none-any-b.whl", metadata=VariantMetadata(turned, PROVIDERS, {"b": properties})),
    ]


@pytest.mark.parametrize(
    ("plant", "message"),
    [
        (_text("notes.txt", b"x"), "no wheel"),
        (_text("demo-1-py3-none-any.whl", b"no archive"), "not a ZIP"),
        (_two_property_sets, "properties of label 'fast'"),
        (_two_bytes, "has other bytes"),
        (_unlabelled, "holds no variant.json"),
        (_mislabelled, "'slow'"),
        (_misnamed, "Name is 'other'"),
        (_misversioned, "Version is '2'"),
        (_bad_python, "Requires-Python 'three'"),
        (_two_namespace_orders, "namespace priorities"),
    ],
)
def test_a_wheel_that_must_not_be_published_is_one_clear_line(
    make_wheel: MakeWheel,
    tmp_path: Path,
    plant: Callable[[MakeWheel, Path], list[Path]],
    message: str,
) -> None:
    site = tmp_path / "site"
    write_site([make_wheel("good-1-py3-none-any.whl", folder=tmp_path / "good")], site)
    before = tree(site)
    wheels = plant(make_wheel, tmp_path)
    with pytest.raises(BadInputError) as error:
        write_site(wheels, site)
    assert message in str(error.value)
    assert wheels[-1].name in str(error.value)
    assert "\n" not in str(error.value)
    assert tree(site) == before


def test_nothing_to_publish_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="holds no wheel"):
        write_site([tmp_path], tmp_path / "site")
    with pytest.raises(BadInputError, match="no such file"):
        write_site([tmp_path / "none"], tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_a_folder_of_other_things_is_never_swept(make_wheel: MakeWheel, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "files").mkdir(parents=True)
    (home / "files" / "thesis.tex").write_text("years of work")
    with pytest.raises(BadInputError, match="'files' and is no site of polywheel's"):
        write_site([make_wheel("demo-1-py3-none-any.whl")], home)
    assert tree(home) == {"files/thesis.tex": b"years of work"}


def test_what_lies_beside_the_index_stays(make_wheel: MakeWheel, tmp_path: Path) -> None:
    site = tmp_path / "site"
    wheel = make_wheel("demo-1-py3-none-any.whl")
    write_site([wheel], site)
    (site / "CNAME").write_text("wheels.example")
    write_site([wheel], site)
    assert (site / "CNAME").read_text() == "wheels.example"


def test_a_site_that_cannot_be_written_is_told(make_wheel: MakeWheel, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MissingError, match="file"):
        write_site([make_wheel("demo-1-py3-none-any.whl")], tmp_path / "file")


def test_a_second_writer_waits_its_turn(
    make_wheel: MakeWheel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polywheel_index.site._LOCK_TIMEOUT_S", 0.1)
    site = tmp_path / "site"
    wheel = make_wheel("demo-1-py3-none-any.whl")
    write_site([wheel], site)
    with locked(site / ".polywheel-site.lock", timeout_s=1), pytest.raises(MissingError, match="held by"):
        write_site([wheel], site)


class Killed(BaseException):
    """Ends the writing as a kill would, at one chosen step."""


def test_stopped_at_any_step_the_pages_lead_to_whole_files(
    release: tuple[Path, ...], make_wheel: MakeWheel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = [make_wheel("demo_kit-2.0-py3-none-any.whl", folder=tmp_path / "newer"), *release[2:]]
    old, new = tmp_path / "old", tmp_path / "new"
    write_site(release, old)
    write_site(newer, new)
    whole = tree(new)
    step = stop_at = 0
    real = {name: getattr(Path, name) for name in ("replace", "unlink", "rmdir", "mkdir")}

    def stepping(name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> Any:
            nonlocal step
            step += 1
            if step > stop_at:  # and everything after it, clean-up included
                raise Killed
            return real[name](*arguments, **keywords)

        return call

    for stop_at in range(1, 200):
        site = tmp_path / f"site{stop_at}"
        shutil.copytree(old, site)
        step = 0
        with monkeypatch.context() as patch:
            for name in real:
                patch.setattr(Path, name, stepping(name))
            try:
                write_site(newer, site)
            except Killed:
                finished = False
            else:
                finished = True
        require_whole(site)
        assert tree(site).keys() >= {"simple/demo-kit/index.json", "simple/demo-kit/index.html"}
        write_site(newer, site)
        assert tree(site) == whole
        if finished:
            break
    assert finished
    assert stop_at > 15


def test_killed_for_real_the_next_run_completes(
    release: tuple[Path, ...], make_wheel: MakeWheel, tmp_path: Path
) -> None:
    big = make_wheel("big-1-py3-none-any.whl", members={"big/data": os.urandom(5_000_000)})
    site = tmp_path / "site"
    write_site(release, site)
    code = "import sys, pathlib; from polywheel_index.site import write_site; print(flush=True); "
    code += "write_site(map(pathlib.Path, sys.argv[2:]), pathlib.Path(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(site), str(big), *map(str, release[:2])]
    for delay in (0.0, 0.05, 0.1):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(delay)
            process.kill()
        require_whole(site)
    write_site([big, *release[:2]], site)
    require_whole(site)
    assert not list(site.rglob("*.tmp"))


@pytest.mark.parametrize("where", ["folder", "file URL"])
def test_our_own_reader_reads_the_site(
    release: tuple[Path, ...], tmp_path: Path, client: HttpClient, where: str
) -> None:
    site = tmp_path / "site"
    write_site(release, site)
    index = open_index(str(site) if where == "folder" else (site / "simple").as_uri(), client)
    page = index.project("demo.kit")
    assert page is not None
    contents: Mapping[str, bytes] = {file.filename: index.read(file.url) for file in page.files}
    assert all(contents[path.name] == path.read_bytes() for path in release)
    assert all(unquote(file.url).endswith(file.filename) for file in page.files)

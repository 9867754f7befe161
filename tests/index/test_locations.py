from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from polywheel_index.cache_folder import cache_dir
from polywheel_index.file_lock import locked
from polywheel_index.http_client import HttpClient
from polywheel_index.location import FlatFolder, SiteFolder, open_index
from polywheel_index.simple import JSON_TYPE
from polywheel_variants.errors import BadInputError, MissingError

if TYPE_CHECKING:
    from tests.index.conftest import MakeWheel, Web

FILE = "demo_kit-1-py3-none-any.whl"
PAGE = json.dumps({"files": [{"filename": FILE, "url": f"../../files/{FILE}"}]}).encode()


@pytest.fixture
def site(tmp_path: Path) -> Path:
    project = tmp_path / "simple" / "demo-kit"
    project.mkdir(parents=True)
    (project / "index.json").write_bytes(PAGE)
    (project / "index.html").write_bytes(f'<a href="../../files/{FILE}">x</a>'.encode())
    (tmp_path / "simple" / "index.html").write_bytes(b"")
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / FILE).write_bytes(b"wheel")
    return tmp_path


@pytest.mark.parametrize("below", ["", "simple"])
@pytest.mark.parametrize("as_url", [True, False])
def test_a_site_on_disk_is_read(site: Path, client: HttpClient, below: str, as_url: bool) -> None:
    folder = site / below
    index = open_index(folder.as_uri() if as_url else str(folder), client)
    assert isinstance(index, SiteFolder)
    page = index.project("Demo_Kit")
    assert page is not None
    assert [file.filename for file in page.files] == [FILE]
    assert index.read(page.files[0].url) == b"wheel"
    with index.open(page.files[0]) as stream:
        assert stream.read() == b"wheel"
    assert index.project("other") is None


def test_a_site_without_json_is_read_as_html(site: Path, client: HttpClient) -> None:
    (site / "simple" / "demo-kit" / "index.json").unlink()
    page = open_index(str(site), client).project("demo-kit")
    assert page is not None
    assert [file.filename for file in page.files] == [FILE]


def test_a_flat_folder_is_an_index(make_wheel: MakeWheel, tmp_path: Path, client: HttpClient) -> None:
    names = [FILE, "demo_kit-2+local-py3-none-any.whl", "other-1-py3-none-any.whl"]
    wheels = [make_wheel(name, requires_python=">=3.10", folder=tmp_path / "flat") for name in names]
    (tmp_path / "flat" / "report").mkdir()
    (tmp_path / "flat" / "report" / "index.html").write_text("not an index")
    (tmp_path / "flat" / "Demo.Kit-3.tar.gz").write_bytes(b"source")
    (tmp_path / "flat" / "demo_kit-4-py3-none-any.whl").write_bytes(b"no wheel")
    index = open_index(str(tmp_path / "flat"), client)
    assert isinstance(index, FlatFolder)
    page = index.project("demo.kit")
    assert page is not None
    found = {file.filename: index.read(file.url) for file in page.files}
    assert found == {
        "Demo.Kit-3.tar.gz": b"source",
        names[0]: wheels[0].read_bytes(),
        names[1]: wheels[1].read_bytes(),
    }
    assert [file.size for file in page.files] == [len(data) for data in found.values()]
    assert [file.requires_python for file in page.files] == [None, ">=3.10", ">=3.10"]
    assert len(page.problems) == 1
    assert "demo_kit-4" in page.problems[0]
    assert index.project("nothing") is None


def test_an_index_on_a_server_is_read(web: Web, client: HttpClient) -> None:
    web.files["/simple/demo-kit/"] = (JSON_TYPE, PAGE)
    web.files[f"/files/{FILE}"] = ("application/zip", b"wheel")
    index = open_index(f"{web.root}/simple/", client)
    page = index.project("Demo.Kit")
    assert page is not None
    assert index.read(page.files[0].url) == b"wheel"
    with index.open(page.files[0]) as stream:
        assert stream.read() == b"wheel"
    assert index.project("other") is None
    assert web.asked[0][1]["Accept"].startswith(JSON_TYPE)


def test_a_listed_file_that_is_not_there_is_told(web: Web, site: Path, client: HttpClient) -> None:
    with pytest.raises(MissingError, match="listed by the index, but not there"):
        open_index(web.root, client).read(f"{web.root}/a.whl")
    with pytest.raises(MissingError, match="No such file"):
        open_index(str(site), client).read((site / "none").as_uri())


def test_a_local_file_over_the_limit_is_refused(site: Path, client: HttpClient) -> None:
    with pytest.raises(BadInputError, match="more than 4 bytes"):
        open_index(str(site), client).read((site / "files" / FILE).as_uri(), limit=4)


def test_what_is_no_index_is_told(tmp_path: Path, client: HttpClient) -> None:
    with pytest.raises(MissingError, match="no such folder"):
        open_index(str(tmp_path / "none"), client)
    with pytest.raises(BadInputError, match="'ftp' is not http"):
        open_index("ftp://index.invalid/", client)
    for url in ("http://me:secret@[x/", "http://me:secret@x:99999/", "http://me:secret@x:y/"):
        with pytest.raises(BadInputError, match="is no URL: ") as caught:
            open_index(url, client)
        assert "secret" not in str(caught.value)


def test_the_cache_folder_follows_the_environment(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    assert cache_dir(home) == tmp_path / ".cache" / "polywheel"
    assert cache_dir({"HOME": "here"}) == Path("here").absolute() / ".cache" / "polywheel"
    assert cache_dir(home | {"XDG_CACHE_HOME": "relative"}) == tmp_path / ".cache" / "polywheel"
    assert cache_dir(home | {"XDG_CACHE_HOME": "/x"}) == Path("/x/polywheel")
    assert cache_dir(home | {"XDG_CACHE_HOME": "/x", "POLYWHEEL_CACHE": "/y"}) == Path("/y")


def test_a_lock_keeps_others_out_until_it_is_given_back(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    held = pytest.raises(MissingError, match="held by another")
    with locked(path, timeout_s=1), held, locked(path, timeout_s=0.1):
        pass
    with locked(path, timeout_s=0.1):
        pass
    with pytest.raises(MissingError, match="cannot be written"), locked(tmp_path, timeout_s=0.1):
        pass

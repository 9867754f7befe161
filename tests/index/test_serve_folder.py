from __future__ import annotations

import http.client
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from polywheel_index.serve_folder import prefers_json, serve_folder
from polywheel_index.simple import ACCEPT, JSON_TYPE
from polywheel_index.site import write_site


@pytest.fixture
def served(release: tuple[Path, ...], tmp_path: Path) -> Iterator[http.client.HTTPConnection]:
    write_site(release, tmp_path / "site")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "site" / "out").symlink_to(tmp_path / "secret")
    with serve_folder(tmp_path / "site") as url:
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)
        yield connection
        connection.close()


def ask(
    connection: http.client.HTTPConnection, path: str, accept: str = "", method: str = "GET"
) -> tuple[int, str, bytes]:
    connection.request(method, path, headers={"Accept": accept} if accept else {})
    answer = connection.getresponse()
    return answer.status, answer.headers.get("Content-Type", ""), answer.read()


def test_a_page_comes_in_the_form_asked_for(served: http.client.HTTPConnection, tmp_path: Path) -> None:
    folder = tmp_path / "site" / "simple" / "demo-kit"
    html = (200, "text/html; charset=utf-8", (folder / "index.html").read_bytes())
    assert ask(served, "/simple/demo-kit/", ACCEPT) == (200, JSON_TYPE, (folder / "index.json").read_bytes())
    assert ask(served, "/simple/demo-kit/") == html
    assert ask(served, "/simple/demo-kit/", f"text/html, {JSON_TYPE};q=0.5") == html


def test_files_come_whole_and_heads_come_alone(served: http.client.HTTPConnection, tmp_path: Path) -> None:
    for path in (tmp_path / "site" / "files").glob("*/*"):
        place = path.relative_to(tmp_path / "site").as_posix()
        assert ask(served, f"/{place}")[::2] == (200, path.read_bytes())
        assert ask(served, f"/{place}", method="HEAD")[::2] == (200, b"")


def test_a_folder_without_its_slash_is_redirected(served: http.client.HTTPConnection) -> None:
    served.request("GET", "/simple/demo-kit")
    answer = served.getresponse()
    answer.read()
    assert (answer.status, answer.headers["Location"]) == (301, "/simple/demo-kit/")


@pytest.mark.parametrize(
    "path",
    [
        "/none",
        "/../secret",
        "/%2e%2e/secret",
        "/out",
        "/%00",
        "/%ff",
        "/files/",
        "//etc/passwd",
        "/files/%0a",
    ],
)
def test_nothing_outside_is_served(served: http.client.HTTPConnection, path: str) -> None:
    status, _, body = ask(served, path)
    assert status == 404
    assert b"secret" not in body.replace(path.encode(), b"")


def test_the_server_ends_with_its_block(tmp_path: Path) -> None:
    with serve_folder(tmp_path) as url:
        netloc = urlsplit(url).netloc
        assert netloc.startswith("127.0.0.1:")
    with pytest.raises(ConnectionRefusedError):
        ask(http.client.HTTPConnection(netloc, timeout=10), "/")


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", False),
        ("*/*", False),
        ("text/html", False),
        (JSON_TYPE, True),
        (ACCEPT, True),
        (f"text/html;q=0.9, {JSON_TYPE};q=0.8", False),
        (f"{JSON_TYPE};q=0", False),
        (f"{JSON_TYPE};q=x", False),
        (f"{JSON_TYPE} ; q=0.5 , text/html ; q=0.5", True),
    ],
)
def test_what_an_accept_header_prefers(accept: str, expected: bool) -> None:
    assert prefers_json(accept) is expected

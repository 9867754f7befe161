from __future__ import annotations

import base64
import contextlib
import socket
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from polywheel_index.http_client import HttpClient, Patience
from polywheel_variants.errors import BadInputError, MissingError

if TYPE_CHECKING:
    from tests.index.conftest import Web


def test_a_whole_answer_has_its_final_url_and_media_type(web: Web, client: HttpClient) -> None:
    web.files["/a"] = ("Text/HTML; charset=utf-8", b"hello")
    answer = client.get(f"{web.root}/a", accept="text/html")
    assert answer is not None
    assert (answer.url, answer.content_type, answer.body) == (f"{web.root}/a", "text/html", b"hello")
    assert web.asked[0][1]["Accept"] == "text/html"


@pytest.mark.parametrize("status", [404, 410])
def test_what_is_not_there_is_none(web: Web, client: HttpClient, status: int) -> None:
    web.statuses = [status]
    assert client.get(f"{web.root}/a") is None


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again(web: Web, client: HttpClient, status: int) -> None:
    web.files["/a"] = ("text/plain", b"hello")
    web.statuses = [status, status]
    answer = client.get(f"{web.root}/a")
    assert answer is not None
    assert answer.body == b"hello"
    assert client.requests_made == 3


def test_a_server_that_stays_busy_is_told(web: Web, client: HttpClient) -> None:
    web.statuses = [503] * 3
    with pytest.raises(MissingError, match="HTTP 503") as error:
        client.get(f"{web.root}/a")
    assert "\n" not in str(error.value)


def test_an_answer_cut_off_in_the_middle_is_read_again(web: Web, client: HttpClient) -> None:
    web.files["/a"] = ("text/plain", b"x" * 10_000)
    web.cuts = 2
    answer = client.get(f"{web.root}/a")
    assert answer is not None
    assert answer.body == b"x" * 10_000


def test_a_refusal_names_the_remedy(web: Web, client: HttpClient) -> None:
    web.statuses = [403]
    with pytest.raises(MissingError, match=r"HTTP 403.*netrc"):
        client.get(f"{web.root}/a")


def test_a_larger_answer_than_asked_for_is_refused(web: Web, client: HttpClient) -> None:
    web.files["/a"] = ("text/plain", b"x" * 1001)
    with pytest.raises(BadInputError, match="more than 1000 bytes"):
        client.get(f"{web.root}/a", limit=1000)


@pytest.mark.parametrize("header", [b"", b"Content-Length: 1000000\r\n"])
def test_a_server_that_drips_is_left(header: bytes) -> None:
    """Without a length, the end that comes early must not pass for the end of the answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_drip, args=(server, header))
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/a"
        with HttpClient(Patience(attempts=3, answer_s=0.1)) as client:
            with pytest.raises(MissingError, match=r"127.*: a did not arrive in 0\.1 seconds; try again"):
                client.get(url)
            assert client.requests_made == 1
        thread.join()


def _drip(server: socket.socket, header: bytes) -> None:
    """Answer one request a byte at a time, until nobody listens."""
    connection, _ = server.accept()
    with connection, contextlib.suppress(OSError):
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + header + b"\r\n")
        while True:
            connection.sendall(b"x")
            time.sleep(0.01)


def test_offline_is_one_clear_line(client: HttpClient) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    with pytest.raises(MissingError, match=r"cannot be reached.*refused.*PIP_INDEX_URL") as error:
        client.get(f"http://127.0.0.1:{port}/simple/torch/")
    assert "\n" not in str(error.value)
    assert "object at 0x" not in str(error.value)


def test_an_url_that_is_none_is_bad_input(client: HttpClient) -> None:
    with pytest.raises(BadInputError, match="nonsense"):
        client.get("nonsense")


@pytest.mark.parametrize("place", ["/a", "file:///etc/passwd", "http://[x/", "http://x:y/"])
def test_a_redirect_that_leads_nowhere_is_bad_input(web: Web, client: HttpClient, place: str) -> None:
    web.statuses = [302] * 40
    web.extra_headers["Location"] = place
    with pytest.raises(BadInputError, match=f"{web.root}/a: "):
        client.get(f"{web.root}/a")


def test_a_password_goes_to_its_own_host_alone_and_is_never_shown(web: Web, client: HttpClient) -> None:
    web.files["/a"] = ("text/plain", b"hello")
    url = client.login(web.root.replace("//", "//me:s%40cret@") + "/a")
    assert url == f"{web.root}/a"
    client.get(url)
    expected = "Basic " + base64.b64encode(b"me:s@cret").decode()
    assert web.asked[0][1]["Authorization"] == expected
    client.get(f"{web.root.replace('127.0.0.1', 'localhost')}/a")
    assert "Authorization" not in web.asked[1][1]
    with pytest.raises(MissingError) as error:
        client.get_range(f"{web.root}/none", 0, 1)
    assert "cret" not in str(error.value)


def test_netrc_is_read(web: Web, client: HttpClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    web.files["/a"] = ("text/plain", b"hello")
    client.get(f"{web.root}/a")
    assert web.asked[0][1]["Authorization"] == "Basic " + base64.b64encode(b"me:secret").decode()


def test_a_proxy_is_used(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", web.root)
    monkeypatch.setenv("no_proxy", "")
    web.files["http://index.invalid/a"] = ("text/plain", b"through")
    with HttpClient(Patience(attempts=1)) as client:
        answer = client.get("http://index.invalid/a")
    assert answer is not None
    assert answer.body == b"through"


def test_a_range_is_what_was_asked_for(web: Web, client: HttpClient) -> None:
    web.files["/a"] = ("application/zip", bytes(range(100)))
    part = client.get_range(f"{web.root}/a", 10, 20)
    assert (part.data, part.total) == (bytes(range(10, 20)), 100)
    assert client.get_range(f"{web.root}/a", 90, 200).data == bytes(range(90, 100))


def test_a_server_that_ignores_ranges_is_told(web: Web, client: HttpClient) -> None:
    web.files["/a.whl"] = ("application/zip", bytes(100))
    web.ranges = False
    with pytest.raises(MissingError, match=r"ignores range requests.*a\.whl"):
        client.get_range(f"{web.root}/a.whl", 10, 20)


@pytest.mark.parametrize("said", ["bytes 0-9/100", "bytes 10-18/100", "bytes 10-19/*", "items 10-19/100"])
def test_a_range_that_is_another_is_told(web: Web, client: HttpClient, said: str) -> None:
    web.files["/a"] = ("application/zip", bytes(100))
    web.extra_headers["Content-Range"] = said
    with pytest.raises(MissingError, match="Content-Range"):
        client.get_range(f"{web.root}/a", 10, 20)


def test_a_range_past_the_end_is_told(web: Web, client: HttpClient) -> None:
    web.files["/a"] = ("application/zip", bytes(10))
    with pytest.raises(MissingError, match="HTTP 416"):
        client.get_range(f"{web.root}/a", 10, 20)

"""A web server with faults to order, and wheels made on the spot."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from polywheel_index.http_client import HttpClient, Patience


@dataclass
class Web:
    """What the server answers with; tests change it while it runs."""

    root: str = ""
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    """path -> content type and body."""
    statuses: list[int] = field(default_factory=list)
    """Answered first, one a request."""
    cuts: int = 0
    """How many answers are cut off in the middle."""
    ranges: bool = True
    asked: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    """Path and headers of each request."""
    extra_headers: dict[str, str] = field(default_factory=dict)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    web: Web

    def do_GET(self) -> None:
        self.web.asked.append((self.path, dict(self.headers.items())))
        if self.web.statuses:
            self._send(self.web.statuses.pop(0), "text/plain", b"", {})
        elif self.path not in self.web.files:
            self._send(404, "text/plain", b"no such thing", {})
        else:
            self._send_file(*self.web.files[self.path])

    def _send_file(self, content_type: str, body: bytes) -> None:
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if wanted is None or not self.web.ranges:
            self._send(200, content_type, body, {})
            return
        start, stop = int(wanted[1]), min(int(wanted[2]) + 1, len(body))
        if start >= len(body):
            self._send(416, content_type, b"", {"Content-Range": f"bytes */{len(body)}"})
            return
        said = {"Content-Range": f"bytes {start}-{stop - 1}/{len(body)}"}
        self._send(206, content_type, body[start:stop], said)

    def _send(self, status: int, content_type: str, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, **self.web.extra_headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.web.cuts and len(body) > 1:
            self.web.cuts -= 1
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
            return
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


@pytest.fixture
def web() -> Iterator[Web]:
    web = Web()
    handler = type("Handler", (_Handler,), {"web": web})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        web.root = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield web
        server.shutdown()
        thread.join()


@pytest.fixture
def client() -> Iterator[HttpClient]:
    with HttpClient(Patience(attempts=3, backoff_s=0.0, connect_s=5.0, read_s=5.0)) as client:
        yield client


@pytest.fixture
def wheel_bytes() -> Callable[[str, Mapping[str, bytes]], bytes]:
    """Return a maker of wheels: (dist-info folder, members) -> archive with a right RECORD."""

    def make(dist_info: str, members: Mapping[str, bytes]) -> bytes:
        rows = io.StringIO()
        writer = csv.writer(rows, lineterminator="\n")
        for name, data in members.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            writer.writerow([name, f"sha256={digest}", len(data)])
        writer.writerow([f"{dist_info}/RECORD", "", ""])
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in {**members, f"{dist_info}/RECORD": rows.getvalue().encode()}.items():
                archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
        return out.getvalue()

    return make

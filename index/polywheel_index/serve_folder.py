"""A small web server over a site on this machine's loopback address: for the demo, for tests, for a look."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

from polywheel_index.simple import HTML_TYPE, JSON_TYPE

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".metadata": "text/plain; charset=utf-8",
    ".whl": "application/zip",
}
_FOREVER = "public, max-age=31536000, immutable"
"""Files lie below their hash, so their URLs never change their bytes."""


@contextmanager
def serve_folder(folder: Path) -> Iterator[str]:
    """Serve `folder` while a `with` block runs; yields the URL, without a closing slash.

    It binds 127.0.0.1 on a free port. `<url>/simple` is the index of a site that `write_site` wrote.
    """
    handler = partial(_Handler, root=folder.resolve())
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Header and body leave in two writes: without this, delayed acknowledgements cost 40 ms a request.
    disable_nagle_algorithm = True

    def __init__(self, *arguments: object, root: Path) -> None:
        self._root = root
        super().__init__(*arguments)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def log_message(self, *_arguments: object) -> None:
        """Say nothing: what a client asks for is its own business."""

    def _answer(self, *, with_body: bool) -> None:
        url_path = urlsplit(self.path).path
        path = self._find(url_path)
        if path is None:
            self.send_error(HTTPStatus.NOT_FOUND)
        elif path.is_dir() and not url_path.endswith("/"):
            self._redirect(f"{url_path}/")
        else:
            self._send(path, with_body=with_body)

    def _find(self, url_path: str) -> Path | None:
        """Return the file or folder behind a URL's path; None for anything outside the root."""
        try:
            path = (self._root / unquote(url_path, errors="strict").lstrip("/")).resolve()
        except (ValueError, OSError):  # bytes that are no UTF-8, a NUL
            return None
        return path if path.exists() and path.is_relative_to(self._root) else None

    def _redirect(self, location: str) -> None:
        self.send_response(HTTPStatus.MOVED_PERMANENTLY)
        self.send_header("Location", location)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send(self, path: Path, *, with_body: bool) -> None:
        content_type = _TYPES.get(path.suffix, "application/octet-stream")
        if path.is_dir():
            is_json = prefers_json(self.headers.get("Accept", "")) and (path / "index.json").is_file()
            path /= "index.json" if is_json else "index.html"
            content_type = JSON_TYPE if is_json else _TYPES[".html"]
        try:
            stream = path.open("rb")
        except OSError:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        with stream:
            size = stream.seek(0, 2)
            stream.seek(0)
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(size))
            self.send_header("Cache-Control", _FOREVER if self._is_file(path) else "no-cache")
            self.send_header("Vary", "Accept")
            self.end_headers()
            if with_body:
                shutil.copyfileobj(stream, self.wfile)

    def _is_file(self, path: Path) -> bool:
        return path.is_relative_to(self._root / "files")


def prefers_json(accept: str) -> bool:
    """Whether an Accept header asks for the JSON form of a page no less than for HTML (PEP 691)."""
    wishes = {HTML_TYPE: 0.0, JSON_TYPE: 0.0, "text/html": 0.0}
    for wish in accept.split(","):
        media, *parameters = (part.strip() for part in wish.split(";"))
        quality = next((one.partition("=")[2] for one in parameters if one.startswith("q=")), "1")
        if media.lower() in wishes:
            wishes[media.lower()] = _number(quality)
    json_quality = wishes.pop(JSON_TYPE)
    return json_quality > 0 and json_quality >= max(wishes.values())


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0

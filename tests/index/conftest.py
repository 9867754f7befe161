"""A web server with faults to order, and wheels made on the spot."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import random
import re
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Protocol

import pytest

from polywheel_index.http_client import HttpClient, Patience
from polywheel_variants.archive import Member, write_wheel
from polywheel_variants.known_providers import NAMESPACES, PROVIDERS
from polywheel_variants.metadata import VariantMetadata
from polywheel_variants.ordering import Supported
from polywheel_variants.property import Properties, Property, group
from polywheel_variants.wheel_name import WheelName


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


class MakeWheel(Protocol):
    """Writes a small wheel as polywheel writes them, and returns its path."""

    def __call__(  # noqa: PLR0913 - each is one thing that a wheel states
        self,
        filename: str,
        properties: Properties | None = None,
        *,
        requires_python: str | None = None,
        metadata: VariantMetadata | None = None,
        members: Mapping[str, bytes] | None = None,
        folder: Path | None = None,
    ) -> Path:
        """`properties` are those of the label; `metadata` replaces the whole variant.json."""


@pytest.fixture
def make_wheel(tmp_path: Path) -> MakeWheel:
    def make(  # noqa: PLR0913
        filename: str,
        properties: Properties | None = None,
        *,
        requires_python: str | None = None,
        metadata: VariantMetadata | None = None,
        members: Mapping[str, bytes] | None = None,
        folder: Path | None = None,
    ) -> Path:
        name = WheelName.parse(filename)
        core = f"Metadata-Version: 2.1\nName: {name.distribution}\nVersion: {name.version}\n"
        core += f"Requires-Python: {requires_python}\n" if requires_python else ""
        tags = "".join(f"Tag: {tag}\n" for tag in name.tags)
        wheel = f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n{tags}"
        contents = {
            f"{name.distribution}/__init__.py": f"LABEL = {name.label!r}\n".encode(),
            f"{name.dist_info}/METADATA": core.encode(),
            f"{name.dist_info}/WHEEL": wheel.encode(),
        }
        if name.label is not None:
            stated = metadata or VariantMetadata(NAMESPACES, PROVIDERS, {name.label: properties or {}})
            contents[f"{name.dist_info}/variant.json"] = stated.to_json()
        target = folder or tmp_path / "dist"
        target.mkdir(parents=True, exist_ok=True)
        return write_wheel(
            target, name, [Member(path, data) for path, data in {**contents, **(members or {})}.items()]
        )

    return make


LEVELS = ("v4", "v3")


@pytest.fixture
def release(make_wheel: MakeWheel) -> tuple[Path, ...]:
    """A release of `demo_kit`: x86_64_v4, x86_64_v3, null and plain, as polywheel writes them."""
    wheels = [make_wheel("demo_kit-1.0-py3-none-any.whl"), make_wheel("demo_kit-1.0-py3-none-any-null.whl")]
    for place, level in enumerate(LEVELS, 1):
        properties = group([Property("priority", "order", str(place)), Property("x86_64", "level", level)])
        wheels.append(make_wheel(f"demo_kit-1.0-py3-none-any-x86_64_{level}.whl", properties))
    return tuple(wheels)


RandomCase = Callable[[int], tuple[list[str], Supported, dict[str, Properties]]]
"""seed -> namespaces by priority, what a machine supports, and the variants of a release."""


@pytest.fixture(scope="session")
def random_case() -> RandomCase:
    return _random_case


def _random_case(seed: int) -> tuple[list[str], Supported, dict[str, Properties]]:
    chance = random.Random(seed)
    namespaces = chance.sample(["n1", "n2", "n3", "n4"], chance.randint(1, 4))
    pool = {
        (namespace, f"f{feature}"): [f"v{value}" for value in range(chance.randint(1, 5))]
        for namespace in namespaces
        for feature in range(chance.randint(1, 4))
    }
    supported: dict[str, dict[str, tuple[str, ...]]] = {}
    for (namespace, feature), values in chance.sample(sorted(pool.items()), len(pool)):
        if chance.random() < 0.9:
            offered = chance.sample(values, chance.randint(1, len(values)))
            supported.setdefault(namespace, {})[feature] = tuple(offered)
    variants: dict[str, Properties] = {"null": {}} if chance.random() < 0.5 else {}
    seen = set()
    for number in range(chance.randint(1, 8)):
        properties: dict[str, dict[str, tuple[str, ...]]] = {}
        for namespace, feature in chance.sample(sorted(pool), chance.randint(1, min(4, len(pool)))):
            values = pool[namespace, feature]
            picked = tuple(sorted(chance.sample(values, chance.randint(1, len(values)))))
            properties.setdefault(namespace, {})[feature] = picked
        if repr(properties) not in seen:
            seen.add(repr(properties))
            variants[f"l{chance.randint(0, 99)}_{number}"] = properties
    return namespaces, supported, variants

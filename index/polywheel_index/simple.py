"""One project's page in a simple index: PEP 503 HTML or PEP 691 JSON, read to the same nouns.

Covers PEP 592 (yanks), 629 (versions), 658 and 714 (metadata files), 691 (JSON) and 700 (sizes, times).
Reading is tolerant: an entry that makes no sense is left out and told, the others stay.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from polywheel_variants.errors import BadInputError

JSON_TYPE = "application/vnd.pypi.simple.v1+json"
HTML_TYPE = "application/vnd.pypi.simple.v1+html"
ACCEPT = f"{JSON_TYPE}, {HTML_TYPE};q=0.2, text/html;q=0.01"
"""What a client says it reads: JSON rather than HTML."""

_JSON_TYPES = frozenset({JSON_TYPE, "application/vnd.pypi.simple.latest+json", "application/json"})
_HTML_TYPES = frozenset({HTML_TYPE, "application/vnd.pypi.simple.latest+html", "text/html"})


@dataclass(frozen=True)
class IndexedFile:
    """One file that an index lists."""

    filename: str
    url: str
    """Absolute, without the fragment that carries a hash."""
    hashes: Mapping[str, str]
    """Algorithm -> lower-case hexadecimal digest."""
    size: int | None = None
    """In bytes (PEP 700)."""
    requires_python: str | None = None
    yanked: str | None = None
    """The reason, which may be empty; None for a file that is not yanked (PEP 592)."""
    core_metadata: Mapping[str, str] | None = None
    """Hashes of `<url>.metadata`; empty when it exists without a stated hash; None when it does not."""
    upload_time: str | None = None


@dataclass(frozen=True)
class ProjectPage:
    """Every file of one project, in the page's own order."""

    name: str
    """The project's normalised name."""
    url: str
    files: tuple[IndexedFile, ...]
    problems: tuple[str, ...] = ()
    """One line for each entry that was left out."""


def parse_page(name: str, url: str, content_type: str, body: bytes) -> ProjectPage:
    """Read a project page by its media type.

    Raises BadInputError for another media type, a page that cannot be parsed or an API major other than 1.
    """
    if content_type in _JSON_TYPES:
        return parse_json(name, url, body)
    if content_type in _HTML_TYPES:
        return parse_html(name, url, body)
    raise BadInputError(f"{url}: content type {content_type!r} is no simple index page")


def parse_json(name: str, url: str, body: bytes) -> ProjectPage:
    """Read a PEP 691 project page. Raises BadInputError, naming `url`."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadInputError(f"{url}: not JSON: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("files"), list):
        raise BadInputError(f"{url}: no simple index page: it lacks the key 'files'")
    meta = document.get("meta")
    _require_version(url, str(meta.get("api-version", "1.0")) if isinstance(meta, dict) else "1.0")
    return _page(name, url, (_json_file(url, entry) for entry in document["files"]))


def parse_html(name: str, url: str, body: bytes) -> ProjectPage:
    """Read a PEP 503 project page. Raises BadInputError, naming `url`."""
    anchors = _Anchors(url)
    anchors.feed(body.decode("utf-8", errors="replace"))
    anchors.close()
    _require_version(url, anchors.version)
    return _page(name, url, (_html_file(anchors.base, attributes) for attributes in anchors.found))


def _page(name: str, url: str, entries: Iterable[IndexedFile | str]) -> ProjectPage:
    files: list[IndexedFile] = []
    problems: list[str] = []
    for entry in entries:
        if isinstance(entry, str):
            problems.append(entry)
        else:
            files.append(entry)
    return ProjectPage(name, url, tuple(files), tuple(problems))


def _require_version(url: str, version: str) -> None:
    """Refuse another major version of the API (PEP 629)."""
    if version.partition(".")[0] != "1":
        raise BadInputError(f"{url}: simple API version {version}; this polywheel reads 1.x")


def _json_file(base: str, entry: Any) -> IndexedFile | str:
    """Read one entry; a string says why it is left out."""
    if not isinstance(entry, dict):
        return f"{base}: an entry is no object"
    filename, link = entry.get("filename"), entry.get("url")
    if not isinstance(filename, str) or not isinstance(link, str):
        return f"{base}: an entry lacks 'filename' or 'url'"
    target = _target(base, link)
    if target is None:
        return f"{base}: {filename}: its URL has a scheme that is not followed"
    size = entry.get("size")
    metadata = entry.get("core-metadata", entry.get("dist-info-metadata", False))
    return IndexedFile(
        filename=filename,
        url=target[0],
        hashes=_hashes(entry.get("hashes")),
        size=size if isinstance(size, int) and size >= 0 else None,
        requires_python=_text(entry.get("requires-python")),
        yanked=_yanked(entry.get("yanked", False)),
        core_metadata=_hashes(metadata) if metadata not in (False, None) else None,
        upload_time=_text(entry.get("upload-time")),
    )


def _html_file(base: str, attributes: Mapping[str, str]) -> IndexedFile | str:
    """Read one anchor; the file's name is its URL's last segment, as pip and uv have it."""
    target = _target(base, attributes.get("href", ""))
    if target is None:
        return f"{base}: a link has a scheme that is not followed: {attributes.get('href', '')[:80]!r}"
    url, fragment = target
    algorithm, _, digest = fragment.partition("=")
    metadata = attributes.get("data-core-metadata", attributes.get("data-dist-info-metadata"))
    metadata_algorithm, _, metadata_digest = (metadata or "").partition("=")
    return IndexedFile(
        filename=unquote(urlsplit(url).path.rpartition("/")[2]),
        url=url,
        hashes={algorithm: digest.lower()} if digest else {},
        requires_python=attributes.get("data-requires-python") or None,
        yanked=attributes.get("data-yanked"),
        core_metadata=None
        if metadata is None
        else ({metadata_algorithm: metadata_digest.lower()} if metadata_digest else {}),
    )


def _target(base: str, link: str) -> tuple[str, str] | None:
    """Resolve a link to its URL and fragment; a page on a server never leads to this machine's files."""
    try:
        url, fragment = urldefrag(urljoin(base, link.strip()))
        schemes = {"http", "https"} | ({"file"} if urlsplit(base).scheme == "file" else set())
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises for one that is none
    except ValueError:  # a malformed IPv6 host or port
        return None
    return (url, fragment) if parts.scheme in schemes else None


def _hashes(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {str(name): digest.lower() for name, digest in value.items() if isinstance(digest, str)}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _yanked(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    return "" if value is True else None


class _Anchors(HTMLParser):
    """Collects the links, the base they are relative to, and the API version."""

    def __init__(self, url: str) -> None:
        super().__init__(convert_charrefs=True)
        self.base = url
        self.version = "1.0"
        self.found: list[dict[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "a" and attributes.get("href"):
            self.found.append(attributes)
        elif tag == "base" and attributes.get("href"):
            with suppress(ValueError):  # a malformed IPv6 host
                self.base = urljoin(self.base, attributes["href"])
        elif tag == "meta" and attributes.get("name") == "pypi:repository-version":
            self.version = attributes.get("content", "1.0")

"""Where an index lies: a URL, a site's folder, or a flat folder of wheels (find-links)."""

from __future__ import annotations

from dataclasses import dataclass
from email.parser import BytesHeaderParser
from pathlib import Path
from typing import BinaryIO, Protocol
from urllib.parse import quote, urlsplit
from urllib.request import url2pathname

from polywheel_index.http_client import MAX_PAGE_BYTES, HttpClient
from polywheel_index.remote_file import RemoteFile
from polywheel_index.simple import ACCEPT, HTML_TYPE, JSON_TYPE, IndexedFile, ProjectPage, parse_page
from polywheel_variants.archive import WheelArchive
from polywheel_variants.errors import BadInputError, MissingError
from polywheel_variants.wheel_name import normalized_project

_PAGES = (("index.json", JSON_TYPE), ("index.html", HTML_TYPE))


class NotThereError(MissingError):
    """A file that an index lists is not there."""


class Index(Protocol):
    """What every kind of index can do."""

    def project(self, name: str) -> ProjectPage | None:
        """Read the page of a project; None where the index has no such project."""

    def read(self, url: str, limit: int = MAX_PAGE_BYTES) -> bytes:
        """Read a whole file that a page lists, at most `limit` bytes."""

    def open(self, file: IndexedFile) -> RemoteFile | BinaryIO:
        """Open a listed file for reading in parts."""


def open_index(location: str, client: HttpClient) -> Index:
    """Open an index by URL (`http:`, `https:`, `file:`) or folder.

    A folder is a site that `polywheel index` wrote, its `simple/` folder, or a flat folder of files.
    Raises MissingError for a folder that is not there, BadInputError for a scheme that is not followed.
    """
    scheme = _scheme(location)
    if scheme in {"http", "https"}:
        return UrlIndex(client.login(location).rstrip("/"), client)
    if scheme == "file":
        return _open_folder(_path(location))
    if "://" in location:
        raise BadInputError(f"index {location!r}: the scheme {scheme!r} is not http, https or file")
    return _open_folder(Path(location))


def _scheme(location: str) -> str:
    try:
        parts = urlsplit(location)
        parts.port  # noqa: B018 - raises for one that is none
    except ValueError as error:
        shown = location.rpartition("@")[2]  # what stands before may be a password
        raise BadInputError(f"index {shown!r} is no URL: {error}") from None
    return parts.scheme


def _open_folder(folder: Path) -> Index:
    if not folder.is_dir():
        raise MissingError(f"index {str(folder)!r}: no such folder")
    if any(folder.glob("*.whl")):
        return FlatFolder(folder.resolve())
    for root in (folder / "simple", folder):
        if any((root / page).is_file() for page, _ in _PAGES) or any(root.glob("*/index.html")):
            return SiteFolder(root.resolve())
    return FlatFolder(folder.resolve())


@dataclass(frozen=True)
class UrlIndex:
    """A simple API on a server."""

    root: str
    """Without a closing slash and without credentials."""
    client: HttpClient

    def project(self, name: str) -> ProjectPage | None:
        """Read `<root>/<name>/`. Raises as HttpClient.get and parse_page do."""
        project = normalized_project(name)
        answer = self.client.get(f"{self.root}/{project}/", accept=ACCEPT)
        return None if answer is None else parse_page(project, answer.url, answer.content_type, answer.body)

    def read(self, url: str, limit: int = MAX_PAGE_BYTES) -> bytes:
        """Read a file. Raises NotThereError when it is listed but not there."""
        answer = self.client.get(self.client.login(url), limit=limit)
        if answer is None:
            raise NotThereError(f"{url}: listed by the index, but not there")
        return answer.body

    def open(self, file: IndexedFile) -> RemoteFile | BinaryIO:
        """Open a file for range reads."""
        return RemoteFile(self.client, self.client.login(file.url), file.size)


class _LocalFiles:
    """Reading `file:` URLs."""

    def read(self, url: str, limit: int = MAX_PAGE_BYTES) -> bytes:
        """Read a file. Raises NotThereError when it cannot be opened, BadInputError over `limit` bytes."""
        with _opened(url) as stream:
            body = stream.read(limit + 1)
        if len(body) > limit:
            raise BadInputError(f"{url}: more than {limit} bytes")
        return body

    def open(self, file: IndexedFile) -> RemoteFile | BinaryIO:
        """Open a file on disk."""
        return _opened(file.url)


@dataclass(frozen=True)
class SiteFolder(_LocalFiles):
    """A static site on disk: `<root>/<project>/index.json` or `index.html`."""

    root: Path

    def project(self, name: str) -> ProjectPage | None:
        """Read the project's page, JSON rather than HTML."""
        project = normalized_project(name)
        for page, content_type in _PAGES:
            path = self.root / project / page
            if path.is_file():
                return parse_page(project, path.as_uri(), content_type, path.read_bytes())
        return None


@dataclass(frozen=True)
class FlatFolder(_LocalFiles):
    """A folder of files, as pip's `--find-links` takes it."""

    folder: Path

    def project(self, name: str) -> ProjectPage | None:
        """List the folder's files whose names begin with the project's; None when there are none.

        There is no page to state Requires-Python, so each wheel is asked; one that cannot say is left out.
        """
        project = normalized_project(name)
        files: list[IndexedFile] = []
        problems: list[str] = []
        for path in sorted(self.folder.iterdir()):
            if path.is_file() and normalized_project(path.name.partition("-")[0]) == project:
                try:
                    files.append(_listed(path))
                except BadInputError as error:
                    problems.append(str(error))
        if not files and not problems:
            return None
        return ProjectPage(project, self.folder.as_uri(), tuple(files), tuple(problems))


def _listed(path: Path) -> IndexedFile:
    requires_python = None
    if path.suffix == ".whl":
        with WheelArchive(path) as archive:
            requires_python = BytesHeaderParser().parsebytes(archive.metadata()).get("Requires-Python")
    url = f"{path.parent.as_uri()}/{quote(path.name)}"
    return IndexedFile(path.name, url, {}, path.stat().st_size, requires_python)


def _path(url: str) -> Path:
    return Path(url2pathname(urlsplit(url).path))


def _opened(url: str) -> BinaryIO:
    try:
        return _path(url).open("rb")
    except OSError as error:
        raise NotThereError(f"{url}: {error.strerror or error}") from None

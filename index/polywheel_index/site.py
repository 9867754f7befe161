"""A static index on disk, written so that a reader sees the old one whole or the new one whole.

Files go in first, each by rename, below the first 16 hexadecimal digits of their sha256: no published
URL ever changes its bytes. The pages are swapped after them, and only then does what no page lists go.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from polywheel_index.file_lock import locked
from polywheel_index.pages import Link, project_html, project_json, root_html, root_json
from polywheel_index.published_wheel import (
    PublishedWheel,
    find_wheels,
    hash_file,
    merged_variants,
    read_wheels,
    variants_filename,
)
from polywheel_variants.atomic_file import SUFFIX, replacing
from polywheel_variants.errors import BadInputError, MissingError

MARKER = "polywheel-site.json"
"""A folder that holds this file is a site; in no other does polywheel remove anything."""

_MARKER_TEXT = b'{"schema": "polywheel/site/1"}\n'
_LOCK = ".polywheel-site.lock"
_LOCK_TIMEOUT_S = 60.0
_BLOCK = 1024 * 1024


@dataclass(frozen=True)
class Site:
    """What a site holds: pure, before anything is written."""

    files: Mapping[str, bytes | PublishedWheel]
    """Place below the site -> bytes, or the wheel whose bytes go there."""
    pages: Mapping[str, bytes]
    """Place -> bytes, in the order they are to appear: projects before the list of projects."""
    projects: Mapping[str, tuple[str, ...]]
    """Project -> the names of its files."""

    @classmethod
    def of(cls, wheels: Sequence[PublishedWheel]) -> Site:
        """Lay out a site of wheels as `read_wheels` returns them.

        Raises BadInputError where the variants of a release contradict each other.
        """
        files: dict[str, bytes | PublishedWheel] = {}
        pages: dict[str, bytes] = {}
        projects: dict[str, tuple[str, ...]] = {}
        for project, members in _by_project(wheels).items():
            links = []
            for link, contents in _links(project, members):
                links.append(link)
                files |= contents
            versions = list(dict.fromkeys(str(wheel.version) for wheel in members))
            pages[f"simple/{project}/index.json"] = project_json(project, versions, links)
            pages[f"simple/{project}/index.html"] = project_html(project, links)
            projects[project] = tuple(link.filename for link in links)
        pages["simple/index.json"] = root_json(projects)
        pages["simple/index.html"] = root_html(projects)
        return cls(files, pages, projects)


def _by_project(wheels: Iterable[PublishedWheel]) -> dict[str, list[PublishedWheel]]:
    grouped: dict[str, list[PublishedWheel]] = defaultdict(list)
    for wheel in wheels:
        grouped[wheel.project].append(wheel)
    return grouped


def _links(
    project: str, wheels: Sequence[PublishedWheel]
) -> Iterator[tuple[Link, dict[str, bytes | PublishedWheel]]]:
    """Yield each file of a project's page, and what has to lie on the site for it."""
    for version in dict.fromkeys(wheel.version for wheel in wheels):
        release = [wheel for wheel in wheels if wheel.version == version]
        for wheel in release:
            yield _wheel_link(wheel)
        merged = merged_variants(release)
        if merged is not None:
            yield _bytes_link(variants_filename(project, version), merged.to_json())


def _wheel_link(wheel: PublishedWheel) -> tuple[Link, dict[str, bytes | PublishedWheel]]:
    filename = wheel.name.filename
    place = _place(wheel.sha256, filename)
    metadata_sha256 = hashlib.sha256(wheel.metadata).hexdigest()
    link = Link(filename, place, wheel.sha256, wheel.size, wheel.requires_python, metadata_sha256)
    return link, {place: wheel, f"{place}.metadata": wheel.metadata}


def _bytes_link(filename: str, data: bytes) -> tuple[Link, dict[str, bytes | PublishedWheel]]:
    sha256 = hashlib.sha256(data).hexdigest()
    place = _place(sha256, filename)
    return Link(filename, place, sha256, len(data)), {place: data}


def _place(sha256: str, filename: str) -> str:
    return f"files/{sha256[:16]}/{filename}"


@dataclass(frozen=True)
class Written:
    """What writing a site did."""

    projects: Mapping[str, tuple[str, ...]]
    """Project -> the names of its files."""
    size: int
    """Bytes of all files and pages."""
    removed: tuple[str, ...]
    """Places of an older generation that no page lists any more."""


def write_site(places: Iterable[Path], out: Path) -> Written:
    """Write a site of the wheels at `places` (files or folders) into the folder `out`.

    Every wheel is read and checked before anything is written. The same wheels give the same bytes.
    Raises BadInputError for a wheel that cannot be published, and for an `out` that holds other things;
    MissingError when it cannot be written or another process is writing it.
    """
    site = Site.of(read_wheels(find_wheels(places)))
    try:
        out.mkdir(parents=True, exist_ok=True)
        _require_site(out)
        with locked(out / _LOCK, timeout_s=_LOCK_TIMEOUT_S):
            _put(out, MARKER, _MARKER_TEXT)
            return _write(site, out)
    except OSError as error:
        raise MissingError(f"{error.filename or out}: {error.strerror or error}") from None


def _require_site(out: Path) -> None:
    """Refuse a folder of other things: nothing of the user's is ever taken for an old generation."""
    found = [path for path in sorted(out.iterdir()) if path.name != _LOCK and not _is_temporary(path)]
    if found and not (out / MARKER).is_file():
        raise BadInputError(
            f"{out}: holds {found[0].name!r} and is no site of polywheel's; give a new or empty folder"
        )


def _write(site: Site, out: Path) -> Written:
    size = 0
    for place, content in site.files.items():
        size += _put(out, place, content)
    for place, page in site.pages.items():
        size += _put(out, place, page)
    return Written(site.projects, size, _sweep(out, {*site.files, *site.pages}))


def _put(out: Path, place: str, content: bytes | PublishedWheel) -> int:
    """Write one file by rename, unless it is there already; return its size."""
    target = out / place
    if isinstance(content, PublishedWheel):
        if not target.is_file() or hash_file(target)[0] != content.sha256:
            target.parent.mkdir(parents=True, exist_ok=True)
            with replacing(target) as stream:
                _copy(content, stream)
        return content.size
    if not target.is_file() or target.read_bytes() != content:
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as stream:
            stream.write(content)
    return len(content)


def _copy(wheel: PublishedWheel, stream: IO[bytes]) -> None:
    """Copy a wheel's bytes, which must still be those that were read and checked."""
    digest = hashlib.sha256()
    with wheel.path.open("rb") as source:
        while block := source.read(_BLOCK):
            digest.update(block)
            stream.write(block)
    if digest.hexdigest() != wheel.sha256:
        raise BadInputError(f"{wheel.path}: changed while it was published; run the command again")


def _is_temporary(path: Path) -> bool:
    return path.name.startswith(".") and path.name.endswith(SUFFIX)


def _sweep(out: Path, wanted: set[str]) -> tuple[str, ...]:
    """Remove, below files/ and simple/ alone, what no page lists, and folders left empty."""
    removed = []
    for root in (out / "simple", out / "files"):
        for path in sorted(root.rglob("*"), reverse=True):  # a folder comes after what it holds
            place = path.relative_to(out).as_posix()
            if path.is_dir() and not path.is_symlink():
                if not any(path.iterdir()):
                    path.rmdir()
            elif place not in wanted:
                path.unlink()
                if not _is_temporary(path):
                    removed.append(place)
    for path in out.iterdir():
        if _is_temporary(path) and not path.is_dir():
            path.unlink()
    return tuple(sorted(removed))

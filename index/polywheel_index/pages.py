"""The pages of a simple index, as bytes: PEP 503 HTML and PEP 691 JSON. The same files, the same bytes."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

API_VERSION = "1.1"
"""Of the simple API (PEP 629): 1.1 adds `versions` and `size` (PEP 700)."""


@dataclass(frozen=True)
class Link:
    """One file on a project's page."""

    filename: str
    place: str
    """Its path below the site, with forward slashes and unescaped."""
    sha256: str
    size: int
    requires_python: str | None = None
    metadata_sha256: str | None = None
    """Of `<place>.metadata`; None for a file that has none."""

    @property
    def href(self) -> str:
        """Relative to the project's page, so that a site works wherever it lies; `+` becomes `%2B`."""
        return "../../" + quote(self.place)


def project_html(project: str, links: Iterable[Link]) -> bytes:
    """Write a project's page (PEP 503, with PEP 658 and 714 attributes)."""
    return _html(f"Links for {project}", (_anchor(link) for link in links))


def root_html(projects: Iterable[str]) -> bytes:
    """Write the list of projects (PEP 503)."""
    return _html(
        "Simple index", (f'<a href="{project}/">{html.escape(project)}</a><br>' for project in projects)
    )


def _html(title: str, lines: Iterable[str]) -> bytes:
    head = (
        f'<meta charset="utf-8"><meta name="pypi:repository-version" content="{API_VERSION}">'
        f"<title>{html.escape(title)}</title>"
    )
    body = [f"<h1>{html.escape(title)}</h1>", *lines]
    return "\n".join(
        ["<!DOCTYPE html>", f'<html lang="en"><head>{head}</head><body>', *body, "</body></html>", ""]
    ).encode()


def _anchor(link: Link) -> str:
    attributes = [("href", f"{link.href}#sha256={link.sha256}")]
    if link.requires_python is not None:
        attributes.append(("data-requires-python", link.requires_python))
    if link.metadata_sha256 is not None:  # PEP 714: the old name stays, for clients that know no other
        attributes += [
            ("data-core-metadata", f"sha256={link.metadata_sha256}"),
            ("data-dist-info-metadata", f"sha256={link.metadata_sha256}"),
        ]
    said = " ".join(f'{name}="{html.escape(value)}"' for name, value in attributes)
    return f"<a {said}>{html.escape(link.filename)}</a><br>"


def project_json(project: str, versions: Sequence[str], links: Iterable[Link]) -> bytes:
    """Write a project's page (PEP 691, with PEP 700's `versions` and `size`)."""
    return _json(
        {
            "meta": {"api-version": API_VERSION},
            "name": project,
            "versions": list(versions),
            "files": [_entry(link) for link in links],
        }
    )


def root_json(projects: Iterable[str]) -> bytes:
    """Write the list of projects (PEP 691)."""
    return _json(
        {"meta": {"api-version": API_VERSION}, "projects": [{"name": project} for project in projects]}
    )


def _entry(link: Link) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "filename": link.filename,
        "url": link.href,
        "hashes": {"sha256": link.sha256},
        "size": link.size,
    }
    if link.requires_python is not None:
        entry["requires-python"] = link.requires_python
    if link.metadata_sha256 is not None:
        hashes = {"sha256": link.metadata_sha256}
        entry |= {"core-metadata": hashes, "dist-info-metadata": hashes}
    return entry


def _json(document: Any) -> bytes:
    return (json.dumps(document, indent=1) + "\n").encode()

"""The manual builds without a warning, holds together, and loads nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit
from xml.etree import ElementTree as ET

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
PICTURES = sorted((DOCS / "pictures").glob("*.svg"))


class Page(HTMLParser):
    """What a page links to, what it loads, and where one can link into it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in {"script", "img", "iframe", "source"} and "src" in values:
            self.loads.append(values["src"])
        if tag == "link" and values.get("rel") in {"stylesheet", "icon", "preload", "preconnect"}:
            self.loads.append(values["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("manual")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", DOCS, folder / "html"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def _targets(pages: dict[Path, Page]) -> Iterator[tuple[Path, str, Path, str]]:
    """Yield every link that stays in the manual: page, link, file, fragment."""
    for path, page in pages.items():
        for link in (*page.links, *page.loads):
            place, fragment = urldefrag(link)
            if not urlsplit(link).scheme:
                file = path if not place else (path.parent / unquote(urlsplit(place).path)).resolve()
                yield path, link, file, fragment


def test_every_link_within_the_manual_leads_somewhere(pages: dict[Path, Page]) -> None:
    broken = [
        f"{path.name}: {link}"
        for path, link, file, fragment in _targets(pages)
        if not file.exists() or (fragment and file in pages and fragment not in pages[file].anchors)
    ]
    assert broken == []


def test_no_page_loads_anything_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    outside = [f"{path.name}: {one}" for path, page in pages.items() for one in page.loads if "//" in one]
    imported = [
        path.name
        for path in site.rglob("*.css")
        if re.search(r"(@import|url\()\s*['\"]?(https?:)?//", path.read_text())
    ]
    assert (outside, imported) == ([], [])


def test_every_page_says_who_it_is_for() -> None:
    pages = [
        page
        for folder in ("tutorial", "how-to", "explanation", "reference")
        for page in (DOCS / folder).glob("*.md")
    ]
    assert len(pages) > 20
    assert [
        page.name for page in pages if "\n{.audience}\nFor " not in page.read_text(encoding="utf-8")
    ] == []


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.name)
def test_a_picture_stands_alone_and_says_what_it_shows(picture: Path) -> None:
    root = ET.fromstring(picture.read_bytes())
    assert root.findtext("{http://www.w3.org/2000/svg}title")
    text = picture.read_text(encoding="utf-8").replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "http" not in text
    assert "<script" not in text


def test_the_picture_of_the_layers_shows_the_contract() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = project["tool"]["importlinter"]["contracts"]
    texts = " ".join(ET.fromstring((DOCS / "pictures" / "layers.svg").read_bytes()).itertext())
    places = [texts.index(f"{package}:") for package in contract["layers"]]
    assert places == sorted(places)

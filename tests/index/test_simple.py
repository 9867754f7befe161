from __future__ import annotations

import html
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_index.simple import HTML_TYPE, JSON_TYPE, parse_html, parse_json, parse_page
from polywheel_variants.errors import BadInputError

BASE = "https://index.invalid/simple/demo/"
SHA = "ab" * 32


def page(*files: object, version: str = "1.1") -> bytes:
    return json.dumps({"meta": {"api-version": version}, "name": "demo", "files": files}).encode()


def test_a_json_entry_is_read_whole() -> None:
    entry = {
        "filename": "demo-1-py3-none-any.whl",
        "url": "../../files/demo-1-py3-none-any.whl#sha256=0",
        "hashes": {"sha256": SHA.upper()},
        "size": 5,
        "requires-python": ">=3.10",
        "yanked": "broken",
        "core-metadata": {"sha256": SHA},
        "upload-time": "2026-01-01T00:00:00Z",
    }
    (file,) = parse_json("demo", BASE, page(entry)).files
    assert file.url == "https://index.invalid/files/demo-1-py3-none-any.whl"
    assert (file.hashes, file.core_metadata) == ({"sha256": SHA}, {"sha256": SHA})
    assert (file.size, file.requires_python, file.yanked) == (5, ">=3.10", "broken")
    assert file.upload_time == "2026-01-01T00:00:00Z"


def test_an_html_anchor_is_read_whole() -> None:
    text = (
        '<!DOCTYPE html><html><head><meta name="pypi:repository-version" content="1.3"></head><body>'
        f'<a href="../../files/de%2Bmo.whl#sha256={SHA.upper()}" data-requires-python="&gt;=3.10,&lt;4"'
        f' data-yanked="a &quot;b&quot;" data-core-metadata="sha256={SHA}">other text</a></body></html>'
    )
    (file,) = parse_html("demo", BASE, text.encode()).files
    assert (file.filename, file.url) == ("de+mo.whl", "https://index.invalid/files/de%2Bmo.whl")
    assert (file.hashes, file.core_metadata) == ({"sha256": SHA}, {"sha256": SHA})
    assert (file.requires_python, file.yanked, file.size) == (">=3.10,<4", 'a "b"', None)


def test_a_base_element_moves_the_links() -> None:
    (file,) = parse_html("demo", BASE, b'<base href="/elsewhere/"><a href="a.whl">a</a>').files
    assert file.url == "https://index.invalid/elsewhere/a.whl"


@pytest.mark.parametrize(
    ("said", "expected"), [(True, {}), (False, None), ({"sha256": SHA}, {"sha256": SHA}), (None, None)]
)
@pytest.mark.parametrize("key", ["core-metadata", "dist-info-metadata"])
def test_metadata_files_by_both_names(key: str, said: object, expected: object) -> None:
    (file,) = parse_json("demo", BASE, page({"filename": "a.whl", "url": "a.whl", key: said})).files
    assert file.core_metadata == expected


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ("", None),
        ('data-dist-info-metadata="true"', {}),
        (f'data-core-metadata="sha256={SHA}"', {"sha256": SHA}),
    ],
)
def test_metadata_attributes(attribute: str, expected: object) -> None:
    (file,) = parse_html("demo", BASE, f'<a href="a.whl" {attribute}>a</a>'.encode()).files
    assert file.core_metadata == expected


@pytest.mark.parametrize(("said", "expected"), [(True, ""), (False, None), ("why", "why"), ("", "")])
def test_yanks(said: object, expected: object) -> None:
    (file,) = parse_json("demo", BASE, page({"filename": "a.whl", "url": "a.whl", "yanked": said})).files
    assert file.yanked == expected


def test_a_base_that_is_no_url_moves_nothing() -> None:
    read = parse_html("demo", BASE, b'<base href="http://[x/"><a href="a.whl">a</a>')
    assert [file.url for file in read.files] == [f"{BASE}a.whl"]


def test_one_bad_entry_costs_that_entry() -> None:
    read = parse_json(
        "demo", BASE, page(3, {"filename": "x"}, {"filename": "a.whl", "url": "a.whl"}, {"url": []})
    )
    assert [file.filename for file in read.files] == ["a.whl"]
    assert len(read.problems) == 3


@pytest.mark.parametrize(
    "link",
    ["file:///etc/passwd", "javascript:alert(1)", "data:text/plain,x", "ftp://x/a", "http://[x/a", "//x:y/a"],
)
def test_a_page_on_a_server_leads_to_no_other_scheme(link: str) -> None:
    for read in (
        parse_json("demo", BASE, page({"filename": "a.whl", "url": link})),
        parse_html("demo", BASE, f'<a href="{link}">a</a>'.encode()),
    ):
        assert read.files == ()
        assert len(read.problems) == 1


def test_a_page_on_disk_leads_to_files() -> None:
    (file,) = parse_html("demo", "file:///site/simple/demo/index.html", b'<a href="../../a.whl">a</a>').files
    assert file.url == "file:///site/a.whl"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"files": 3}', b"\xff", b"[" * 100_000])
def test_what_is_no_json_page_is_refused(body: bytes) -> None:
    with pytest.raises(BadInputError, match=r"index\.invalid/simple/demo/: no"):
        parse_page("demo", BASE, JSON_TYPE, body)


def test_another_major_version_is_refused() -> None:
    with pytest.raises(BadInputError, match=r"version 2\.0"):
        parse_json("demo", BASE, page(version="2.0"))
    with pytest.raises(BadInputError, match=r"version 2\.0"):
        parse_html("demo", BASE, b'<meta name="pypi:repository-version" content="2.0">')
    assert parse_json("demo", BASE, page(version="1.9")).files == ()


def test_another_media_type_is_refused() -> None:
    with pytest.raises(BadInputError, match="'image/png' is no simple index page"):
        parse_page("demo", BASE, "image/png", b"")


@given(st.binary())
def test_any_html_is_read_without_a_fault(body: bytes) -> None:
    assert parse_page("demo", BASE, HTML_TYPE, body).name == "demo"


JSON_VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2)
)
KEYS = ["filename", "url", "hashes", "size", "requires-python", "yanked", "core-metadata", "upload-time"]


@given(st.lists(st.dictionaries(st.sampled_from(KEYS), JSON_VALUES), max_size=4))
def test_any_json_entries_are_read_without_a_fault(entries: list[object]) -> None:
    read = parse_json("demo", BASE, page(*entries))
    assert len(read.files) + len(read.problems) == len(entries)


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)


@given(TEXT, TEXT)
def test_html_attributes_come_back_unescaped(python: str, reason: str) -> None:
    said = f'data-requires-python="{html.escape(python)}" data-yanked="{html.escape(reason)}"'
    text = f'<a href="a.whl" {said}>a</a>'
    (file,) = parse_html("demo", BASE, text.encode()).files
    assert (file.requires_python, file.yanked) == (python, reason)

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from polywheel_builder.memo import Memo

_LONG_AGO = 1_000_000_000


def _settled(path: Path, text: str) -> Path:
    path.write_text(text)
    os.utime(path, (_LONG_AGO, _LONG_AGO))
    return path


def _waiting_for_settled_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every file on disk count as old, which a test cannot wait for."""
    monkeypatch.setattr("polywheel_builder.memo.time.time_ns", lambda: 1 << 62)


def test_answers_as_the_bytes_would(tmp_path: Path) -> None:
    memo = Memo(tmp_path / "memo.json")
    path = _settled(tmp_path / "a.h", "one")
    assert memo.digest(path) == hashlib.sha256(b"one").hexdigest()
    with pytest.raises(FileNotFoundError):
        memo.digest(tmp_path / "gone.h")


def test_remembers_until_the_stat_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _waiting_for_settled_files(monkeypatch)
    path, place = _settled(tmp_path / "a.h", "one"), tmp_path / "memo.json"
    first = Memo(place)
    assert first.told(path, "question", lambda: "asked") == "asked"
    first.save()
    assert Memo.load(place).told(path, "question", lambda: "asked again") == "asked"
    _settled(path, "two")
    assert Memo.load(place).told(path, "question", lambda: "asked again") == "asked again"


def test_a_file_that_changed_just_now_is_not_remembered(tmp_path: Path) -> None:
    memo = Memo(tmp_path / "memo.json")
    path = _settled(tmp_path / "a.h", "an old date, but written this moment")
    memo.digest(path)
    memo.save()
    assert Memo.load(tmp_path / "memo.json").entries == {}


def test_a_memo_that_was_changed_is_an_empty_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _waiting_for_settled_files(monkeypatch)
    place, path = tmp_path / "memo.json", _settled(tmp_path / "a.h", "one")
    memo = Memo(place)
    right = memo.digest(path)
    memo.save()
    assert Memo.load(place).entries
    place.write_text(place.read_text().replace(right, "0" * 64))
    assert Memo.load(place).digest(path) == right


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("#include <a.h>", ["<a.h>"]),
        ('  #  include\t"b/c.h" // why', ['"b/c.h"']),
        ("#include_next <a.h>", ["<a.h>"]),
        ('#import "a.h"', ['"a.h"']),
        ("#include MACRO", ["MACRO"]),
        ("#include<a.h>", ["<a.h>"]),
        ("#if 0\n#include <a.h>\n#endif", ["<a.h>"]),
        ("#included <a.h>", []),
        ('#if __has_include("a.h") && !__has_include( <b.h> )', ['"a.h"', "<b.h>"]),
        ("#elif defined(X) || __has_include_next(<a.h>)", ["<a.h>"]),
        ("#if __has_include(MACRO)\n#ifdef __has_include\n", []),
        ("// #include <a.h>", []),
        ("#include <a.h>\r\n#include <b.h>\r\n#include <a.h>\r\n", ["<a.h>", "<b.h>"]),
    ],
)
def test_reads_include_lines(line: str, names: list[str], tmp_path: Path) -> None:
    path = tmp_path / "a.cpp"
    path.write_text(line, newline="")
    assert Memo(tmp_path / "memo.json").includes(path) == names

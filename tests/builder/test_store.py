"""What is kept between builds: outputs, costs, the folder of a build, whole copies."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from pathlib import Path

import pytest

from polywheel_builder.action import Action
from polywheel_builder.build_folder import build_folder
from polywheel_builder.costs import CostBook
from polywheel_builder.launch import REPORT
from polywheel_builder.roots import Roots
from polywheel_builder.store import Cost, Store
from polywheel_builder.whole_copy import copy_whole, remove_abandoned

ACTION = Action("compile", "g++ 12", "x86-64", "a.cpp", "a.o", ("g++", "{out}"), "digest")


def test_a_key_is_the_hash_of_what_decides_and_of_nothing_else() -> None:
    same = Action("compile", "another name", "x86-64-v3", "other words", "a.o", ("g++", "{out}"), "digest")
    assert same.key == ACTION.key
    others = [
        Action("link", "g++ 12", "x86-64", "a.cpp", "a.o", ("g++", "{out}"), "digest"),
        Action("compile", "g++ 12", "x86-64", "a.cpp", "b.o", ("g++", "{out}"), "digest"),
        Action("compile", "g++ 12", "x86-64", "a.cpp", "a.o", ("g++", "-O3", "{out}"), "digest"),
        Action("compile", "g++ 12", "x86-64", "a.cpp", "a.o", ("g++", "{out}"), "another"),
        Action("compile", "g++ 12", "x86-64", "a.cpp", "a.o", ("g++", "{out}"), "digest", (("a.cpp", "1"),)),
        Action("compile", "g++ 12", "x86-64", "a.cpp", "a.o", ("g++", "{out}"), "digest", (), ("key",)),
        Action("compile", "g++ 12", "x86-64", "a.cpp", "a.o", ("g++", "{out}"), "digest", stdin="text"),
    ]
    assert len({ACTION.key, *(other.key for other in others)}) == len(others) + 1


def test_the_store_knows_what_is_there(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert not store.has(ACTION)
    assert store.cost_of(ACTION) is None
    store.folder_of(ACTION.key).mkdir(parents=True)
    assert not store.has(ACTION), "ninja makes the folder before the step runs"
    report = _put(store, b"made")
    assert store.has(ACTION)
    assert store.cost_of(ACTION) == Cost(1.5, 20.0)
    for damage in (b"", b"mad", b"Made"):
        store.output_of(ACTION).write_bytes(damage)
        assert not store.has(ACTION)
    _put(store, b"made")
    for text in ("damaged", "[]", "{}", '{"sha256": null}'):
        report.write_text(text)
        assert not store.has(ACTION)
        assert store.cost_of(ACTION) is None


def _put(store: Store, data: bytes) -> Path:
    """Put an output where `launch` does; returns its report's path."""
    store.folder_of(ACTION.key).mkdir(parents=True, exist_ok=True)
    store.output_of(ACTION).write_bytes(data)
    report = store.folder_of(ACTION.key) / REPORT
    made = {"sha256": hashlib.sha256(data).hexdigest(), "seconds": 1.5, "memory_mb": 20}
    report.write_text(json.dumps(made))
    return report


def test_costs_are_learnt_by_subject(tmp_path: Path) -> None:
    store, path = Store(tmp_path / "store"), tmp_path / "costs.json"
    book = CostBook.load(path)
    guess = book.estimate(ACTION)
    _put(store, b"made")
    book.learn([ACTION], store)
    edited = Action("compile", "g++ 12", "x86-64", "a.cpp", "a.o", ("g++", "-O3", "{out}"), "digest")
    assert CostBook.load(path).estimate(edited) == Cost(1.5, 20.0) != guess
    path.write_text(path.read_text().replace("1.5", "NaN"))
    assert CostBook.load(path).estimate(edited) == guess


def test_a_killed_builds_folder_goes_with_the_next_and_a_living_ones_stays(tmp_path: Path) -> None:
    abandoned = tmp_path / "abandoned"
    abandoned.mkdir()
    (abandoned / "lock").touch()
    (abandoned / "half").touch()
    with build_folder(tmp_path) as (first, descriptors):
        assert not abandoned.exists()
        assert len(descriptors) == 1
        with build_folder(tmp_path) as (second, _):
            assert first.is_dir()
            assert second.is_dir()
            assert first != second
        assert not second.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_copy_is_whole_or_not_there(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target.whl"
    source.write_bytes(b"x" * 3_000_000)
    copy_whole(source, target)
    assert target.read_bytes() == source.read_bytes()
    with pytest.raises(FileNotFoundError):
        copy_whole(tmp_path / "gone", target)
    assert target.stat().st_size == 3_000_000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source", "target.whl"]


def test_only_what_nobody_writes_is_removed(tmp_path: Path) -> None:
    scratch = tmp_path / ".a.whl.1.tmp"
    with scratch.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        remove_abandoned(scratch)
        assert scratch.exists()
    remove_abandoned(scratch)
    assert not scratch.exists()
    remove_abandoned(scratch)


def test_roots_name_paths_by_the_deepest_and_expand_them_back() -> None:
    roots = Roots({"project": Path("/a"), "torch": Path("/a/b"), "python": Path("/usr/bin/python3")})
    for path, name in (
        ("/a", "{project}"),
        ("/a/x.cpp", "{project}/x.cpp"),
        ("/a/b/y.h", "{torch}/y.h"),
        ("/ab/z.h", "/ab/z.h"),
        ("/usr/bin/python3", "{python}"),
    ):
        assert roots.name_of(Path(path)) == name
        assert roots.expand(name) == path
    assert roots.expand("-I{project} {unknown} {}") == "-I/a {unknown} {}"
    assert roots.with_paths({"more": Path("/m")}).expand("{more}{torch}") == f"/m{os.sep}a/b"

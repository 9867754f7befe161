"""A wheel that two readers could read differently, or that leads outside, is refused by name."""

from __future__ import annotations

import re
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from polywheel_variants.archive import Member, WheelArchive, write_wheel
from polywheel_variants.errors import BadInputError
from polywheel_variants.record import RecordRow, digest_of, to_csv
from polywheel_variants.wheel_name import WheelName

NAME = WheelName.parse("tiny-1.0-py3-none-any.whl")
INFO = NAME.dist_info
FILES = {"tiny/__init__.py": b"", "tiny/data.txt": b"data", f"{INFO}/METADATA": b"Name: tiny\n"}


def _require(path: Path) -> None:
    with WheelArchive(path) as archive:
        archive.require_sound()


def _refused(path: Path, message: str) -> None:
    with pytest.raises(BadInputError, match=re.escape(message)) as caught:
        _require(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return write_wheel(tmp_path, NAME, [Member(name, data) for name, data in FILES.items()])


def _with(
    folder: Path, extra: dict[str, bytes] | None = None, record: bytes | None = None, mode: int = 0
) -> Path:
    """Write a wheel with further members, which RECORD lists unless a RECORD is given."""
    files = FILES | (extra or {})
    rows = [RecordRow(name, digest_of(data), len(data)) for name, data in files.items()]
    rows.append(RecordRow(f"{INFO}/RECORD", None, None))
    path = folder / NAME.filename
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in {**files, f"{INFO}/RECORD": to_csv(rows) if record is None else record}.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, data)
    return path


def test_what_is_written_is_sound(wheel: Path, tmp_path: Path) -> None:
    _require(wheel)
    _require(_with(tmp_path))
    _require(_with(tmp_path, {'tiny/ü/a, "b".txt': b"", f"{INFO}/RECORD.jws": b"{}"}))


def test_sizes_that_follow_the_data_are_sound(tmp_path: Path) -> None:
    """A writer that cannot seek leaves data descriptors; one that asks for it, ZIP64 fields."""
    path = tmp_path / NAME.filename
    rows = [*(RecordRow(name, digest_of(data), len(data)) for name, data in FILES.items())]
    members = {**FILES, f"{INFO}/RECORD": to_csv([*rows, RecordRow(f"{INFO}/RECORD", None, None)])}
    with path.open("wb") as file:
        file.seekable = lambda: False  # type: ignore[method-assign]
        with zipfile.ZipFile(file, "w") as archive:
            for number, (name, data) in enumerate(members.items()):
                with archive.open(name, "w", force_zip64=bool(number % 2)) as member:
                    member.write(data)
    _require(path)


@pytest.mark.parametrize(
    "name",
    [
        "../../x",
        "/etc/x",
        "C:/x",
        "tiny/../../tiny-evil/x",
        "../site-packages-evil/x",
        "tiny\\x",
        "./x",
        "a//x",
        "a\nb",
    ],
)
def test_a_member_that_leads_outside_is_refused(name: str, tmp_path: Path) -> None:
    """pypa/wheel#675 (CVE-2026-24049); CVE-2026-1703 of pip: a neighbour whose name begins the same."""
    _refused(_with(tmp_path, {name: b"x"}), "is no plain path below the wheel")


def test_a_symbolic_link_is_refused(tmp_path: Path) -> None:
    _refused(_with(tmp_path, mode=stat.S_IFLNK | 0o777), "is a symbolic link")


def test_a_record_that_leads_outside_is_refused(tmp_path: Path) -> None:
    """astral-sh/uv GHSA-pjjw-68hj-v9mw: what RECORD lists is what uninstalling removes."""
    rows = [RecordRow(name, digest_of(data), len(data)) for name, data in FILES.items()]
    record = to_csv(rows) + b"../../../ESC.txt,,\n"
    _refused(_with(tmp_path, record=record), "RECORD lists '../../../ESC.txt', which the wheel does not hold")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace(b",4\n", b",5\n"), "'tiny/data.txt' is not what RECORD says"),
        (
            lambda text: re.sub(rb"(data.txt,sha256=)..", rb"\1AA", text),
            "'tiny/data.txt' is not what RECORD says",
        ),
        (lambda text: re.sub(rb"(data.txt),.*", rb"\1,,", text), "no SHA-256 or better of 'tiny/data.txt'"),
        (
            lambda text: re.sub(rb"(data.txt),.*", rb"\1,md5=x,4", text),
            "no SHA-256 or better of 'tiny/data.txt'",
        ),
        (lambda text: re.sub(rb"tiny/data.txt,.*\n", b"", text), "RECORD does not list 'tiny/data.txt'"),
        (lambda text: text + b"gone.py,,\n", "RECORD lists 'gone.py', which the wheel does not hold"),
        (lambda text: text + b"tiny/data.txt,,\n", "RECORD lists 'tiny/data.txt' twice"),
        (lambda text: text + b"\xff,,\n", "it cannot be read: 'utf-8' codec"),
    ],
)
def test_a_record_that_differs_is_refused(
    change: Callable[[bytes], bytes], message: str, tmp_path: Path
) -> None:
    """pytorch/pytorch#47916 and #97153: METADATA was edited after RECORD was written."""
    rows = [RecordRow(name, digest_of(data), len(data)) for name, data in FILES.items()]
    _refused(_with(tmp_path, record=change(to_csv(rows))), message)


def test_a_wheel_without_record_is_refused(tmp_path: Path) -> None:
    path = tmp_path / NAME.filename
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny/__init__.py", "")
    _refused(path, f"holds no {INFO}/RECORD")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: b"MZ" + data, "does not begin where the one before it ends"),
        (lambda data: data + b"PK", "after the directory lie bytes that belong to nothing"),
        (
            lambda data: data.replace(b"tiny/data.txt", b"tiny/date.txt", 1),
            "a header of its own that the directory",
        ),
        (
            lambda data: data[:14] + struct.pack("<I", 1) + data[18:],
            "a header of its own that the directory contradicts",
        ),
        (
            lambda data: data[:22] + struct.pack("<I", 1) + data[26:],
            "a header of its own that the directory contradicts",
        ),
    ],
)
def test_bytes_that_two_readers_read_differently_are_refused(
    change: Callable[[bytes], bytes], message: str, tmp_path: Path
) -> None:
    """astral-sh/uv#15136, CVE-2025-54368."""
    path = _with(tmp_path)
    path.write_bytes(change(path.read_bytes()))
    _refused(path, message)


def test_a_member_hidden_between_others_is_refused(tmp_path: Path) -> None:
    path = _with(tmp_path, {"tiny/hidden.py": b"evil"})
    with zipfile.ZipFile(path, "a") as archive:
        archive.filelist.remove(archive.NameToInfo.pop("tiny/hidden.py"))
        archive._didModify = True  # type: ignore[attr-defined]
    _refused(path, "does not begin where the one before it ends")

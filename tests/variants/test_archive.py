from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polywheel_variants.archive import Member, WheelArchive, write_wheel
from polywheel_variants.errors import BadInputError
from polywheel_variants.known_providers import NAMESPACES, PROVIDERS
from polywheel_variants.metadata import VariantMetadata
from polywheel_variants.property import Property, group
from polywheel_variants.record import RecordRow, digest_of, to_csv
from polywheel_variants.wheel_name import WheelName

NAME = WheelName.parse("tiny-1.0-py3-none-any-v3.whl")
_METADATA = b"Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"
_WHEEL = b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_ODD_NAMES = ("a,b.txt", 'say "so".txt', "a b.txt", "ünï.txt", "#.txt", "'.txt", "a;b.txt")  # fmt: skip


def _variant(label: str) -> bytes:
    properties = group([Property("x86_64", "level", "v2")])
    return VariantMetadata(NAMESPACES, PROVIDERS, {label: properties}).to_json()


def _members(name: WheelName) -> list[Member]:
    texts = {
        "tiny/__init__.py": b"",
        **{f"tiny/{odd}": odd.encode() for odd in _ODD_NAMES},
        f"{name.dist_info}/METADATA": _METADATA,
        f"{name.dist_info}/WHEEL": _WHEEL,
    }
    if name.label is not None:
        texts[f"{name.dist_info}/variant.json"] = _variant(name.label)
    return [Member(path, text) for path, text in texts.items()]


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return write_wheel(tmp_path, NAME, _members(NAME))


def test_same_members_give_the_same_bytes(tmp_path: Path) -> None:
    on_disk = tmp_path / "file"
    on_disk.write_bytes(b"x" * 3_000_000)
    members = [*_members(NAME), Member("tiny/big", on_disk), Member("tiny/tool", b"#!", executable=True)]
    written = []
    for number, order in enumerate((members, members[::-1])):
        os.utime(on_disk, (number, number))
        on_disk.chmod(0o600 if number else 0o777)
        folder = tmp_path / str(number)
        folder.mkdir()
        written.append(write_wheel(folder, NAME, order).read_bytes())
    assert written[0] == written[1]


def test_entries_are_sorted_dated_and_have_plain_modes(tmp_path: Path) -> None:
    members = [*_members(NAME), Member("tiny/tool", b"", executable=True)]
    path = write_wheel(tmp_path, NAME, members, epoch=1_700_000_001)
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        assert archive.testzip() is None
    names = [info.filename for info in infos]
    own = [name for name in names if not name.startswith("tiny-1.0.dist-info/")]
    assert own == sorted(own)
    assert names[: len(own)] == own
    assert names[-1] == "tiny-1.0.dist-info/RECORD"
    assert {info.date_time for info in infos} == {(2023, 11, 14, 22, 13, 20)}
    modes = {info.filename: info.external_attr >> 16 for info in infos}
    assert modes.pop("tiny/tool") == stat.S_IFREG | 0o755
    assert set(modes.values()) == {stat.S_IFREG | 0o644}


def test_a_date_before_zip_is_zips_first(tmp_path: Path) -> None:
    with zipfile.ZipFile(write_wheel(tmp_path, NAME, _members(NAME), epoch=0)) as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_record_lists_every_file_with_its_hash(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        rows = list(csv.reader(io.StringIO(archive.read("tiny-1.0.dist-info/RECORD").decode())))
        assert [row[0] for row in rows] == archive.namelist()
        for name, digest, size in rows[:-1]:
            data = archive.read(name)
            assert size == str(len(data))
            algorithm, _, text = digest.partition("=")
            assert algorithm == "sha256"
            assert base64.urlsafe_b64decode(text + "=") == hashlib.sha256(data).digest()
    assert rows[-1] == ["tiny-1.0.dist-info/RECORD", "", ""]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8), max_size=5))
def test_csv_reads_every_record_back(paths: list[str]) -> None:
    rows = [RecordRow(path, digest_of(path.encode()), len(path)) for path in paths]
    read = list(csv.reader(io.StringIO(to_csv(rows).decode(), newline="")))
    assert [row[0] for row in read] == paths
    assert all(len(row) == 3 and "=" not in row[1].removeprefix("sha256=") for row in read)


def _pip(wheel: Path, target: Path) -> Sequence[str | Path]:
    return [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-compile",
            "--target", target, wheel]  # fmt: skip


def _uv(wheel: Path, target: Path) -> Sequence[str | Path]:
    return ["uv", "pip", "install", "-q", "--no-index", "--no-deps", "--no-cache", "--no-config", "--python",
            sys.executable, "--preview-features", "wheel-variants", "--target", target, wheel]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "filename"),
    [
        (_pip, "tiny-1.0-py3-none-any.whl"),
        (_uv, "tiny-1.0-py3-none-any.whl"),
        (_uv, "tiny-1.0-py3-none-any-v3.whl"),
    ],
    ids=["pip plain", "uv plain", "uv variant"],
)
def test_installers_take_the_wheel_as_it_is(
    command: Callable[[Path, Path], Sequence[str | Path]], filename: str, tmp_path: Path
) -> None:
    name = WheelName.parse(filename)
    target = tmp_path / "installed"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {"PATH": path, "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        command(write_wheel(tmp_path, name, _members(name)), target),
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (target / "tiny").iterdir()} == {"__init__.py", *_ODD_NAMES}
    record = (target / "tiny-1.0.dist-info" / "RECORD").read_text(encoding="utf-8")
    listed = [row[0] for row in csv.reader(io.StringIO(record))]
    assert {f"tiny/{odd}" for odd in _ODD_NAMES} <= set(listed)


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    before = write_wheel(tmp_path, NAME, _members(NAME)).read_bytes()
    with pytest.raises(FileNotFoundError):
        write_wheel(tmp_path, NAME, [Member("tiny/gone", tmp_path / "gone")])
    assert [path.name for path in tmp_path.iterdir()] == [NAME.filename]
    assert (tmp_path / NAME.filename).read_bytes() == before


def test_reads_what_was_written(wheel: Path) -> None:
    with WheelArchive(wheel) as archive:
        assert archive.name == NAME
        assert set(archive.members) == {member.path for member in _members(NAME)} | {
            "tiny-1.0.dist-info/RECORD"
        }
        assert archive.metadata() == _METADATA
        variant = archive.variant()
        assert variant is not None
        assert list(variant.variants) == ["v3"]


def _zip(path: Path, *members: tuple[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize(
    ("label", "stated", "message"),
    [
        ("v3", None, "labelled 'v3', but it holds no variant.json"),
        ("v3", "v4", r"variant.json states \['v4'\], the file name 'v3'"),
        (None, None, None),
    ],
)
def test_the_label_and_variant_json_agree(
    label: str | None, stated: str | None, message: str | None, tmp_path: Path
) -> None:
    name = WheelName("tiny", "1.0", "py3", "none", "any", label)
    members = [] if stated is None else [(f"{name.dist_info}/variant.json", _variant(stated))]
    with WheelArchive(_zip(tmp_path / name.filename, *members)) as archive:
        if message is None:
            assert archive.variant() is None
        else:
            with pytest.raises(BadInputError, match=message):
                archive.variant()


def test_says_what_is_no_wheel(tmp_path: Path) -> None:
    path = tmp_path / NAME.filename
    with pytest.raises(BadInputError, match="cannot be read: No such file"):
        WheelArchive(path)
    path.write_bytes(b"no archive")
    with pytest.raises(BadInputError, match="not a ZIP archive"):
        WheelArchive(path)
    _zip(path)
    with (
        WheelArchive(path) as archive,
        pytest.raises(BadInputError, match=r"holds no tiny-1\.0\.dist-info/METADATA"),
    ):
        archive.metadata()


def test_a_pipe_and_a_device_are_not_waited_for(tmp_path: Path) -> None:
    pipe, device = tmp_path / "a-1-py3-none-any.whl", tmp_path / "b-1-py3-none-any.whl"
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    for path in (pipe, device):
        with pytest.raises(BadInputError, match="cannot be read: no regular file"):
            WheelArchive(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_one_name_twice_is_refused(tmp_path: Path) -> None:
    path = _zip(tmp_path / NAME.filename, ("a", b"1"), ("b", b""), ("a", b"2"))
    with pytest.raises(BadInputError, match="holds 'a' twice"):
        WheelArchive(path)


def test_a_bomb_is_read_no_further_than_its_limit(tmp_path: Path) -> None:
    path = _zip(tmp_path / NAME.filename, (f"{NAME.dist_info}/METADATA", bytes(17 << 20)))
    assert path.stat().st_size < 100_000
    with WheelArchive(path) as archive, pytest.raises(BadInputError, match="is larger than 16777216 bytes"):
        archive.metadata()


_COMPRESSIONS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_archive_is_read_or_bad_input(data: st.DataObject, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", data.draw(st.sampled_from(_COMPRESSIONS))) as archive:
        for member in _members(NAME)[-3:]:
            archive.writestr(member.path, member.open().read())
    damaged = bytearray(buffer.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / NAME.filename
    path.write_bytes(damaged[: data.draw(st.just(len(damaged)) | st.integers(0, len(damaged)))])
    try:
        with WheelArchive(path) as opened:
            for name in opened.members:
                opened.read(name)
            opened.variant()
    except BadInputError:
        return
    assert opened.members

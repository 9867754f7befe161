from __future__ import annotations

import io
import random
import zipfile
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polywheel_index.http_client import HttpClient
from polywheel_index.remote_archive import GAP, RemoteArchive, spans
from polywheel_index.remote_file import RemoteFile
from polywheel_variants.errors import BadInputError, MissingError

if TYPE_CHECKING:
    from tests.index.conftest import Web

BYTES = random.Random(1).randbytes(300_000)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, len(BYTES) + 10), st.integers(0, 70_000)), min_size=1, max_size=8))
def test_reads_what_a_file_on_disk_would(web: Web, client: HttpClient, places: list[tuple[int, int]]) -> None:
    web.files["/a"] = ("application/zip", BYTES)
    remote, local = RemoteFile(client, f"{web.root}/a"), io.BytesIO(BYTES)
    for offset, length in places:
        assert remote.seek(offset) == local.seek(offset)
        assert remote.read(length) == local.read(length)
        assert remote.tell() == local.tell()


def test_seeks_from_every_end(web: Web, client: HttpClient) -> None:
    web.files["/a"] = ("application/zip", BYTES)
    remote = RemoteFile(client, f"{web.root}/a")
    assert remote.size == len(BYTES)
    assert remote.seek(-10, io.SEEK_END) == len(BYTES) - 10
    assert remote.seek(4, io.SEEK_CUR) == len(BYTES) - 6
    assert remote.read() == BYTES[-6:]
    with pytest.raises(OSError, match="before the start"):
        remote.seek(-1)


def test_small_reads_share_a_request(web: Web, client: HttpClient) -> None:
    web.files["/a"] = ("application/zip", BYTES)
    remote = RemoteFile(client, f"{web.root}/a", len(BYTES))
    for _ in range(100):
        remote.read(500)
    assert client.requests_made == 1


def test_a_file_that_changes_while_read_is_told(web: Web, client: HttpClient) -> None:
    web.files["/a"] = ("application/zip", BYTES)
    web.extra_headers["ETag"] = '"one"'
    remote = RemoteFile(client, f"{web.root}/a")
    remote.read(10)
    web.extra_headers["ETag"] = '"two"'
    remote.seek(150_000)
    with pytest.raises(MissingError, match="changed while it was read"):
        remote.read(10)


def test_a_file_of_another_size_than_listed_is_told(web: Web, client: HttpClient) -> None:
    web.files["/a"] = ("application/zip", BYTES)
    with pytest.raises(MissingError, match=f"expected {len(BYTES) + 1}"):
        RemoteFile(client, f"{web.root}/a", len(BYTES) + 1).read(10)


def archive_of(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return out.getvalue()


def test_many_members_cost_a_handful_of_requests(web: Web, client: HttpClient) -> None:
    noise = random.Random(2).randbytes
    members = {f"big/{n}": noise(GAP * 2) for n in range(3)}
    members |= {f"near/{n}.h": noise(3000) for n in range(100)}
    members |= {"far/last": noise(GAP * 2), "record": b"x"}
    web.files["/a.zip"] = ("application/zip", archive_of(members))
    archive = RemoteArchive(RemoteFile(client, f"{web.root}/a.zip"), "a.zip")
    wanted = [name for name in archive.names if name.startswith("near/")] + ["record"]
    got = dict(archive.read_members(reversed(wanted)))
    assert got == {name: members[name] for name in wanted}
    assert list(got) == wanted  # in the archive's order
    assert client.requests_made <= 4


def test_the_same_reader_takes_a_file_on_disk() -> None:
    members = {"a": b"1", "b": b"2"}
    archive = RemoteArchive(io.BytesIO(archive_of(members)), "a.zip")
    assert dict(archive.read_members(["b", "a"])) == members


def test_a_member_that_is_not_there_is_named() -> None:
    archive = RemoteArchive(io.BytesIO(archive_of({"a": b"1"})), "a.zip")
    with pytest.raises(BadInputError, match=r"a\.zip: no member 'b'"):
        list(archive.read_members(["b"]))


@pytest.mark.parametrize("data", [b"", b"junk" * 100, archive_of({"a": b"1"})[:-5]])
def test_what_is_no_archive_is_refused(data: bytes) -> None:
    with pytest.raises(BadInputError, match=r"x\.zip: not a sound zip"):
        RemoteArchive(io.BytesIO(data), "x.zip")


@given(st.integers(0, 2**32), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_a_flipped_byte_never_gives_other_bytes(seed: int, flips: int) -> None:
    members = {"a": b"1" * 50, "b/c": bytes(range(256)), "d": b""}
    damaged = bytearray(archive_of(members))
    chance = random.Random(seed)
    for _ in range(flips):
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    got: dict[str, bytes] = {}
    with suppress(BadInputError):
        archive = RemoteArchive(io.BytesIO(damaged), "x.zip")
        got = dict(archive.read_members(archive.names))
    assert set(got.values()) <= set(members.values())


def test_spans_join_neighbours_and_keep_within_the_limit() -> None:
    infos = []
    for offset in (0, 100, 100 + GAP + 200, 40_000_000, 60_000_000):
        info = zipfile.ZipInfo(str(offset))
        info.header_offset, info.compress_size = offset, 50
        infos.append(info)
    ends = [0, 100, 200, 100 + GAP + 200, 100 + GAP + 300, 40_000_000, 59_999_999, 60_000_000, 90_000_000]
    found = [(one.start, one.stop, len(one.members)) for one in spans(reversed(infos), ends)]
    assert found == [
        (0, 200, 2),
        (GAP + 300, GAP + 400, 1),
        (40_000_000, 59_999_999, 1),
        (60_000_000, 90_000_000, 1),
    ]

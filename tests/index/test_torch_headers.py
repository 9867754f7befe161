from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from polywheel_index.registry import Registry, default_registry
from polywheel_index.simple import JSON_TYPE, IndexedFile
from polywheel_index.torch_headers import closed, pick_wheel, stable_headers
from polywheel_variants.errors import BadInputError, MissingError

if TYPE_CHECKING:
    from tests.index.conftest import Web

WHEEL = "torch-2.10.0-cp310-cp310-manylinux_2_28_x86_64.whl"
INCLUDE = "torch/include"
AOTI = "torch/csrc/inductor/aoti_torch"
HEADERS = {
    "torch/headeronly/version.h": b"#define TORCH_VERSION_MAJOR 2\n",
    "torch/csrc/stable/library.h": b"#include <torch/csrc/stable/c/shim.h>\n#include <cstdint>\n",
    "torch/csrc/stable/c/shim.h": f'#include "{AOTI}/c/shim.h"\n'.encode(),
    f"{AOTI}/c/shim.h": b"#include <torch/headeronly/version.h>\n",
    f"{AOTI}/generated/c_shim_aten.h": f"#include <{AOTI}/c/shim.h>\n".encode(),
}
OUTSIDE = {
    f"{AOTI}/c/shim_xpu.h": b"#include <ATen/Config.h>\n",
    f"{AOTI}/generated/c_shim_xpu.h": f"#include <{AOTI}/c/shim_xpu.h>\n".encode(),
}
Maker = Callable[[str, Mapping[str, bytes]], bytes]


def torch_wheel(wheel_bytes: Maker, changed: Mapping[str, bytes] | None = None) -> bytes:
    members = {"torch/lib/libtorch_cpu.so": bytes(1000), f"{INCLUDE}/ATen/Config.h": b""}
    members["torch-2.10.0.dist-info/METADATA"] = b"Metadata-Version: 2.1\nName: torch\nVersion: 2.10.0\n"
    members |= {f"{INCLUDE}/{name}": data for name, data in {**HEADERS, **OUTSIDE}.items()}
    return wheel_bytes("torch-2.10.0.dist-info", {**members, **(changed or {})})


def publish(web: Web, wheel: bytes, filename: str = WHEEL) -> Callable[[], Registry]:
    entry = {"filename": filename, "url": f"/files/{filename}", "size": len(wheel)}
    web.files["/simple/torch/"] = (JSON_TYPE, json.dumps({"files": [entry]}).encode())
    web.files[f"/files/{filename}"] = ("application/zip", wheel)
    return lambda: Registry(f"{web.root}/simple", "test")


def nowhere() -> Registry:
    raise AssertionError("the index was asked")


def read_all(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_a_cold_cache_is_filled_and_a_warm_one_works_offline(
    web: Web, wheel_bytes: Maker, tmp_path: Path
) -> None:
    lines: list[str] = []
    registry = publish(web, torch_wheel(wheel_bytes))
    folder = stable_headers("2.10", tmp_path, registry=registry, tell=lines.append)
    assert read_all(folder) == HEADERS
    assert WHEEL in lines[0]
    assert stable_headers("2.10.0", tmp_path, registry=nowhere) == folder
    assert not [path for path in (tmp_path / "torch-headers").iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("damage", ["changed", "missing", "added", "no manifest", "half of it", "emptied"])
def test_a_damaged_cache_is_fetched_again(web: Web, wheel_bytes: Maker, tmp_path: Path, damage: str) -> None:
    registry = publish(web, torch_wheel(wheel_bytes))
    folder = stable_headers("2.10", tmp_path, registry=registry)
    manifest = folder.parent / "manifest.json"
    header = folder / "torch/headeronly/version.h"
    match damage:
        case "changed":
            header.write_bytes(b"#define TORCH_VERSION_MAJOR 3\n")
        case "missing":
            header.unlink()
        case "added":
            header.with_name("extra.h").write_bytes(b"")
        case "no manifest":
            manifest.unlink()
        case "half of it":
            manifest.write_bytes(manifest.read_bytes()[:40])
        case _:
            shutil.rmtree(folder)
    assert read_all(stable_headers("2.10", tmp_path, registry=registry)) == HEADERS
    assert stable_headers("2.10", tmp_path, registry=nowhere) == folder


def test_what_a_killed_process_left_is_removed(web: Web, wheel_bytes: Maker, tmp_path: Path) -> None:
    leftover = tmp_path / "torch-headers" / ".2.10.0.abc"
    (leftover / "include").mkdir(parents=True)
    stable_headers("2.10", tmp_path, registry=publish(web, torch_wheel(wheel_bytes)))
    assert not leftover.exists()


FETCH = """
import pathlib, sys
from polywheel_index.registry import Registry
from polywheel_index.torch_headers import stable_headers
print(stable_headers("2.10", pathlib.Path(sys.argv[1]), registry=lambda: Registry(sys.argv[2], "test")))
"""


def test_two_processes_at_once_fetch_once(web: Web, wheel_bytes: Maker, tmp_path: Path) -> None:
    url = publish(web, torch_wheel(wheel_bytes))().url
    command = [sys.executable, "-c", FETCH, str(tmp_path), url]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    folders = {process.communicate(timeout=60)[0].strip() for process in running}
    assert [process.returncode for process in running] == [0, 0]
    (folder,) = folders
    assert read_all(Path(folder)) == HEADERS
    assert [path for path, _ in web.asked].count("/simple/torch/") == 1


def test_a_header_that_record_does_not_vouch_for_is_refused(
    web: Web, wheel_bytes: Maker, tmp_path: Path
) -> None:
    record = wheel_bytes("torch-2.10.0.dist-info", {f"{INCLUDE}/torch/headeronly/version.h": b"other"})
    members = {f"{INCLUDE}/{name}": data for name, data in HEADERS.items()}
    forged = _with_record_of(wheel_bytes("torch-2.10.0.dist-info", members), record)
    with pytest.raises(BadInputError, match=r"torch/headeronly/version\.h is not what RECORD says"):
        stable_headers("2.10", tmp_path, registry=publish(web, forged))
    assert not (tmp_path / "torch-headers" / "2.10.0").exists()


def _with_record_of(wheel: bytes, other: bytes) -> bytes:
    name = "torch-2.10.0.dist-info/RECORD"
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(wheel)) as source,
        zipfile.ZipFile(io.BytesIO(other)) as donor,
        zipfile.ZipFile(out, "w") as target,
    ):
        for member in source.namelist():
            target.writestr(member, (donor if member == name else source).read(member))
    return out.getvalue()


def test_a_torch_without_stable_headers_is_refused(web: Web, wheel_bytes: Maker, tmp_path: Path) -> None:
    old = wheel_bytes("torch-2.10.0.dist-info", {"torch/lib/libtorch.so": b""})
    with pytest.raises(BadInputError, match="no stable headers"):
        stable_headers("2.10", tmp_path, registry=publish(web, old))


def test_an_index_without_that_torch_is_told(web: Web, wheel_bytes: Maker, tmp_path: Path) -> None:
    registry = publish(web, torch_wheel(wheel_bytes))
    with pytest.raises(MissingError, match=r"\(test\) has no Linux x86_64 wheel of torch 2\.11\.0"):
        stable_headers("2.11", tmp_path, registry=registry)
    web.files.clear()
    with pytest.raises(MissingError, match=r"has no Linux x86_64 wheel"):
        stable_headers("2.10", tmp_path, registry=registry)


def test_a_folder_of_wheels_serves_as_the_index(wheel_bytes: Maker, tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    (wheels / WHEEL).write_bytes(torch_wheel(wheel_bytes))
    folder = stable_headers("2.10", tmp_path / "cache", registry=lambda: Registry(str(wheels), "test"))
    assert read_all(folder) == HEADERS


@pytest.mark.parametrize("version", ["2", "two", "2.10.0.1", "2.10+cpu", "", "../2.10", "2.10\n"])
def test_a_version_that_is_none_is_bad_input(version: str, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="expected MAJOR"):
        stable_headers(version, tmp_path, registry=nowhere)


def test_a_cache_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(MissingError, match="POLYWHEEL_CACHE"):
        stable_headers("2.10", tmp_path / "file", registry=nowhere)


def listed(*filenames: str) -> list[IndexedFile]:
    return [IndexedFile(name, f"https://index.invalid/{name}", {}) for name in filenames]


def test_the_choice_among_wheels_is_steady() -> None:
    names = [
        "torch-2.10.0+cpu-cp310-cp310-linux_x86_64.whl",
        "torch-2.10.0-cp310-cp310-manylinux_2_28_x86_64.whl",
        "torch-2.10.0-3-cp313-cp313t-manylinux_2_28_x86_64.whl",
        "torch-2.10.0-3-cp310-cp310-manylinux_2_28_x86_64.whl",
        "torch-2.10.0-9-cp310-cp310-manylinux_2_28_aarch64.whl",
        "torch-2.10.1-3-cp310-cp310-manylinux_2_28_x86_64.whl",
        "torch-2.10.0-cp310-cp310-win_amd64.whl",
        "torch-2.10.0.tar.gz",
    ]
    for order in (names, names[::-1]):
        chosen = pick_wheel(listed(*order), "2.10.0")
        assert chosen is not None
        assert chosen.filename == names[3]
    local = pick_wheel(listed(names[0]), "2.10.0")
    assert local is not None
    assert local.filename == names[0]
    assert pick_wheel(listed(*names[4:]), "2.10.0") is None


def test_headers_that_lead_outside_are_left_out() -> None:
    assert closed({**HEADERS, **OUTSIDE}) == HEADERS


@pytest.mark.network
def test_the_real_torch_2_10_has_the_headers_an_extension_needs(tmp_path: Path) -> None:
    lines: list[str] = []
    folder = stable_headers("2.10", tmp_path, registry=default_registry, tell=lines.append)
    found = read_all(folder)
    for name in ("torch/csrc/stable/library.h", "torch/csrc/stable/tensor.h", f"{AOTI}/c/shim.h"):
        assert name in found
    assert f"{AOTI}/c/shim_xpu.h" not in found
    assert sum(map(len, found.values())) < 2_000_000
    requests = int(lines[-1].rpartition("in ")[2].split()[0])
    assert requests <= 10

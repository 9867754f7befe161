"""torch's stable headers, read out of its published wheel in parts, kept in a content-checked cache.

About half a megabyte of a file of hundreds: the directory of the archive, the ranges that hold the
headers, and its RECORD, which every header is checked against. torch is never installed.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from packaging.version import Version

from polywheel_index.file_lock import locked
from polywheel_index.http_client import HttpClient
from polywheel_index.location import Index, open_index
from polywheel_index.registry import Registry, default_registry
from polywheel_index.remote_archive import RemoteArchive
from polywheel_index.simple import IndexedFile
from polywheel_variants.errors import BadInputError, MissingError
from polywheel_variants.wheel_name import WheelName

STABLE_FOLDERS = (
    "torch/headeronly/",
    "torch/csrc/stable/",
    "torch/csrc/inductor/aoti_torch/c/",
    "torch/csrc/inductor/aoti_torch/generated/",
)
"""Where the headers of the stable ABI lie below `torch/include/` (PyTorch docs, "LibTorch Stable ABI")."""

_PREFIX = "torch/include/"
_UNSTABLE = re.compile(r"(?:ATen|c10|caffe2|torch)/")
"""Includes by these names must be answered by the headers themselves."""
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\r\n]+)[>"]', re.MULTILINE)
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?")
_MANIFEST = "manifest.json"
_MANIFEST_SCHEMA = "polywheel/torch-headers/1"
_LOCK_TIMEOUT_S = 600.0

Tell = Callable[[str], None]
"""Takes one line of progress."""


def _silent(_line: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Source:
    """The wheel that the headers come from."""

    file: IndexedFile
    index: Index


def stable_headers(
    version: str,
    cache: Path,
    *,
    registry: Callable[[], Registry] = default_registry,
    tell: Tell = _silent,
) -> Path:
    """Return a folder for `-I` that holds the stable headers of torch `version` (`2.10` or `2.10.1`).

    A sound cache is answered from without a network; a damaged one is fetched again. Two processes at
    once fetch once. The folder is complete or absent, never partial.

    Raises BadInputError for a version that is none, MissingError when the cache is cold and the index
    cannot be reached or has no such torch.
    """
    release = _release(version)
    home = cache / "torch-headers"
    folder = home / release
    if is_sound(folder, release):
        return folder / "include"
    _make(home)
    with locked(home / f"{release}.lock", timeout_s=_LOCK_TIMEOUT_S):
        if not is_sound(folder, release):  # another process may have filled it meanwhile
            _fill(folder, release, registry(), tell)
    return folder / "include"


def _release(version: str) -> str:
    if not _VERSION.fullmatch(version):
        raise BadInputError(
            f"torch version {version!r}: expected MAJOR.MINOR or MAJOR.MINOR.PATCH, like 2.10"
        )
    return version if version.count(".") == 2 else f"{version}.0"


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MissingError(
            f"cache {folder}: cannot be made: {error.strerror or error}; name another in POLYWHEEL_CACHE"
        ) from None


def is_sound(folder: Path, release: str) -> bool:
    """Whether a cached folder holds exactly the files of its manifest, each with its sha256."""
    try:
        manifest = json.loads((folder / _MANIFEST).read_bytes())
        files = manifest["files"]
        if manifest["schema"] != _MANIFEST_SCHEMA or manifest["version"] != release or not files:
            return False
        root = folder / "include"
        present = {path.relative_to(root).as_posix() for path in root.rglob("*") if not path.is_dir()}
        return present == set(files) and all(
            hashlib.sha256((root / name).read_bytes()).hexdigest() == digest for name, digest in files.items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def _fill(folder: Path, release: str, registry: Registry, tell: Tell) -> None:
    """Fetch into a folder beside the final one, then rename. The caller holds the lock."""
    for leftover in folder.parent.glob(f".{release}.*"):  # of a process that was killed here
        shutil.rmtree(leftover, ignore_errors=True)
    with HttpClient() as client:
        index = open_index(registry.url, client)
        source = Source(_pick(index, release, registry), index)
        tell(f"reading the stable headers of torch {release} out of {source.file.filename}")
        headers = closed(read_headers(source))
        tell(
            f"read {len(headers)} headers, {sum(map(len, headers.values())) // 1024} KiB, "
            f"in {client.requests_made} requests"
        )
    manifest = {
        "schema": _MANIFEST_SCHEMA,
        "version": release,
        "wheel": source.file.filename,
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in sorted(headers.items())},
    }
    try:
        _write(folder, headers, manifest)
    except OSError as error:
        raise MissingError(f"cache {folder}: cannot be written: {error.strerror or error}") from None


def _write(folder: Path, headers: Mapping[str, bytes], manifest: Mapping[str, Any]) -> None:
    fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        for name, data in headers.items():
            path = fresh / "include" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        text = json.dumps(manifest, indent=2) + "\n"
        (fresh / _MANIFEST).write_text(text, encoding="utf-8", newline="\n")
        fresh.chmod(0o755)  # mkdtemp keeps others out; a shared cache is for all to read
        with suppress(FileNotFoundError):
            folder.rename(fresh.with_name(f"{fresh.name}.damaged"))
        fresh.rename(folder)
    finally:
        for leftover in (fresh, fresh.with_name(f"{fresh.name}.damaged")):
            shutil.rmtree(leftover, ignore_errors=True)


def _pick(index: Index, release: str, registry: Registry) -> IndexedFile:
    page = index.project("torch")
    wheel = None if page is None else pick_wheel(page.files, release)
    if wheel is None:
        raise MissingError(
            f"{registry.shown} ({registry.origin}) has no Linux x86_64 wheel of torch {release}; "
            "check the matrix's `torch`, or choose another index with UV_DEFAULT_INDEX or PIP_INDEX_URL"
        )
    return wheel


def pick_wheel(files: Iterable[IndexedFile], release: str) -> IndexedFile | None:
    """Choose the wheel to read: any Linux x86_64 one has the headers, so the rule is only to be steady.

    Without a local version before with, the highest build, then the lowest Python, then the name.
    """
    ranked = []
    for file in files:
        try:
            name = WheelName.parse(file.filename)
            version = Version(name.version)
        except (BadInputError, ValueError):
            continue
        if version.public == release and _is_linux_x86_64(name) and file.yanked is None:
            ranked.append((version.local or "", -_build_number(name), _python_order(name), file))
    return min(ranked, key=lambda one: (*one[:3], one[3].filename))[3] if ranked else None


def _is_linux_x86_64(name: WheelName) -> bool:
    return any(
        tag.endswith("_x86_64") and tag.startswith(("linux", "manylinux")) for tag in name.platform.split(".")
    )


def _build_number(name: WheelName) -> int:
    match = re.match(r"\d+", name.build or "")
    return int(match[0]) if match else 0


def _python_order(name: WheelName) -> tuple[int, str]:
    digits = re.sub(r"\D", "", name.python)
    return int(digits or 0), name.abi


def read_headers(source: Source) -> dict[str, bytes]:
    """Read the headers below `torch/include/`, each checked against the wheel's RECORD.

    Raises BadInputError when the archive is unsound, or RECORD lacks a header or has another hash.
    """
    wheel = source.file.filename
    with source.index.open(source.file) as stream:
        archive = RemoteArchive(stream, wheel)
        record_name = f"{WheelName.parse(wheel).dist_info}/RECORD"
        wanted = [name for name in archive.names if _is_header(name)]
        members = dict(archive.read_members([*wanted, record_name]))
    if not wanted:
        raise BadInputError(
            f"{wheel}: no stable headers below {_PREFIX}; the stable ABI came with torch 2.10: "
            "raise the matrix's `torch`"
        )
    record = record_hashes(members.pop(record_name), source=f"{wheel}: {record_name}")
    for name, data in members.items():
        if record.get(name) != hashlib.sha256(data).digest():
            raise BadInputError(f"{wheel}: {name} is not what RECORD says")
    return {name.removeprefix(_PREFIX): data for name, data in members.items()}


def _is_header(member: str) -> bool:
    path = PurePosixPath(member)
    inside = member.startswith(tuple(_PREFIX + folder for folder in STABLE_FOLDERS))
    return inside and path.suffix == ".h" and ".." not in path.parts and "\\" not in member


def record_hashes(data: bytes, *, source: str) -> dict[str, bytes]:
    """Read a RECORD: path -> sha256 digest; rows with another hash or none are left out.

    Raises BadInputError, naming `source`, when it cannot be parsed.
    """
    hashes: dict[str, bytes] = {}
    try:
        for path, said, _size in csv.reader(io.StringIO(data.decode("utf-8"))):
            algorithm, _, digest = said.partition("=")
            if algorithm == "sha256":
                hashes[path] = base64.urlsafe_b64decode(digest + "=" * (-len(digest) % 4))
    except (ValueError, csv.Error) as error:
        raise BadInputError(f"{source}: cannot be read: {error}") from None
    return hashes


def closed(headers: Mapping[str, bytes]) -> dict[str, bytes]:
    """Keep the headers whose torch includes are all among them, and theirs, and so on.

    `shim_xpu.h` includes ATen/Config.h, which no stable extension may: it goes.
    """
    kept = dict(headers)
    while True:
        open_ones = [name for name, data in kept.items() if not _includes(data) <= kept.keys()]
        if not open_ones:
            return kept
        for name in open_ones:
            del kept[name]


def _includes(data: bytes) -> set[str]:
    names = (name.decode("utf-8", errors="replace") for name in _INCLUDE.findall(data))
    return {name for name in names if _UNSTABLE.match(name)}

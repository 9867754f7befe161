"""Recorded machines of tests/data/machines, and small machines made in a test."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Protocol

import pytest
from uv import find_uv_bin

from polywheel_providers import FolderMachine

MACHINES = Path(__file__).parents[1] / "data" / "machines"
DRIVERS = Path(__file__).parents[1] / "data" / "drivers"


class Recorded(Protocol):
    """Opens a recorded machine by its folder's name."""

    def __call__(self, name: str, **env: str) -> FolderMachine: ...


class Made(Protocol):
    """Writes a machine's files and opens it."""

    def __call__(self, files: dict[str, str | bytes], **env: str) -> FolderMachine: ...


@pytest.fixture
def recorded() -> Recorded:
    def open_recorded(name: str, **env: str) -> FolderMachine:
        folder = MACHINES / name
        assert folder.is_dir(), f"{folder} is not recorded"
        return FolderMachine(str(folder), env)

    return open_recorded


@pytest.fixture
def made(tmp_path: Path) -> Made:
    def write(files: dict[str, str | bytes], **env: str) -> FolderMachine:
        for name, content in files.items():
            path = tmp_path / "machine" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            if name.startswith("usr/bin/"):
                path.chmod(0o755)
        return FolderMachine(str(tmp_path / "machine"), env)

    return write


class Driven(Protocol):
    """Compiles a driver library of tests/data/drivers into a machine; definitions choose how it behaves."""

    def __call__(self, library: str, source: str, *definitions: str) -> None: ...


@pytest.fixture
def driven(tmp_path: Path) -> Driven:
    """Put libraries into the machine that `made` opens."""

    def build(library: str, source: str, *definitions: str) -> None:
        folder = tmp_path / "machine" / "usr" / "lib"
        folder.mkdir(parents=True, exist_ok=True)
        flags = ["-shared", "-fPIC", "-Wall", "-Wextra", *(f"-D{name}" for name in definitions)]
        subprocess.run(["cc", *flags, "-o", str(folder / library), str(DRIVERS / source)], check=True)

    return build


SHOW_ANOTHER = """\
import builtins
_open = builtins.open
def open(file, *arguments, **options):
    if file == "/proc/cpuinfo":
        file = {path!r}
    return _open(file, *arguments, **options)
builtins.open = open
"""


class Uv:
    """Released uv, and a wheel for each value of one feature.

    uv reads the processor through the Python it installs for, so a Python whose `open` shows another
    /proc/cpuinfo is another machine to it.
    """

    def __init__(self, folder: Path, namespace: str, feature: str, values: tuple[str, ...]) -> None:
        self._folder = folder
        self._namespace = namespace
        variants: dict[str, object] = {"null": {}}
        variants.update((value, {namespace: {feature: [value]}}) for value in values)
        (folder / "wheels").mkdir()
        for label, variant in variants.items():
            self._write_wheel(label, variant)
        (folder / "wheels" / "probe-1.0-variants.json").write_text(json.dumps(self._metadata(variants)))

    def show(self, packages: Path) -> None:
        """Make the Python of a site-packages folder see the /proc/cpuinfo that `chosen` is given."""
        packages.mkdir(parents=True, exist_ok=True)
        (packages / "_another.py").write_text(SHOW_ANOTHER.format(path=str(self._folder / "cpuinfo")))
        (packages / "another.pth").write_text("import _another\n")

    def chosen(self, python: Path, cpuinfo: str) -> str:
        """Return the value whose wheel uv installs for a Python that sees this /proc/cpuinfo."""
        (self._folder / "cpuinfo").write_text(cpuinfo)
        target = self._folder / "target"
        shutil.rmtree(target, ignore_errors=True)
        command = [find_uv_bin(), "pip", "install", "--python", str(python), "--target", str(target), "probe"]
        command += ["--no-cache", "--no-config", "--no-index", "--find-links", str(self._folder / "wheels")]
        command += ["--preview-features", "wheel-variants"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        return (target / "probe_label.txt").read_text()

    def _metadata(self, variants: dict[str, object]) -> dict[str, object]:
        package = f"{self._namespace.replace('_', '-')}-variant-provider"
        return {
            "$schema": "https://variants-schema.wheelnext.dev/peps/850/v0.2.0.json",
            "default-priorities": {"namespace": [self._namespace]},
            "providers": {self._namespace: {"requires": [f"{package}>=0.2,<1"]}},
            "variants": variants,
        }

    def _write_wheel(self, label: str, variant: object) -> None:
        info = "probe-1.0.dist-info"
        files = {
            "probe_label.txt": label,
            f"{info}/METADATA": "Metadata-Version: 2.1\nName: probe\nVersion: 1.0\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/variant.json": json.dumps(self._metadata({label: variant})),
        }
        rows = [f"{info}/RECORD,,"]
        for name, text in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            rows.append(f"{name},sha256={digest},{len(text)}")
        with zipfile.ZipFile(self._folder / "wheels" / f"probe-1.0-py3-none-any-{label}.whl", "w") as archive:
            for name, text in {**files, f"{info}/RECORD": "\n".join(rows) + "\n"}.items():
                archive.writestr(name, text)


class MakeUv(Protocol):
    """Makes a probe index of one feature's values for the real uv."""

    def __call__(self, namespace: str, feature: str, values: tuple[str, ...]) -> Uv: ...


@pytest.fixture(scope="session")
def make_uv(tmp_path_factory: pytest.TempPathFactory) -> MakeUv:
    def make(namespace: str, feature: str, values: tuple[str, ...]) -> Uv:
        return Uv(tmp_path_factory.mktemp("uv"), namespace, feature, values)

    return make

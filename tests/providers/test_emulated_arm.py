"""Detection inside real arm64 Pythons that qemu runs as different processors.

$POLYWHEEL_TEST_ARM64 names a folder with `qemu-aarch64-static` and `root/usr/bin/python3.11`. Without it
both are taken once, 130 MB, from the distribution's own packages (Debian 12: `apt-get` and `dpkg-deb`,
without installing anything), into polywheel's cache.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import polywheel_providers
from polywheel_index.cache_folder import cache_dir
from polywheel_index.file_lock import locked
from polywheel_providers import aarch64

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .conftest import MakeUv, Uv

pytestmark = pytest.mark.network

PACKAGES = (
    "libc6 libcrypt1 libexpat1 libffi8 libgcc-s1 libssl3 zlib1g libpython3.11-minimal libpython3.11-stdlib"
)
PACKAGES += " python3.11-minimal"

DETECT = """\
import json
import polywheel_providers as p
facts = p.probe(p.LiveMachine())
print(json.dumps({"facts": p.to_json(facts), "supported": p.supported(facts)}))
"""


@pytest.fixture(scope="session")
def arm64() -> Path:
    """Return the folder that the module's docstring describes."""
    if given := os.environ.get("POLYWHEEL_TEST_ARM64"):
        return Path(given)
    folder = cache_dir() / "test-environments" / "arm64-debian12"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder.parent / "arm64-debian12.lock", timeout_s=1800):
        if not (folder / "completed").is_file():
            shutil.rmtree(folder, ignore_errors=True)
            _fetch(folder)
            (folder / "completed").touch()
    return folder


def _fetch(folder: Path) -> None:
    for name in ("apt/lists/partial", "apt/archives/partial", "root"):
        (folder / name).mkdir(parents=True)
    (folder / "apt" / "status").touch()
    options = {
        "Dir::State::Lists": folder / "apt/lists",
        "Dir::State::status": folder / "apt/status",
        "Dir::Cache::Archives": folder / "apt/archives",
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
        "APT::Architecture": "arm64",
        "APT::Architectures::": "arm64",
    }
    private = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
    _run(["apt-get", *private, "-qq", "update"], folder)
    _run(["apt-get", *private, "-qq", "download", *(f"{name}:arm64" for name in PACKAGES.split())], folder)
    for package in folder.glob("*_arm64.deb"):
        _run(["dpkg-deb", "-x", package.name, "root"], folder)
    _run(["apt-get", "-qq", "download", "qemu-user-static"], folder)
    (package,) = folder.glob("qemu-user-static_*.deb")
    _run(["dpkg-deb", "-x", package.name, "host"], folder)
    shutil.copy(folder / "host/usr/bin/qemu-aarch64-static", folder)
    shutil.rmtree(folder / "host")
    for package in folder.glob("*.deb"):
        package.unlink()


def _run(command: list[str], folder: Path) -> None:
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"{' '.join(command)}: {ended.stderr}"


def run_python(arm64: Path, model: str, script: str) -> str:
    """Run a script in the arm64 Python on one processor model; return its stdout."""
    command = [str(arm64 / "qemu-aarch64-static"), "-cpu", model, "-L", str(arm64 / "root")]
    command += [str(arm64 / "root/usr/bin/python3.11"), "-c", script]
    source = str(Path(polywheel_providers.__file__).parents[1])
    ended = subprocess.run(command, env={"PYTHONPATH": source}, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def detect(arm64: Path, model: str) -> dict[str, Any]:
    """Run detection in an arm64 Python on one processor model."""
    found: dict[str, Any] = json.loads(run_python(arm64, model, DETECT))
    return found


BASE = {"crc", "aes", "sha2"}
V82 = BASE | {"lse", "rdma", "fp16"}


@pytest.mark.parametrize(
    ("model", "version", "extensions"),
    [
        ("cortex-a53", "8a", BASE),
        ("cortex-a57", "8a", BASE),
        ("cortex-a72", "8a", BASE),
        ("cortex-a76", "8.2a", V82 | {"dotprod", "rcpc"}),
        ("neoverse-n1", "8.2a", V82 | {"dotprod", "rcpc"}),
        ("a64fx", "8.2a", V82 | {"fcma", "sve"}),
    ],
)
def test_a_model_has_its_version_and_extensions(
    arm64: Path, model: str, version: str, extensions: set[str]
) -> None:
    found = detect(arm64, model)
    assert found["facts"]["machine"] == "aarch64"
    assert found["facts"]["notes"] == []
    features = found["supported"]["aarch64"]
    assert features.pop("version")[0] == version
    assert features.keys() == extensions


def test_the_most_an_emulator_can(arm64: Path) -> None:
    features = detect(arm64, "max")["supported"]["aarch64"]
    assert features["version"][0] in ("8.3a", "8.4a")  # FEAT_LSE2 came with qemu 8.1
    assert {"bf16", "i8mm", "sve", "sve2", "sme", "pauth", "fp16fml"} <= features.keys()


def test_the_hosts_processor_never_shows(arm64: Path) -> None:
    found = detect(arm64, "cortex-a53")
    flags = {flag for core in found["facts"]["cpu"]["cores"] for flag in core["flags"]}
    assert not flags & {"sse3", "avx", "avx2", "fpu"}
    assert found["supported"].keys() == {"aarch64"}


CORES = {
    "Neoverse N1": ("0x41", "0xd0c"),
    "Neoverse V1": ("0x41", "0xd40"),
    "A64FX": ("0x46", "0x001"),
    "ThunderX2": ("0x43", "0x0af"),
    "AmpereOne": ("0xc0", "0xac3"),
}
"""Cores that uv's table has."""


def cpuinfo(*cores: tuple[str, str]) -> str:
    return "".join(
        f"processor\t: {place}\nCPU implementer\t: {vendor}\nCPU part\t: {part}\n\n"
        for place, (vendor, part) in enumerate(cores)
    )


class Pair:
    """uv and we, judging a processor model that claims to be some cores."""

    def __init__(self, arm64: Path, uv: Uv, folder: Path) -> None:
        self._arm64, self._uv, self._folder = arm64, uv, folder

    def uv(self, model: str, *cores: tuple[str, str]) -> str:
        """Return the version whose wheel the real uv picks for an arm64 Python on that model."""
        python = self._folder / "python"
        root = self._arm64 / "root"
        command = f"{self._arm64}/qemu-aarch64-static -cpu {model} -L {root} {root}/usr/bin/python3.11"
        python.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        python.chmod(0o755)
        return self._uv.chosen(python, cpuinfo(*cores))

    def ours(self, model: str, *cores: tuple[str, str]) -> str:
        """Return the version we find from the same text and the model's auxiliary vector."""
        vector = run_python(self._arm64, model, "print(open('/proc/self/auxv', 'rb').read().hex())")
        return aarch64.version(aarch64.from_linux(cpuinfo(*cores), bytes.fromhex(vector)))


@pytest.fixture(scope="session")
def pair(arm64: Path, make_uv: MakeUv, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    uv = make_uv("aarch64", "version", ("8.4a", "8.3a", "8.2a", "8.1a", "8a"))
    packages = arm64 / "root/usr/lib/python3/dist-packages"
    uv.show(packages)
    yield Pair(arm64, uv, tmp_path_factory.mktemp("pair"))
    shutil.rmtree(packages)


@pytest.mark.parametrize("model", ["cortex-a53", "cortex-a76", "neoverse-n1", "a64fx"])
@pytest.mark.parametrize("core", CORES)
def test_uv_agrees_on_every_core_it_knows(pair: Pair, model: str, core: str) -> None:
    assert pair.uv(model, CORES[core]) == pair.ours(model, CORES[core])


def test_uv_agrees_that_the_weakest_core_decides(pair: Pair) -> None:
    cores = (CORES["Neoverse V1"], CORES["ThunderX2"])
    assert pair.uv("max", *cores) == pair.ours("max", *cores) == "8.1a"


def test_a_core_that_uv_does_not_know_is_8a_to_it_and_what_it_can_do_to_us(pair: Pair) -> None:
    """A documented difference: a Cortex-A76 is Armv8.2-A."""
    assert pair.uv("cortex-a76", ("0x41", "0xd0b")) == "8a"
    assert pair.ours("cortex-a76", ("0x41", "0xd0b")) == "8.2a"

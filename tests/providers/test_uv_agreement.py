"""The wheel that released uv picks for a processor is the wheel our list picks.

uv reads the processor through the Python it installs for, so a virtual environment whose `open` shows
another /proc/cpuinfo is another machine to it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import subprocess
import venv
import zipfile
from pathlib import Path

import pytest
from uv import find_uv_bin

from polywheel_providers import x86_64
from polywheel_providers.x86_64 import LEVELS, from_cpuinfo

SCHEMA = "https://variants-schema.wheelnext.dev/peps/850/v0.2.0.json"
VARIANTS: dict[str, object] = {
    "null": {},
    **{f"x86_64_{level}": {"x86_64": {"level": [level]}} for level in ("v1", "v2", "v3", "v4")},
}
LINUX_NAMES = {"sse3": "pni", "lzcnt": "abm"}
"""Our spelling of a flag to Linux's."""

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
    """A folder of variant wheels, and a Python for which uv chooses among them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._wheels = folder / "wheels"
        self._wheels.mkdir()
        for label in VARIANTS:
            _write_wheel(self._wheels, label)
        (self._wheels / "probe-1.0-variants.json").write_text(json.dumps(_metadata(VARIANTS)))
        venv.create(folder / "env", with_pip=False, symlinks=True)
        (packages,) = (folder / "env" / "lib").glob("python*/site-packages")
        (packages / "_another.py").write_text(SHOW_ANOTHER.format(path=str(folder / "cpuinfo")))
        (packages / "another.pth").write_text("import _another\n")

    def chosen(self, cpuinfo: str) -> str:
        """Return the label of the wheel uv installs on a machine with this /proc/cpuinfo."""
        (self._folder / "cpuinfo").write_text(cpuinfo)
        target = self._folder / f"target-{hashlib.sha256(cpuinfo.encode()).hexdigest()[:12]}"
        command = [find_uv_bin(), "pip", "install", "--python", str(self._folder / "env" / "bin" / "python")]
        command += ["--no-cache", "--no-config", "--no-index", "--find-links", str(self._wheels)]
        command += ["--preview-features", "wheel-variants", "--target", str(target), "probe"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        return (target / "probe_label.txt").read_text()


def _metadata(variants: dict[str, object]) -> dict[str, object]:
    return {
        "$schema": SCHEMA,
        "default-priorities": {"namespace": ["x86_64"]},
        "providers": {"x86_64": {"requires": ["x86-64-variant-provider>=0.2,<1"]}},
        "variants": variants,
    }


def _write_wheel(folder: Path, label: str) -> None:
    info = "probe-1.0.dist-info"
    files = {
        "probe_label.txt": label,
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: probe\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/variant.json": json.dumps(_metadata({label: VARIANTS[label]})),
    }
    rows = [f"{info}/RECORD,,"]
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(text)}")
    with zipfile.ZipFile(folder / f"probe-1.0-py3-none-any-{label}.whl", "w") as archive:
        for name, text in {**files, f"{info}/RECORD": "\n".join(rows) + "\n"}.items():
            archive.writestr(name, text)


@pytest.fixture(scope="module")
def uv(tmp_path_factory: pytest.TempPathFactory) -> Uv:
    return Uv(tmp_path_factory.mktemp("uv"))


def cpuinfo(*cores: frozenset[str]) -> str:
    return "\n".join(
        f"processor\t: {place}\nflags\t\t: {' '.join(sorted(LINUX_NAMES.get(flag, flag) for flag in core))}\n"
        for place, core in enumerate(cores)
    )


def ours(text: str) -> str:
    return f"x86_64_{x86_64.level(from_cpuinfo(text))}"


ALL = frozenset().union(*(flags for _, flags in LEVELS), {"fpu", "lm"})
UP_TO = [ALL - frozenset().union(*(flags for _, flags in LEVELS[place:])) for place in range(4)]
"""The flags of v1, v2, v3 and v4."""


def points() -> dict[str, str]:
    """Name the processors to compare: each level, each level short of one flag, some at random, and none."""
    found = {f"level-{place + 1}": cpuinfo(flags) for place, flags in enumerate(UP_TO)}
    found |= {f"without-{flag}": cpuinfo(ALL - {flag}) for _, needed in LEVELS for flag in sorted(needed)}
    dice = random.Random(850)
    for place in range(8):
        missing = dice.sample(sorted(ALL), dice.choice([1, 1, 2, 3]))
        found[f"random-{place}"] = cpuinfo(ALL - set(missing), ALL - set(missing))
    found["no-flags"] = "processor\t: 0\nFeatures\t: fp asimd\n"
    found["empty"] = ""
    return found


POINTS = points()


@pytest.mark.parametrize("name", POINTS)
def test_uv_picks_the_wheel_our_list_picks(uv: Uv, name: str) -> None:
    assert uv.chosen(POINTS[name]) == ours(POINTS[name])


RECORDED = [
    "alderlake",
    "haswell",
    "ivybridge",
    "k10",
    "piledriver",
    "sapphirerapids",
    "skylake-avx512",
    "zen4",
]


@pytest.mark.parametrize("name", RECORDED)
def test_uv_agrees_on_real_processors(uv: Uv, name: str) -> None:
    path = Path(__file__).parents[1] / "data" / "machines" / f"x86-{name}" / "proc" / "cpuinfo"
    text = path.read_text(encoding="utf-8")
    assert uv.chosen(text) == ours(text)


def test_uv_takes_the_first_core_for_all_and_we_the_weakest(uv: Uv) -> None:
    """A documented difference: a process moved to the other core would die of an illegal instruction."""
    unequal = cpuinfo(UP_TO[3], UP_TO[1])
    assert uv.chosen(unequal) == "x86_64_v4"
    assert ours(unequal) == "x86_64_v2"

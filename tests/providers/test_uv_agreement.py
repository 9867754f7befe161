"""The wheel that released uv picks for a processor is the wheel our list picks."""

from __future__ import annotations

import random
import venv
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from polywheel_providers import x86_64
from polywheel_providers.x86_64 import FEATURES, LEVELS, from_cpuinfo

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import MakeUv

LINUX_NAMES = {"sse3": "pni", "lzcnt": "abm"}
"""Our spelling of a flag to Linux's."""


@pytest.fixture(scope="module")
def uv(make_uv: MakeUv, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Return the level whose wheel uv picks for a /proc/cpuinfo."""
    environment = tmp_path_factory.mktemp("env")
    venv.create(environment, with_pip=False, symlinks=True)
    (packages,) = (environment / "lib").glob("python*/site-packages")
    made = make_uv("x86_64", "level", FEATURES["level"])
    made.show(packages)
    return lambda cpuinfo: made.chosen(environment / "bin" / "python", cpuinfo)


def cpuinfo(*cores: frozenset[str]) -> str:
    return "\n".join(
        f"processor\t: {place}\nflags\t\t: {' '.join(sorted(LINUX_NAMES.get(flag, flag) for flag in core))}\n"
        for place, core in enumerate(cores)
    )


def ours(text: str) -> str:
    return x86_64.level(from_cpuinfo(text))


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
def test_uv_picks_the_wheel_our_list_picks(uv: Callable[[str], str], name: str) -> None:
    assert uv(POINTS[name]) == ours(POINTS[name])


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
def test_uv_agrees_on_real_processors(uv: Callable[[str], str], name: str) -> None:
    path = Path(__file__).parents[1] / "data" / "machines" / f"x86-{name}" / "proc" / "cpuinfo"
    text = path.read_text(encoding="utf-8")
    assert uv(text) == ours(text)


def test_uv_takes_the_first_core_for_all_and_we_the_weakest(uv: Callable[[str], str]) -> None:
    """A documented difference: a process moved to the other core would die of an illegal instruction."""
    unequal = cpuinfo(UP_TO[3], UP_TO[1])
    assert uv(unequal) == "v4"
    assert ours(unequal) == "v2"

"""Our lists against the ones inside the released uv: the same override, the same wheel."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from polywheel_providers import nvidia
from polywheel_variants.metadata import VariantMetadata
from polywheel_variants.ordering import order

if TYPE_CHECKING:
    from polywheel_providers.nvidia.facts import NvidiaFacts
    from tests.providers.conftest import Made

Variants = dict[str, dict[str, dict[str, list[str]]]]

UV = Path(sysconfig.get_path("scripts")) / "uv"
FORCE_CUDA = "NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION"
FORCE_SM = "NV_VARIANT_PROVIDER_FORCE_SM_ARCH"
PROVIDER = {
    "requires": ["nvidia-variant-provider"],
    "plugin-api": "nvidia_variant_provider.plugin:NvidiaVariantPlugin",
}
BOUNDS = (
    *("9.0", "10.2", "11", "11.0", "11.8", "11.20", "11.21", "12", "12.0", "12.1", "12.6", "12.7", "12.8"),
    *("12.9", "12.20", "12.21", "13", "13.0", "13.1", "13.4", "13.20", "14", "14.0", "14.5", "15", "15.0"),
    *("15.20", "15.21", "16", "16.0", "16.3"),
)
_NUMBERS = (35, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 103, 110, 120, 121)
ARCHITECTURES = (
    *(f"{number}_{kind}" for number in _NUMBERS for kind in ("real", "virtual")),
    *("90a_real", "100f_real", "100a_real", "120f_real"),
)
DRIVERS = (
    *("10.1", "11.0", "11.8", "12", "12.6", "12.21", "13.0.1", "13.4", "15.20", "16.0", "57.5", "58.0"),
    *("v12.8", "1!12.8rc1", "nonsense"),
)
CAPABILITIES = (
    *("3.5", "5.0", "6.1", "7.5", "8.6", "8.7", "8.9", "10.3", "11.0", "12.1", "9", "9.0a", " 9 . 0 "),
    *("256.0", ""),
)
FEATURES = {
    "cuda_version_lower_bound": BOUNDS,
    "cuda_version_upper_bound": BOUNDS,
    "sm_arch": ARCHITECTURES,
}


def _questions() -> dict[str, Variants]:
    """Return packages, each a question: one a value, and a hundred with several variants to order."""
    single: dict[str, Variants] = {
        f"{feature.replace('_', '-')}-{value.replace('.', '-').replace('_', '-')}": {
            "it": {"nvidia": {feature: [value]}}
        }
        for feature, values in FEATURES.items()
        for value in values
    }
    choose = random.Random(825)
    several: dict[str, Variants] = {
        f"order-{number}": {f"v{place}": {"nvidia": _some(choose)} for place in range(5)}
        for number in range(100)
    }
    return {**single, **several}


def _some(choose: random.Random) -> dict[str, list[str]]:
    features = choose.sample(list(FEATURES), choose.randint(1, 3))
    found = {feature: sorted(choose.sample(FEATURES[feature], choose.randint(1, 8))) for feature in features}
    return found or {"sm_arch": ["80_real"]}


def _document(variants: Variants) -> bytes:
    document = {
        "$schema": "https://variants-schema.wheelnext.dev/peps/850/v0.2.0.json",
        "default-priorities": {"namespace": ["nvidia"]},
        "providers": {"nvidia": PROVIDER},
        "variants": variants,
    }
    return json.dumps(document).encode()


QUESTIONS = {name: {"null": {}, **variants} for name, variants in _questions().items()}
METADATA = {
    name: VariantMetadata.parse(_document(variants), source=name) for name, variants in QUESTIONS.items()
}


@pytest.fixture(scope="session")
def probe_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a find-links folder with a variant wheel for each label of each question."""
    folder = tmp_path_factory.mktemp("probe")
    for name, variants in QUESTIONS.items():
        stem = f"{name.replace('-', '_')}-1.0"
        (folder / f"{stem}-variants.json").write_bytes(_document(variants))
        for label, properties in variants.items():
            with zipfile.ZipFile(folder / f"{stem}-py3-none-any-{label}.whl", "w") as wheel:
                info = f"{stem}.dist-info"
                wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
                wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
                wheel.writestr(f"{info}/variant.json", _document({label: properties}))
                wheel.writestr(f"{info}/RECORD", "")
    return folder


def _uv_choices(folder: Path, overrides: dict[str, str]) -> dict[str, str]:
    """Return the label that uv selects for each question."""
    command = [str(UV), "pip", "install", "--verbose", "--dry-run", "--offline", "--no-cache", "--no-config"]
    command += ["--preview-features", "wheel-variants", "--no-index", "--find-links", str(folder)]
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    result = subprocess.run(
        [*command, "--python", sys.executable, *QUESTIONS],
        env={**kept, **overrides},
        capture_output=True,
        text=True,
        check=True,
    )
    selected = re.findall(r"Selecting: (\S+)==1\.0 .*?-any-([a-z0-9_.]+)\.whl\)", result.stderr)
    return dict(selected)


def _our_choices(facts: NvidiaFacts) -> dict[str, str]:
    """Return the label that our lists put first for each question."""
    supported = {"nvidia": nvidia.supported(facts)}
    return {
        name: order(metadata, supported, metadata.variants).ranking[0] for name, metadata in METADATA.items()
    }


def _pairs() -> list[tuple[str, str]]:
    drivers = [(driver, "9.0") for driver in DRIVERS]
    return drivers + [(("12.8", "13.0")[place % 2], sm) for place, sm in enumerate(CAPABILITIES)]


@pytest.mark.parametrize(("driver", "sm"), _pairs())
def test_uv_picks_what_our_lists_pick(probe_index: Path, made: Made, driver: str, sm: str) -> None:
    overrides = {FORCE_CUDA: driver, FORCE_SM: sm}
    facts = nvidia.probe(made({"uname": "Linux x86_64 6.8.0\n"}, **overrides))
    theirs = _uv_choices(probe_index, overrides)
    assert len(theirs) == len(QUESTIONS) > 200
    assert _our_choices(facts) == theirs


@pytest.mark.parametrize("overrides", [{}, {FORCE_SM: "9.0"}, {FORCE_CUDA: ""}])
def test_without_a_driver_there_is_nothing(probe_index: Path, made: Made, overrides: dict[str, str]) -> None:
    facts = nvidia.probe(made({"uname": "Linux x86_64 6.8.0\n"}, **overrides))
    assert _our_choices(facts) == _uv_choices(probe_index, overrides)


def test_where_uv_is_wrong_about_two_kinds_of_gpu(probe_index: Path) -> None:
    """uv looks at the newest GPU alone, so the older one gets a wheel without code for it."""
    facts = nvidia.from_short_form(("7.5", "9.0", "driver=12.8"))
    theirs = _uv_choices(probe_index, {FORCE_CUDA: "12.8", FORCE_SM: "9.0"})
    ours = _our_choices(facts)
    assert (theirs["sm-arch-90-real"], ours["sm-arch-90-real"]) == ("it", "null")
    assert not nvidia.serves(facts, ["90_real"])
    assert (theirs["sm-arch-70-virtual"], ours["sm-arch-70-virtual"]) == ("null", "it")
    assert nvidia.serves(facts, ["75_real", "90_real"])


def test_where_uv_is_wrong_about_a_tegra(probe_index: Path) -> None:
    """An Orin does not run the SASS of a desktop GPU of its major version."""
    facts = nvidia.from_short_form(("8.7", "driver=12.6"))
    theirs = _uv_choices(probe_index, {FORCE_CUDA: "12.6", FORCE_SM: "8.7"})
    assert (theirs["sm-arch-80-real"], _our_choices(facts)["sm-arch-80-real"]) == ("it", "null")
    assert not nvidia.serves(facts, ["80_real", "86_real"])
    assert nvidia.serves(facts, ["80_real", "87_real"])


def test_where_uv_is_wrong_about_ptx(probe_index: Path) -> None:
    """PTX of any older capability runs; uv knows only that of the GPU's own major version."""
    facts = nvidia.from_short_form(("9.0", "driver=12.8"))
    theirs = _uv_choices(probe_index, {FORCE_CUDA: "12.8", FORCE_SM: "9.0"})
    assert theirs["sm-arch-75-virtual"] == "null"
    verdict = nvidia.serves(facts, ["75_virtual"])
    assert verdict
    assert verdict.ptx

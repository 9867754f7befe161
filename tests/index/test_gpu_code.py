"""GPU code is chosen by what runs, not by list membership: public reports as machines and releases."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from polywheel_index.site import write_site
from polywheel_variants.property import Property, group

if TYPE_CHECKING:
    from tests.index.conftest import MakeWheel

Select = Callable[..., dict[str, Any]]
Variants = Mapping[str, tuple[str, Sequence[str]]]
"""label -> (CUDA lower bound, sm_arch values), most preferred first."""

CU128 = ("12.0", ("75_real", "80_real", "86_real", "90_real", "100_real", "120_real"))
CU126 = ("12.0", ("50_real", "60_real", "61_real", "70_real", "75_real", "80_real", "86_real", "90_real"))
CU130 = ("13.0", ("75_real", "80_real", "86_real", "100_real", "120_real"))


@pytest.fixture
def select_gpu(make_wheel: MakeWheel, run_polywheel: Callable[..., Any], tmp_path: Path) -> Select:
    """Return what publishes variants beside null and plain, and selects for machines."""

    def select(variants: Variants, *machines: str) -> dict[str, Any]:
        wheels = [
            make_wheel("demo_kit-1.0-py3-none-any.whl"),
            make_wheel("demo_kit-1.0-py3-none-any-null.whl"),
        ]
        for place, (label, (bound, archs)) in enumerate(variants.items(), 1):
            properties = [Property("priority", "order", str(place))]
            properties.append(Property("nvidia", "cuda_version_lower_bound", bound))
            properties += (Property("nvidia", "sm_arch", arch) for arch in archs)
            wheels.append(make_wheel(f"demo_kit-1.0-py3-none-any-{label}.whl", group(properties)))
        write_site(wheels, tmp_path / "site")
        words = [word for machine in machines for word in ("--machine", machine)]
        done = run_polywheel("select", "demo-kit", "--index", tmp_path / "site", *words, "--json")
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    return select


def _why(answer: Mapping[str, Any], label: str) -> str:
    (reason,) = (one["reason"] for one in answer["rejected"] if one["label"] == label)
    return str(reason)


def test_pascal_gets_the_older_toolkit_that_has_its_code(select_gpu: Select) -> None:
    """astral-sh/uv#14742: a GTX 1080 Ti and a driver for CUDA 12.8."""
    answer = select_gpu({"cu128": CU128, "cu126": CU126}, "nvidia:6.1,driver=12.8")
    assert answer["chosen"]["label"] == "cu126"
    assert "6.1" in _why(answer, "cu128")


def test_pascal_without_code_for_it_gets_null_and_the_reason(select_gpu: Select) -> None:
    """hvoss-tech/AutoForge#59: only CUDA 13 wheels, whose code begins at sm_75."""
    answer = select_gpu({"cu130": CU130}, "nvidia:6.1,driver=13.0")
    assert answer["chosen"]["label"] == "null"
    assert "6.1" in _why(answer, "cu130")


@pytest.mark.parametrize("device", ["7.5", "9.0", "12.0"])
def test_ptx_runs_on_every_later_device(select_gpu: Select, device: str) -> None:
    """The reference provider lists only the own major's N0_virtual, so 75_virtual would match nothing."""
    answer = select_gpu({"cu128": ("12.0", ("75_virtual",))}, f"nvidia:{device},driver=12.8")
    assert answer["chosen"]["label"] == "cu128"


def test_ptx_of_a_later_device_does_not_run_on_an_earlier_one(select_gpu: Select) -> None:
    answer = select_gpu({"cu128": ("12.0", ("90_virtual",))}, "nvidia:8.6,driver=12.8")
    assert answer["chosen"]["label"] == "null"


def test_every_device_of_the_machine_must_be_served(select_gpu: Select) -> None:
    """Volta beside Hopper: the highest device alone would take cu128."""
    answer = select_gpu({"cu128": CU128, "cu126": CU126}, "nvidia:7.0,9.0,driver=12.8")
    assert answer["chosen"]["label"] == "cu126"
    assert "7.0" in _why(answer, "cu128")


def test_one_environment_for_two_nodes_serves_both(select_gpu: Select) -> None:
    machines = ("nvidia:7.0,driver=12.8", "nvidia:9.0,driver=13.0")
    assert select_gpu({"cu130": CU130, "cu126": CU126}, *machines)["chosen"]["label"] == "cu126"


def test_a_node_without_a_gpu_leaves_only_null(select_gpu: Select) -> None:
    answer = select_gpu({"cu126": CU126}, "nvidia:9.0,driver=13.0", "cpu:v3")
    assert answer["chosen"]["label"] == "null"


def test_a_driver_too_old_is_the_reason(select_gpu: Select) -> None:
    answer = select_gpu({"cu130": CU130}, "nvidia:8.6,driver=12.9")
    assert answer["chosen"]["label"] == "null"
    assert "cuda_version_lower_bound" in _why(answer, "cu130")

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import polywheel_providers.amd
from polywheel_providers import probe, supported
from polywheel_providers.probing import architecture_of

if TYPE_CHECKING:
    from .conftest import Made


@pytest.mark.parametrize(
    ("name", "architecture"),
    [
        ("x86_64", "x86_64"),
        ("AMD64", "x86_64"),
        ("aarch64", "aarch64"),
        ("arm64", "aarch64"),
        ("ARM64", "aarch64"),
        ("riscv64", "riscv64"),
        ("", ""),
    ],
)
def test_machine_names_are_one_architecture(name: str, architecture: str) -> None:
    assert architecture_of(name) == architecture


def test_an_architecture_nobody_speaks_for_is_noted(made: Made) -> None:
    facts = probe(made({"uname": "Linux riscv64 6.12\n"}))
    assert supported(facts) == {}
    assert [note.code for note in facts.all_notes()] == ["cpu-other"]


def test_a_probe_that_fails_is_a_note_and_spoils_no_other(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(machine: object) -> None:
        del machine
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(polywheel_providers.amd, "probe", fail)
    machine = made(
        {"uname": "Linux x86_64 6.1\n", "usr/bin/rocminfo": "#!/bin/sh\n"},
        NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION="12.8",
    )
    facts = probe(machine)
    assert [(note.code, note.message) for note in facts.notes] == [
        ("amd-probe-failed", "ZeroDivisionError: by zero")
    ]
    assert facts.amd is None
    assert supported(facts)["nvidia"]["cuda_version_lower_bound"][0] == "12.8"


def test_each_namespace_is_timed(made: Made) -> None:
    facts = probe(made({"uname": "Linux aarch64 6.1\n"}))
    assert list(facts.elapsed_ms) == ["aarch64", "nvidia", "amd", "intel"]
    assert all(milliseconds >= 0 for milliseconds in facts.elapsed_ms.values())


@pytest.mark.parametrize(
    ("variable", "code"),
    [
        ("NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION", "nvidia-forced-unknown"),
        ("NV_VARIANT_PROVIDER_FORCE_SM_ARCH", "nvidia-forced-unknown"),
        ("AMD_VARIANT_PROVIDER_FORCE_GFX_ARCH", "amd-forced-unknown"),
        ("AMD_VARIANT_PROVIDER_FORCE_ROCM_VERSION", "amd-forced-unknown"),
        ("INTEL_VARIANT_PROVIDER_FORCE_DEVICE_IP", "intel-forced-unknown"),
    ],
)
def test_an_override_that_cannot_be_read_is_said(made: Made, variable: str, code: str) -> None:
    notes = probe(made({"uname": "Linux x86_64 6.8.0"}, **{variable: "newest"})).all_notes()
    assert [variable in note.message for note in notes if note.code == code] == [True]
    notes = probe(made({"uname": "Linux x86_64 6.8.0"}, **{variable: ""})).all_notes()
    assert not [note for note in notes if "forced" in note.code]

"""Every recorded processor, by the report it came from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from polywheel_providers import from_json, probe, supported, to_json

if TYPE_CHECKING:
    from .conftest import Recorded

X86_LEVELS = {
    "mac-skylake": "v3",
    "windows-broadwell": "v2",  # the dump holds no XCR0, so AVX counts as off
    "windows-icelake": "v2",
    "x86-alderlake": "v3",
    "x86-haswell": "v3",
    "x86-ivybridge": "v2",
    "x86-k10": "v1",
    "x86-piledriver": "v2",
    "x86-sapphirerapids": "v4",
    "x86-skylake-avx512": "v4",
    "x86-zen4": "v4",
}

ARM_VERSIONS = {
    "arm-a64fx": "8.2a",
    "arm-ampereone": "8.4a",
    "arm-emulated": "8a",  # B36: the file shows the emulator's host
    "arm-gb10": "8.4a",
    "arm-grace": "8.4a",
    "arm-graviton2": "8.2a",
    "arm-graviton3": "8.4a",
    "arm-graviton3-no-pauth": "8.4a",  # B34: pointer authentication hidden by the virtual machine
    "arm-graviton3-rhel8": "8.4a",
    "arm-graviton4": "8.4a",
    "arm-m1-asahi": "8.4a",
    "arm-m1-docker": "8.4a",
    "arm-msm8952": "8a",
    "arm-pi4": "8a",
    "arm-qemu-a76": "8.2a",
    "arm-qemu-max": "8.4a",
    "arm-qemu-n2": "8.4a",
    "arm-tensor-g1": "8.2a",  # B35: Cortex-A55, A76 and X1
    "arm-thunderx2": "8.1a",
    "arm-xavier": "8.2a",
    "mac-m1-bigsur": "8a",  # its brand is "Apple processor", which an A12Z had too
    "mac-m2": "8.4a",
    "mac-m4-max": "8.4a",
}


@pytest.mark.parametrize(("name", "level"), X86_LEVELS.items())
def test_x86_level(recorded: Recorded, name: str, level: str) -> None:
    found = supported(probe(recorded(name)))
    values = ("v4", "v3", "v2", "v1")
    assert found["x86_64"]["level"] == values[values.index(level) :]
    assert "aarch64" not in found


@pytest.mark.parametrize(("name", "version"), ARM_VERSIONS.items())
def test_arm_version(recorded: Recorded, name: str, version: str) -> None:
    found = supported(probe(recorded(name)))
    values = ("8.4a", "8.3a", "8.2a", "8.1a", "8a")
    assert found["aarch64"]["version"] == values[values.index(version) :]
    assert "x86_64" not in found


@pytest.mark.parametrize(
    ("name", "has", "lacks"),
    [
        ("arm-graviton3-no-pauth", {"dotprod", "fp16", "sve"}, {"pauth", "sve2", "bf16"}),
        ("arm-graviton3", {"bf16", "i8mm", "sve", "pauth"}, {"sve2"}),
        ("arm-grace", {"sve2", "bf16", "i8mm", "sm4"}, {"pauth", "sme"}),
        ("arm-qemu-max", {"sme", "sme2", "sve2p1", "lse128", "mops"}, set()),
        ("arm-xavier", {"fp16", "lse"}, {"dotprod"}),
        ("arm-a64fx", {"sve", "fcma"}, {"sve2", "dotprod", "jscvt"}),
        ("mac-m4-max", {"sme", "sme2", "bf16", "i8mm", "dotprod"}, {"sve", "sve2"}),
        ("arm-emulated", set(), {"dotprod", "crc", "aes"}),
    ],
)
def test_arm_features(recorded: Recorded, name: str, has: set[str], lacks: set[str]) -> None:
    found = supported(probe(recorded(name)))["aarch64"]
    assert has <= found.keys()
    assert not lacks & found.keys()


@pytest.mark.parametrize(
    ("name", "has", "lacks"),
    [
        ("x86-sapphirerapids", {"amx_tile", "amx_bf16", "avx512_fp16", "avx_vnni"}, {"sse4a"}),
        ("x86-zen4", {"avx512_bf16", "avx512_vnni", "sse4a", "vaes"}, {"amx_tile"}),
        ("x86-piledriver", {"fma", "fma4", "xop", "tbm", "avx"}, {"avx2"}),
        ("x86-haswell", {"avx2", "fma", "lzcnt", "movbe"}, {"avx512f"}),
        ("mac-skylake", {"avx2", "fma", "lzcnt", "sse4_2"}, {"avx512f"}),
        ("windows-icelake", {"bmi2", "gfni", "sha_ni"}, {"avx", "avx2", "avx512f", "fma"}),
    ],
)
def test_x86_features(recorded: Recorded, name: str, has: set[str], lacks: set[str]) -> None:
    found = supported(probe(recorded(name)))["x86_64"]
    assert has <= found.keys()
    assert not lacks & found.keys()


def test_every_kind_of_core_is_kept(recorded: Recorded) -> None:
    cores = probe(recorded("arm-tensor-g1")).cpu.cores
    assert [(core.count, core.name) for core in cores] == [
        (4, "Cortex-A55"),
        (2, "Cortex-A76"),
        (2, "Cortex-X1"),
    ]


def test_one_description_for_all_processors_of_an_old_kernel(recorded: Recorded) -> None:
    (core,) = probe(recorded("arm-msm8952")).cpu.cores
    assert (core.count, core.name) == (8, "Cortex-A53")
    assert "crc32" in core.flags


def test_an_emulators_host_is_never_taken_for_the_processor(recorded: Recorded) -> None:
    facts = probe(recorded("arm-emulated"))
    assert facts.cpu.translated
    assert facts.cpu.cores == ()
    assert [note.code for note in facts.cpu.notes] == ["cpu-emulated"]


def test_unknown_xcr0_is_said(recorded: Recorded) -> None:
    assert "cpu-xcr0-unknown" in {note.code for note in probe(recorded("windows-icelake")).cpu.notes}


@pytest.mark.parametrize("name", sorted(X86_LEVELS.keys() | ARM_VERSIONS.keys()))
def test_a_recorded_machine_says_where_it_came_from(name: str) -> None:
    source = (Path(__file__).parents[1] / "data" / "machines" / name / "SOURCE").read_text(encoding="utf-8")
    assert source.strip()
    assert source.count("\n") == 1


@pytest.mark.parametrize("name", sorted(X86_LEVELS.keys() | ARM_VERSIONS.keys()))
def test_a_record_decides_as_its_machine(recorded: Recorded, name: str) -> None:
    facts = probe(recorded(name))
    replayed = from_json(json.loads(json.dumps(to_json(facts))))
    assert replayed == facts
    assert supported(replayed) == supported(facts)

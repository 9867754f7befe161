from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_providers import CoreKind, CpuFacts, FolderMachine, probe, supported, x86_64
from polywheel_providers.machine import TEXT_LIMIT
from polywheel_providers.x86_64 import FEATURES, INSTRUCTION_SETS, LEVELS, from_cpuinfo

if TYPE_CHECKING:
    from .conftest import Made

V2 = "cx16 lahf_lm popcnt pni ssse3 sse4_1 sse4_2"
V3 = f"{V2} avx avx2 bmi1 bmi2 f16c fma abm movbe"
V4 = f"{V3} avx512f avx512bw avx512cd avx512dq avx512vl"


def cpuinfo(*cores: str) -> str:
    return "\n".join(f"processor\t: {place}\nflags\t\t: {flags}\n" for place, flags in enumerate(cores))


@pytest.mark.parametrize(("flags", "level"), [("fpu", "v1"), (V2, "v2"), (V3, "v3"), (V4, "v4")])
def test_level_of_flags(flags: str, level: str) -> None:
    assert x86_64.level(from_cpuinfo(cpuinfo(flags))) == level


@pytest.mark.parametrize("missing", V2.split())
def test_every_flag_of_a_level_is_needed(missing: str) -> None:
    flags = " ".join(flag for flag in V4.split() if flag != missing)
    assert x86_64.level(from_cpuinfo(cpuinfo(flags))) == "v1"


@pytest.mark.parametrize("cores", [(V4, V2), (V2, V4), (V4, V4, V2, V4)])
def test_the_weakest_core_decides_wherever_it_is(cores: tuple[str, ...]) -> None:
    facts = from_cpuinfo(cpuinfo(*cores))
    assert x86_64.supported(facts)["level"] == ("v2", "v1")
    assert "avx512f" not in x86_64.supported(facts)


def test_every_processor_of_a_large_machine_is_read(made: Made) -> None:
    bugs = " ".join(f"bug_of_this_kind_{number}" for number in range(40))
    text = "".join(
        f"processor\t: {place}\nmodel name\t: EPYC\nbugs\t\t: {bugs}\nflags\t\t: {V3}\n\n"
        for place in range(1536)
    )
    assert len(text) > TEXT_LIMIT
    facts = probe(made({"uname": "Linux x86_64 6.8.0", "proc/cpuinfo": text}))
    assert [(core.count, core.name) for core in facts.cpu.cores] == [(1536, "EPYC")]
    assert supported(facts)["x86_64"]["level"][0] == "v3"


def test_cores_that_lack_different_flags_have_neither() -> None:
    facts = from_cpuinfo(cpuinfo(f"{V3} avx512f", f"{V3} avx_vnni"))
    found = x86_64.supported(facts)
    assert found["level"][0] == "v3"
    assert not {"avx512f", "avx_vnni"} & found.keys()


@pytest.mark.parametrize("text", [None, "", "processor : 0\nFeatures : fp asimd\nCPU implementer : 0x61\n"])
def test_a_processor_that_says_nothing_is_v2_as_uv_decides(text: str | None) -> None:
    facts = from_cpuinfo(text)
    assert x86_64.supported(facts)["level"] == ("v2", "v1")
    assert facts.notes[0].code == "cpu-unknown"
    assert facts.cores == ()


def test_cores_without_flags_are_said() -> None:
    facts = from_cpuinfo("processor : 0\nflags : fpu\n\nprocessor : 1\nmodel : 3\n")
    assert [note.code for note in facts.notes] == ["cpu-flags-missing"]


def test_rosetta_is_noted(made: Made) -> None:
    machine = made(
        {
            "uname": "Darwin x86_64 21.4.0\n",
            "sysctl": "sysctl.proc_translated: 1\nmachdep.cpu.brand_string: VirtualApple @ 2.50GHz\n"
            "machdep.cpu.features: SSE3 SSSE3 CX16 SSE4.1 SSE4.2 POPCNT AES\nmachdep.cpu.extfeatures: LAHF\n",
        }
    )
    facts = probe(machine)
    assert facts.cpu.translated
    assert "cpu-rosetta" in {note.code for note in facts.cpu.notes}
    assert supported(facts)["x86_64"]["level"] == ("v2", "v1")


@pytest.mark.parametrize(("enabled", "level"), [("1", "v4"), ("0", "v3")])
def test_macos_decides_whether_avx512_is_on(made: Made, enabled: str, level: str) -> None:
    machine = made(
        {
            "uname": "Darwin x86_64 22.0.0\n",
            "sysctl": "machdep.cpu.features: SSE3 SSSE3 FMA CX16 SSE4.1 SSE4.2 MOVBE POPCNT AVX1.0 F16C\n"
            "machdep.cpu.leaf7_features: BMI1 AVX2 BMI2 AVX512F AVX512BW AVX512CD AVX512DQ AVX512VL\n"
            f"machdep.cpu.extfeatures: LAHF LZCNT\nhw.optional.avx512f: {enabled}\n",
        }
    )
    assert supported(probe(machine))["x86_64"]["level"][0] == level


def test_macos_from_the_sysctl_program(made: Made) -> None:
    machine = made(
        {
            "uname": "Darwin x86_64 22.0.0\n",
            "usr/bin/sysctl": "#!/bin/sh\n[ \"$1\" = -a ] && echo 'machdep.cpu.features: SSE3 SSSE3'\n",
        }
    )
    assert probe(machine).cpu.source == "sysctl"


def test_windows_with_xcr0(made: Made) -> None:
    machine = made(
        {
            "uname": "Windows AMD64 10.0.22631\n",
            "cpuid": "1, 0, 10555152, 1050624, 4294586883, 395049983\n"
            "7, 0, 1, 4055828395, 4218694, 16\n2147483649, 0, 10555152, 0, 4195315, 802421759\nxcr0, 231\n",
        }
    )
    assert supported(probe(machine))["x86_64"]["level"][0] == "v4"


@pytest.mark.parametrize(
    "name", ["Windows AMD64 10", "Windows x64 10", "FreeBSD amd64 14", "Darwin x86_64 20"]
)
def test_a_system_that_shows_nothing_is_v2(made: Made, name: str) -> None:
    facts = probe(made({"uname": name}))
    assert supported(facts)["x86_64"]["level"] == ("v2", "v1")
    assert any(note.code == "cpu-unknown" for note in facts.cpu.notes)


def test_supported_is_within_all() -> None:
    everything = CpuFacts("x86_64", "test", (CoreKind(1, "", "", "", (*INSTRUCTION_SETS, "lahf_lm")),))
    found = x86_64.supported(everything)
    assert found.keys() == FEATURES.keys()
    assert list(found) == list(FEATURES)
    assert all(set(values) <= set(FEATURES[name]) for name, values in found.items())


def test_a_declared_level_promises_its_features_alone() -> None:
    found = x86_64.supported(CpuFacts("x86_64", "short form", declared="v3", declared_flags=("avx_vnni",)))
    assert found["level"] == ("v3", "v2", "v1")
    assert {"avx2", "avx_vnni", "sse3"} <= found.keys()
    assert "avx512f" not in found


@given(st.lists(st.sets(st.sampled_from(sorted(set().union(*(flags for _, flags in LEVELS)))))))
def test_more_cores_never_raise_the_level(cores: list[set[str]]) -> None:
    kinds = tuple(CoreKind(1, "", str(place), "", tuple(sorted(flags))) for place, flags in enumerate(cores))
    order = ["v1", "v2", "v3", "v4"]
    levels = [order.index(x86_64.level(CpuFacts("x86_64", "test", (kind,)))) for kind in kinds]
    if kinds:
        assert order.index(x86_64.level(CpuFacts("x86_64", "test", kinds))) <= min(levels)


@given(st.text())
def test_no_cpuinfo_breaks_it(text: str) -> None:
    assert x86_64.supported(from_cpuinfo(text))["level"][-1] == "v1"


@given(st.binary())
def test_no_file_breaks_it(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    root = tmp_path_factory.mktemp("machine")
    (root / "proc").mkdir()
    (root / "proc" / "cpuinfo").write_bytes(data)
    (root / "uname").write_text("Linux x86_64 6.1")
    assert supported(probe(FolderMachine(str(root))))["x86_64"]["level"][-1] == "v1"

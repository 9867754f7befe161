from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_providers import CoreKind, CpuFacts, aarch64, probe, supported
from polywheel_providers.aarch64 import EXTENSIONS, FEATURES, VERSIONS, from_linux, includes
from polywheel_providers.arm_registers import HWCAP, HWCAP2

if TYPE_CHECKING:
    from .conftest import Made, Recorded

N1 = "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp ssbs"
A53 = "fp asimd evtstrm aes pmull sha1 sha2 crc32"
V1 = f"{N1} jscvt fcma sha3 sm3 sm4 sha512 sve asimdfhm dit uscat ilrcpc flagm paca pacg"


def cpuinfo(*cores: tuple[str, str, str]) -> str:
    return "\n".join(
        f"processor\t: {place}\nFeatures\t: {flags}\nCPU implementer\t: {vendor}\nCPU part\t: {part}\n"
        for place, (vendor, part, flags) in enumerate(cores)
    )


def auxv(flags: str) -> bytes:
    """Write an auxiliary vector: AT_PAGESZ, AT_HWCAP, AT_HWCAP2, AT_NULL."""
    words = flags.split()
    first = sum(1 << bit for bit, name in enumerate(HWCAP) if name in words)
    second = sum(1 << bit for bit, name in enumerate(HWCAP2) if name in words)
    return struct.pack("<8Q", 6, 4096, 16, first, 26, second, 0, 0)


@pytest.mark.parametrize(
    ("vendor", "part", "flags", "version"),
    [
        ("0x41", "0xd03", A53, "8a"),
        ("0x43", "0x0af", f"{A53} atomics asimdrdm", "8.1a"),
        ("0x41", "0xd0c", N1, "8.2a"),
        ("0x41", "0xd40", V1, "8.4a"),
        ("0x41", "0xd0c", V1, "8.2a"),  # a known core is never taken for more than it is
        ("0x99", "0x123", V1, "8.4a"),  # an unknown one is judged by what it can do
        ("0x99", "0x123", A53, "8a"),
        ("0x41", "garbage", N1, "8.2a"),
        ("", "", V1, "8.4a"),
    ],
)
def test_version_of_one_core(vendor: str, part: str, flags: str, version: str) -> None:
    assert aarch64.version(from_linux(cpuinfo((vendor, part, flags)), None)) == version


@pytest.mark.parametrize("missing", ["paca", "pacg"])
def test_hidden_pointer_authentication_costs_nothing(missing: str) -> None:
    flags = " ".join(flag for flag in V1.split() if flag != missing)
    facts = from_linux(cpuinfo(("0x41", "0xd40", flags)), None)
    assert aarch64.version(facts) == "8.4a"
    assert "pauth" not in aarch64.supported(facts)


@pytest.mark.parametrize("missing", ["asimddp", "uscat", "dit", "flagm", "ilrcpc"])
def test_any_other_missing_feature_costs_the_version(missing: str) -> None:
    flags = " ".join(flag for flag in V1.split() if flag != missing)
    assert aarch64.version(from_linux(cpuinfo(("0x41", "0xd40", flags)), None)) == "8.3a"


def test_unequal_cores_have_what_all_have_in_any_order() -> None:
    little = ("0x41", "0xd05", "fp asimd crc32 atomics asimdrdm dcpop lrcpc")
    big = ("0x41", "0xd0b", N1)
    one, other = (from_linux(cpuinfo(*cores), None) for cores in ((little, big), (big, big, little)))
    assert aarch64.supported(one) == aarch64.supported(other)
    assert aarch64.supported(one)["version"] == ("8.2a", "8.1a", "8a")
    assert not {"dotprod", "fp16"} & aarch64.supported(one).keys()


def test_the_weakest_core_decides_the_version() -> None:
    facts = from_linux(cpuinfo(("0x41", "0xd08", A53), ("0x41", "0xd0b", N1)), None)
    assert aarch64.supported(facts)["version"] == ("8a",)


def test_the_auxiliary_vector_decides_under_an_emulator(recorded: Recorded) -> None:
    host = recorded("arm-emulated").read_text("/proc/cpuinfo")
    facts = from_linux(host, auxv(N1))
    assert facts.translated
    assert aarch64.version(facts) == "8.2a"
    assert "sse3" not in facts.cores[0].flags


def test_the_auxiliary_vector_limits_what_cpuinfo_says() -> None:
    facts = from_linux(cpuinfo(("0x41", "0xd40", V1)), auxv(f"{N1} jscvt"))
    assert "sve" not in facts.cores[0].flags
    assert aarch64.version(facts) == "8.2a"
    assert facts.cores[0].name == "Neoverse V1"


def test_cpuinfo_without_features_takes_the_auxiliary_vector() -> None:
    facts = from_linux("processor : 0\nCPU implementer : 0x41\nCPU part : 0xd0c\n", auxv(N1))
    assert aarch64.version(facts) == "8.2a"


@pytest.mark.parametrize(("text", "vector"), [(None, None), ("", None), (None, b""), ("x", b"\1" * 7)])
def test_nothing_readable_is_the_baseline(text: str | None, vector: bytes | None) -> None:
    facts = from_linux(text, vector)
    assert aarch64.supported(facts) == {"version": ("8a",)}
    assert facts.notes[0].code == "cpu-unknown"


def registry_export(report: str) -> str:
    """Turn PowerShell's Get-Item listing into what `reg export` writes, the processors numbered from 0."""
    lines: list[str] = []
    count = 0
    for line in report.splitlines():
        name, colon, value = (part.strip() for part in line[31:].partition(":"))
        if colon and line[:31].strip().isdigit():
            lines.append(f"[HKEY_LOCAL_MACHINE\\HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\{count}]")
            count += 1
        elif name.startswith("CP "):
            lines.append(f'"{name}"=hex(b):{int(value).to_bytes(8, "little").hex(",")}')
        elif name in ("ProcessorNameString", "VendorIdentifier", "Identifier"):
            lines.append(f'"{name}"="{value}"')
    return "\n".join(lines)


def test_windows_registers_say_what_linux_says_on_the_same_chip(made: Made, recorded: Recorded) -> None:
    report = recorded("windows-8cx").read_text("/get-item.txt")
    assert report is not None
    facts = probe(made({"uname": "Windows ARM64 10.0.22621", "registry.reg": registry_export(report)}))
    assert [(core.vendor, core.model) for core in facts.cpu.cores] == [("0x41", "0xd4b"), ("0x41", "0xd4c")]
    # WSL2's /proc/cpuinfo on the same chip: https://github.com/hrw/arm-socs-table/issues/15
    wsl2 = "fp asimd aes pmull sha1 sha2 crc32 atomics fphp asimdhp asimdrdm lrcpc dcpop asimddp ilrcpc flagm"
    assert set(wsl2.split()) == set(facts.cpu.cores[0].flags) - {"paca", "pacg", "ssbs"}
    assert supported(facts)["aarch64"]["version"] == ("8.2a", "8.1a", "8a")
    assert {"dotprod", "fp16"} <= supported(facts)["aarch64"].keys()


def test_apple_processors_are_known_by_name_or_by_what_they_report(made: Made) -> None:
    def version(sysctl: str) -> str:
        return supported(probe(made({"uname": "Darwin arm64 24.0.0", "sysctl": sysctl})))["aarch64"][
            "version"
        ][0]

    assert version("machdep.cpu.brand_string: Apple M3 Pro") == "8.4a"
    assert version("machdep.cpu.brand_string: Apple M9") == "8a"
    assert version("machdep.cpu.brand_string: Apple") == "8a"
    assert version("nothing: 1") == "8a"


@pytest.mark.parametrize(
    "name", ["Linux aarch64 6", "Darwin arm64 24", "Windows ARM64 10", "FreeBSD arm64 14"]
)
def test_a_system_that_shows_nothing_is_the_baseline(made: Made, name: str) -> None:
    facts = probe(made({"uname": name}))
    assert supported(facts)["aarch64"] == {"version": ("8a",)}
    assert any(note.code == "cpu-unknown" for note in facts.cpu.notes)


@pytest.mark.parametrize(
    ("version", "included"),
    [
        ("8a", ("8a",)),
        ("8.2a", ("8.2a", "8.1a", "8a")),
        ("9.0a", ("9.0a", "8.5a", "8.4a", "8.3a", "8.2a", "8.1a", "8a")),
        ("9.1a", ("9.1a", "9.0a", "8.6a", "8.5a", "8.4a", "8.3a", "8.2a", "8.1a", "8a")),
    ],
)
def test_versions_include_their_line(version: str, included: tuple[str, ...]) -> None:
    assert includes(version) == included


def test_supported_is_within_all() -> None:
    flags = tuple(sorted(set().union(*EXTENSIONS.values())))
    for version in VERSIONS:
        found = aarch64.supported(CpuFacts("aarch64", "test", declared=version, declared_flags=flags))
        assert found.keys() == FEATURES.keys()
        assert all(set(values) <= set(FEATURES[name]) for name, values in found.items())


FLAG = st.sampled_from(sorted({*HWCAP, *HWCAP2}))


@given(st.lists(st.sets(FLAG), min_size=1))
def test_more_cores_never_raise_the_version(cores: list[set[str]]) -> None:
    kinds = tuple(CoreKind(1, "", str(place), "", tuple(sorted(flags))) for place, flags in enumerate(cores))
    each = [VERSIONS.index(aarch64.version(CpuFacts("aarch64", "test", (kind,)))) for kind in kinds]
    assert VERSIONS.index(aarch64.version(CpuFacts("aarch64", "test", kinds))) >= max(each)


@given(st.one_of(st.none(), st.text()), st.one_of(st.none(), st.binary()))
def test_no_input_breaks_it(text: str | None, vector: bytes | None) -> None:
    assert aarch64.supported(from_linux(text, vector))["version"][-1] == "8a"

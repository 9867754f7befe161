"""Whatever a machine answers, detection answers too: no exception escapes a probe, a rule or a record."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polywheel_providers import devices, from_json, probe, supported, to_json
from polywheel_providers.machine import DEVICE_LIMIT, TEXT_LIMIT, Completed, DriverAnswer, Uname
from polywheel_providers.vendor import VENDORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .conftest import Made

SNIPPETS = [
    "",
    "0x10de\n",
    "0x1002\n",
    "0x8086\n",
    "0x030000\n",
    "0x2684\n",
    "0x7550\n",
    "0xe20b\n",
    "gfx_target_version 90402\nsimd_count 4\nvendor_id 4098\ndevice_id 29857\n",
    "gfx000\ngfx90a:sramecc+:xnack-\ngfx9-4-generic\n",
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.10  Wed Jan 22 2025\n",
    "570.86.10\n572.60\n",
    "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic\n",
    "processor : 0\nflags : fpu sse sse2 pni\nvendor_id : GenuineIntel\n",
    "processor : 0\nFeatures : fp asimd\nCPU implementer : 0x41\nCPU part : 0xd0c\n",
    "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5d5ba0d6)\n  MIG 3g.20gb Device 0: (UUID: MIG-1)\n",
    "0, NVIDIA H100, 9.0, GPU-1, 00000000:1B:00.0, [N/A]\n",
    "CUDA Version : 12.8\nAttached GPUs : 1\nGPU 00000000:01:00.0\n    Product Name : Tesla V100\n",
    "Name: gfx1100\nMarketing Name: AMD Radeon RX 7900 XTX\nDevice Type: GPU\n",
    "PCI_SLOT_NAME=0000:03:00.0\nPCI_ID=1002:7550\nDRIVER=amdgpu\n",
    "1",
    "Apple M2",
    "SSE3 AVX1.0 AVX2.0",
]
TEXT = st.sampled_from(SNIPPETS) | st.text(max_size=60)
NAMES = st.sampled_from(
    ["0", "1", "card0", "card1", "0000:01:00.0", "0000:03:00.0", "nodes", "nvidia0", "renderD128", "gpus"]
) | st.text(max_size=12)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["driver", "cuda", "name", "uuid", "major", "minor", "index", "device", "mig", "ip", "bus"]
            )
            | st.text(max_size=8),
            inner,
            max_size=6,
        )
    ),
    max_leaves=12,
)
SYSTEM = st.sampled_from(["Linux", "Darwin", "Windows", "FreeBSD", ""])
FAMILY = st.sampled_from(["x86_64", "aarch64", "arm64", "AMD64", "ARM64", "riscv64", ""])
RELEASE = st.sampled_from(["6.8.12-tegra", "5.15.90.1-microsoft-standard-WSL2", "24.0.0", ""])
MASKS = st.sampled_from(
    ["", "0", "1,0", "-1", "GPU-1", "MIG-1", "0,0", "all", "0.1", "9.0", "12.8", "gfx1100", "1" * 99]
)
VARIABLES = [
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION",
    "NV_VARIANT_PROVIDER_FORCE_SM_ARCH",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "HSA_OVERRIDE_GFX_VERSION",
    "AMD_VARIANT_PROVIDER_FORCE_GFX_ARCH",
    "AMD_VARIANT_PROVIDER_FORCE_ROCM_VERSION",
    "ZE_AFFINITY_MASK",
    "INTEL_VARIANT_PROVIDER_FORCE_DEVICE_IP",
]


class AnyMachine:
    """Answers each question with whatever is drawn, and the same question with the same answer."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data
        self._answers: dict[tuple[object, ...], Any] = {}
        self.uname = Uname(data.draw(SYSTEM), data.draw(FAMILY), data.draw(RELEASE))
        self.libc = "glibc 2.36"
        self.env = data.draw(
            st.dictionaries(st.sampled_from(VARIABLES), MASKS | st.text(max_size=12), max_size=4)
        )

    def _answer(self, question: tuple[object, ...], strategy: st.SearchStrategy[Any]) -> Any:
        if question not in self._answers:
            self._answers[question] = self._data.draw(strategy)
        return self._answers[question]

    def read_text(self, path: str, limit: int = TEXT_LIMIT) -> Any:  # noqa: ARG002 (short answers)
        return self._answer(("text", path), st.none() | TEXT)

    def read_bytes(self, path: str) -> Any:
        return self._answer(("bytes", path), st.none() | st.binary(max_size=64))

    def list_dir(self, path: str) -> Any:
        return self._answer(("list", path), st.lists(NAMES, max_size=3, unique=True).map(sorted).map(tuple))

    def read_link(self, path: str) -> Any:
        return self._answer(("link", path), st.none() | st.text(max_size=12))

    def exists(self, path: str) -> Any:
        return self._answer(("exists", path), st.booleans())

    def find_program(self, name: str) -> Any:
        return self._answer(("program", name), st.none() | st.just(f"/usr/bin/{name}"))

    def run(self, program: str, *arguments: str, deadline: float = 2.0, unset: tuple[str, ...] = ()) -> Any:
        del deadline, unset
        ended = st.builds(
            Completed,
            st.none() | st.integers(-15, 20),
            st.lists(TEXT, max_size=3).map("".join),
            TEXT,
            st.sampled_from(["", "no answer within 2 s"]),
        )
        return self._answer(("run", program, *arguments), st.none() | ended)

    def find_library(self, name: str) -> Any:
        return self._answer(("library", name), st.none() | st.just(name))

    def driver(self, query: str, library: str, *, deadline: float = 2.0) -> Any:
        del deadline
        answers = st.builds(
            DriverAnswer, st.lists(JSON, max_size=4).map(tuple), st.sampled_from(["", "ended by SIGSEGV"])
        )
        return self._answer(("driver", query, library), answers)

    def registry(self, key: str) -> Mapping[str, int | str]:
        names = st.sampled_from(
            ["CP 4000", "CP 4030", "CP 4031", "MatchingDeviceId", "DriverDesc", "DriverVersion"]
        )
        values = (
            st.integers(0, 2**64 - 1) | st.sampled_from(["PCI\\VEN_10DE&DEV_2684", ""]) | st.text(max_size=12)
        )
        # Each numbered key of a list is there or not; an endless list would be no machine.
        limit = st.just({}) if key.rstrip("0123456789") != key and len(self._answers) > 60 else st.nothing()
        found: dict[str, int | str] = self._answer(
            ("key", key), limit | st.dictionaries(names, values, max_size=3)
        )
        return found

    def sysctl(self, name: str) -> Any:
        return self._answer(("sysctl", name), st.none() | st.sampled_from(["0", "1", "Apple M2", "avx"]))

    def cpuid(self) -> Any:
        return self._answer(("cpuid",), st.none() | st.text(max_size=40))


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(st.data())
def test_whatever_a_machine_answers_detection_answers_too(data: st.DataObject) -> None:
    facts = probe(AnyMachine(data))
    assert facts.notes == ()
    found = supported(facts)
    assert all(
        values and len(set(values)) == len(values)
        for features in found.values()
        for values in features.values()
    )
    assert all(device.vendor in ("nvidia", "amd", "intel") for device in devices(facts))
    replayed = from_json(json.loads(json.dumps(to_json(facts), allow_nan=False)))
    assert replayed == facts
    assert supported(replayed) == found
    assert devices(replayed) == devices(facts)


def test_a_source_that_lists_devices_without_end_costs_little(made: Made) -> None:
    folder = "sys/bus/pci/devices"
    files: dict[str, str | bytes] = {
        "uname": "Linux x86_64 6.8.0\n",
        "usr/bin/rocm_agent_enumerator": "#!/bin/sh\nyes gfx90a | head -n 100000\n",
        "usr/bin/nvidia-smi": "#!/bin/sh\nyes 'GPU 0: NVIDIA A100 (UUID: GPU-1)' | head -n 20000\n",
    }
    for place in range(DEVICE_LIMIT + 1):
        files[f"{folder}/{place:04x}:03:00.0/vendor"] = "0x8086"
        files[f"{folder}/{place:04x}:03:00.0/device"] = "0xe20b"
        files[f"{folder}/{place:04x}:03:00.0/class"] = "0x030000"
    vendors = [device.vendor for device in devices(probe(made(files)))]
    assert [vendors.count(vendor) for vendor in VENDORS] == [DEVICE_LIMIT] * 3

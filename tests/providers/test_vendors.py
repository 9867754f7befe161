"""Every vendor on machines that answer nonsense: nothing raises, and a record says what the probe said."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_providers import devices, from_json, probe, supported, to_json
from polywheel_providers.facts import namespace_module
from polywheel_providers.frozen import as_json
from polywheel_providers.machine import TEXT_LIMIT, Completed, DriverAnswer, Uname
from polywheel_providers.record import Fields
from polywheel_providers.vendor import VENDORS

if TYPE_CHECKING:
    from tests.providers.conftest import Recorded

MACHINES = Path(__file__).parents[1] / "data" / "machines"
PATHS = (
    *("/proc/driver/nvidia/version", "/sys/module/nvidia/version", "/etc/nv_tegra_release"),
    *("/proc/driver/nvidia/gpus/0000:01:00.0/information", "/proc/device-tree/compatible"),
    *("/sys/class/kfd/kfd/topology/nodes/0/properties", "/sys/class/kfd/kfd/topology/nodes/1/properties"),
    *(f"/sys/bus/pci/devices/0000:01:00.0/{name}" for name in ("vendor", "device", "class")),
    *(f"/sys/class/drm/card0/device/{name}" for name in ("vendor", "device", "uevent")),
    *("/opt/rocm/.info/version", "/opt/rocm-7.1.0/.info/version"),
)
TEXTS = (
    *("", "\0", "0x10de", "0x1002", "0x8086", "0x2684", "0x7550", "0xe20b", "0x030000", "7.1.0", "570.86.10"),
    *("NVRM version: x  550.144.03  y", "# R36 (release), REVISION: 4.3", "nvidia,tegra234\0"),
    *("simd_count 64\ngfx_target_version 90402\n", "simd_count 1\ngfx_target_version 99999999999\n"),
    *("gfx90a\ngfx9-4-generic\n", "GPU 0: Tesla T4 (UUID: GPU-1)", "Attached GPUs : 0", "572.60\n572.60\n"),
    *("GPU 00000000:01:00.0\n  MIG Mode\n    Current : Enabled\n", "No devices were found", "9.0"),
)
ENVIRONMENT = tuple(sorted({name for vendor in VENDORS for name in namespace_module(vendor).ENVIRONMENT}))
VALUES = (
    "",
    "0",
    "1,0",
    "0,0",
    "-1",
    "GPU-1",
    "GPU-",
    "MIG-1",
    "MIG-GPU-1/0/0",
    "PCI_BUS_ID",
    "9.0",
    "12.8",
    "gfx90a",
)

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
_key = st.sampled_from(
    [
        *(
            "driver",
            "cuda",
            "count",
            "device",
            "name",
            "uuid",
            "capability",
            "bus",
            "mig",
            "mig_mode",
            "error",
        ),
        *("code", "vendor", "ip", "integrated"),
    ]
)
_text = st.sampled_from(TEXTS) | st.text(max_size=40)


class Nonsense:
    """A machine whose every answer hypothesis chooses; satisfies `polywheel_providers.Machine`."""

    libc = ""

    def __init__(self, data: st.DataObject) -> None:
        self._draw: Callable[[Any], Any] = data.draw
        self.uname = Uname(*self._draw(st.sampled_from(SYSTEMS)))
        self.env: Mapping[str, str] = self._draw(
            st.dictionaries(
                st.sampled_from(ENVIRONMENT), st.sampled_from(VALUES) | st.text(max_size=6), max_size=3
            )
        )
        self._files = self._draw(st.dictionaries(st.sampled_from(PATHS), _text))
        self._programs = self._draw(
            st.sets(st.sampled_from(("nvidia-smi", "rocm_agent_enumerator", "rocminfo")))
        )
        self._libraries = self._draw(st.booleans())

    def read_text(self, path: str, limit: int = TEXT_LIMIT) -> str | None:
        text = self._files.get(path)
        return None if text is None else text[:limit]

    def read_bytes(self, path: str) -> bytes | None:
        text = self.read_text(path)
        return None if text is None else text.encode()

    def list_dir(self, path: str) -> tuple[str, ...]:
        inside = (name.removeprefix(f"{path}/") for name in self._files if name.startswith(f"{path}/"))
        return tuple(sorted({name.partition("/")[0] for name in inside}))

    def read_link(self, path: str) -> str | None:
        return self._files.get(path)

    def exists(self, path: str) -> bool:
        return path in self._files or bool(self.list_dir(path))

    def find_program(self, name: str) -> str | None:
        return name if name in self._programs else None

    def run(
        self, program: str, *arguments: str, deadline: float = 2.0, unset: tuple[str, ...] = ()
    ) -> Completed | None:
        del unset
        if program not in self._programs or len(arguments) * deadline < 0:
            return None
        return Completed(self._draw(st.sampled_from([0, 1, -9, None])), self._draw(_text), self._draw(_text))

    def find_library(self, name: str) -> str | None:
        return name if self._libraries else None

    def driver(self, query: str, library: str, *, deadline: float = 2.0) -> DriverAnswer:
        assert query.partition(".")[0] in VENDORS, (library, deadline)
        facts = self._draw(
            st.lists(st.dictionaries(_key, _json | st.just(0x8086), max_size=5) | _json, max_size=4)
        )
        return DriverAnswer(tuple(facts), self._draw(st.sampled_from(["", "ended by SIGSEGV"])))

    def registry(self, key: str) -> Mapping[str, int | str]:
        values = {"MatchingDeviceId": self._draw(_text), "DriverDesc": self._draw(_text)}
        return values if key.endswith(r"\0000") else {}

    def sysctl(self, name: str) -> str | None:
        return self._files.get(name)

    def cpuid(self) -> str | None:
        return None


SYSTEMS = (
    *(("Linux", "x86_64", "6.8.0"), ("Linux", "aarch64", "5.15.148-tegra"), ("Windows", "AMD64", "10.0")),
    *(("Linux", "x86_64", "5.15-microsoft-standard-WSL2"), ("Darwin", "arm64", "24.5"), ("", "", "")),
)


@pytest.mark.parametrize("name", VENDORS)
@given(data=st.data())
def test_nothing_a_machine_answers_makes_a_vendor_raise(name: str, data: st.DataObject) -> None:
    vendor = namespace_module(name)
    facts = vendor.probe(Nonsense(data))
    body: Any = json.loads(json.dumps(as_json(facts)))
    again = vendor.from_fields(Fields(body, name))
    for beside in (False, True):
        found = vendor.supported(facts, discrete_elsewhere=beside)
        assert found == vendor.supported(again, discrete_elsewhere=beside)
        assert all(values and len(set(values)) == len(values) for values in found.values())
        listed = vendor.devices(facts, discrete_elsewhere=beside)
        assert all(device.why for device in listed if not device.usable)
        assert not any(device.why for device in listed if device.usable)
        assert vendor.serves(facts, ["80_real"], discrete_elsewhere=beside).why


@pytest.mark.parametrize("machine", sorted(folder.name for folder in MACHINES.iterdir()))
def test_a_vendor_without_a_sign_would_have_found_nothing(recorded: Recorded, machine: str) -> None:
    facts = probe(recorded(machine))
    unasked = [name for name in VENDORS if getattr(facts, name) is None]
    found = {name: namespace_module(name).probe(recorded(machine)) for name in unasked}
    assert {name: (each.devices, each.tried) for name, each in found.items()} == {
        name: ((), {}) for name in unasked
    }
    again = from_json(json.loads(json.dumps(to_json(facts))))
    assert (again, supported(again), devices(again)) == (facts, supported(facts), devices(facts))

"""Every recorded NVIDIA machine, by the report it came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from polywheel_providers import devices, nvidia, probe, supported

if TYPE_CHECKING:
    from tests.providers.conftest import Made, Recorded


def test_two_gpus_on_wsl2_are_one_driver(recorded: Recorded) -> None:
    """astral-sh/uv#14647: the version came once for each GPU."""
    facts = nvidia.probe(recorded("wsl2-two-gpus"))
    assert (facts.driver, facts.cuda, len(facts.devices), facts.wsl) == ("572.60", (12, 8), 2, True)
    assert nvidia.supported(facts)["cuda_version_lower_bound"][0] == "12.8"
    assert "sm_arch" not in nvidia.supported(facts), "the report does not say what the GPUs are"
    assert not nvidia.serves(facts, ["80_real"])


def test_a_gpu_known_by_its_name(recorded: Recorded) -> None:
    facts = nvidia.probe(recorded("wsl2-gtx1650ti"))
    assert (facts.driver, facts.cuda) == ("510.06", (11, 6))
    assert [device.capability for device in facts.devices] == [(7, 5)]
    assert list(facts.tried) == ["nvidia-smi -q"], "nothing was left to ask"


def test_a_driver_too_old_for_any_variant(recorded: Recorded) -> None:
    facts = nvidia.probe(recorded("gtx1080-r396"))
    assert (facts.driver, facts.cuda) == ("396.54", (9, 2))
    assert [device.arch for device in nvidia.devices(facts)] == ["6.1"]
    assert nvidia.supported(facts) == {}


@pytest.mark.parametrize(
    ("machine", "mask", "count"),
    [
        ("a100-seven-mig", None, 1),
        ("a100-seven-mig", "0", 1),
        ("a100-seven-mig", "MIG-feb88891-0321-5fef-9c87-d4af3b54259e", 1),
        (
            "a100-seven-mig",
            "MIG-feb88891-0321-5fef-9c87-d4af3b54259e,MIG-a25704ba-3a06-5299-a795-fd7cf4d13973",
            1,
        ),
        ("a100-seven-mig", "MIG-feee0c61-26ec-5616-bb59-b6d777cc4f34", 0),
        ("a100-seven-mig", "GPU-7fdaf0a5", 1),
        ("a100-seven-mig", "", 0),
        ("a100-two-mig", "MIG-3adbed3a-d03d-549f-a016-ba1fd7359f23", 1),
        ("a100-two-mig", "5", 0),
    ],
)
def test_masks_on_mig_machines(recorded: Recorded, machine: str, mask: str | None, count: int) -> None:
    """pytorch/pytorch#95784 and #92315: one device of capability 8.0, or none."""
    env = {} if mask is None else {"CUDA_VISIBLE_DEVICES": mask}
    facts = nvidia.probe(recorded(machine, **env))
    assert [device.arch for device in nvidia.devices(facts) if device.visible] == ["8.0"] * count
    assert bool(nvidia.supported(facts)) == bool(count)


CU130 = ("75_real", "80_real", "86_real", "90_real", "100_real", "120_real")
CU126 = ("50_real", "60_real", "70_real", "75_real", "80_real", "86_real", "90_real")


@pytest.mark.parametrize(
    ("machine", "cuda"), [("gtx1080ti-cuda12.8", (12, 8)), ("gtx1060-cuda13.0", (13, 0))]
)
def test_a_pascal_gpu_under_a_new_driver(recorded: Recorded, machine: str, cuda: tuple[int, int]) -> None:
    """astral-sh/uv#14742 and hvoss-tech/AutoForge#59: the newest torch has no kernels for it."""
    facts = nvidia.probe(recorded(machine))
    assert (facts.cuda, [device.capability for device in facts.devices]) == (cuda, [(6, 1)])
    assert "no code for NVIDIA GeForce GTX 10" in nvidia.serves(facts, CU130).why
    assert nvidia.serves(facts, CU126)
    assert nvidia.supported(facts)["sm_arch"] == ("61_real", "60_real", "60_virtual")


def test_a_gpu_whose_driver_stopped_at_cuda_10(recorded: Recorded) -> None:
    facts = nvidia.probe(recorded("gtx1080ti-r418"))
    assert (facts.driver, facts.cuda) == ("418.67", (10, 1))
    assert nvidia.supported(facts) == {}


def test_a_login_node_has_a_driver_and_no_gpu(recorded: Recorded) -> None:
    facts = nvidia.probe(recorded("login-node"))
    assert (facts.driver, facts.cuda, facts.devices, facts.devices_known) == ("550.54.15", (12, 4), (), True)
    assert nvidia.supported(facts) == {}
    assert [note.code for note in facts.notes] == ["nvidia-no-device"]


@pytest.mark.parametrize(
    ("machine", "cuda"), [("jetson-agx-orin-r39", (13, 2)), ("jetson-orin-jetpack6", (12, 6))]
)
def test_a_jetson_is_no_server(recorded: Recorded, machine: str, cuda: tuple[int, int]) -> None:
    facts = nvidia.probe(recorded(machine))
    (device,) = nvidia.devices(facts)
    assert (device.arch, device.integrated, device.usable) == ("8.7", True, True)
    assert (facts.cuda, facts.tegra) == (cuda, True)
    assert nvidia.supported(facts)["sm_arch"] == ("87_real", "80_virtual")
    assert not nvidia.serves(facts, ["80_real", "90_real"])


def test_a_tegra_known_by_its_kernel_alone(made: Made) -> None:
    files: dict[str, str | bytes] = {
        "uname": "Linux aarch64 6.8.12-tegra\n",
        "proc/device-tree/compatible": "nvidia,p3971-0080+p3834-0008\0nvidia,tegra264\0",
    }
    (device,) = devices(probe(made(files)))
    assert (device.name, device.arch, device.integrated) == ("NVIDIA Thor", "11.0", True)


def test_two_unlike_gpus_of_which_no_driver_answers(recorded: Recorded) -> None:
    facts = nvidia.probe(recorded("two-unlike-nvidia-gpus"))
    assert (facts.driver, facts.cuda) == ("550.144.03", (12, 4))
    assert [device.capability for device in facts.devices] == [(6, 1), (8, 9)]
    assert nvidia.supported(facts)["sm_arch"] == ("60_virtual",)
    assert not nvidia.serves(facts, ["75_real", "80_real", "86_real", "90_real"])


@pytest.mark.parametrize(
    ("env", "archs"),
    [
        ({"CUDA_VISIBLE_DEVICES": "0"}, ["8.9"]),
        ({"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, ["6.1"]),
        ({"CUDA_VISIBLE_DEVICES": "GPU-9942190a"}, ["6.1"]),
        ({"CUDA_VISIBLE_DEVICES": "GPU-9"}, []),
        ({"CUDA_VISIBLE_DEVICES": "0,-1,1"}, ["8.9"]),
        ({"CUDA_VISIBLE_DEVICES": "0,0"}, []),
    ],
)
def test_masks_on_two_unlike_gpus(recorded: Recorded, env: dict[str, str], archs: list[str]) -> None:
    facts = nvidia.probe(recorded("two-unlike-nvidia-gpus", **env))
    assert [device.arch for device in nvidia.devices(facts) if device.visible] == archs
    told = {note.code for note in facts.notes}
    assert ("nvidia-order" in told) == (env["CUDA_VISIBLE_DEVICES"][0] == "0" and len(env) == 1)


def test_an_nvidia_smi_without_a_driver_is_one_note(recorded: Recorded) -> None:
    facts = nvidia.probe(recorded("driver-without-answers"))
    assert (facts.driver, facts.cuda) == ("375.74", (8, 0))
    (note,) = facts.notes
    assert note.code == "nvidia-smi-failed"
    assert "couldn't communicate with the NVIDIA driver" in note.message


def test_an_nvidia_smi_that_hangs_is_asked_once(made: Made) -> None:
    facts = nvidia.probe(made({"usr/bin/nvidia-smi": "#!/bin/sh\nsleep 60\n"}))
    assert facts.tried == {"nvidia-smi -q": "no answer within 2 s"}
    assert [note.code for note in facts.notes] == ["nvidia-smi-failed"]


def test_a_wrapper_of_nvidia_smi_that_knows_one_field_at_a_time(made: Made) -> None:
    script = (
        "#!/bin/sh\ncase $1 in\n"
        "-q) echo 'CUDA Version : 12.8' ;;\n"
        "--query-gpu=compute_cap) printf '9.0\\n8.6\\n' ;;\n"
        "--query-gpu=driver_version) printf '570.86.10\\n570.86.10\\n' ;;\n"
        "*) exit 2 ;;\nesac\n"
    )
    facts = nvidia.probe(made({"usr/bin/nvidia-smi": script}))
    assert (facts.cuda, [device.capability for device in facts.devices]) == ((12, 8), [(9, 0), (8, 6)])


def test_a_gpu_without_a_driver_is_listed(made: Made) -> None:
    folder = "sys/bus/pci/devices/0000:01:00.0"
    files: dict[str, str | bytes] = {
        "uname": "Linux x86_64 6.14.0\n",
        f"{folder}/vendor": "0x10de\n",
        f"{folder}/device": "0x2684\n",
        f"{folder}/class": "0x030000\n",
    }
    facts = nvidia.probe(made(files))
    assert [device.arch for device in nvidia.devices(facts)] == ["8.9"]
    assert nvidia.supported(facts) == {}
    assert [note.code for note in facts.notes] == ["nvidia-no-driver"]


def test_a_machine_without_nvidia_runs_nothing(made: Made) -> None:
    facts = nvidia.probe(made({"uname": "Linux x86_64 6.14.0\n"}))
    assert (facts.tried, facts.notes, facts.devices_known) == ({}, (), False)
    assert nvidia.probe(made({"uname": "Darwin arm64 24.5.0\n"})).tried == {}


def test_a_discrete_gpu_leaves_another_vendors_own_graphics_out(made: Made) -> None:
    facts = probe(
        made(
            {
                "uname": "Linux x86_64 6.14.0\n",
                "usr/bin/nvidia-smi": "#!/bin/sh\n[ $1 = -q ] && printf 'Driver Version : 570.86.10\\n"
                "CUDA Version : 12.8\\nAttached GPUs : 1\\nGPU 00000000:01:00.0\\n"
                "    Product Name : NVIDIA GeForce RTX 4090\\n'\n",
                "sys/class/drm/card0/device/vendor": "0x1002\n",
                "sys/class/drm/card0/device/device": "0x164e\n",
            }
        )
    )
    assert [(device.vendor, device.usable) for device in devices(facts)] == [("nvidia", True), ("amd", False)]
    assert set(supported(facts)) == {"nvidia", "x86_64"}

"""The real ctypes path, against driver libraries that the tests compile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from polywheel_providers import nvidia

if TYPE_CHECKING:
    from tests.providers.conftest import Driven, Made

pytestmark = pytest.mark.compiler

NVML, CUDA = "libnvidia-ml.so.1", "libcuda.so.1"
UNAME: dict[str, str | bytes] = {"uname": "Linux x86_64 6.8.0-51-generic\n"}


def test_nvml_tells_everything_and_libcuda_is_not_asked(driven: Driven, made: Made) -> None:
    driven(NVML, "nvidia_ml.c")
    driven(CUDA, "cuda.c", "CRASH")
    facts = nvidia.probe(made(UNAME))
    assert (facts.driver, facts.cuda) == ("570.86.10", (12, 8))
    assert [(device.name, device.capability) for device in facts.devices] == [
        ("NVIDIA H100 80GB HBM3", (9, 0)),
        ("NVIDIA H100 80GB HBM3", (9, 0)),
    ]
    assert facts.tried == {"nvml": "driver 570.86.10, CUDA 12.8, 2 devices"}
    assert facts.notes == ()
    assert nvidia.supported(facts)["sm_arch"] == ("90_real", "90_virtual")


def test_uuids_stay_out_of_a_record_unless_a_mask_names_one(driven: Driven, made: Made) -> None:
    driven(NVML, "nvidia_ml.c")
    assert {device.uuid for device in nvidia.probe(made(UNAME)).devices} == {""}
    facts = nvidia.probe(made(UNAME, CUDA_VISIBLE_DEVICES="GPU-eee1"))
    assert [device.visible for device in nvidia.devices(facts)] == [True, False]
    assert [device.uuid for device in facts.devices] == ["GPU-", "GPU-eee1dfbc-0a0f-6ad8-5ff6-dc942a8b9d98"]


def test_a_mig_gpu_hides_the_whole_gpus(driven: Driven, made: Made) -> None:
    driven(NVML, "nvidia_ml.c", "MIG")
    listed = nvidia.devices(nvidia.probe(made(UNAME)))
    assert [(device.name, device.arch, device.visible) for device in listed] == [
        ("NVIDIA A100-SXM4-40GB (MIG)", "8.0", True),
        ("Tesla T4", "7.5", False),
    ]
    assert "single MIG instance" in listed[1].why


@pytest.mark.parametrize(
    ("mask", "archs"),
    [
        ("MIG-89c850dc-5a7a-5e0c-8bf5-2a2d6ad6d0f5", ["8.0"]),
        ("MIG-89c850dc-5a7a-5e0c-8bf5-2a2d6ad6d0f5,MIG-f2b5fbbd-4a6a-5a3f-9f8b-1d1d1c1b1a19", ["8.0"]),
        ("MIG-f2b5fbbd", ["8.0"]),
        ("MIG-GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f/7/0", ["8.0"]),
        ("MIG-00000000-0000-0000-0000-000000000000", []),
        ("GPU-8932f937", ["7.5"]),
        ("1", ["7.5"]),
    ],
)
def test_masks_on_a_mig_machine(driven: Driven, made: Made, mask: str, archs: list[str]) -> None:
    driven(NVML, "nvidia_ml.c", "MIG")
    facts = nvidia.probe(made(UNAME, CUDA_VISIBLE_DEVICES=mask, CUDA_DEVICE_ORDER="PCI_BUS_ID"))
    assert [device.arch for device in nvidia.devices(facts) if device.visible] == archs


def test_libcuda_numbers_unlike_gpus_fastest_first(driven: Driven, made: Made) -> None:
    driven(NVML, "nvidia_ml.c", "UNLIKE")
    driven(CUDA, "cuda.c", "UNLIKE", "VERSION=12040")
    facts = nvidia.probe(made(UNAME, CUDA_VISIBLE_DEVICES="0"))
    assert facts.cuda_order == (1, 0)
    assert [(device.arch, device.visible) for device in nvidia.devices(facts)] == [
        ("8.9", True),
        ("6.1", False),
    ]
    by_bus = nvidia.probe(made(UNAME, CUDA_VISIBLE_DEVICES="0", CUDA_DEVICE_ORDER="PCI_BUS_ID"))
    assert [device.arch for device in nvidia.devices(by_bus) if device.visible] == ["6.1"]


def test_libcuda_alone(driven: Driven, made: Made) -> None:
    driven(CUDA, "cuda.c", "UNLIKE", "MASKED")
    facts = nvidia.probe(made(UNAME, CUDA_VISIBLE_DEVICES="1"))
    assert [device.capability for device in facts.devices] == [(6, 1), (8, 9)], "by PCI bus"
    assert [device.arch for device in nvidia.devices(facts) if device.visible] == ["6.1"]


@pytest.mark.parametrize("mask", ["MIG-feee0c61-26ec-5616-bb59-b6d777cc4f34", "MIG-feee0c61"])
def test_libcuda_alone_with_a_mig_instance(driven: Driven, made: Made, mask: str) -> None:
    """pytorch/pytorch#95784: one device of capability 8.0."""
    driven(CUDA, "cuda.c", "MIG_INSTANCE")
    listed = nvidia.devices(nvidia.probe(made(UNAME, CUDA_VISIBLE_DEVICES=mask)))
    assert [(device.arch, device.visible) for device in listed] == [("8.0", True)]


def test_a_libcuda_of_few_functions(driven: Driven, made: Made) -> None:
    driven(CUDA, "cuda.c", "BARE")
    facts = nvidia.probe(made(UNAME))
    assert [(device.name, device.capability) for device in facts.devices] == [
        ("Tesla V100-SXM2-16GB", (7, 0))
    ] * 2


@pytest.mark.parametrize(("version", "cuda"), [(10010, (10, 1)), (12060, (12, 6)), (13020, (13, 2))])
def test_cuda_driver_version_is_decoded(
    driven: Driven, made: Made, version: int, cuda: tuple[int, int]
) -> None:
    driven(CUDA, "cuda.c", f"VERSION={version}")
    assert nvidia.probe(made(UNAME)).cuda == cuda


def test_an_orin_runs_its_own_code(driven: Driven, made: Made) -> None:
    driven(CUDA, "cuda.c", "ORIN")
    release = "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64\n"
    facts = nvidia.probe(made({"uname": "Linux aarch64 5.15.148-tegra\n", "etc/nv_tegra_release": release}))
    (device,) = nvidia.devices(facts)
    assert (device.arch, device.integrated, device.usable) == ("8.7", True, True)
    assert facts.cuda == (12, 6)
    assert nvidia.supported(facts)["sm_arch"] == ("87_real", "80_virtual")
    assert not nvidia.serves(facts, ("80_real", "90_real"))


def test_cuda_compat_raises_the_version(driven: Driven, made: Made) -> None:
    driven(NVML, "nvidia_ml.c", "UNLIKE")
    driven(CUDA, "cuda.c", "UNLIKE", "VERSION=12080")
    compat = {**UNAME, "usr/local/cuda-12.8/compat/libcuda.so.1": b""}
    facts = nvidia.probe(made(compat, LD_LIBRARY_PATH="/usr/local/cuda-12.8/compat"))
    assert facts.cuda == (12, 8)
    assert "nvidia-cuda-compat" in {note.code for note in facts.notes}


def test_a_cuda_compat_that_does_not_support_the_gpu_raises_nothing(driven: Driven, made: Made) -> None:
    driven(NVML, "nvidia_ml.c")  # NVML asks that same libcuda, and says 12.8
    driven(CUDA, "cuda.c", "NO_COMPAT", "VERSION=13000")
    compat = {**UNAME, "usr/local/cuda/compat/libcuda.so.1": b"", "sys/module/nvidia/version": "550.54.15\n"}
    facts = nvidia.probe(made(compat, LD_LIBRARY_PATH="/usr/local/cuda/compat"))
    assert facts.cuda == (12, 8), "of driver 570.86.10"
    assert "cuda-compat does not support this GPU" in facts.notes[0].message


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        ("HANG", "no answer within 2 s"),
        ("NO_DRIVER", "nvmlInit failed with error 9: the driver is not loaded"),
        ("MISMATCH", "different driver versions"),
        ("GARBAGE", ""),
    ],
)
def test_where_nvml_fails_libcuda_answers(driven: Driven, made: Made, behaviour: str, said: str) -> None:
    driven(NVML, "nvidia_ml.c", behaviour)
    driven(CUDA, "cuda.c")
    facts = nvidia.probe(made(UNAME))
    assert facts.cuda == (12, 6)
    assert [device.capability for device in facts.devices] == [(7, 0), (7, 0)]
    assert [said in note.message for note in facts.notes] == ([True] if said else [])


def test_what_a_library_prints_costs_nothing(driven: Driven, made: Made) -> None:
    driven(NVML, "nvidia_ml.c", "FLOOD")
    facts = nvidia.probe(made(UNAME))
    assert facts.tried == {"nvml": "driver 570.86.10, CUDA 12.8, 2 devices"}


def test_what_nvml_told_before_a_crash_is_kept(driven: Driven, made: Made) -> None:
    driven(NVML, "nvidia_ml.c", "CRASH")
    facts = nvidia.probe(made(UNAME))
    assert (facts.driver, facts.cuda) == ("570.86.10", (12, 8))
    assert [device.capability for device in facts.devices] == [(9, 0)]
    (note,) = facts.notes
    assert (note.code, note.message) == ("nvidia-nvml-failed", "nvml: ended by SIGSEGV")


def test_a_gpu_off_the_bus_is_listed_and_blocks_nothing(driven: Driven, made: Made) -> None:
    driven(NVML, "nvidia_ml.c", "LOST")
    facts = nvidia.probe(made(UNAME))
    sound, lost = nvidia.devices(facts)
    assert (sound.usable, lost.usable, lost.visible) == (True, False, False)
    assert "error 15" in lost.why
    assert nvidia.supported(facts)["sm_arch"] == ("90_real", "90_virtual")


@pytest.mark.parametrize("behaviour", ["HANG", "CRASH", "GARBAGE", "FLOOD"])
def test_a_broken_libcuda_alone_is_one_note_at_most(driven: Driven, made: Made, behaviour: str) -> None:
    driven(CUDA, "cuda.c", behaviour)
    facts = nvidia.probe(made(UNAME))
    assert facts.devices == ()
    assert len(facts.notes) <= 1
    assert "sm_arch" not in nvidia.supported(facts)


def test_no_device_is_an_answer(driven: Driven, made: Made) -> None:
    driven(CUDA, "cuda.c", "NO_DEVICE")
    facts = nvidia.probe(made(UNAME))
    assert (facts.cuda, facts.devices, facts.devices_known) == ((12, 6), (), True)
    assert nvidia.supported(facts) == {}


def test_a_file_that_is_no_library_is_one_note(made: Made) -> None:
    facts = nvidia.probe(made({**UNAME, f"usr/lib/{NVML}": "not an ELF file"}))
    (note,) = facts.notes
    assert note.code == "nvidia-nvml-failed"
    assert "OSError" in note.message

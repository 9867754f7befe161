"""The texts that nvidia-smi and the kernel module write."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from polywheel_providers.machine import DriverAnswer
from polywheel_providers.nvidia.answers import read_answer
from polywheel_providers.nvidia.facts import MigInstance
from polywheel_providers.nvidia.proc_files import parse_proc_gpu, parse_proc_version
from polywheel_providers.nvidia.reading import Reading, Seen, merge_devices, normalise_bus
from polywheel_providers.nvidia.smi_csv import FULL, parse_smi_csv
from polywheel_providers.nvidia.smi_list import parse_smi_list
from polywheel_providers.nvidia.smi_query import parse_smi_query

# https://github.com/NVIDIA/k8s-device-plugin/issues/332 for the PCI block; the head is R610's, whose
# deprecated key https://github.com/PrismML-Eng/Bonsai-demo/pull/122 quotes.
QUERY = """
==============NVSMI LOG==============

Timestamp                           : Sun Jun  7 08:16:57 2026
Driver Version                      : 610.43.02
CUDA Version                        : [Deprecated; will be removed in CUDA 14.0. Use CUDA UMD Version instead]
KMD Version                         : 610.43.02
CUDA UMD Version                    : 13.3

Attached GPUs                             : 2
GPU 00000000:01:00.0
    Product Name                          : NVIDIA GeForce GTX 1060 3GB
    MIG Mode
        Current                           : N/A
        Pending                           : N/A
    GPU UUID                              : GPU-7cfc2710-0025-0d50-7ce9-5c877f079cb4
    PCI
        Bus                               : 0x01
        Device                            : 0x00
        Domain                            : 0x0000
        Device Id                         : 0x1C0210DE
        Bus Id                            : 00000000:01:00.0
        GPU Link Info
            PCIe Generation
                Max                       : 3
    Fan Speed                             : 42 %
GPU 00000001:C1:00.0
    Product Name                          : ERR!
    MIG Mode
        Current                           : Enabled
        Pending                           : Enabled
    GPU UUID                              : GPU-932bfb2c-849a-2a22-1e84-9eff6bc02b39
    PCI
        Device Id                         : 0x20B510DE
"""


def test_the_query_report() -> None:
    reading = parse_smi_query(QUERY)
    assert (reading.driver, reading.cuda) == ("610.43.02", (13, 3))
    first, second = reading.devices or ()
    assert (first.bus, first.name, first.capability) == (
        "0000:01:00.0",
        "NVIDIA GeForce GTX 1060 3GB",
        (6, 1),
    )
    assert (first.mig_mode, second.mig_mode) == (False, True)
    assert (second.bus, second.name, second.capability) == ("0001:c1:00.0", "", (8, 0))


def test_the_query_report_of_a_machine_without_gpus() -> None:
    assert parse_smi_query("Driver Version : 550.54.15\nAttached GPUs : 0\n").devices == ()
    assert parse_smi_query("NVIDIA-SMI has failed").devices is None


def test_the_list_with_both_spellings_of_a_mig_uuid() -> None:
    text = (
        "GPU 0: A100-SXM4-40GB (UUID: GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f)\n"
        "  MIG 1g.5gb Device 0: (UUID: MIG-GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f/7/0)\n"
        "  MIG 1c.3g.20gb  Device  1: (UUID: MIG-89c850dc-5a7a-5e0c-8bf5-2a2d6ad6d0f5)\n"
        "GPU 1: Tesla T4 (UUID: GPU-8932f937-d72c-4106-c12f-20bd9faed9f6)\n"
    )
    first, second = parse_smi_list(text).devices or ()
    assert (first.capability, first.mig_mode, second.capability, second.mig_mode) == (
        (8, 0),
        True,
        (7, 5),
        None,
    )
    assert first.mig == (
        MigInstance("MIG-GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f/7/0", "1g.5gb"),
        MigInstance("MIG-89c850dc-5a7a-5e0c-8bf5-2a2d6ad6d0f5", "1c.3g.20gb"),
    )


def test_the_list_of_a_login_node() -> None:
    assert parse_smi_list("No devices found.\n").devices == ()
    assert parse_smi_list("").devices is None


def test_one_line_a_gpu() -> None:
    text = "0, NVIDIA GeForce RTX 3090, GPU-1, 8.6, 572.60\n1, Tesla T4, GPU-2, [N/A], 572.60\n"
    reading = parse_smi_csv(text, FULL)
    assert reading.driver == "572.60"
    assert [(device.name, device.capability) for device in reading.devices or ()] == [
        ("NVIDIA GeForce RTX 3090", (8, 6)),
        ("Tesla T4", None),
    ]


def test_two_lines_of_one_version_are_two_gpus() -> None:
    reading = parse_smi_csv("572.60\n572.60\n", FULL)
    assert (reading.driver, len(reading.devices or ())) == ("572.60", 2)


def test_a_name_with_a_comma() -> None:
    (device,) = parse_smi_csv("0, Quadro, special, GPU-1, 7.5, 572.60", FULL).devices or ()
    assert (device.name, device.uuid, device.capability) == ("Quadro, special", "GPU-1", (7, 5))


def test_the_kernel_module() -> None:
    opened = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.144.03  Release Build  (dvs)"
    closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  375.74  Wed Jun 14 01:39:39 PDT 2017"
    assert (parse_proc_version(opened), parse_proc_version(closed)) == ("550.144.03", "375.74")
    assert parse_proc_version("GCC version:  gcc version 12.3.0") == ""
    # https://github.com/kata-containers/runtime/issues/2546
    seen = parse_proc_gpu(
        "Model: \t\t Unknown\nIRQ:   \t\t 35\nGPU UUID: \t GPU-????????-????-????-????-????????????"
    )
    assert seen == Seen()


def test_addresses_are_written_alike() -> None:
    assert normalise_bus("00000000:0A:00.0") == normalise_bus("0A:00.0") == "0000:0a:00.0"
    assert normalise_bus("N/A") == ""


def test_sources_add_up_by_uuid_then_bus_then_place() -> None:
    nvml = Reading("nvml", devices=(Seen(bus="0000:01:00.0"), Seen(bus="0000:02:00.0", name="here")))
    listed = Reading("list", devices=(Seen(bus="0000:02:00.0", uuid="GPU-2", name="there"),))
    csv = Reading("csv", devices=(Seen(capability=(6, 1)), Seen(capability=(8, 9))))
    first, second = merge_devices((nvml, listed, csv)) or ()
    assert (first.capability, second.capability) == ((6, 1), (8, 9))
    assert (second.uuid, second.name) == ("GPU-2", "here")
    assert merge_devices((Reading("none"),)) is None


@given(st.text())
def test_no_text_escapes(text: str) -> None:
    for parse in (parse_smi_query, parse_smi_list, parse_proc_version, parse_proc_gpu, normalise_bus):
        parse(text)
    parse_smi_csv(text, FULL)


@given(st.lists(st.sampled_from([*QUERY.splitlines(), "GPU 0", "\t", ":::", "        : x"])))
def test_no_shuffled_report_escapes(lines: list[str]) -> None:
    parse_smi_query("\n".join(lines))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
_KEYS = st.sampled_from(
    [
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
        "code",
    ]
)


@given(st.lists(st.dictionaries(_KEYS, _JSON, max_size=6) | _JSON, max_size=5), st.text(max_size=5))
def test_no_report_of_a_library_escapes(facts: list[object], failure: str) -> None:
    reading = read_answer("nvml", DriverAnswer(tuple(facts), failure))
    for device in reading.devices or ():
        assert device.capability is None or 1 <= device.capability[0] <= 29

"""The sources of NVIDIA facts, one function each: what it reads, turned into a `Reading`."""

from __future__ import annotations

from functools import partial

from polywheel_providers.frozen import replace
from polywheel_providers.machine import DEVICE_LIMIT
from polywheel_providers.pci import adapters, hexadecimal
from polywheel_providers.privacy import without_folders

from . import driver_table, pci_ids, tegra
from .answers import read_answer
from .proc_files import parse_proc_gpu, parse_proc_version
from .product_names import capability_of_name
from .reading import Reading, Seen, merge_devices, normalise_bus
from .smi_csv import FULL, OLDER, SINGLE, parse_smi_csv
from .smi_list import parse_smi_list
from .smi_query import parse_smi_query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from polywheel_providers.machine import Completed, Machine

    from .capability import Capability

GPU_FOLDER = "/proc/driver/nvidia/gpus"
"""One folder a GPU, named by its PCI address."""
PROC_VERSION = "/proc/driver/nvidia/version"
"""The kernel module's banner."""
MODULE_VERSION = "/sys/module/nvidia/version"
"""The kernel module's version alone."""
TEGRA_RELEASE = "/etc/nv_tegra_release"
"""The Jetson Linux release."""


def ask_nvml(machine: Machine, library: str) -> Reading:
    """Ask NVML, in a child process."""
    return read_answer("nvml", machine.driver("nvidia.nvml_query", library))


def ask_libcuda(machine: Machine, library: str) -> Reading:
    """Ask the CUDA driver library, in a child process."""
    return read_answer("libcuda", machine.driver("nvidia.cuda_query", library))


def read_kernel_module(machine: Machine) -> Reading | None:
    """Read the kernel module's files; the CUDA version comes from the published table."""
    banner, version = machine.read_text(PROC_VERSION), machine.read_text(MODULE_VERSION)
    folders = machine.list_dir(GPU_FOLDER)[:DEVICE_LIMIT]
    if banner is None and version is None and not folders:
        return None
    driver = parse_proc_version(banner or "") or driver_table.normalise(version or "")
    devices = tuple(_kernel_gpu(machine, folder) for folder in folders)
    problem = "" if driver else "no plausible driver version"
    cuda = driver_table.cuda_of_driver(driver)
    return Reading("kernel module", driver, cuda, devices or None, problem)


def _kernel_gpu(machine: Machine, folder: str) -> Seen:
    seen = parse_proc_gpu(machine.read_text(f"{GPU_FOLDER}/{folder}/information") or "")
    bus = seen.bus or normalise_bus(folder)
    device = hexadecimal(machine.read_text(f"/sys/bus/pci/devices/{bus}/device")) if bus else None
    return replace(seen, bus=bus, capability=_capability(device, seen.name))


def _capability(device: int | None, name: str) -> Capability | None:
    by_id = None if device is None else pci_ids.capability_of(device)
    return by_id or capability_of_name(name)


def read_tegra(machine: Machine) -> Reading:
    """Read a Tegra's release file and device tree."""
    release = tegra.parse_release(machine.read_text(TEGRA_RELEASE) or "")
    chip = tegra.parse_compatible(machine.read_text("/proc/device-tree/compatible") or "")
    devices = None
    if chip is not None:
        devices = (Seen(name=f"NVIDIA {chip[1]}", capability=chip[0], integrated=True),)
    cuda = None if release is None else tegra.cuda_of_release(release)
    return Reading("tegra release", "", cuda, devices)


def read_bus(machine: Machine) -> Reading | None:
    """List the GPUs on the PCI bus: all there is to know without a driver."""
    devices = tuple(
        Seen(
            bus=adapter.address,
            name=adapter.name or f"NVIDIA GPU [10de:{adapter.device:04x}]",
            capability=pci_ids.capability_of(adapter.device),
        )
        for adapter in adapters(machine, pci_ids.VENDOR)
    )
    return Reading("pci", devices=devices) if devices else None


def ask_smi(machine: Machine, known: tuple[Reading, ...], *, instances: bool) -> tuple[Reading, ...]:
    """Ask nvidia-smi for what is still unknown; one that hangs is not asked again.

    `instances`: the mask names MIG instances, so they must be listed.
    """
    query = _run_smi(machine, parse_smi_query, "-q")
    found = [query]
    if query.problem.startswith(("no answer", "more than")):
        return tuple(found)
    devices = merge_devices((*known, *found))
    if devices is None or any(device.capability is None for device in devices):
        found.append(_run_csv(machine))
        devices = merge_devices((*known, *found))
    partitioned = any(device.mig_mode and not device.mig for device in devices or ())
    if devices is None or partitioned or instances or any(device.capability is None for device in devices):
        found.append(_run_smi(machine, parse_smi_list, "-L"))
    return tuple(found)


def _run_csv(machine: Machine) -> Reading:
    """Ask for fields until a list is understood; a field that is not known fails its whole query."""
    reading = Reading("nvidia-smi --query-gpu")
    for columns in (FULL, OLDER, *SINGLE):
        reading = _run_smi(
            machine, partial(parse_smi_csv, columns=columns), _query(columns), "--format=csv,noheader"
        )
        if reading.devices is not None or reading.problem.startswith(("no answer", "more than")):
            break
    return reading


def _query(columns: tuple[str, ...]) -> str:
    return f"--query-gpu={','.join(columns)}"


def _run_smi(machine: Machine, parse: Callable[[str], Reading], *arguments: str) -> Reading:
    source = f"nvidia-smi {arguments[0].partition('=')[0]}"
    completed = machine.run("nvidia-smi", *arguments)
    if completed is None:
        return Reading(source, problem="it cannot be started")
    reading = replace(parse(completed.stdout), source=source)
    if reading.devices is not None:
        reading = replace(reading, devices=reading.devices[:DEVICE_LIMIT])
    if reading.devices is None and _says_none(completed):
        reading = replace(reading, devices=())
    problem = without_folders(_problem(completed, reading), machine.find_program("nvidia-smi") or "")
    return replace(reading, problem=problem)


def _says_none(completed: Completed) -> bool:
    said = f"{completed.stdout}\n{completed.stderr}".lower()
    return "no devices were found" in said or "no devices found" in said


def _problem(completed: Completed, reading: Reading) -> str:
    if completed.failure:
        return completed.failure
    if completed.returncode == 0 or reading.devices is not None:
        return ""
    said = (completed.stderr or completed.stdout).strip().splitlines()
    return f"exit status {completed.returncode}" + (f": {said[0][:200]}" if said else "")

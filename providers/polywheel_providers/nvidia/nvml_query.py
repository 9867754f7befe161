"""Ask NVML about the driver and its GPUs. Runs in a child process; see `machine.Machine.driver`.

NVML reads no CUDA mask, numbers devices by PCI bus and creates no context. Source: nvml.h,
https://docs.nvidia.com/deploy/nvml-api/.
"""

from __future__ import annotations

import ctypes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MOST_DEVICES = 64
"""More devices than this is an answer from a broken library."""
_MOST_MIG_DEVICES = 16
_NOT_SUPPORTED = 3
"""`NVML_ERROR_NOT_SUPPORTED`."""
_TEXT_LENGTH = 96


class _PciInfo(ctypes.Structure):
    """`nvmlPciInfo_t`."""

    _fields_ = (
        ("busIdLegacy", ctypes.c_char * 16),
        ("domain", ctypes.c_uint),
        ("bus", ctypes.c_uint),
        ("device", ctypes.c_uint),
        ("pciDeviceId", ctypes.c_uint),
        ("pciSubSystemId", ctypes.c_uint),
        ("busId", ctypes.c_char * 32),
    )


class _Nvml:
    """The library's functions by name, newest spelling first; an absent one is a failed call."""

    def __init__(self, library: str) -> None:
        self._library = ctypes.CDLL(library)

    def call(self, names: tuple[str, ...], *arguments: object) -> int:
        """Call the first function there is; return its result code, or 13, `FUNCTION_NOT_FOUND`."""
        for name in names:
            function = getattr(self._library, name, None)
            if function is not None:
                return int(function(*arguments))
        return 13

    def number(self, names: tuple[str, ...], *arguments: object) -> int | None:
        """Call a function whose last parameter receives an int."""
        value = ctypes.c_int(0)
        return value.value if self.call(names, *arguments, ctypes.byref(value)) == 0 else None

    def text(self, name: str, *arguments: object) -> str:
        """Call a function whose last parameters are a buffer and its length."""
        buffer = ctypes.create_string_buffer(_TEXT_LENGTH)
        if self.call((name,), *arguments, buffer, ctypes.c_uint(_TEXT_LENGTH)) != 0:
            return ""
        return buffer.value.decode("utf-8", "replace")


def query(library: str, report: Callable[[object], None]) -> None:
    """Report the driver, the CUDA version and each device, as soon as each is known."""
    nvml = _Nvml(library)
    code = nvml.call(("nvmlInit_v2", "nvmlInit"))
    if code != 0:
        report({"error": "nvmlInit", "code": code})
        return
    report({"driver": nvml.text("nvmlSystemGetDriverVersion")})
    report({"cuda": nvml.number(("nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"))})
    count = nvml.number(("nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"))
    report({"count": count})
    for index in range(min(max(count or 0, 0), MOST_DEVICES)):
        handle = ctypes.c_void_p()
        names = ("nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex")
        code = nvml.call(names, ctypes.c_uint(index), ctypes.byref(handle))
        report({"device": index, "code": code} if code else _device(nvml, index, handle))


def _device(nvml: _Nvml, index: int, handle: ctypes.c_void_p) -> dict[str, object]:
    major, minor = ctypes.c_int(0), ctypes.c_int(0)
    name = "nvmlDeviceGetCudaComputeCapability"
    known = nvml.call((name,), handle, ctypes.byref(major), ctypes.byref(minor)) == 0
    pci = _PciInfo()
    located = nvml.call(("nvmlDeviceGetPciInfo_v3",), handle, ctypes.byref(pci)) == 0
    return {
        "device": index,
        "name": nvml.text("nvmlDeviceGetName", handle),
        "uuid": nvml.text("nvmlDeviceGetUUID", handle),
        "capability": [major.value, minor.value] if known else None,
        "bus": pci.busId.decode("ascii", "replace") if located else "",
        **_mig(nvml, handle),
    }


def _mig(nvml: _Nvml, handle: ctypes.c_void_p) -> dict[str, object]:
    """Return the MIG mode and instances; a GPU without MIG answers that it is not supported."""
    current, pending = ctypes.c_uint(0), ctypes.c_uint(0)
    code = nvml.call(("nvmlDeviceGetMigMode",), handle, ctypes.byref(current), ctypes.byref(pending))
    if code == _NOT_SUPPORTED:
        return {"mig_mode": False}
    if code != 0:
        return {}
    if current.value != 1:
        return {"mig_mode": False}
    instances = []
    most = nvml.number(("nvmlDeviceGetMaxMigDeviceCount",), handle) or 0
    for place in range(min(max(most, 0), _MOST_MIG_DEVICES)):
        instance = ctypes.c_void_p()
        name = "nvmlDeviceGetMigDeviceHandleByIndex"
        if nvml.call((name,), handle, ctypes.c_uint(place), ctypes.byref(instance)) == 0:
            uuid, label = nvml.text("nvmlDeviceGetUUID", instance), nvml.text("nvmlDeviceGetName", instance)
            instances.append({"uuid": uuid, "name": label})
    return {"mig_mode": True, "mig": instances}

"""Ask Level Zero for its devices. Runs in a child process; see `machine.Machine.driver`.

The mask is taken out of the child's environment: which devices it leaves is decided from the facts. Source:
ze_api.h, https://oneapi-src.github.io/level-zero-spec/level-zero/latest/core/api.html.
"""

from __future__ import annotations

import ctypes
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MOST_HANDLES = 64
"""More drivers or devices than this is an answer from a broken library."""

_DEVICE_PROPERTIES = 0x3
_DEVICE_IP_VERSION_EXT = 0x1000F
_INIT_DRIVER_TYPE_DESC = 0x00020021
_GPU_DRIVERS = 1
_INTEGRATED = 1
_TYPE_GPU = 1


class _InitDriverTypeDesc(ctypes.Structure):
    """`ze_init_driver_type_desc_t`."""

    _fields_ = (("stype", ctypes.c_uint32), ("pNext", ctypes.c_void_p), ("flags", ctypes.c_uint32))


class _IpVersion(ctypes.Structure):
    """`ze_device_ip_version_ext_t`."""

    _fields_ = (("stype", ctypes.c_uint32), ("pNext", ctypes.c_void_p), ("ipVersion", ctypes.c_uint32))


class _DeviceProperties(ctypes.Structure):
    """`ze_device_properties_t`."""

    _fields_ = (
        ("stype", ctypes.c_uint32),
        ("pNext", ctypes.c_void_p),
        ("type", ctypes.c_uint32),
        ("vendorId", ctypes.c_uint32),
        ("deviceId", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("subdeviceId", ctypes.c_uint32),
        ("coreClockRate", ctypes.c_uint32),
        ("maxMemAllocSize", ctypes.c_uint64),
        ("maxHardwareContexts", ctypes.c_uint32),
        ("maxCommandQueuePriority", ctypes.c_uint32),
        ("numThreadsPerEU", ctypes.c_uint32),
        ("physicalEUSimdWidth", ctypes.c_uint32),
        ("numEUsPerSubslice", ctypes.c_uint32),
        ("numSubslicesPerSlice", ctypes.c_uint32),
        ("numSlices", ctypes.c_uint32),
        ("timerResolution", ctypes.c_uint64),
        ("timestampValidBits", ctypes.c_uint32),
        ("kernelTimestampValidBits", ctypes.c_uint32),
        ("uuid", ctypes.c_uint8 * 16),
        ("name", ctypes.c_char * 256),
    )


def query(library: str, report: Callable[[object], None]) -> None:
    """Report each GPU of each driver, in Level Zero's order."""
    for name in ("ZE_AFFINITY_MASK", "ZE_ENABLE_PCI_ID_DEVICE_ORDER"):
        os.environ.pop(name, None)
    loader = ctypes.CDLL(library)
    for driver in _drivers(loader, report):
        for device in _handles(loader.zeDeviceGet, driver):
            _report_device(loader, device, report)
    report({"end": True})


def _drivers(loader: ctypes.CDLL, report: Callable[[object], None]) -> list[ctypes.c_void_p]:
    """Start Level Zero: `zeInitDrivers` of 1.10, or `zeInit` where it is missing or refuses."""
    if hasattr(loader, "zeInitDrivers"):
        desc = _InitDriverTypeDesc(_INIT_DRIVER_TYPE_DESC, None, _GPU_DRIVERS)
        found = _handles(loader.zeInitDrivers, after=(ctypes.byref(desc),))
        if found:
            return found
    code = loader.zeInit(ctypes.c_uint32(0))
    if code != 0:
        report({"error": "zeInit", "code": code & 0xFFFFFFFF})
        return []
    return _handles(loader.zeDriverGet)


def _handles(
    function: Callable[..., int], *before: ctypes.c_void_p, after: tuple[object, ...] = ()
) -> list[ctypes.c_void_p]:
    """Call a function that fills a list: once for the count, once for the handles."""
    count = ctypes.c_uint32(0)
    if function(*before, ctypes.byref(count), None, *after) != 0 or count.value == 0:
        return []
    handles = (ctypes.c_void_p * min(count.value, MOST_HANDLES))()
    count.value = len(handles)
    if function(*before, ctypes.byref(count), handles, *after) != 0:
        return []
    return [ctypes.c_void_p(handle) for handle in handles[: count.value] if handle]


def _report_device(loader: ctypes.CDLL, device: ctypes.c_void_p, report: Callable[[object], None]) -> None:
    version = _IpVersion(_DEVICE_IP_VERSION_EXT, None, 0)
    properties = _DeviceProperties()
    properties.stype = _DEVICE_PROPERTIES
    properties.pNext = ctypes.cast(ctypes.byref(version), ctypes.c_void_p)
    code = loader.zeDeviceGetProperties(device, ctypes.byref(properties))
    if code != 0:
        report({"error": "zeDeviceGetProperties", "code": code & 0xFFFFFFFF})
        return
    if properties.type > _TYPE_GPU:  # a processor, an FPGA or an NPU
        return
    report(
        {
            "vendor": properties.vendorId,
            "device": properties.deviceId,
            "ip": version.ipVersion,
            "integrated": bool(properties.flags & _INTEGRATED),
            "name": properties.name.decode("utf-8", "replace"),
        }
    )

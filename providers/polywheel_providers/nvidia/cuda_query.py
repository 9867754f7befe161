"""Ask libcuda for the CUDA version and its devices. Runs in a child process; see `machine.Machine.driver`.

The masks are taken out of the child's environment: which devices they leave is decided from the facts, so
that a recording can be asked again. Devices come in the default order, FASTEST_FIRST. Source: cuda.h,
https://docs.nvidia.com/cuda/cuda-driver-api/.
"""

from __future__ import annotations

import ctypes
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MOST_DEVICES = 64
"""More devices than this is an answer from a broken library."""
_TEXT_LENGTH = 256
_INTEGRATED, _MAJOR, _MINOR = 18, 75, 76
"""`CU_DEVICE_ATTRIBUTE_INTEGRATED`, `_COMPUTE_CAPABILITY_MAJOR` and `_MINOR`."""


def query(library: str, report: Callable[[object], None]) -> None:
    """Report the CUDA version before `cuInit`, which may crash, then each device."""
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    os.environ.pop("CUDA_DEVICE_ORDER", None)
    cuda = ctypes.CDLL(library)
    version = ctypes.c_int(0)
    if cuda.cuDriverGetVersion(ctypes.byref(version)) == 0:
        report({"cuda": version.value})
    code = cuda.cuInit(ctypes.c_uint(0))
    if code != 0:
        report({"error": "cuInit", "code": code})
        return
    count = ctypes.c_int(0)
    code = cuda.cuDeviceGetCount(ctypes.byref(count))
    if code != 0:
        report({"error": "cuDeviceGetCount", "code": code})
        return
    report({"count": count.value})
    for index in range(min(max(count.value, 0), MOST_DEVICES)):
        device = ctypes.c_int(0)
        code = cuda.cuDeviceGet(ctypes.byref(device), ctypes.c_int(index))
        report({"device": index, "code": code} if code else _device(cuda, index, device))


def _device(cuda: ctypes.CDLL, index: int, device: ctypes.c_int) -> dict[str, object]:
    major, minor = _attribute(cuda, _MAJOR, device), _attribute(cuda, _MINOR, device)
    integrated = _attribute(cuda, _INTEGRATED, device)
    return {
        "device": index,
        "name": _text(cuda, "cuDeviceGetName", device),
        "uuid": _uuid(cuda, device),
        "capability": None if major is None or minor is None else [major, minor],
        "bus": _text(cuda, "cuDeviceGetPCIBusId", device),
        "integrated": None if integrated is None else integrated == 1,
    }


def _attribute(cuda: ctypes.CDLL, attribute: int, device: ctypes.c_int) -> int | None:
    value = ctypes.c_int(0)
    function = getattr(cuda, "cuDeviceGetAttribute", None)
    if function is None or function(ctypes.byref(value), ctypes.c_int(attribute), device) != 0:
        return None
    return value.value


def _text(cuda: ctypes.CDLL, name: str, device: ctypes.c_int) -> str:
    buffer = ctypes.create_string_buffer(_TEXT_LENGTH)
    function = getattr(cuda, name, None)
    if function is None or function(buffer, ctypes.c_int(_TEXT_LENGTH), device) != 0:
        return ""
    return buffer.value.decode("utf-8", "replace")


def _uuid(cuda: ctypes.CDLL, device: ctypes.c_int) -> str:
    """Return `GPU-...`, as NVML and the mask spell it."""
    raw = (ctypes.c_ubyte * 16)()
    function = getattr(cuda, "cuDeviceGetUuid_v2", None) or getattr(cuda, "cuDeviceGetUuid", None)
    if function is None or function(ctypes.byref(raw), device) != 0:
        return ""
    digits = bytes(raw).hex()
    return f"GPU-{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

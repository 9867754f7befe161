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
    # Unmasked, CUDA shows no MIG instance but the first, so a mask that names one is left to it.
    if "MIG-" not in os.environ.get("CUDA_VISIBLE_DEVICES", ""):
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    os.environ.pop("CUDA_DEVICE_ORDER", None)
    cuda = ctypes.CDLL(library)
    version, count = ctypes.c_int(0), ctypes.c_int(0)
    if _call(cuda, ("cuDriverGetVersion",), ctypes.byref(version)) == 0:
        report({"cuda": version.value})
    for name, argument in (("cuInit", ctypes.c_uint(0)), ("cuDeviceGetCount", ctypes.byref(count))):
        code = _call(cuda, (name,), argument)
        if code != 0:
            report({"error": name, "code": code})
            return
    report({"count": count.value})
    for index in range(min(max(count.value, 0), MOST_DEVICES)):
        device = ctypes.c_int(0)
        code = _call(cuda, ("cuDeviceGet",), ctypes.byref(device), ctypes.c_int(index))
        report({"device": index, "code": code} if code else _device(cuda, index, device))


def _call(cuda: ctypes.CDLL, names: tuple[str, ...], *arguments: object) -> int:
    """Call the first function there is; return its result code, or 500, `CUDA_ERROR_NOT_FOUND`."""
    for name in names:
        function = getattr(cuda, name, None)
        if function is not None:
            return int(function(*arguments))
    return 500


def _device(cuda: ctypes.CDLL, index: int, device: ctypes.c_int) -> dict[str, object]:
    integrated = _attribute(cuda, _INTEGRATED, device)
    return {
        "device": index,
        "name": _text(cuda, "cuDeviceGetName", device),
        "uuid": _uuid(cuda, device),
        "capability": _capability(cuda, device),
        "bus": _text(cuda, "cuDeviceGetPCIBusId", device),
        "integrated": None if integrated is None else integrated == 1,
    }


def _capability(cuda: ctypes.CDLL, device: ctypes.c_int) -> list[int] | None:
    """Return major and minor, from the old function where the attributes are not known."""
    major, minor = _attribute(cuda, _MAJOR, device), _attribute(cuda, _MINOR, device)
    if major is not None and minor is not None:
        return [major, minor]
    pair = (ctypes.c_int(0), ctypes.c_int(0))
    code = _call(cuda, ("cuDeviceComputeCapability",), *map(ctypes.byref, pair), device)
    return None if code else [value.value for value in pair]


def _attribute(cuda: ctypes.CDLL, attribute: int, device: ctypes.c_int) -> int | None:
    value = ctypes.c_int(0)
    code = _call(cuda, ("cuDeviceGetAttribute",), ctypes.byref(value), ctypes.c_int(attribute), device)
    return None if code else value.value


def _text(cuda: ctypes.CDLL, name: str, device: ctypes.c_int) -> str:
    buffer = ctypes.create_string_buffer(_TEXT_LENGTH)
    if _call(cuda, (name,), buffer, ctypes.c_int(_TEXT_LENGTH), device) != 0:
        return ""
    return buffer.value.decode("utf-8", "replace")


def _uuid(cuda: ctypes.CDLL, device: ctypes.c_int) -> str:
    """Return `GPU-...`, as NVML and the mask spell it."""
    raw = (ctypes.c_ubyte * 16)()
    if _call(cuda, ("cuDeviceGetUuid_v2", "cuDeviceGetUuid"), ctypes.byref(raw), device) != 0:
        return ""
    digits = bytes(raw).hex()
    return f"GPU-{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

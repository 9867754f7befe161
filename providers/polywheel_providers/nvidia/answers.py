"""Reading what the query scripts reported: JSON values from a library that may have answered nonsense."""

from __future__ import annotations

from . import capability, cuda_version, driver_table
from .facts import MigInstance
from .reading import Reading, Seen, normalise_bus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from polywheel_providers.machine import DriverAnswer

    from .capability import Capability
    from .cuda_version import CudaVersion

_NO_DEVICE = 100
"""`CUDA_ERROR_NO_DEVICE`: libcuda works and there is nothing to use."""
UNSUPPORTED_COMPAT = "cuda-compat does not support this GPU"
"""What `CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE` means."""
_ERRORS = {
    ("nvmlInit", 9): "the driver is not loaded",
    ("nvmlInit", 12): "the library did not load",
    ("nvmlInit", 18): "the library and the loaded kernel module are of different driver versions",
    ("cuInit", 34): "only CUDA's stub library is there",
    ("cuInit", 803): "the library and the loaded kernel module are of different driver versions",
    ("cuInit", 804): UNSUPPORTED_COMPAT,
}


def read_answer(source: str, answer: DriverAnswer) -> Reading:
    """Turn a child's report into a reading; nonsense becomes unknown, whatever came before it is kept."""
    items = [item for item in answer.facts if isinstance(item, dict)]
    driver, cuda, count, devices, problem = "", None, None, [], answer.failure
    for item in items:
        driver = driver or driver_table.normalise(_text(item, "driver"))
        cuda = cuda or _cuda(item)
        count = _count(item, count)
        if "device" in item:
            devices.append(_seen(item))
        if "error" in item:
            problem = problem or _error(item)
            count = 0 if item.get("code") == _NO_DEVICE else count
    if count is not None and len(devices) < count and not problem:
        problem = f"{count} devices promised, {len(devices)} described"
    complete = count is not None and (bool(devices) or count == 0)
    return Reading(source, driver, cuda, tuple(devices) if complete else None, problem)


def _text(item: dict[str, object], key: str) -> str:
    value = item.get(key)
    return "".join(c for c in value if c.isprintable()).strip() if isinstance(value, str) else ""


def _cuda(item: dict[str, object]) -> CudaVersion | None:
    number = item.get("cuda")
    return cuda_version.decode(number) if isinstance(number, int) else None


def _count(item: dict[str, object], before: int | None) -> int | None:
    number = item.get("count")
    if not isinstance(number, int):
        return before
    return number if 0 <= number <= 64 else before


def _capability(item: dict[str, object]) -> Capability | None:
    match item.get("capability"):
        case [int(major), int(minor)]:
            return capability.checked(major, minor)
    return None


def _seen(item: dict[str, object]) -> Seen:
    mode, integrated = item.get("mig_mode"), item.get("integrated")
    code = item.get("code")
    return Seen(
        bus=normalise_bus(_text(item, "bus")),
        uuid=_text(item, "uuid"),
        name=_text(item, "name"),
        capability=_capability(item),
        # Unlike NVML, libcuda lists a MIG instance as a device, whose name says so.
        mig_mode=mode if isinstance(mode, bool) else " MIG " in _text(item, "name") or None,
        mig=_instances(item.get("mig")),
        integrated=integrated if isinstance(integrated, bool) else None,
        problem=f"the driver gave no handle for it (error {code})" if code is not None else "",
    )


def _instances(value: object) -> tuple[MigInstance, ...]:
    if not isinstance(value, list):
        return ()
    items = [item for item in value if isinstance(item, dict)]
    return tuple(MigInstance(_text(item, "uuid"), _text(item, "name")) for item in items)


def _error(item: dict[str, object]) -> str:
    name, code = _text(item, "error"), item.get("code")
    known = _ERRORS.get((name, code)) if isinstance(code, int) else None
    return f"{name} failed with error {code}" + (f": {known}" if known else "")

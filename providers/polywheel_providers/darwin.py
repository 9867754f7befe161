"""Reading macOS system variables inside this process."""

from __future__ import annotations

import ctypes

_TEXTS = ("machdep.cpu.", "kern.os")
"""Variables whose value is text; every other one that is asked for is a whole number."""


def sysctl_by_name(name: str) -> str | None:
    """Return a system variable as text, or `None` where the system does not know it (sysctlbyname(3))."""
    try:
        call = ctypes.CDLL(None).sysctlbyname
    except (OSError, AttributeError):
        return None
    call.argtypes = [
        ctypes.c_char_p,
        ctypes.c_void_p,
        ctypes.POINTER(ctypes.c_size_t),
        ctypes.c_void_p,
        ctypes.c_size_t,
    ]
    buffer = ctypes.create_string_buffer(4096)
    size = ctypes.c_size_t(len(buffer))
    if call(name.encode(), buffer, ctypes.byref(size), None, 0) != 0:
        return None
    value = buffer.raw[: size.value]
    if name.startswith(_TEXTS):
        return value.rstrip(b"\0").decode("utf-8", "replace")
    return str(int.from_bytes(value, "little")) if len(value) in (4, 8) else None

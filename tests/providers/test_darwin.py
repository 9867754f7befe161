from __future__ import annotations

import ctypes
from typing import Any

import pytest

from polywheel_providers import LiveMachine, live
from polywheel_providers.darwin import sysctl_by_name

VALUES = {
    b"machdep.cpu.brand_string": b"Apple M2\0",
    b"hw.optional.arm.FEAT_SME": (1).to_bytes(4, "little"),
    b"hw.memsize": (68719476736).to_bytes(8, "little"),
    b"hw.odd": b"\1\2\3",
}
PROTOTYPE = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_size_t),
    ctypes.c_void_p,
    ctypes.c_size_t,
)


def answer(name: bytes, buffer: int, size: Any, new: object, new_size: int) -> int:
    """Answer as sysctlbyname(3) does: the value, its size, and 0; or -1."""
    del new, new_size
    value = VALUES.get(name)
    if value is None or size[0] < len(value):
        return -1
    ctypes.memmove(buffer, value, len(value))
    size[0] = len(value)
    return 0


@pytest.fixture
def darwin(monkeypatch: pytest.MonkeyPatch) -> None:
    library = type("Library", (), {"sysctlbyname": PROTOTYPE(answer)})
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    monkeypatch.setattr(live, "platform", "darwin")


@pytest.mark.usefixtures("darwin")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("machdep.cpu.brand_string", "Apple M2"),
        ("hw.optional.arm.FEAT_SME", "1"),
        ("hw.memsize", "68719476736"),
        ("hw.odd", None),
        ("hw.absent", None),
    ],
)
def test_a_variable_is_read_as_sysctl_prints_it(name: str, value: str | None) -> None:
    assert sysctl_by_name(name) == value
    assert LiveMachine().sysctl(name) == value


def test_a_system_without_the_call_knows_no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert sysctl_by_name("hw.ncpu") is None

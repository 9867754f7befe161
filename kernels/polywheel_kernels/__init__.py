"""rms_norm and flash_decode for torch, compiled once for each CPU level.

Importing this package is cheap and needs no torch. The first use of an operator imports torch (2.10 or newer)
and loads the shared library; ``from polywheel_kernels import rms_norm`` is such a use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polywheel_kernels.operators import flash_decode, rms_norm
    from polywheel_kernels.variant import installed_variant

__all__ = ["flash_decode", "installed_variant", "rms_norm"]


def __getattr__(name: str) -> object:
    """Import what is asked for on its first use (PEP 562)."""
    if name in {"flash_decode", "rms_norm"}:
        from polywheel_kernels import operators as module  # noqa: PLC0415
    elif name == "installed_variant":
        from polywheel_kernels import variant as module  # type: ignore[no-redef]  # noqa: PLC0415
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

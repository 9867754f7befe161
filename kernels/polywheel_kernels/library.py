"""The shared library of operators, and the torch that can load it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

__all__ = ["load"]

OLDEST_TORCH = (2, 10)
"""The TORCH_TARGET_VERSION that the library is compiled for."""


def load() -> None:
    """Load the operators into ``torch.ops.polywheel_kernels``.

    Raises ImportError when torch is absent or older than 2.10, or when this installation has no library for
    this platform. Python runs it once: it is called where ``operators`` is imported.
    """
    try:
        import torch  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(_message("no torch is installed"), name="torch") from None
    check_torch(torch.__version__)
    path = Path(__file__).parent / ("_cpu.dll" if sys.platform == "win32" else "_cpu.so")
    if not path.is_file():
        raise ImportError(
            f"polywheel_kernels: {path.name} is missing from {path.parent}; a source folder has no compiled "
            "library. Mend: pip install --force-reinstall polywheel-kernels",
            name=__name__,
            path=str(path),
        )
    torch.ops.load_library(path)


def check_torch(version: str) -> None:
    """Raise ImportError when torch of this version lacks the stable interface that the library uses."""
    release = re.match(r"(\d+)\.(\d+)", version)
    if release is not None and (int(release[1]), int(release[2])) < OLDEST_TORCH:
        raise ImportError(_message(f"torch {version} is too old"), name="torch")


def _message(found: str) -> str:
    wanted = "{}.{}".format(*OLDEST_TORCH)
    return f"polywheel_kernels: {found}, wanted torch {wanted} or newer. Mend: pip install 'torch>={wanted}'"

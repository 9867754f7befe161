"""Machines nobody recorded: `nvidia:9.0,driver=12.8`."""

from __future__ import annotations

from . import capability, cuda_version, driver_table
from .facts import NvidiaDevice, NvidiaFacts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .capability import Capability
    from .cuda_version import CudaVersion

_EXAMPLE = "nvidia:9.0,driver=12.8"


def from_short_form(words: tuple[str, ...]) -> NvidiaFacts:
    """Make facts of compute capabilities, one a GPU, and the driver.

    The driver is the CUDA version that nvidia-smi shows (`12.8`), or the driver's own (`570.86.10`).
    Raises `ValueError` with one line.
    """
    devices: list[NvidiaDevice] = []
    driver: tuple[str, CudaVersion] | None = None
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            devices.append(_device(word))
        elif key == "driver" and driver is None:
            driver = _driver(value)
        else:
            raise ValueError(f"nvidia: {word!r} is not known here, expected a form like {_EXAMPLE}")
    if not devices or driver is None:
        missing = "a compute capability" if not devices else "driver="
        raise ValueError(f"nvidia: {missing} is missing, expected a form like {_EXAMPLE}")
    return NvidiaFacts(
        driver=driver[0],
        cuda=driver[1],
        devices=tuple(devices),
        devices_known=True,
        cuda_order=tuple(range(len(devices))),
        tegra=any(device.integrated for device in devices),
        wsl=False,
        tried={"short form": ",".join(words)},
        env={},
        notes=(),
    )


def _device(word: str) -> NvidiaDevice:
    found = capability.parse(word)
    if found is None:
        raise ValueError(f"nvidia: {word!r} is no compute capability, expected one like 9.0")
    name = f"NVIDIA GPU of compute capability {capability.text(found)}"
    return NvidiaDevice(name, found, "", "", _is_tegra(found), mig_mode=False, mig=(), problem="")


def _is_tegra(found: Capability) -> bool:
    return found in capability.TEGRA


def _driver(value: str) -> tuple[str, CudaVersion]:
    cuda = cuda_version.parse(value)
    if cuda is not None:
        return ("", cuda)
    cuda = driver_table.cuda_of_driver(value)
    if cuda is None:
        raise ValueError(
            f"nvidia: driver={value!r} is no CUDA version and no known driver, expected 12.8 or 570.86"
        )
    return (value, cuda)

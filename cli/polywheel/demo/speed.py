"""Measures an unpacked wheel's operators; run as a script by a Python that has torch.

`python speed.py FOLDER` prints one line of JSON: milliseconds an operator, medians of several rounds. The
key-value cache is small enough to stay in the processor's, so the arithmetic decides.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable


def main(folder: str) -> int:
    """Import polywheel_kernels from `folder` and time it."""
    sys.path.insert(0, folder)
    import torch  # noqa: PLC0415

    from polywheel_kernels import flash_decode, rms_norm  # noqa: PLC0415

    torch.manual_seed(0)
    q, k, v = torch.randn(1, 8, 128), torch.randn(1, 1, 512, 128), torch.randn(1, 1, 512, 128)
    x, weight = torch.randn(64, 1024), torch.randn(1024)
    times = {
        "flash_decode": _median_ms(lambda: flash_decode(q, k, v)),
        "rms_norm": _median_ms(lambda: rms_norm(x, weight)),
    }
    sys.stdout.write(json.dumps(times) + "\n")
    return 0


def _median_ms(call: Callable[[], object], rounds: int = 21, calls: int = 50) -> float:
    call()
    measured = []
    for _ in range(rounds):
        started = time.perf_counter()
        for _ in range(calls):
            call()
        measured.append((time.perf_counter() - started) / calls * 1000)
    return statistics.median(measured)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

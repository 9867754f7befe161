"""Times one wheel's operators and torch's own, for kernels.py; needs torch and polywheel_kernels alone.

Reads one JSON object a line, ``{"case": NAME, "threads": N}``, and answers each with ``{"seconds": [...]}``,
a few samples of the time of one call.
"""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from polywheel_kernels import flash_decode, rms_norm

SAMPLES = 5
LEAST_SECONDS = 0.02
"""A sample repeats short calls for at least this long."""


def cache(kv_heads: int, keys: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return keys and values of depth 128, for one sequence."""
    k, v = (torch.randn(1, kv_heads, keys, 128).to(dtype) for _ in range(2))
    return k, v


def decode(kv_heads: int, keys: int, group: int, dtype: torch.dtype) -> Callable[[], object]:
    """Return a call of flash_decode."""
    q, (k, v) = torch.randn(1, kv_heads * group, 128).to(dtype), cache(kv_heads, keys, dtype)
    return lambda: flash_decode(q, k, v)


def sdpa(kv_heads: int, keys: int, group: int, dtype: torch.dtype) -> Callable[[], object]:
    """Return a call of torch's attention over the same problem."""
    q, (k, v) = torch.randn(1, kv_heads * group, 1, 128).to(dtype), cache(kv_heads, keys, dtype)
    return lambda: functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)


def norm(rows: int) -> Callable[[], object]:
    """Return a call of rms_norm, on rows of 4096."""
    x, weight = torch.randn(rows, 4096), torch.randn(4096)
    return lambda: rms_norm(x, weight)


def torch_norm(rows: int) -> Callable[[], object]:
    """Return a call of torch's."""
    x, weight = torch.randn(rows, 4096), torch.randn(4096)
    return lambda: functional.rms_norm(x, (4096,), weight, 1e-6)


def copy(megabytes: int) -> Callable[[], object]:
    """Return a copy within memory, as in STREAM: it reads and writes that many bytes."""
    source = torch.ones(megabytes * 1_000_000 // 4)
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


@functools.lru_cache(maxsize=1)
def make(name: str) -> Callable[[], object]:
    """Return the call of a case: its kind and its whole numbers, such as ``decode/2/512/8/float32``."""
    kind, *arguments = name.split("/")
    if kind in {"decode", "sdpa"}:
        heads, keys, group = map(int, arguments[:3])
        return (decode if kind == "decode" else sdpa)(heads, keys, group, getattr(torch, arguments[3]))
    return {"norm": norm, "torch_norm": torch_norm, "copy": copy}[kind](int(arguments[0]))


def sample(call: Callable[[], object]) -> list[float]:
    """Return the seconds of one call, several times over, after a warm-up."""
    call()
    begin = time.perf_counter()
    call()
    repeats = max(1, int(LEAST_SECONDS / (time.perf_counter() - begin)))
    seconds = []
    for _ in range(SAMPLES):
        begin = time.perf_counter()
        for _ in range(repeats):
            call()
        seconds.append((time.perf_counter() - begin) / repeats)
    return seconds


def main() -> None:
    """Answer requests until there are no more."""
    for line in sys.stdin:
        request = json.loads(line)
        torch.manual_seed(0)
        torch.set_num_threads(request["threads"])
        print(json.dumps({"seconds": sample(make(request["case"]))}), flush=True)


if __name__ == "__main__":
    main()

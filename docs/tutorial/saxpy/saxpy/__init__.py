"""One operator for torch: `saxpy(x, y, a)` is `a * x + y`."""

from pathlib import Path

import torch

torch.ops.load_library(Path(__file__).parent / "_cpu.so")

saxpy = torch.ops.saxpy.saxpy

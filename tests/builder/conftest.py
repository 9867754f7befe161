"""Matrices to start from."""

from __future__ import annotations

import pytest

SMALL = """\
matrix: 1
torch: 2.10
pythons: [py3]
platforms: [manylinux_2_28_x86_64]
libraries:
  _cpu: {sources: csrc/*.cpp}
variants:
  - {cpu: v4}
  - {cpu: v3}
  - {name: null}
"""

WHOLE_FORMAT = """\
# yaml-language-server: $schema=matrix-1.json
matrix: 1
project: kernels/
torch: 2.10
pythons: [py3, cp310-abi3, cp315-abi3.abi3t, cp315t]
platforms:
  - manylinux_2_28_x86_64
  - manylinux_2_28_aarch64
  - win_amd64
  - macosx_14_0_arm64
plain: null
sdist: no
generate: [python, csrc/gen.py, --out, "{build}/gen"]
libraries:
  _cpu: {sources: csrc/cpu/*.cpp}
  _cuda: {for: [cuda, rocm], sources: csrc/cuda/*.cu, include: third_party/include, memory: 2GB}
  _hopper: {for: cuda, sources: [csrc/hopper/*.cu], archs: [9.0a]}
  _xpu: {for: xpu, sources: csrc/xpu/*.cl}
variants:
  - cuda: 13.0
    archs: [7.5, 8.0, 8.6, 8.9, 9.0a, 10.0f, 12.0+PTX]
    requires: [nvidia-cublas>=13.0]
  - cuda: 12.9
    archs: [7.0, 7.5, 8.0, 8.6, 8.9, 9.0a, 10.0f, 12.0+PTX]
    platforms: manylinux*
    channels: [nightly]
    min_driver: 12.4
  - {name: cu130_thor, cuda: 13.0, archs: [11.0], platforms: ["*aarch64"]}
  - {rocm: 7.1, archs: [gfx90a, gfx942, gfx1100]}
  - {xpu: 2025.3, archs: [20.1.0, 12.60.7]}
  - {cpu: v4}
  - {cpu: v3}
  - {cpu: 8.2a}
  - {name: null}
"""


@pytest.fixture(scope="session")
def small() -> str:
    """Return a matrix that this machine's compiler can build."""
    return SMALL


@pytest.fixture(scope="session")
def whole_format() -> str:
    """Return a matrix that uses every key."""
    return WHOLE_FORMAT

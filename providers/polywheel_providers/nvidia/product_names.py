"""Product names to compute capabilities, for drivers too old to say (`compute_cap` came with R510).

Source: https://developer.nvidia.com/cuda-gpus and https://developer.nvidia.com/cuda-legacy-gpus.
"""

from __future__ import annotations

import re

from .capability import Capability

# The first pattern found wins, so the narrower name stands first (GTX TITAN X is older than TITAN X).
_NAMES: tuple[tuple[str, Capability], ...] = (
    (r"\bG?B300\b", (10, 3)),
    (r"\b(G?B200|B100)\b", (10, 0)),
    (r"\b(GB10|DGX Spark)\b", (12, 1)),
    (r"\bThor\b", (11, 0)),
    (r"\bOrin\b", (8, 7)),
    (r"\bXavier\b", (7, 2)),
    (r"\bRTX 50[5-9]0|\bBlackwell\b", (12, 0)),
    (r"\b(H100|H200|H800|H20|GH200)\b", (9, 0)),
    (r"\bRTX 40[5-9]0|\bAda\b|\b(L2|L4|L20|L40|L40S|L40G)\b", (8, 9)),
    (r"\b(A100|A100X|A800|A30|A30X)\b", (8, 0)),
    (r"\bRTX 30[5-9]0|\bRTX A\d{3,4}|\b(A2|A10|A10G|A10M|A16|A40|MX570)\b", (8, 6)),
    (r"\bRTX 20[5-9]0|\bGTX 16[2-6]0|\bQuadro RTX|\bTITAN RTX|\b(T4|T4G|T10|MX450|MX550)\b", (7, 5)),
    (r"\bT(400|500|550|600|1000|1200)\b", (7, 5)),
    (r"\b(V100|V100S|GV100|CMP 100HX)\b|\bTITAN V\b", (7, 0)),
    (r"\b(P100|GP100)\b", (6, 0)),
    (r"\bGTX TITAN X\b", (5, 2)),
    (r"\bGTX 10[5-8]0|\bGT 10[13]0|\bTITAN X|\bQuadro P\d{3,4}|\b(P4|P6|P40|MX[1-3]\d0)\b", (6, 1)),
    (r"\b(M4|M6|M10|M40|M60)\b|\bGTX 9[5-8]0|\bQuadro M[456]000", (5, 2)),
    (r"\bGTX 7[45]0|\bGTX 745|\bGeForce (8[34]0|9[1-4]0)M|\bQuadro (K\d200|K620|M\d{3,4}M?)\b", (5, 0)),
    (r"\bK80\b", (3, 7)),
    (r"\b(K20|K20X|K20c|K20m|K20Xm|K40|K40c|K40m|GTX TITAN|GTX 780( Ti)?)\b", (3, 5)),
)


def capability_of_name(name: str) -> Capability | None:
    """Return the compute capability of a product, `Tesla V100-SXM2-16GB`, or `None`."""
    for pattern, capability in _NAMES:
        if re.search(pattern, name):
            return capability
    return None

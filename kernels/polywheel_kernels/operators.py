"""The operators, as functions over ``torch.ops.polywheel_kernels``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from polywheel_kernels import library

library.load()

import torch  # noqa: E402  # load() has said what is wrong with it

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

__all__ = ["flash_decode", "rms_norm"]


def rms_norm(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    """Divide each row by its root mean square: ``x / sqrt(mean(x**2, -1) + eps) * weight``.

    Args:
        x: ``[..., D]``, float32, bfloat16 or float16, any strides.
        weight: ``[D]``, of x's dtype.
        eps: Added to the mean of the squares.

    Returns:
        A contiguous tensor of x's shape and dtype. Sums and products are float32, rounded once at the end.

    Raises:
        RuntimeError: For shapes, dtypes or devices other than these, and in a backward pass: no gradient is
            defined.
    """
    if torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad):
        return _undifferentiable(partial(torch.ops.polywheel_kernels.rms_norm, eps=eps), x, weight)
    return cast("Tensor", torch.ops.polywheel_kernels.rms_norm(x, weight, eps))


def flash_decode(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    scale: float | None = None,
    seq_lens: Tensor | None = None,
) -> Tensor:
    """Attend from one query token a sequence to its key-value cache: ``softmax(scale * q @ k.T) @ v``.

    Query head ``i`` reads key-value head ``i // (Hq / Hkv)`` (grouped-query attention).

    Args:
        q: ``[B, Hq, D]``, float32, bfloat16 or float16, any strides.
        k: ``[B, Hkv, S, D]``, of q's dtype, any strides; Hq is a multiple of Hkv.
        v: ``[B, Hkv, S, Dv]``, of q's dtype, any strides.
        scale: Factor of the scores, ``1 / sqrt(D)`` where it is None.
        seq_lens: ``[B]``, int32 or int64, each from 0 to S: how many keys of each sequence count. All S where
            it is None.

    Returns:
        A contiguous ``[B, Hq, Dv]`` of q's dtype; zeros for a sequence without keys. Sums and products are
        float32, rounded once at the end. The result does not depend on the number of threads.

    Raises:
        RuntimeError: For shapes, dtypes, devices or lengths other than these, and in a backward pass: no
            gradient is defined.
    """
    if torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad):
        operator = partial(torch.ops.polywheel_kernels.flash_decode, scale=scale, seq_lens=seq_lens)
        return _undifferentiable(operator, q, k, v)
    return cast("Tensor", torch.ops.polywheel_kernels.flash_decode(q, k, v, scale=scale, seq_lens=seq_lens))


def _undifferentiable(operator: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
    return cast("Tensor", _WithoutGradient.apply(operator, *tensors))


class _WithoutGradient(torch.autograd.Function):  # type: ignore[misc]  # torch is not installed here
    """An operator call that refuses to be differentiated.

    torch itself would warn once and then leave the gradients out. `torch.library.register_autograd` says as
    much, but takes no keyword-only tensors and costs Python time in every call that needs no gradient.
    """

    @staticmethod
    def forward(operator: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
        return operator(*tensors)

    @staticmethod
    def setup_context(ctx: object, inputs: tuple[object, ...], output: Tensor) -> None:
        """Keep nothing: there is no backward pass to keep it for."""

    @staticmethod
    def backward(ctx: object, *gradients: Tensor) -> Tensor:  # noqa: ARG004
        raise RuntimeError(
            "polywheel_kernels: rms_norm and flash_decode are for inference and have no gradient. "
            "Mend: call them under torch.no_grad(), or detach their inputs"
        )


def _check_one_device(what: str, *tensors: Tensor) -> None:
    """Refuse tensors of several devices: one on "meta" brings the others to the fake kernels, too."""
    devices = [tensor.device for tensor in tensors]
    torch._check(  # noqa: SLF001
        len(set(devices)) == 1,
        lambda: f"{what}: the arguments are on {', '.join(map(str, devices))}, wanted one device",
    )


def _rms_norm_fake(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:  # noqa: ARG001
    _check_one_device("rms_norm", x, weight)
    torch._check(  # noqa: SLF001
        weight.dim() == 1 and x.dim() > 0 and weight.shape[0] == x.shape[-1],
        lambda: f"rms_norm: weight is {list(weight.shape)}, wanted x's last size; x is {list(x.shape)}",
    )
    return x.new_empty(x.shape)


def _flash_decode_fake(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    scale: float | None = None,  # noqa: ARG001
    seq_lens: Tensor | None = None,
) -> Tensor:
    _check_one_device("flash_decode", q, k, v, *(() if seq_lens is None else (seq_lens,)))
    torch._check(  # noqa: SLF001
        q.dim() == 3 and k.dim() == 4 and v.dim() == 4,
        lambda: (
            f"flash_decode: q, k and v have {q.dim()}, {k.dim()} and {v.dim()} dimensions, wanted 3, 4 and 4"
        ),
    )
    return q.new_empty((q.shape[0], q.shape[1], v.shape[3]))


torch.library.register_fake("polywheel_kernels::rms_norm", _rms_norm_fake)
torch.library.register_fake("polywheel_kernels::flash_decode", _flash_decode_fake)

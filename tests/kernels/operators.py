"""Checks of the operators, for an interpreter that has torch and polywheel_kernels; prints a line a check.

Exit code 1 when one fails. References are float64; a result may be off by float32's sums and one rounding.
"""

from __future__ import annotations

import itertools
import sys
import traceback
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from polywheel_kernels import flash_decode, rms_norm

DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def assert_close(found: Tensor, wanted: Tensor) -> None:
    """Compare with a float64 reference: half a unit in the last place of found's dtype, and float32 sums."""
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    rounding = torch.finfo(found.dtype).eps / 2
    torch.testing.assert_close(
        found.double(), wanted, rtol=1.01 * rounding + 2e-6, atol=3e-6, equal_nan=True, check_dtype=False
    )


def attention(
    q: Tensor, k: Tensor, v: Tensor, scale: float | None = None, seq_lens: Tensor | None = None
) -> Tensor:
    group = q.shape[1] // k.shape[1]
    keys = k.double().repeat_interleave(group, 1)
    values = v.double().repeat_interleave(group, 1)
    factor = q.shape[2] ** -0.5 if scale is None else scale
    scores = torch.einsum("bhd,bhsd->bhs", q.double(), keys) * factor
    if seq_lens is not None:
        beyond = torch.arange(k.shape[2]) >= seq_lens[:, None]
        scores = scores.masked_fill(beyond[:, None], -torch.inf)
        values = values.masked_fill(beyond[:, None, :, None], 0)
    weights = torch.nan_to_num(torch.softmax(scores, -1))  # no keys: zeros
    return torch.einsum("bhs,bhsd->bhd", weights, values)


def random_problem(
    sizes: tuple[int, int, int, int, int, int], dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor, Tensor]:
    """Return q, k and v for these sizes: B, Hkv, Hq / Hkv, S, D, Dv."""
    batch, kv_heads, group, keys, depth, value_depth = sizes
    q = torch.randn(batch, kv_heads * group, depth).to(dtype)
    k = torch.randn(batch, kv_heads, keys, depth).to(dtype)
    v = torch.randn(batch, kv_heads, keys, value_depth).to(dtype)
    return q, k, v


def check_decode_for_every_group_and_depth() -> None:
    depths = ((1, 1), (3, 129), (8, 8), (17, 33), (40, 40), (64, 80), (80, 7), (128, 128), (256, 256))
    groups = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 33)
    # Three dtypes and eleven lengths: their pairs come round at different places of the products.
    dtypes = itertools.cycle(DTYPES)
    lengths = itertools.cycle((1, 7, 8, 63, 64, 65, 255, 256, 257, 300, 513))
    for (depth, value_depth), group in itertools.product(depths, groups):
        dtype = next(dtypes)
        q, k, v = random_problem((2, 2, group, next(lengths), depth, value_depth), dtype)
        assert_close(flash_decode(q, k, v), attention(q, k, v))


def check_decode_for_every_length() -> None:
    for dtype, keys in itertools.product(DTYPES, (*range(20), 63, 64, 65, 127, 128, 255, 256, 257, 700)):
        q, k, v = random_problem((1, 2, 8, keys, 48, 48), dtype)
        assert_close(flash_decode(q, k, v), attention(q, k, v))


def strided_caches(dtype: torch.dtype) -> Iterator[tuple[str, Tensor]]:
    """Yield [2, 3, 70, 40] caches that lie in memory in all the ways that users have."""
    yield "contiguous", torch.randn(2, 3, 70, 40).to(dtype)
    yield "tokens before heads", torch.randn(2, 70, 3, 40).to(dtype).transpose(1, 2)
    yield "part of a longer cache", torch.randn(2, 3, 128, 40).to(dtype)[:, :, 5:75]
    yield "part of a wider row", torch.randn(2, 3, 70, 120).to(dtype)[..., 40:80]
    yield "depth before tokens", torch.randn(2, 3, 40, 70).to(dtype).transpose(2, 3)
    yield "every second depth", torch.randn(2, 3, 70, 80).to(dtype)[..., ::2]
    yield "one head for all", torch.randn(2, 1, 70, 40).to(dtype).expand(2, 3, 70, 40)
    yield "keys and values side by side", torch.randn(2, 70, 3, 2, 40).to(dtype)[..., 1, :].transpose(1, 2)


def check_decode_strides() -> None:
    for dtype in DTYPES:
        q = torch.randn(40, 6, 2).to(dtype).permute(2, 1, 0)
        caches = list(strided_caches(dtype))
        for (_, k), (_, v) in zip(caches, caches[3:] + caches[:3], strict=True):
            assert_close(flash_decode(q, k, v), attention(q, k, v))
            same = flash_decode(q.contiguous(), k.contiguous(), v.contiguous())
            torch.testing.assert_close(flash_decode(q, k, v), same, rtol=1e-5, atol=1e-5)


def check_decode_sequence_lengths() -> None:
    for dtype, integer in itertools.product(DTYPES, (torch.int32, torch.int64)):
        q, k, v = random_problem((6, 2, 4, 600, 64, 64), dtype)
        seq_lens = torch.tensor([0, 1, 64, 257, 599, 600], dtype=integer)
        for sequence, length in enumerate(seq_lens.tolist()):  # what lies beyond must not be read as a value
            k[sequence, :, length:] = torch.nan
            v[sequence, :, length:] = torch.nan
        found = flash_decode(q, k, v, seq_lens=seq_lens)
        wanted = attention(q, torch.nan_to_num(k), torch.nan_to_num(v), seq_lens=seq_lens)
        assert_close(found, wanted)
        assert not found[0].any()
        sparse = torch.stack([seq_lens, -seq_lens], 1)[:, 0]
        assert torch.equal(found, flash_decode(q, k, v, seq_lens=sparse))


def check_decode_room_costs_nothing() -> None:
    """A cache has room for far more keys than its sequences hold; memory goes by those they hold."""
    q, k, v = random_problem((2, 2, 4, 3, 16, 16))
    seq_lens = torch.tensor([1, 3])
    wide = [cache[:, :, :1].expand(2, 2, 2**45, 16) for cache in (k, v)]
    narrow = [cache[:, :, :1].expand(2, 2, 3, 16) for cache in (k, v)]
    assert torch.equal(flash_decode(q, *wide, seq_lens=seq_lens), flash_decode(q, *narrow, seq_lens=seq_lens))


def check_decode_scale() -> None:
    q, k, v = random_problem((1, 2, 3, 100, 64, 64))
    for scale in (0.0, 0.3, -0.3, 1.0):
        assert_close(flash_decode(q, k, v, scale=scale), attention(q, k, v, scale))


def check_decode_extreme_scores() -> None:
    q, k, v = random_problem((1, 1, 4, 500, 64, 64))
    huge = flash_decode(1e4 * q, 1e4 * k, v)  # each softmax is one key
    best = torch.einsum("bhd,bhsd->bhs", q.double(), k.double().expand(1, 4, 500, 64)).argmax(-1)
    torch.testing.assert_close(huge[0], v[0, 0, best[0]])
    k[0, 0, 7, 3] = torch.nan
    assert flash_decode(q, k, v).isnan().all()
    k[0, 0, 7] = 0
    v[0, 0, 7, 5] = torch.inf
    assert (flash_decode(q, k, v).isinf().nonzero()[:, 2] == 5).all()


def check_decode_rounds_as_torch_does() -> None:
    """One key gives its own value back; two equal keys give the mean, rounded once."""
    for dtype in (torch.bfloat16, torch.float16):
        every = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(dtype)
        q = torch.ones(1, 1, 16, dtype=dtype)
        one = every.reshape(1, 1, 1, -1)
        found = flash_decode(q, torch.ones(1, 1, 1, 16, dtype=dtype), one)
        assert torch.equal(found.isnan().flatten(), every.isnan())
        assert torch.equal(torch.nan_to_num(found).flatten(), torch.nan_to_num(every))
        finite = every[every.isfinite()]
        pairs = torch.stack([finite, finite.roll(1), finite[torch.randperm(len(finite))]])
        for first, second in itertools.combinations(pairs, 2):
            mean = ((first.float() + second.float()) / 2).to(dtype)
            both = torch.stack([first, second]).reshape(1, 1, 2, -1)
            assert torch.equal(flash_decode(q, torch.zeros(1, 1, 2, 16, dtype=dtype), both).flatten(), mean)


def check_decode_empty() -> None:
    for shape in ((0, 2, 5), (2, 2, 0), (0, 0, 0)):
        batch, kv_heads, keys = shape
        out = flash_decode(*random_problem((batch, kv_heads, 2, keys, 16, 16)))
        assert out.shape == (batch, 2 * kv_heads, 16)
        assert not out.any()
    assert flash_decode(*random_problem((1, 1, 2, 3, 16, 0))).shape == (1, 2, 0)


def check_threads_do_not_change_results() -> None:
    q, k, v = random_problem((3, 2, 8, 1500, 128, 128))
    x, weight = torch.randn(500, 333), torch.randn(333)
    seq_lens = torch.tensor([1500, 3, 900])
    results = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        assert torch.get_num_threads() == threads
        results.append((flash_decode(q, k, v, seq_lens=seq_lens), rms_norm(x, weight)))
    assert torch.equal(results[0][0], results[1][0])
    assert torch.equal(results[0][1], results[1][1])
    assert_close(results[1][0], attention(q, k, v, seq_lens=seq_lens))


def norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    wide = x.double()
    return wide / torch.sqrt(wide.square().mean(-1, keepdim=True) + eps) * weight.double()


def check_norm_for_every_depth() -> None:
    for dtype, depth in itertools.product(DTYPES, (*range(1, 70), 128, 1000, 4096)):
        x, weight = torch.randn(3, 2, depth).to(dtype), torch.randn(depth).to(dtype)
        assert_close(rms_norm(x, weight), norm(x, weight, 1e-6))
        assert_close(rms_norm(x[0, 0], weight, 0.5), norm(x[0, 0], weight, 0.5))


def check_norm_strides() -> None:
    for dtype in DTYPES:
        weight = torch.randn(50, 2).to(dtype)[:, 1]
        base = torch.randn(5, 50, 6, 4).to(dtype)
        rows = torch.randn(50).to(dtype).expand(7, 50)
        for x in (base.permute(0, 3, 2, 1), base.permute(2, 0, 3, 1)[1:, ::2], base[:, :, 0, 0], rows):
            assert_close(rms_norm(x, weight), norm(x, weight, 1e-6))
            assert rms_norm(x, weight).is_contiguous()
            assert torch.equal(rms_norm(x, weight), rms_norm(x.contiguous(), weight.contiguous()))


def check_norm_empty() -> None:
    for shape in ((0, 8), (3, 0), (2, 0, 8)):
        assert rms_norm(torch.ones(shape), torch.ones(shape[-1])).shape == shape


def expect_error(call: Callable[[], object], part: str) -> None:
    message = "no error"
    try:
        call()
    except RuntimeError as error:
        message = str(error)
    assert part in message, (part, message)


def check_norm_errors() -> None:
    x, weight = torch.ones(2, 8), torch.ones(8)
    expect_error(lambda: rms_norm(torch.tensor(1.0), weight), "x has no dimension")
    expect_error(lambda: rms_norm(x, torch.ones(7)), "weight has 7 elements, wanted x's last size, 8")
    expect_error(lambda: rms_norm(x, torch.ones(8, 1)), "weight has 2 dimensions, wanted 1")
    expect_error(lambda: rms_norm(x, weight.half()), "weight has dtype Half, wanted that of x, Float")
    expect_error(
        lambda: rms_norm(x.double(), weight.double()), "x has dtype Double, wanted Float, BFloat16 or Half"
    )


def check_decode_errors() -> None:
    q, k, v = random_problem((2, 2, 2, 5, 8, 8))
    lens = torch.tensor([5, 5])
    cases: tuple[tuple[tuple[Tensor, Tensor, Tensor], str], ...] = (
        ((q[0], k, v), "q has 2 dimensions, wanted 3: [B, Hq, D]"),
        ((q, k[0], v), "k has 3 dimensions, wanted 4: [B, Hkv, S, D]"),
        ((q, k, v[0]), "v has 3 dimensions, wanted 4: [B, Hkv, S, Dv]"),
        ((q[:1], k, v), "k has B = 2, wanted q's, 1"),
        ((q[..., :7], k, v), "k has D = 8, wanted q's, 7"),
        ((q[..., :0], k[..., :0], v), "q has D = 0"),
        ((q[:, :3], k, v), "q has Hq = 3, wanted a multiple of k's Hkv, 2"),
        ((q, k, v[:, :1]), "v has Hkv = 1, wanted k's, 2"),
        ((q, k, v[:, :, :4]), "v has S = 4, wanted k's, 5"),
        ((q, k.bfloat16(), v), "k has dtype BFloat16, wanted that of q, Float"),
        ((q, k, v.half()), "v has dtype Half, wanted that of q, Float"),
        ((q.double(), k.double(), v.double()), "q has dtype Double, wanted Float, BFloat16 or Half"),
        ((q.int(), k.int(), v.int()), "q has dtype Int, wanted Float, BFloat16 or Half"),
    )
    for arguments, part in cases:
        expect_error(lambda arguments=arguments: flash_decode(*arguments), part)  # type: ignore[misc]
    for wrong, part in (
        (lens.float(), "seq_lens has dtype Float, wanted Int or Long"),
        (lens[:1], "seq_lens has 1 elements, wanted q's B, 2"),
        (lens[None], "seq_lens has 2 dimensions, wanted 1"),
        (lens + 1, "seq_lens[0] is 6, wanted 0 to k's S, 5"),
        (lens - 6, "seq_lens[0] is -1, wanted 0 to k's S, 5"),
    ):
        expect_error(lambda wrong=wrong: flash_decode(q, k, v, seq_lens=wrong), part)  # type: ignore[misc]


def check_registration() -> None:
    """Run torch's own checks of schemas, fake kernels and tracing on both operators."""
    operators = torch.ops.polywheel_kernels
    for dtype in DTYPES:
        q, k, v = random_problem((2, 2, 2, 20, 16, 24), dtype)
        torch.library.opcheck(operators.flash_decode.default, (q, k, v), {"scale": 0.5})
        torch.library.opcheck(operators.flash_decode.default, (q, k, v), {"seq_lens": torch.tensor([3, 20])})
        x, weight = torch.randn(3, 4, 8).to(dtype), torch.randn(8).to(dtype)
        torch.library.opcheck(operators.rms_norm.default, (x.transpose(0, 1), weight, 1e-5))
    meta = [tensor.to("meta") for tensor in (q, k, v)]
    assert flash_decode(*meta).shape == (2, 4, 24)
    expect_error(lambda: flash_decode(meta[0][0], *meta[1:]), "dimensions, wanted 3, 4 and 4")
    expect_error(lambda: rms_norm(meta[0], meta[0][0, 0, 1:]), "wanted x's last size")
    mixed = "on cpu, meta, wanted one device"  # and no CPU tensor of unset contents
    expect_error(lambda: rms_norm(x, weight.to("meta")), mixed)
    expect_error(lambda: flash_decode(q, meta[1], v), "on cpu, meta, cpu, wanted one device")
    lens = torch.tensor([3, 20], device="meta")
    expect_error(lambda: flash_decode(q, k, v, seq_lens=lens), "on cpu, cpu, cpu, meta, wanted one device")


def check_gradients_are_refused() -> None:
    """A gradient that is not defined must not be left out in silence."""
    q, k, v = random_problem((2, 2, 2, 5, 8, 8))
    lens = torch.tensor([2, 5])
    x, weight = torch.randn(3, 8), torch.randn(8)
    calls: tuple[tuple[Callable[..., Tensor], tuple[Tensor, ...]], ...] = (
        (rms_norm, (x, weight)),
        (lambda *caches: flash_decode(*caches, seq_lens=lens), (q, k, v)),
    )
    for call, tensors in calls:
        wanted = call(*tensors)
        for place in range(len(tensors)):
            given = [each.detach().clone() for each in tensors]
            given[place].requires_grad_()
            out = call(*given)
            assert torch.equal(out, wanted)
            expect_error((out.sum() + given[place].sum()).backward, "have no gradient")
            expect_error(
                lambda call=call, given=given, place=place: torch.func.grad(  # type: ignore[misc]
                    lambda one: call(*given[:place], one, *given[place + 1 :]).sum()
                )(given[place].detach()),
                "have no gradient",
            )
            with torch.no_grad():
                assert not call(*given).requires_grad


def check_compile() -> None:
    def block(x: Tensor, weight: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return flash_decode(rms_norm(x, weight), k, v, scale=0.25).flatten(1) * 2

    compiled = torch.compile(block, backend="aot_eager", fullgraph=True, dynamic=True)
    for keys in (7, 300):
        q, k, v = random_problem((1, 2, 4, keys, 32, 32))
        weight = torch.randn(32)
        torch.testing.assert_close(compiled(q, weight, k, v), block(q, weight, k, v))


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def main() -> int:
    checks = [value for name, value in globals().items() if name.startswith("check_")]
    failed = 0
    for check in checks:
        torch.manual_seed(0)
        torch.set_num_threads(1)
        try:
            check()
        except Exception:  # noqa: BLE001 # every check runs, and each failure is shown
            failed += 1
            say(f"FAILED {check.__name__}\n{traceback.format_exc()}")
        else:
            say(f"passed {check.__name__}")
    say(f"{len(checks) - failed} of {len(checks)} checks passed, torch {torch.__version__}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""What products in int8 would cost in accuracy: queries in planes of 8 bits on int8 keys.

    .venv/bin/python scripts/dev/studies/int8_products.py

Keys have a scale each.  A query is q = s1 q1 + s2 q2 + ..., each plane rounded to the 255 steps of
its own largest element; integer products are exact, and all behind them is f32, as in naive.  For
one, two and three planes and for f32 it prints the largest error of O and of LSE over the bound of
kernels/reference.c (here without its small terms), and the RMS errors as harness/check/precision.c
judges them: at most 8.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

D, KEYS, ROWS, SEED = 128, 4096, 64, 7
U = 2.0**-24
Array = np.ndarray


def g(n: int) -> float:
    """Error of a sum of n terms relative to the sum of their magnitudes."""
    return min(n, 6 * (2 * n) ** 0.5) * U


def plane(x: Array) -> tuple[Array, Array]:
    """Rows as whole numbers from -127 to 127, and their scales."""
    scale = (np.abs(x).max(-1, keepdims=True) / 127).astype(np.float32).astype(np.float64)
    scale[scale == 0] = 1
    return np.rint(x / scale), scale


def to_bf16(x: Array) -> Array:
    """Numbers rounded to bf16."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return bits.view(np.float32).astype(np.float64)


def inputs() -> Iterator[tuple[str, Array, Array, Array]]:
    """Q, K and V; all but the first as in the adversarial inputs of the check."""
    random = np.random.default_rng(SEED).standard_normal

    def towards() -> Array:
        way = random(D)
        return way / np.linalg.norm(way)

    yield "normal", random((ROWS, D)), random((KEYS, D)), random((KEYS, D))
    q, k, way = random((ROWS, D)), random((KEYS, D)), towards()
    q, k[1234] = q + 20 * way, 28 * way
    yield "needle, 50 above", q, k, random((KEYS, D))
    q, k, v, way = random((ROWS, D)), random((KEYS, D)), random((KEYS, D)), towards()
    q, k[0], v[0] = q + 8 * way, 14 * way, v[0] / 100
    yield "sink, 10 above", q, k, v
    q, k, way = random((ROWS, D)), 0.3 * random((KEYS, D)), towards()
    q, k = q + 30 * way, k + np.linspace(0, 20, KEYS)[:, None] * way
    yield "ascending, 0 to 53", q, k, random((KEYS, D))
    q, k = random((ROWS, D)), random((KEYS, D))
    q[:, 5], k[:, 5] = 50 * q[:, 5], k[:, 5] / 50
    yield "one channel of Q 50 x", q, k, random((KEYS, D))


@dataclass
class Exact:
    """Results in float64 from what is stored, and how far f32 may be from them."""

    o: Array
    lse: Array
    o_bound: Array  # without the rounding of O
    lse_bound: Array


def exact(q: Array, k: tuple[Array, Array], v: tuple[Array, Array]) -> Exact:
    """Attention as defined, with the main terms of the bound."""
    scale = D**-0.5 * k[1].T
    scores, magnitudes = scale * (q @ k[0].T), scale * (np.abs(q) @ np.abs(k[0]).T)
    highest = scores.max(-1, keepdims=True)
    weights = np.exp(scores - highest)
    total = weights.sum(-1, keepdims=True)
    weights /= total
    values = v[0] * v[1]
    o, lse = weights @ values, (highest + np.log(total))[:, 0]
    delta = (g(D) + 6 * U) * (magnitudes + highest - scores)
    sums = np.where(weights.max(-1) > 0.5, KEYS * U, g(KEYS))
    off = np.array(
        [(p * d) @ np.abs(values - row) for p, d, row in zip(weights, delta, o, strict=True)]
    )
    o_bound = off + (weights @ np.abs(values)) * (2 * sums[:, None] + 18 * U)
    lse_bound = (weights * delta).sum(-1) + sums + 8 * U + 5 * U * (np.abs(lse) + 1)
    return Exact(o, lse, o_bound, lse_bound)


def attend(scores: Array, v: tuple[Array, Array]) -> tuple[Array, Array]:
    """O and LSE in f32."""
    x = scores.astype(np.float32)
    highest = x.max(-1, keepdims=True)
    p = np.exp(x - highest)
    total = p.sum(-1, keepdims=True, dtype=np.float32)
    o = (p * v[1].T.astype(np.float32)) @ v[0].astype(np.float32) / total
    return o.astype(np.float64), (highest + np.log(total)).astype(np.float64)[:, 0]


def scores_of(q: Array, k: tuple[Array, Array], planes: int) -> Array:
    """Scaled scores with so many planes of Q; 0: with Q in f32."""
    factor = np.float32(D**-0.5) * k[1].T.astype(np.float32)
    if not planes:
        return (q.astype(np.float32) @ k[0].T.astype(np.float32)) * factor
    left, sums = q, np.zeros((ROWS, KEYS))
    for _ in range(planes):
        whole, scale = plane(left)
        left = left - whole * scale
        sums += scale * (whole @ k[0].T)
    return sums.astype(np.float32) * factor


def rms(x: Array) -> float:
    """Root of the mean square."""
    return float(np.sqrt(np.mean(x * x)))


def main() -> None:
    """Prints a line for each input and way, in f32 and bf16."""
    print("dtype  input                    planes   O/bnd   O RMS  LSE/bnd LSE RMS")
    for dtype in ("f32", "bf16"):
        for name, q, k_floats, v_floats in inputs():
            q = to_bf16(q) if dtype == "bf16" else q.astype(np.float32).astype(np.float64)
            k, v = plane(k_floats), plane(v_floats)
            right = exact(q, k, v)
            rounding = rms(to_bf16(right.o) - right.o) if dtype == "bf16" else 0
            own = (2.0**-8 if dtype == "bf16" else U) * np.abs(right.o)
            naive: tuple[float, float] | None = None
            for planes in (0, 1, 2, 3):
                o, lse = attend(scores_of(q, k, planes), v)
                naive = naive or (rms(o - right.o), rms(lse - right.lse))
                off = (to_bf16(o) if dtype == "bf16" else o) - right.o
                allowed = np.hypot(8 * naive[0], 1.25 * rounding)
                numbers = (
                    np.max(np.abs(off) / (right.o_bound + own)),
                    8 * rms(off) / allowed,
                    np.max(np.abs(lse - right.lse) / right.lse_bound),
                    rms(lse - right.lse) / naive[1],
                )
                text = " ".join(f"{x:8.3g}" for x in numbers)
                print(f"{dtype:6} {name:24} {planes or 'f32':>5} {text}")


if __name__ == "__main__":
    main()

"""Attention as ONNX defines the operator (opsets 23 to 25), in float64 and plain Python.

Written from https://onnx.ai/onnx/operators/onnx__Attention.html; nothing of attnbench is in it.
What that operator lacks, ALiBi and sinks, is added as attention.h says.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from command import decode, encode

INF = math.inf


@dataclass
class Array:
    """Numbers with a shape, row-major, as a safetensors file has them."""

    shape: list[int]
    values: list[float]
    dtype: str = "F32"

    def at(self, *index: int) -> float:
        """The element, by NumPy's rule of broadcasting: from the right, 1 fits every length."""
        where = 0
        for length, i in zip(self.shape, index[len(index) - len(self.shape) :], strict=True):
            assert length == 1 or i < length, (self.shape, index)
            where = where * length + (i if length > 1 else 0)
        return self.values[where]

    def cast(self, dtype: str) -> "Array":
        """The same in another type, rounded as a file of it rounds."""
        return Array(self.shape, decode(encode(self.values, dtype), dtype), dtype)

    def tensor(self) -> tuple[list[int], list[float], str]:
        """As command.safetensors() takes it."""
        return self.shape, self.values, self.dtype

    def heads(self, count: int) -> "Array":
        """(B, S, H * D) as (B, H, S, D); what has four dimensions stays as it is."""
        if len(self.shape) == 4:
            return self
        b, s, width = self.shape
        dim = width // count
        return build([b, count, s, dim], lambda n, h, i, d: self.at(n, i, h * dim + d), self.dtype)

    def merged(self) -> "Array":
        """(B, H, S, D) as (B, S, H * D)."""
        b, h, s, d = self.shape
        return build([b, s, h * d], lambda n, i, x: self.at(n, x // d, i, x % d), self.dtype)


def build(shape: list[int], element: Callable[..., float], dtype: str = "F32") -> Array:
    """An array of that shape whose elements a function of the indices gives."""

    def walk(index: tuple[int, ...]) -> list[float]:
        if len(index) == len(shape):
            return [element(*index)]
        return [x for n in range(shape[len(index)]) for x in walk((*index, n))]

    return Array(shape, walk(()), dtype)


def normal(shape: list[int], seed: int, dtype: str = "F32") -> Array:
    """N(0, 1), rounded to the type."""
    numbers = random.Random(seed)
    return build(shape, lambda *_: numbers.gauss(0, 1)).cast(dtype)


def joined(*arrays: Array) -> Array:
    """One behind the other in dimension 2, as a cache and new keys are."""
    b, h, _, d = arrays[0].shape
    rows = [(a, i) for a in arrays for i in range(a.shape[2])]
    return build([b, h, len(rows), d], lambda n, g, i, x: rows[i][0].at(n, g, rows[i][1], x),
                 arrays[0].dtype)  # fmt: skip


@dataclass
class Attention:
    """The operator's inputs and attributes under its names; q, k and v of four dimensions."""

    q: Array
    k: Array
    v: Array
    attn_mask: Array | None = None  # BOOL, or floating and added
    past: int = 0  # keys of k that come from a cache
    nonpad_kv_seqlen: list[int] | None = None
    is_causal: bool = False
    scale: float = 0
    softcap: float = 0
    left_window_size: int = -1
    right_window_size: int = -1
    # Beyond the operator.
    second_mask: Array | None = None  # of the other kind
    slopes: list[float] = field(default_factory=list)
    sinks: list[float] = field(default_factory=list)


@dataclass
class Row:
    """What one query gives."""

    o: list[float]
    lse: float
    weights: list[float]
    scores: list[float]


def score(a: Attention, b: int, h: int, i: int, j: int) -> float:
    """Of a query and a key, -inf where a mask hides the key."""
    sq, skv = a.q.shape[2], a.k.shape[2]
    keys = a.nonpad_kv_seqlen[b] if a.nonpad_kv_seqlen is not None else skv
    at = i + (keys - sq if a.nonpad_kv_seqlen is not None else a.past)
    g = h // (a.q.shape[1] // a.k.shape[1])
    masks = [m for m in (a.attn_mask, a.second_mask) if m]
    if (
        j >= keys
        or (a.is_causal and j > at)
        or (a.left_window_size >= 0 and j < at - a.left_window_size)
        or (a.right_window_size >= 0 and j > at + a.right_window_size)
        or any(not m.at(b, h, i, j) for m in masks if m.dtype == "BOOL")
    ):
        return -INF
    added = sum(m.at(b, h, i, j) for m in masks if m.dtype != "BOOL")
    if added == -INF:
        return -INF
    d = a.q.shape[3]
    x = math.fsum(a.q.at(b, h, i, n) * a.k.at(b, g, j, n) for n in range(d))
    x *= a.scale or 1 / math.sqrt(d)
    if a.softcap:
        x = a.softcap * math.tanh(x / a.softcap)
    return x + added + (a.slopes[h] * (j - at) if a.slopes else 0)


def row(a: Attention, b: int, h: int, i: int) -> Row:
    """Softmax of the scores, and the sum of the values that it weighs."""
    skv, dv = a.v.shape[2], a.v.shape[3]
    g = h // (a.q.shape[1] // a.k.shape[1])
    scores = [score(a, b, h, i, j) for j in range(skv)]
    sink = a.sinks[h] if a.sinks else -INF
    top = max(*scores, sink)
    if top == -INF:
        return Row([0.0] * dv, -INF, [0.0] * skv, scores)
    total = math.fsum(math.exp(x - top) for x in (*scores, sink))
    weights = [math.exp(x - top) / total for x in scores]
    seen = [j for j in range(skv) if scores[j] > -INF]
    o = [math.fsum(weights[j] * a.v.at(b, g, j, n) for j in seen) for n in range(dv)]
    return Row(o, top + math.log(total), weights, scores)


def attention(a: Attention) -> dict[str, Array]:
    """O of (B, Hq, Sq, Dv), LSE of (B, Hq, Sq), weights and scores of (B, Hq, Sq, Skv)."""
    b, h, sq, _ = a.q.shape
    rows = [row(a, n, m, i) for n in range(b) for m in range(h) for i in range(sq)]
    return {
        "o": Array([b, h, sq, a.v.shape[3]], [x for r in rows for x in r.o]),
        "lse": Array([b, h, sq], [r.lse for r in rows]),
        "weights": Array([b, h, sq, a.k.shape[2]], [x for r in rows for x in r.weights]),
        "scores": Array([b, h, sq, a.k.shape[2]], [x for r in rows for x in r.scores]),
    }

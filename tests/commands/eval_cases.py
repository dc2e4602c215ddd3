"""Inputs as ONNX's Attention takes them, with their answers: what eval is held against.

The names and lengths are like those of the operator's own node tests.
"""

from dataclasses import dataclass
from typing import Any

from command import TypedTensor
from definition import INF, Array, Attention, attention, build, joined, normal


@dataclass
class Case:
    """The operator's inputs, and how a file and --problem say them."""

    inputs: Attention
    three: bool = False  # q, k and v of (B, S, H * D)

    def tensors(self) -> dict[str, TypedTensor]:
        """The file."""
        a = self.inputs
        found: dict[str, Array] = {"q": a.q, "k": a.k, "v": a.v}
        if self.three:
            found = {name: array.merged() for name, array in found.items()}
        if a.attn_mask:
            found["mask"] = a.attn_mask
        if a.second_mask:
            found["mask" if a.second_mask.dtype == "BOOL" else "bias"] = a.second_mask
        if a.nonpad_kv_seqlen is not None:
            found["kv_lens"] = Array([len(a.nonpad_kv_seqlen)], a.nonpad_kv_seqlen, "I64")
        if a.slopes:
            found["slopes"] = Array([len(a.slopes)], a.slopes)
        if a.sinks:
            found["sinks"] = Array([len(a.sinks)], a.sinks)
        return {name: array.tensor() for name, array in found.items()}

    def problem(self) -> str:
        """The text."""
        a = self.inputs
        words = []
        if self.three:
            words += [f"hq={a.q.shape[1]}", f"hkv={a.k.shape[1]}"]
        if a.is_causal:
            aligned = bool(a.past) or a.nonpad_kv_seqlen is not None
            assert not a.past or a.past == a.k.shape[2] - a.q.shape[2]
            words.append("mask=causal" if aligned else "mask=causal_top_left")
        if a.left_window_size >= 0 or a.right_window_size >= 0:
            words.append(f"window={a.left_window_size}:{a.right_window_size}")
        words += [f"{key}={getattr(a, key)}" for key in ("scale", "softcap") if getattr(a, key)]
        return ",".join(words)

    def answers(self) -> dict[str, Array]:
        """O, LSE and weights, in the file's shapes."""
        found = attention(self.inputs)
        if self.three:
            found["o"] = found["o"].merged()
        return found


def boolean(shape: list[int], seed: int) -> Array:
    """A mask that hides about a third."""
    hidden = normal(shape, seed)
    return Array(shape, [x > -0.4 for x in hidden.values], "BOOL")


def floating(shape: list[int], seed: int, dtype: str = "F32") -> Array:
    """A mask to add, with some -inf."""
    added = normal(shape, seed, dtype)
    return Array(shape, [-INF if x < -0.8 else x for x in added.values], dtype)


def case(
    b: int = 2, hq: int = 3, hkv: int = 3, sq: int = 4, skv: int = 6, d: int = 8, dv: int = 8, *,
    dtype: str = "F32", three: bool = False, past: int = 0, **attributes: Any,
) -> Case:  # fmt: skip
    """Random q, k and v; of `past` keys more, which stand before the others.

    With a past, masks by position are the same here and there where sq = skv: ONNX counts from the
    past's end, attnbench from the last key.
    """
    q = normal([b, hq, sq, d], 1, dtype)
    k, v = normal([b, hkv, skv, d], 2, dtype), normal([b, hkv, skv, dv], 3, dtype)
    if past:
        k = joined(normal([b, hkv, past, d], 4, dtype), k)
        v = joined(normal([b, hkv, past, dv], 5, dtype), v)
    return Case(Attention(q, k, v, past=past, **attributes), three)


def with_nan(c: Case, b: int, j: int) -> Case:
    """NaN in key and value j of sequence b, which nobody may notice."""
    for array in (c.inputs.k, c.inputs.v):
        heads, keys, dim = array.shape[1:]
        for g in range(heads):
            first = ((b * heads + g) * keys + j) * dim
            array.values[first : first + dim] = [float("nan")] * dim
    return c


def masks() -> dict[str, Case]:
    """Every rank, of both kinds, alone and with what else hides keys."""
    shapes = {
        "rank 1": [6],
        "rank 2": [4, 6],
        "one row": [1, 6],
        "rank 3 heads": [3, 4, 6],
        "rank 3 shared": [1, 4, 6],
        "rank 4": [2, 3, 4, 6],
        "rank 4 batch": [2, 1, 4, 6],
        "rank 4 shared": [1, 1, 4, 6],
        "rank 4 keys": [2, 1, 1, 6],
    }
    found = {}
    for n, (name, shape) in enumerate(shapes.items()):
        found[f"bool {name}"] = case(attn_mask=boolean(shape, 10 + n))
        found[f"float {name}"] = case(attn_mask=floating(shape, 30 + n))
    hidden = build([4, 6], lambda i, j: i not in (0, 2) and j != 3, "BOOL")
    grouped = {"hq": 9, "hkv": 3}
    return found | {
        "bool, causal": case(attn_mask=boolean([2, 1, 4, 6], 50), is_causal=True),
        "float, causal": case(attn_mask=floating([3, 4, 6], 51), is_causal=True),
        "bool and bias": case(attn_mask=boolean([4, 6], 52), second_mask=floating([3, 4, 6], 53)),
        "float, gqa": case(**grouped, attn_mask=floating([9, 4, 6], 54)),
        "bool, gqa, causal": case(**grouped, attn_mask=boolean([2, 9, 4, 6], 55), is_causal=True),
        "float, past": case(past=12, attn_mask=floating([4, 18], 56)),
        "float, past, causal": case(
            skv=4, past=12, attn_mask=floating([2, 1, 4, 16], 57), is_causal=True
        ),
        "rows without keys": case(attn_mask=hidden),
        "NaN that a mask hides": with_nan(case(attn_mask=hidden), 1, 3),
        "bool, 3-D": case(three=True, attn_mask=boolean([4, 6], 58)),
        "float of f16": case(dtype="F16", attn_mask=floating([3, 4, 6], 59, "F16")),
        "float of bf16, causal": case(
            dtype="BF16", attn_mask=floating([2, 1, 4, 6], 60, "BF16"), is_causal=True
        ),
        "float of f16, q of f32": case(attn_mask=floating([4, 6], 61, "F16")),
        "float of f64": case(attn_mask=floating([4, 6], 62, "F64")),
    }


def others() -> dict[str, Case]:
    """Shapes, types, positions, lengths and scores."""
    grouped = {"hq": 9, "hkv": 3}
    lengths = {"nonpad_kv_seqlen": [3, 6]}
    return {
        "4-D": case(),
        "4-D, gqa": case(**grouped),
        "4-D, dv": case(dv=10),
        "3-D": case(three=True),
        "3-D, gqa": case(**grouped, three=True),
        "3-D, dv": case(dv=10, three=True),
        "3-D, gqa, causal": case(**grouped, three=True, is_causal=True),
        "3-D, past": case(skv=4, three=True, past=5, is_causal=True),
        "f16": case(dtype="F16"),
        "bf16, causal": case(dtype="BF16", is_causal=True),
        "f64": case(dtype="F64"),
        "scale": case(scale=0.01),
        "softcap": case(softcap=2),
        "softcap, scale, gqa": case(**grouped, softcap=0.5, scale=1.5),
        "softcap, float": case(softcap=0.5, attn_mask=floating([4, 6], 70)),
        "softcap, bool, causal": case(softcap=2, attn_mask=boolean([4, 6], 71), is_causal=True),
        "causal": case(is_causal=True),
        "causal, sq > skv": case(sq=9, skv=5, is_causal=True),
        "causal, past": case(skv=4, past=3, is_causal=True),
        "causal, past, decode": case(**grouped, sq=1, skv=1, past=8, is_causal=True),
        "lengths": case(**lengths),
        "lengths, causal": case(**lengths, is_causal=True),
        "lengths, causal, fewer than queries": case(nonpad_kv_seqlen=[2, 0], is_causal=True),
        "lengths of 0": case(nonpad_kv_seqlen=[0, 1]),
        "lengths, decode": case(
            hq=4, hkv=2, sq=1, skv=8, nonpad_kv_seqlen=[4, 7], is_causal=True
        ),
        "lengths, bool, causal": case(
            **lengths, attn_mask=boolean([2, 1, 4, 6], 72), is_causal=True
        ),
        "NaN behind a length": with_nan(case(**lengths), 0, 3),
        "window": case(is_causal=True, left_window_size=2),
        "window, two sides": case(sq=6, left_window_size=1, right_window_size=2),
        "window, past": case(skv=2, past=8, sq=2, is_causal=True, left_window_size=2),
        "window, lengths, float": case(
            nonpad_kv_seqlen=[5, 6], attn_mask=floating([3, 4, 6], 73), left_window_size=2
        ),
        "sinks": case(sinks=[0.5, -INF, 3.0]),
        "sinks, no keys": case(nonpad_kv_seqlen=[0, 6], sinks=[0.5, -INF, 3.0]),
        "slopes": case(skv=4, past=2, slopes=[0.5, 0.25, 0.0625], is_causal=True),
        "slopes, lengths": case(**lengths, slopes=[0.5, 0.25, 0.0625]),
        "everything": case(
            hq=6, hkv=3, nonpad_kv_seqlen=[5, 6], is_causal=True, left_window_size=3, softcap=2,
            scale=0.7, attn_mask=boolean([4, 6], 74), second_mask=floating([6, 4, 6], 75),
            slopes=[1, 0.5, 0.25, 0.125, 0.0625, 0.03125], sinks=[0.5, 1, -INF, 0, 2, -1],
        ),
    }  # fmt: skip


CASES = masks() | others()

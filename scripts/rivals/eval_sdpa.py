"""What PyTorch computes of a file of operands, in float64, and how far results are from it."""

import math
from collections.abc import Iterator
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from rivals.eval_operands import Operands, Sequence, keys_of, open_input, read


def distances(operands: Operands, s: Sequence) -> Tensor:
    """(Sq, Skv): how far behind the position of its query each key stands."""
    sq, skv = s.q.shape[1], s.k.shape[1]
    top_left = "causal_top_left" in operands.text.get("mask", "").split("+")
    at = torch.arange(sq) + (0 if top_left else skv - sq)
    return torch.arange(skv)[None, :] - at[:, None]


def visible(operands: Operands, s: Sequence) -> Tensor:
    """(Hq, Sq, Skv): which keys masks leave."""
    apart = distances(operands, s)
    seen = torch.ones_like(apart, dtype=torch.bool)
    if {"causal", "causal_top_left"} & set(operands.text.get("mask", "").split("+")):
        seen &= apart <= 0
    left, _, right = operands.text.get("window", "-1").partition(":")
    if int(left) >= 0:
        seen &= apart >= -int(left)
    if int(right or -1) >= 0:
        seen &= apart <= int(right)
    seen = seen.expand(s.q.shape[0], *seen.shape)
    if s.mask is not None:
        seen = seen & s.mask
    return seen if s.bias is None else seen & (s.bias != -math.inf)


def added(operands: Operands, s: Sequence, seen: Tensor) -> Tensor:
    """What is added to the scores: -inf where hidden, bias and ALiBi elsewhere."""
    total = torch.zeros(seen.shape, dtype=torch.float64)
    if s.bias is not None:
        total = total + s.bias
    slopes = operands.small("slopes")
    if slopes is not None:
        total = total + slopes[:, None, None] * distances(operands, s)
    return total.masked_fill(~seen, -math.inf)


def scale_of(operands: Operands) -> float:
    """Of the scores, which the program computes with as f32."""
    given = float(torch.tensor(float(operands.text.get("scale", 0))))
    return given or float(torch.tensor(operands.rows("q", "hq").shape[-1] ** -0.5))


def attend(operands: Operands, s: Sequence) -> tuple[Tensor, Tensor]:
    """O (Hq, Sq, Dv) and LSE (Hq, Sq) of a sequence."""
    seen = visible(operands, s)
    # Keys that nobody sees may hold anything; a product by the weight 0 does not forgive that.
    used = seen.any(0).any(0)
    k, v = s.k[:, used], s.v[:, used]
    more = added(operands, s, seen)[..., used]
    scale, cap = scale_of(operands), float(operands.text.get("softcap", 0))
    sinks = operands.small("sinks")
    group = s.q.shape[0] // k.shape[0]
    scores = scale * (s.q @ k.repeat_interleave(group, 0).transpose(1, 2))
    if cap:
        scores = cap * torch.tanh(scores / cap)
    scores = (scores + more).masked_fill(more == -math.inf, -math.inf)
    if sinks is not None:
        scores = torch.cat([scores, sinks[:, None, None].expand(*scores.shape[:2], 1)], -1)
    if not scores.shape[-1]:
        return torch.zeros(*scores.shape[:2], v.shape[-1]), torch.full(scores.shape[:2], -math.inf)
    empty = (scores == -math.inf).all(-1)
    lse = torch.logsumexp(scores, -1)
    if cap or sinks is not None or not used.any():
        weights = torch.softmax(scores, -1).masked_fill(empty[..., None], 0)[..., : k.shape[1]]
        return weights @ v.repeat_interleave(group, 0), lse
    with sdpa_kernel(SDPBackend.MATH):
        o = F.scaled_dot_product_attention(
            s.q[None], k[None], v[None], attn_mask=more[None], scale=scale, enable_gqa=group > 1
        )
    return o[0], lse


def expected(text: str, problem: str) -> dict[str, Tensor]:
    """O and LSE of a file in the shapes of `attnbench eval`."""
    operands = Operands(open_input(text), keys_of(problem))
    torch.set_default_dtype(torch.float64)
    pairs = [attend(operands, s) for s in operands.sequences()]
    found = {}
    for name, parts in zip(("o", "lse"), zip(*pairs, strict=True), strict=True):
        if operands.packed:
            whole = torch.cat(list(parts), 1)
            found[name] = whole if operands.t["q"].dim() == 3 else whole[None]
        else:
            found[name] = torch.stack(list(parts))
    if operands.flat:
        found["o"] = found["o"].transpose(1, 2).flatten(2)
    return found


def differences(path: Path, wanted: dict[str, Tensor]) -> Iterator[str]:
    """A line for each result of a file: the largest difference, where, and both numbers."""
    for name, got in read(path).items():
        x, y = got.double(), wanted[name]
        same = (x == y) | (x.isnan() & y.isnan())
        apart = (x - y).abs().masked_fill(same, 0).nan_to_num(nan=math.inf)
        if not apart.numel():
            continue
        number = int(apart.argmax())
        index = torch.unravel_index(torch.tensor(number), apart.shape)
        at = ",".join(str(int(n)) for n in index)
        there = (float(t.flatten()[number]) for t in (apart, x, y))
        largest, own, theirs = there
        yield f"{name:<7} {largest:11.3g}  {at:<14} {own:14.7g} {theirs:14.7g}"

"""The mask rule of attention.h as an array, for libraries that do not know it themselves."""

from dataclasses import replace

import numpy as np

from rivals.memory_file import Operands, floats
from rivals.operation import aligned
from rivals.problem import Problem


def positional(problem: Problem) -> np.ndarray | None:
    """(Sq, Skv), true where a causal mask and a window let a query see a key; None: everywhere.

    Where sequences have lengths of their own, the bias of complete() says it.
    """
    if problem.offset is None:
        return None
    seen = seen_from(problem, np.arange(problem.q_len)[:, None] + problem.offset)
    return None if seen.all() else seen


def seen_from(problem: Problem, at: np.ndarray) -> np.ndarray:
    """Which keys queries see that stand at the keys `at`, (..., Sq, 1)."""
    key = np.arange(problem.kv_len)
    seen = np.ones((*at.shape[:-1], problem.kv_len), bool)
    if problem.causal:
        seen &= key <= at
    if "window" in problem.options:
        if problem.window_left >= 0:
            seen &= key >= at - problem.window_left
        if problem.window_right >= 0:
            seen &= key <= at + problem.window_right
    return seen


def stand(problem: Problem, lens: np.ndarray | None) -> np.ndarray:
    """The keys that queries stand at, (B or 1, 1, Sq, 1)."""
    keys = np.array([problem.kv_len]) if lens is None else lens
    first = 0 if "causal_top_left" in problem.masks else keys - problem.q_len
    return np.arange(problem.q_len)[:, None] + np.reshape(first, (-1, 1, 1, 1))


def bias_of(problem: Problem, s: Operands) -> np.ndarray:
    """Bias, slopes and, as -inf, what lies behind the ends of sequences: f32, four dimensions."""
    at = stand(problem, s.kv_lens)
    added = np.zeros((*at.shape[:-1], problem.kv_len), np.float32)
    if s.kv_lens is not None:
        behind = np.arange(problem.kv_len) >= s.kv_lens[:, None, None, None]
        hidden = behind | ~seen_from(problem, at)
        added = np.where(hidden, np.float32(-np.inf), np.float32(0))
    if s.slopes is not None:
        away = (np.arange(problem.kv_len) - at).astype(np.float32)
        added = added + s.slopes[:, None, None] * away
    return added if s.bias is None else added + floats(s.bias)


def tree(problem: Problem, s: Operands) -> np.ndarray:
    """(B, 1, Sq, Skv), true where a draft sees the cache, an ancestor's key or its own."""
    p = problem
    seen = np.zeros((p.batch, 1, p.q_len, p.kv_len), bool)
    for b, keys in enumerate([p.kv_len] * p.batch if s.kv_lens is None else s.kv_lens):
        sees = np.eye(p.q_len, dtype=bool)
        for i, parent in enumerate(s.parents[b]):
            if 0 <= parent < i:  # at `prepare` there are no values yet
                sees[i] |= sees[parent]
        cached = int(keys) - p.q_len  # below 0: the first drafts have no keys
        seen[b, 0, max(-cached, 0) :, : max(cached, 0)] = True
        seen[b, 0, :, max(cached, 0) : max(keys, 0)] = sees[:, max(-cached, 0) :]
        seen[b, 0, : max(-cached, 0)] = False
    return seen


def complete(problem: Problem, s: Operands) -> Operands:
    """Operands for libraries that know nothing of trees, slopes and lengths, as users make them.

    A tree becomes a boolean mask, slopes and lengths a bias.  Keys and values behind the end of a
    sequence are 0 in a copy: a cache there holds old numbers, not the NaN that ours have.
    """
    if s.parents is not None:
        given = s.mask

        def make() -> np.ndarray:
            return tree(problem, s) if given is None else tree(problem, s) & given

        mask = make()
        s = replace(s, mask=mask, refresh=(*s.refresh, lambda: np.copyto(mask, make())))
    if s.slopes is None and s.kv_lens is None:
        return s
    bias = bias_of(problem, s)
    refresh = [*s.refresh, lambda: np.copyto(bias, bias_of(problem, s))]
    if s.kv_lens is None:
        return replace(s, bias=bias, refresh=tuple(refresh))
    copies = [aligned(x.shape, x.dtype) for x in (s.k, s.v)]

    def copy() -> None:
        for to, x in zip(copies, (s.k, s.v), strict=True):
            for b, keys in enumerate(s.kv_lens):
                to[b, :, :keys], to[b, :, keys:] = x[b, :, :keys], 0

    copy()
    return replace(s, bias=bias, k=copies[0], v=copies[1], refresh=(*refresh, copy))


def boolean(problem: Problem, given: np.ndarray | None) -> np.ndarray | None:
    """Everything that hides keys in one mask, broadcastable to (B, Hq, Sq, Skv); None: nothing."""
    seen = positional(problem)
    if given is None:
        return seen
    return given if seen is None else given & seen


def additive(
    problem: Problem, given: np.ndarray | None, bias: np.ndarray | None
) -> np.ndarray | None:
    """The same to add to the scores, f32: -inf where hidden, and the problem's bias."""
    seen = boolean(problem, given)
    if seen is None:
        return None if bias is None else floats(bias)
    hidden = np.where(seen, np.float32(0), np.float32(-np.inf))
    return hidden if bias is None else hidden + floats(bias)


def rank4(mask: np.ndarray) -> np.ndarray:
    """A mask with all four dimensions, the missing ones in front of length 1."""
    return mask.reshape((1,) * (4 - mask.ndim) + mask.shape)

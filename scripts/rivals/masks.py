"""The mask rule of attention.h as an array, for libraries that do not know it themselves."""

from __future__ import annotations

import numpy as np

from rivals.memory_file import floats
from rivals.problem import Problem


def positional(problem: Problem) -> np.ndarray | None:
    """(Sq, Skv), true where a causal mask and a window let a query see a key; None: everywhere."""
    at = np.arange(problem.q_len)[:, None] + problem.offset
    key = np.arange(problem.kv_len)[None, :]
    seen = np.ones((problem.q_len, problem.kv_len), bool)
    if problem.causal:
        seen &= key <= at
    if "window" in problem.options:
        if problem.window_left >= 0:
            seen &= key >= at - problem.window_left
        if problem.window_right >= 0:
            seen &= key <= at + problem.window_right
    return None if seen.all() else seen


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

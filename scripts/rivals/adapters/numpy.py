"""NumPy: the formula as people write it.

Its matmul is the wheel's OpenBLAS, on as many threads as OPENBLAS_NUM_THREADS says
(environments.py); all else runs on one.
"""

import ctypes
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rivals.masks import boolean, rank4
from rivals.memory_file import Operands, floats
from rivals.operation import Operation
from rivals.problem import Problem


def grouped(problem: Problem, array: np.ndarray) -> np.ndarray:
    """A mask or a bias for scores of (B, Hkv, G, Sq, Skv)."""
    array = rank4(array)
    if array.shape[1] == 1:
        return array[:, :, None]
    return array.reshape(array.shape[0], problem.kv_heads, problem.group, *array.shape[2:])


def attention(
    problem: Problem,
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    bias: np.ndarray | None,
    seen: np.ndarray | None,
    sinks: np.ndarray | None,
) -> np.ndarray:
    """softmax(scale Q K^T + mask) V; the heads of a group are a dimension of their own."""
    p = problem
    q = q.reshape(p.batch, p.kv_heads, p.group, p.q_len, p.qk_dim)
    scores = q @ k[:, :, None].swapaxes(-1, -2)
    scores *= np.float32(p.scale)
    if p.softcap:
        scores = np.float32(p.softcap) * np.tanh(scores / np.float32(p.softcap))
    if bias is not None:
        scores += bias
    if seen is not None:
        scores = np.where(seen, scores, np.float32(-np.inf))
    highest = scores.max(axis=-1, keepdims=True)
    if sinks is not None:
        highest = np.maximum(highest, sinks)
    if seen is not None:
        highest = np.where(np.isneginf(highest), np.float32(0), highest)  # a row without keys
    weights = np.exp(scores - highest)
    total = weights.sum(axis=-1, keepdims=True)
    if sinks is not None:
        total = total + np.exp(sinks - highest)
    if seen is not None:
        total = np.where(total == 0, np.float32(1), total)
    weights /= total
    return (weights @ v[:, :, None]).reshape(p.batch, p.q_heads, p.q_len, p.v_dim)


def bias_of(operation: Operation, n: int, bias: np.ndarray) -> np.ndarray:
    """The bias as f32."""
    return bias if bias.dtype == np.float32 else operation.computed(n, partial(floats, bias))


def blas(call: str) -> Any:
    """A function of OpenBLAS, which NumPy's wheels rename; None where there is none."""
    maps = Path("/proc/self/maps").read_text().splitlines()
    paths = {line.split()[-1] for line in maps if "openblas" in line}
    names = [first + call + last for first in ("scipy_", "") for last in ("64_", "")]
    for path in paths:
        library = ctypes.CDLL(path)
        for name in names:
            if hasattr(library, name):
                return getattr(library, name)
    return None


def blas_threads() -> int:
    """As many as OpenBLAS says that it uses."""
    threads = blas("openblas_get_num_threads")
    return int(threads()) if threads else 1


def blas_core() -> str:
    """The processor whose code OpenBLAS runs: "SkylakeX"."""
    core = blas("openblas_get_corename")
    if core is None:
        return ""
    core.restype = ctypes.c_char_p
    return core().decode()


def prepare(
    _name: str, problem: Problem, sets: list[Operands], _threads: int, _cpus: list[int]
) -> Operation:
    """Nothing to compile: masks are arrays."""
    operation = Operation(sets, blas_threads())
    operation.instructions = blas_core()
    for n, s in enumerate(sets):
        seen = boolean(problem, None)
        if s.mask is not None:
            seen = operation.computed(n, partial(boolean, problem, s.mask))
        operation.call.append(
            partial(
                attention,
                problem,
                operation.dense(n, s.q),
                operation.dense(n, s.k),
                operation.dense(n, s.v),
                None if s.bias is None else grouped(problem, bias_of(operation, n, s.bias)),
                None if seen is None else grouped(problem, seen),
                None if s.sinks is None else grouped(problem, s.sinks[:, None, None]),
            )
        )
        operation.after[n].append(partial(np.copyto, s.o))
    return operation

"""JAX: jax.nn.dot_product_attention, compiled ahead of time for the problem.

XLA's threads are as many as NPROC says (environments.py).  The function takes (B, S, H, D); the
axes are swapped under jit, where XLA makes that part of its products, so that operands are taken
where they lie.
"""

from functools import partial
from pathlib import Path
from typing import Any

import jax
import ml_dtypes
import numpy as np

from rivals.masks import boolean, rank4
from rivals.memory_file import Operands
from rivals.operation import Operation
from rivals.problem import Problem, Unsupported


def host(array: np.ndarray) -> np.ndarray:
    """The same memory with JAX's BF16, which comes as its bits."""
    return array.view(ml_dtypes.bfloat16) if array.dtype == np.uint16 else array


def attention(problem: Problem, q: Any, k: Any, v: Any, bias: Any, mask: Any) -> Any:
    """(B, H, S, D) in and out.

    is_causal and local_window_size are aligned to the first key; anything else is a mask.
    """
    p, arguments = problem, {}
    if p.causal and p.offset == 0:
        arguments["is_causal"] = True
    if "window" in p.options and p.offset == 0:
        unlimited = max(p.q_len, p.kv_len)
        arguments["local_window_size"] = tuple(
            side if side >= 0 else unlimited for side in (p.window_left, p.window_right)
        )
    o = jax.nn.dot_product_attention(
        *(x.swapaxes(1, 2) for x in (q, k, v)),
        bias=bias,
        mask=mask,
        scale=p.scale,
        implementation="xla",
        **arguments,
    )
    return o.swapaxes(1, 2)


def refuse(problem: Problem) -> None:
    """What the table of capabilities cannot say."""
    if problem.qk_dim != problem.v_dim:
        raise Unsupported("dot_product_attention takes V of the dimension of Q and K only")


class Call:
    """A call on one set.  XLA computes in the background: wait for it."""

    def __init__(self, function: Any, operands: list[np.ndarray | None]) -> None:
        """Keeps the arrays of the host; those of JAX are made before each request."""
        self.function = function
        self.operands = operands
        self.arrays: list[Any] = []
        self.refresh()

    def refresh(self) -> None:
        """Hands the operands to JAX, which takes aligned memory as it lies."""
        self.arrays = [None if x is None else jax.device_put(x) for x in self.operands]
        jax.block_until_ready(self.arrays)

    def __call__(self) -> Any:
        """What is timed."""
        return self.function(*self.arrays).block_until_ready()


def write(o: np.ndarray, result: Any) -> None:
    """Copies a result into the memory file."""
    np.copyto(host(o), np.asarray(result))


def pool_size() -> int:
    """Threads of XLA's pool for parts of operations, which nothing but their name tells."""
    tasks = Path("/proc/self/task").iterdir()
    names = [(task / "comm").read_text().strip() for task in tasks]
    return sum("XLAEigen" in name for name in names)


def prepare(
    _name: str, problem: Problem, sets: list[Operands], _threads: int, _cpus: list[int]
) -> Operation:
    """Compiles and hands the operands over."""
    refuse(problem)
    operation = Operation(sets, 0)
    function = None
    for n, s in enumerate(sets):
        mask = None if problem.offset == 0 else boolean(problem, None)
        if s.mask is not None:
            mask = operation.computed(n, partial(boolean, problem, s.mask))
        operands = [
            *(host(operation.dense(n, x)) for x in (s.q, s.k, s.v)),
            None if s.bias is None else host(rank4(s.bias)),
            None if mask is None else rank4(mask),
        ]
        if function is None:
            function = jax.jit(partial(attention, problem)).lower(*operands).compile()
        call = Call(function, operands)
        operation.before[n].append(call.refresh)
        operation.call.append(call)
        operation.after[n].append(partial(write, s.o))
    operation.threads = pool_size()
    return operation

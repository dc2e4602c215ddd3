"""PyTorch: scaled_dot_product_attention by two of its backends, and FlexAttention.

Threads and their binding are GNU OpenMP's (environments.py).  All runs in inference mode
(docs.pytorch.org, Performance Tuning Guide, "Disable gradient calculation").
"""

from __future__ import annotations

import contextlib
import functools
import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.attention import flex_attention as flex

from rivals.masks import additive
from rivals.memory_file import Operands
from rivals.operation import Operation
from rivals.problem import Problem, Unavailable, Unsupported

STACK = contextlib.ExitStack()  # for the life of this process
STACK.enter_context(torch.inference_mode())
torch.set_num_interop_threads(1)  # may be said once, before anything is computed

# Each problem of a check is compiled for its own lengths; as many as there are may be kept.
torch._dynamo.config.recompile_limit = 1 << 20
torch._dynamo.config.accumulated_recompile_limit = 1 << 20


def tensor(array: np.ndarray) -> torch.Tensor:
    """The same memory as a tensor; BF16 comes as its bits."""
    if array.dtype == np.uint16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def hidden_by(problem: Problem, s: Operands, n: int, operation: Operation) -> dict[str, Any]:
    """The arguments `attn_mask` and `is_causal`, which exclude each other.

    is_causal is aligned to the first key.  A mask made here is additive and of the type of Q: the
    operator would make that of a boolean one at every call, and what it calls takes no other.
    """
    given = [x for x in (s.mask, s.bias) if x is not None]
    # With a negative scale the flag leaves NaN: its -inf are scaled, too.
    if not given and problem.offset == 0 and (problem.scale > 0 or not problem.causal):
        return {"is_causal": problem.causal}
    own = additive(problem, None, None)
    if not given:
        return {} if own is None else {"attn_mask": tensor(own).to(tensor(s.q).dtype)}
    if len(given) == 1 and own is None and "lse" not in problem.outputs:
        return {"attn_mask": tensor(given[0])}
    made = operation.computed(n, lambda: additive(problem, s.mask, s.bias))
    return {"attn_mask": tensor(made)}


def sdpa(problem: Problem, s: Operands, n: int, operation: Operation) -> Callable:
    """A call of scaled_dot_product_attention."""
    q, k, v = tensor(s.q), tensor(s.k), tensor(s.v)
    hidden = hidden_by(problem, s, n, operation)
    if "lse" in problem.outputs:  # what the function calls, and whose second result it drops
        operator = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        return functools.partial(operator, q, k, v, scale=problem.scale, **hidden)
    return functools.partial(
        F.scaled_dot_product_attention,
        q,
        k,
        v,
        scale=problem.scale,
        enable_gqa=problem.group > 1,
        **hidden,
    )


@functools.cache
def compiled(problem: Problem) -> tuple[Callable, dict[str, Any]]:
    """FlexAttention compiled for a problem, with its mask and its score function."""
    offset, cap = problem.offset, problem.softcap
    left, right, causal = problem.window_left, problem.window_right, problem.causal
    window = "window" in problem.options

    def mask_mod(_b: Any, _h: Any, i: Any, j: Any) -> Any:
        seen = j >= 0
        if causal:
            seen = seen & (j <= i + offset)
        if window and left >= 0:
            seen = seen & (j >= i + offset - left)
        if window and right >= 0:
            seen = seen & (j <= i + offset + right)
        return seen

    def score_mod(score: Any, _b: Any, _h: Any, _i: Any, _j: Any) -> Any:
        return cap * torch.tanh(score / cap)

    arguments: dict[str, Any] = {"scale": problem.scale, "enable_gqa": problem.group > 1}
    if causal or window:
        arguments["block_mask"] = flex.create_block_mask(
            mask_mod, None, None, problem.q_len, problem.kv_len, device="cpu"
        )
    if cap:
        arguments["score_mod"] = score_mod
    return torch.compile(flex.flex_attention, dynamic=False, fullgraph=True), arguments


def flex_call(problem: Problem, s: Operands) -> Callable:
    """A call of the compiled FlexAttention."""
    function, arguments = compiled(problem)
    return functools.partial(function, tensor(s.q), tensor(s.k), tensor(s.v), **arguments)


def write(s: Operands, outputs: frozenset[str], result: Any) -> None:
    """Copies a result into the memory file."""
    o, lse = result if isinstance(result, tuple) else (result, None)
    if "o" in outputs:
        tensor(s.o).copy_(o)
    if "lse" in outputs and s.lse is not None:
        tensor(s.lse).copy_(lse)


def refuse(name: str, problem: Problem) -> None:
    """What the table of capabilities cannot say."""
    if name != "torch_math" and problem.qk_dim != problem.v_dim:
        raise Unsupported("its kernel takes V of the dimension of Q and K only")
    if name == "torch_flex" and not shutil.which("c++") and not shutil.which("g++"):
        raise Unavailable("torch.compile needs a C++ compiler: apt-get install g++")


def instructions(problem: Problem) -> str:
    """What ATen was compiled for, and AMX where this process may use its tiles.

    Products of bf16 go to oneDNN, which then does.
    """
    tiles = problem.dtype == "bf16" and torch.cpu._init_amx()
    return torch.backends.cpu.get_cpu_capability() + (" AMX" if tiles else "")


def prepare(
    name: str, problem: Problem, sets: list[Operands], threads: int, _cpus: list[int]
) -> Operation:
    """Wraps the operands where they lie; FlexAttention is compiled by its first call."""
    refuse(name, problem)
    torch.set_num_threads(threads)
    # One backend and no fallback: a problem that it does not compute is an error that says so.
    # (What torch.nn.attention.sdpa_kernel sets for a `with`; on CPUs there are these two.)
    torch.backends.cuda.enable_flash_sdp(name == "torch")
    torch.backends.cuda.enable_math_sdp(name != "torch")
    operation = Operation(sets, torch.get_num_threads())
    operation.instructions = instructions(problem)
    for n, s in enumerate(sets):
        if name == "torch_flex":
            operation.call.append(flex_call(problem, s))
        else:
            operation.call.append(sdpa(problem, s, n, operation))
        operation.after[n].append(functools.partial(write, s, problem.outputs))
    return operation

"""PyTorch: scaled_dot_product_attention by two of its backends or by sequences, and FlexAttention.

Threads and their binding are GNU OpenMP's (environments.py).  All runs in inference mode
(docs.pytorch.org, Performance Tuning Guide, "Disable gradient calculation").
"""

import contextlib
import functools
import shutil
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.attention import flex_attention as flex

from rivals.masks import additive
from rivals.memory_file import Operands
from rivals.operation import Operation
from rivals.problem import Problem, Unavailable, Unsupported
from rivals.sequences import Sequences

LENGTHS = ("torch_sequences",)  # knows lengths itself: masks.complete() is not for it

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
    """The arguments `attn_mask` and `is_causal`, which exclude each other."""
    given = [x for x in (s.mask, s.bias) if x is not None]
    if not given:
        return hidden_by_position(problem, tensor(s.q).dtype)
    own = additive(problem, None, None)
    if len(given) == 1 and own is None and "lse" not in problem.outputs:
        return {"attn_mask": tensor(given[0])}
    made = operation.computed(n, lambda: additive(problem, s.mask, s.bias))
    return {"attn_mask": tensor(made)}


def hidden_by_position(problem: Problem, kind: torch.dtype) -> dict[str, Any]:
    """The same where a causal mask and a window are all that hides keys.

    is_causal is aligned to the first key.  A mask made here is additive and of the type of Q: the
    operator would make that of a boolean one at every call, and what it calls takes no other.
    """
    # With a negative scale the flag leaves NaN: its -inf are scaled, too.
    flag = problem.offset == 0 and (problem.scale > 0 or not problem.causal)
    if flag and "window" not in problem.options:
        return {"is_causal": problem.causal}
    own = additive(problem, None, None)
    return {} if own is None else {"attn_mask": tensor(own).to(kind)}


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


class PerSequence:
    """scaled_dot_product_attention on one sequence after the other, as SGLang calls it on CPUs.

    (python/sglang/srt/layers/attention/torch_native_backend.py.)  Pages are gathered by each call,
    from a cache by token as SGLang's is; other keys and all queries are taken where they lie.  Of a
    window's keys only those are taken that some query of the sequence sees.
    """

    def __init__(self, p: Problem, s: Operands, n: int, operation: Operation) -> None:
        """Lengths, offsets and pages are read before each request, as an engine does each step."""
        self.problem, self.operands = p, s
        self.q, self.o = tensor(s.q), tensor(s.o)
        self.k, self.v = (
            tensor(operation.dense(n, x.transpose(0, 2, 1, 3)) if p.page_size else x)
            for x in (s.k, s.v)
        )
        self.where: list[tuple[int, slice]] = []
        self.calls: list[Callable] = []
        operation.before[n].append(self.refresh)
        operation.after[n].append(self.write)

    def refresh(self) -> None:
        """A call for each sequence."""
        p, s = self.problem, self.operands
        blocks = s.k.shape[0] if p.page_size else p.batch
        found = Sequences.of(p, s, p.page_size or p.kv_len, blocks)
        self.where, self.calls = [], []
        for b in range(len(found.keys) if found else 0):
            tokens = found.tokens[found.starts[b] : found.starts[b + 1]]
            row = (0, int(tokens[0])) if s.cu_seqlens is not None else divmod(tokens[0], p.q_len)
            self.where.append((int(row[0]), slice(int(row[1]), int(row[1]) + len(tokens))))
            self.calls.append(self.call(self.where[-1], found, b))

    def call(self, where: tuple[int, slice], found: Sequences, b: int) -> Callable:
        """The call on sequence `b`, whose queries are `where`."""
        p, count, keys = self.problem, where[1].stop - where[1].start, int(found.keys[b])
        least = max(keys - count - p.window_left, 0) if p.window_left >= 0 else 0
        own = replace(p, q_len=count, kv_len=keys, options=p.options & {"window"})
        hidden = hidden_by_position(own, self.q.dtype)
        if least:
            mask = hidden["attn_mask"][:, least:].contiguous()
            hidden = {"attn_mask": mask} if mask.any() else {}
        if p.page_size:
            j = np.arange(least, keys)
            rows = found.table[b][j // p.page_size].astype(np.int64) * p.page_size
            taken = functools.partial(self.gathered, torch.from_numpy(rows + j % p.page_size))
        else:
            packed = self.operands.cu_seqlens_kv is not None and self.operands.kv_lens is None
            batch, first = (0, found.first[b]) if packed else divmod(found.first[b], p.kv_len)
            end = int(first) + keys
            taken = functools.partial(self.slices, int(batch), int(first) + least, end)
        q = self.q[where[0]][None, :, where[1]]
        return lambda: F.scaled_dot_product_attention(
            q, *taken(), scale=p.scale, enable_gqa=p.group > 1, **hidden
        )

    def gathered(self, rows: torch.Tensor) -> list[torch.Tensor]:
        """K and V of these rows of all pages, (1, H, S, D)."""
        flat = (x.flatten(0, 1) for x in (self.k, self.v))
        return [x.index_select(0, rows).movedim(0, 1)[None] for x in flat]

    def slices(self, batch: int, first: int, end: int) -> list[torch.Tensor]:
        """K and V where they lie, (1, H, S, D)."""
        return [x[batch][None, :, first:end] for x in (self.k, self.v)]

    def write(self, results: list[torch.Tensor]) -> None:
        """Copies results into the memory file; 0 where a query sees no key."""
        self.o.zero_()
        for (batch, rows), result in zip(self.where, results, strict=True):
            self.o[batch][:, rows] = result[0]

    def __call__(self) -> list[torch.Tensor]:
        """The call that is timed."""
        return [call() for call in self.calls]


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
    if name == "torch_sequences" and not problem.options & {"ragged", "packed", "paged", "window"}:
        raise Unsupported("sequences of one length are kernel torch's")
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
    torch.backends.cuda.enable_flash_sdp(name in ("torch", "torch_sequences"))
    torch.backends.cuda.enable_math_sdp(name in ("torch_math", "torch_flex"))
    operation = Operation(sets, torch.get_num_threads())
    operation.instructions = instructions(problem)
    for n, s in enumerate(sets):
        if name == "torch_sequences":
            operation.call.append(PerSequence(problem, s, n, operation))
            continue
        if name == "torch_flex":
            operation.call.append(flex_call(problem, s))
        else:
            operation.call.append(sdpa(problem, s, n, operation))
        operation.after[n].append(functools.partial(write, s, problem.outputs))
    return operation

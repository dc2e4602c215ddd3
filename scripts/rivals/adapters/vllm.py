"""vLLM: the operator with which its CPU backend attends to a paged cache, called directly.

Loaded from the wheel's shared object without vLLM's own Python, which needs 100 other packages and
computes nothing of it.  Threads and their binding are GNU OpenMP's, as vLLM itself sees to
(vllm/platforms/cpu.py preloads PyTorch's libgomp).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from rivals.adapters.torch import tensor
from rivals.memory_file import Operands
from rivals.operation import Operation
from rivals.problem import Problem, Unsupported

LENGTHS = True  # knows slopes and lengths itself: masks.complete() is not for it

HEADS = (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512)  # that it is compiled for
BLOCK = 128  # keys a block where the problem says nothing: what vLLM takes on CPUs


def library() -> str:
    """The name of the shared object that vLLM would load here (its import_kernels())."""
    if not torch.cpu._is_avx512_supported():
        return "_C_AVX2"
    return "_C" if torch.cpu._is_avx512_bf16_supported() else "_C_AVX512"


@functools.cache
def operators() -> object:
    """Its operators."""
    site = Path(torch.__file__).parents[1]
    torch.ops.load_library(str(site / "vllm" / f"{library()}.abi3.so"))
    return torch.ops._C


def refuse(p: Problem) -> None:
    """What the table of capabilities cannot say."""
    if p.qk_dim != p.v_dim or p.qk_dim not in HEADS:
        raise Unsupported(f"heads of {', '.join(map(str, HEADS))} dimensions, V as Q and K")
    if p.page_size % 16:
        raise Unsupported("pages of a multiple of 16 keys")
    if p.q_len > p.kv_len:
        raise Unsupported("no more queries than keys")
    if "window" in p.options and not p.causal:
        raise Unsupported("a window under a causal mask only")


def path(p: Problem, block: int) -> str:
    """Which of its implementations vLLM would choose (its _get_attn_isa()).

    It only asks whether the CPU has tiles: in an engine PyTorch's products have requested them from
    Linux before, without which the first instruction on a tile is SIGILL.  Here nothing else would.
    """
    if p.qk_dim % 32:
        return "vec16"
    if p.dtype == "bf16" and block % 32 == 0 and torch.cpu._init_amx():
        return "amx"
    return "vec" if block % 32 == 0 else "vec16"


@dataclass
class Sequences:
    """Those that have queries which see a key, as the memory file says now.

    vLLM never has other queries: these are not given to it, and their results are 0.
    """

    tokens: np.ndarray  # rows of all queries, one sequence behind the other
    starts: np.ndarray  # (B + 1) first of each in `tokens`
    keys: np.ndarray  # (B) lengths of keys
    first: np.ndarray  # (B) first rows of keys, where these do not lie in pages
    table: np.ndarray  # (B, blocks) block of each `block` keys

    @staticmethod
    def of(p: Problem, s: Operands, block: int, blocks: int) -> Sequences | None:
        """None at `prepare`, where lengths and tables have no values yet."""
        starts = np.arange(p.batch + 1) * p.q_len if s.cu_seqlens is None else s.cu_seqlens
        keys, first = np.full(p.batch, p.kv_len), np.arange(p.batch) * p.kv_len
        if s.kv_lens is not None:
            keys = s.kv_lens
        elif s.cu_seqlens_kv is not None:
            keys, first = np.diff(s.cu_seqlens_kv), s.cu_seqlens_kv[:-1]
        table = s.block_table
        if table is None:
            each = -(-p.kv_len // block)
            table = np.arange(p.batch * each).reshape(p.batch, each)
        queries = np.diff(starts)
        rows = p.batch * p.q_len if s.cu_seqlens is None else s.q.shape[2]
        if starts[0] or queries.min() < 0 or starts[-1] > rows:
            return None
        if keys.min() < 0 or keys.max() > p.kv_len or (first + keys).max() > rows_of(p, s):
            return None
        used = np.arange(table.shape[1]) < -(-keys // block)[:, None]
        if (table[used] < 0).any() or (table[used] >= blocks).any():
            return None
        seeing = np.minimum(queries, keys) if p.causal else np.where(keys > 0, queries, 0)
        some = seeing > 0
        last = starts[1:][some]
        tokens = [np.arange(end - n, end) for end, n in zip(last, seeing[some], strict=True)]
        table = np.where(used, table, 0)[some]
        return Sequences(
            np.concatenate(tokens) if tokens else np.zeros(0, np.int64),
            np.append(0, np.cumsum(seeing[some])),
            keys[some],
            first[some],
            table,
        )


def rows_of(p: Problem, s: Operands) -> int:
    """Rows of keys that there are, pages aside."""
    return s.k.shape[2] if s.cu_seqlens_kv is not None else p.batch * p.kv_len


def int32(numbers: np.ndarray) -> torch.Tensor:
    """A copy as the operator wants lengths and tables."""
    return torch.from_numpy(np.array(numbers, np.int32))


class Call:
    """One set of operands in vLLM's layout, and the call on it."""

    def __init__(self, p: Problem, s: Operands, n: int, operation: Operation) -> None:
        """Allocates the cache; it is filled, and work is divided, before each request."""
        self.problem, self.operands = p, s
        self.block = p.page_size or BLOCK
        self.path = path(p, self.block)
        blocks = s.k.shape[0] if p.page_size else p.batch * -(-p.kv_len // self.block)
        self.kind = tensor(s.q).dtype
        shape = (blocks, p.kv_heads, 2 * self.block, p.qk_dim)
        self.keys, self.values = torch.zeros(shape, dtype=self.kind).chunk(2, dim=2)
        by_token = (0, 2, 1, 3)  # (B, H, S, D) as (B, S, H, D)
        self.queries, self.results = (
            tensor(x.reshape(-1, *x.shape[2:]))
            for x in (
                operation.dense(n, s.q.transpose(by_token)),
                operation.dense_result(n, s.o.transpose(by_token)),
            )
        )
        self.arguments: tuple | None = None
        self.scattered: tuple[torch.Tensor, torch.Tensor] | None = None
        operation.before[n].append(self.refresh)
        operation.after[n].insert(0, self.scatter)

    def refresh(self) -> None:
        """Writes keys and values into the cache and divides the work, as vLLM does for a step."""
        p, s = self.problem, self.operands
        sequences = Sequences.of(p, s, self.block, self.keys.shape[0])
        self.arguments = self.scattered = None
        if sequences is None:
            return
        q, o = self.queries, self.results
        if len(sequences.tokens) < len(q):
            tokens = torch.from_numpy(sequences.tokens)
            q = q[tokens].contiguous()
            o = torch.empty_like(q)
            self.scattered = tokens, o
        if not len(sequences.tokens):
            return
        self.fill(sequences)
        starts, lens, table = map(int32, (sequences.starts, sequences.keys, sequences.table))
        window = p.window_left + 1 if "window" in p.options and p.window_left >= 0 else -1
        work = operators().get_scheduler_metadata(
            len(lens), p.q_heads, p.kv_heads, p.qk_dim, lens, self.kind, starts, p.causal, window,
            self.path, True, None
        )  # fmt: skip
        slopes = None if s.slopes is None else tensor(s.slopes).clone()
        sinks = None if s.sinks is None else tensor(s.sinks).clone()
        self.arguments = (
            q, self.keys, self.values, o, starts, lens, p.scale, p.causal, slopes, window, table,
            p.softcap, work, sinks, None
        )  # fmt: skip

    def fill(self, sequences: Sequences) -> None:
        """Copies the keys of all sequences, and no others, into the cache, which was 0."""
        p, s = self.problem, self.operands
        flat = (s.k, s.v)
        if not p.page_size:  # rows of all sequences, (B S, Hkv, D)
            flat = tuple(x.transpose(0, 2, 1, 3).reshape(-1, *x.shape[1::2]) for x in flat)
        for count, first, table in zip(
            sequences.keys, sequences.first, sequences.table, strict=True
        ):
            j = np.arange(count)
            page, row = table[j // self.block].astype(np.int64), j % self.block
            if p.page_size:
                k, v = (x[page, :, row] for x in flat)
            else:
                k, v = (x[first : first + count] for x in flat)
            operators().cpu_attn_reshape_and_cache(
                *(tensor(np.ascontiguousarray(x)) for x in (k, v)),
                self.keys,
                self.values,
                torch.from_numpy(page * self.block + row),
                self.path,
            )

    def scatter(self, _result: None) -> None:
        """Results of queries that see a key to their rows, 0 to the others."""
        if self.scattered:
            tokens, o = self.scattered
            self.results.zero_()
            self.results[tokens] = o

    def __call__(self) -> None:
        """The call that is timed."""
        if self.arguments:
            operators().cpu_attention_with_kv_cache(*self.arguments)


class Latent:
    """One set of operands for the operator of latent attention, and the call on it.

    Its cache has blocks of 16 keys: that is where they lie, unless lengths end within a block.
    """

    BLOCK = 16

    def __init__(self, p: Problem, s: Operands, n: int, operation: Operation) -> None:
        """Allocates a cache where the keys cannot be one; it is filled before each request."""
        self.problem, self.operands = p, s
        blocks = -(-p.kv_len // self.BLOCK)
        keys = operation.dense(n, s.k).reshape(p.batch, p.kv_len, p.qk_dim)
        if s.kv_lens is not None or p.kv_len % self.BLOCK:
            self.keys = keys
            keys = np.zeros((p.batch, blocks * self.BLOCK, p.qk_dim), keys.dtype)
            operation.before[n].append(self.refresh)
        self.cache = keys
        self.lens = torch.full((p.batch,), p.kv_len, dtype=torch.int32)
        self.arguments = (
            tensor(operation.dense_result(n, s.o).reshape(p.batch, p.q_heads, p.v_dim)),
            tensor(operation.dense(n, s.q).reshape(p.batch, p.q_heads, p.qk_dim)),
            tensor(keys.reshape(p.batch * blocks, self.BLOCK, p.qk_dim)),
            p.scale,
            torch.arange(p.batch * blocks, dtype=torch.int32).reshape(p.batch, blocks),
            self.lens,
        )

    def refresh(self) -> None:
        """Copies the keys that sequences have; 0 stands behind them."""
        self.cache[:] = 0
        lens = self.operands.kv_lens
        for b in range(self.problem.batch):
            count = self.problem.kv_len if lens is None else int(lens[b])
            self.cache[b, :count] = self.keys[b, :count]
            self.lens[b] = count

    def __call__(self) -> None:
        """The call that is timed."""
        operators().mla_decode_kvcache(*self.arguments)


def refuse_latent(p: Problem) -> None:
    """What the operator of latent attention is not compiled for."""
    if p.kv_heads != 1 or p.q_len != 1 or "shared_kv" not in p.options:
        raise Unsupported("one query on one KV head that K and V share (shared_kv)")
    if (p.qk_dim, p.v_dim) != (576, 512):
        raise Unsupported("keys of 576 dimensions and values of 512")


def prepare(
    name: str, problem: Problem, sets: list[Operands], threads: int, _cpus: list[int]
) -> Operation:
    """Caches of all sets."""
    latent = name == "vllm_mla"
    (refuse_latent if latent else refuse)(problem)
    torch.set_num_threads(threads)
    operation = Operation(sets, torch.get_num_threads())
    for n, s in enumerate(sets):
        made = (Latent if latent else Call)(problem, s, n, operation)
        operation.call.append(made)
        operation.instructions = library() if latent else f"{library()} {made.path}"
    return operation

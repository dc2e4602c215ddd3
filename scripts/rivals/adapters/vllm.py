"""vLLM: the operator with which its CPU backend attends to a paged cache, called directly.

Loaded from the wheel's shared object without vLLM's own Python, which needs 100 other packages and
computes nothing of it.  Threads and their binding are GNU OpenMP's, as vLLM itself sees to
(vllm/platforms/cpu.py preloads PyTorch's libgomp).
"""

import functools
from pathlib import Path

import numpy as np
import torch

from rivals.adapters.torch import tensor
from rivals.memory_file import Operands
from rivals.operation import Operation
from rivals.problem import Problem, Unsupported
from rivals.sequences import Sequences

LENGTHS = ("vllm", "vllm_mla")  # know lengths and slopes: masks.complete() is not for them

HEADS = (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512)  # that it is compiled for
WIDENED = "its caches of 8-bit floats have one positive scale for K, one for V, and finite numbers"
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
    if p.kv_dtype != p.dtype and library() == "_C_AVX2":
        raise Unsupported("its code for AVX2 has no 8-bit floats")
    if p.kv_dtype != p.dtype and (p.qk_dim % 32 or p.page_size % 32):
        raise Unsupported("8-bit floats in heads and pages of a multiple of 32")


def path(p: Problem, block: int) -> str:
    """Which of its implementations vLLM would choose (its _get_attn_isa()).

    It only asks whether the CPU has tiles: in an engine PyTorch's products have requested them from
    Linux before, without which the first instruction on a tile is SIGILL.  Here nothing else would.
    With 8-bit floats it would choose AMX, too, whose results are wrong in 0.32.0: V enters the
    tiles 2^-120 times too small, and tiles take products below 2^-126 as 0.
    """
    if p.qk_dim % 32:
        return "vec16"
    if p.dtype == p.kv_dtype == "bf16" and block % 32 == 0 and torch.cpu._init_amx():
        return "amx"
    return "vec" if block % 32 == 0 else "vec16"


def int32(numbers: np.ndarray) -> torch.Tensor:
    """A copy as the operator wants lengths and tables."""
    return torch.from_numpy(np.array(numbers, np.int32))


class Call:
    """One set of operands in vLLM's layout, and the call on it.

    A cache of 8-bit floats has a scale for K and one for V, and vLLM writes finite numbers into it.
    A check asks for others, too, and only their values say so: then the operator computes in f32,
    to which K and V are widened before.  That is not timed.
    """

    def __init__(self, p: Problem, s: Operands, n: int, operation: Operation) -> None:
        """The cache is filled, and work is divided, before each request."""
        self.problem, self.operands, self.operation = p, s, operation
        self.block = p.page_size or BLOCK
        self.path = path(p, self.block)
        self.blocks = s.k.shape[0] if p.page_size else p.batch * -(-p.kv_len // self.block)
        by_token = (0, 2, 1, 3)  # (B, H, S, D) as (B, S, H, D)
        self.queries, self.results = (
            tensor(x.reshape(-1, *x.shape[2:]))
            for x in (
                operation.dense(n, s.q.transpose(by_token)),
                operation.dense_result(n, s.o.transpose(by_token)),
            )
        )
        self.cache: torch.Tensor | None = None
        self.arguments: tuple | None = None
        self.scattered: tuple[torch.Tensor, torch.Tensor] | None = None
        operation.before[n].append(self.refresh)
        operation.after[n].insert(0, self.scatter)

    def refresh(self) -> None:
        """Writes keys and values into the cache and divides the work, as vLLM does for a step."""
        p, s = self.problem, self.operands
        sequences = Sequences.of(p, s, self.block, self.blocks)
        self.arguments = self.scattered = None
        if sequences is None:
            return
        rows = [self.rows(sequences, n) for n in range(len(sequences.keys))]
        kind, path_taken, eighth = self.queries.dtype, self.path, (1.0, 1.0, "auto")
        if p.kv_dtype != p.dtype:
            found = float8(s, rows)
            self.operation.untimed = "" if found else WIDENED
            if found:
                eighth = found
            else:
                kind, path_taken = torch.float32, "vec"
                rows = [scaled(s, sequences, n, *rows[n]) for n in range(len(rows))]
        q, o = self.queries, self.results
        if len(sequences.tokens) < len(q) or kind != q.dtype:
            tokens = torch.from_numpy(sequences.tokens)
            q = q[tokens].to(kind).contiguous()
            o = torch.empty_like(q)
            self.scattered = tokens, o
        if not len(sequences.tokens):
            return
        keys, values = self.filled(sequences, rows, path_taken, kind, eighth)
        starts, lens, table = map(int32, (sequences.starts, sequences.keys, sequences.table))
        window = p.window_left + 1 if "window" in p.options and p.window_left >= 0 else -1
        work = operators().get_scheduler_metadata(
            len(lens), p.q_heads, p.kv_heads, p.qk_dim, lens, kind, starts, p.causal, window,
            path_taken, True, None, eighth[2]
        )  # fmt: skip
        slopes = None if s.slopes is None else tensor(s.slopes).clone()
        sinks = None if s.sinks is None else tensor(s.sinks).clone()
        self.arguments = (
            q, keys, values, o, starts, lens, p.scale, p.causal, slopes, window, table,
            p.softcap, work, sinks, None, *eighth
        )  # fmt: skip

    def rows(self, sequences: Sequences, n: int) -> tuple[torch.Tensor, torch.Tensor]:
        """K and V of a sequence by token, (S, Hkv, D)."""
        p, s = self.problem, self.operands
        j = np.arange(sequences.keys[n])
        if p.page_size:
            page = sequences.table[n][j // self.block]
            taken = (x[page, :, j % self.block] for x in (s.k, s.v))
        else:
            each = s.k.shape[2]  # packed keys have one batch
            b, first = divmod(int(sequences.first[n]), each)
            taken = (x[b, :, first : first + len(j)].transpose(1, 0, 2) for x in (s.k, s.v))
        k, v = (tensor(np.ascontiguousarray(x)) for x in taken)
        if p.kv_dtype == p.dtype:
            return k, v
        return tuple(x.view(torch.float8_e4m3fn).to(self.queries.dtype) for x in (k, v))

    def filled(
        self,
        sequences: Sequences,
        rows: list[tuple[torch.Tensor, torch.Tensor]],
        path_taken: str,
        kind: torch.dtype,
        eighth: tuple[float, float, str],
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The cache with the keys of all sequences, and no others; 0 elsewhere."""
        p = self.problem
        if eighth[2] != "auto":
            kind = torch.uint8
        if self.cache is None or self.cache.dtype != kind:
            shape = (self.blocks, p.kv_heads, 2 * self.block, p.qk_dim)
            self.cache = torch.zeros(shape, dtype=kind)
        keys, values = self.cache.chunk(2, dim=2)
        for (k, v), table in zip(rows, sequences.table, strict=True):
            j = np.arange(len(k))
            slots = table[j // self.block].astype(np.int64) * self.block + j % self.block
            operators().cpu_attn_reshape_and_cache(
                k, v, keys, values, torch.from_numpy(slots), path_taken, 1.0, 1.0, eighth[2]
            )
        return keys, values

    def scatter(self, _result: None) -> None:
        """Results of queries that see a key to their rows, 0 to the others."""
        if self.scattered:
            tokens, o = self.scattered
            self.results.zero_()
            self.results[tokens] = o.to(self.results.dtype)

    def __call__(self) -> None:
        """The call that is timed."""
        if self.arguments:
            operators().cpu_attention_with_kv_cache(*self.arguments)


def float8(
    s: Operands, rows: list[tuple[torch.Tensor, torch.Tensor]]
) -> tuple[float, float, str] | None:
    """Scales of K and V and the name of the type, if vLLM could have written such a cache."""
    scales = []
    for whole in (s.k_scale, s.v_scale):
        one = float(whole.flat[0])
        if not (whole == one).all() or not 0 < one < np.inf:
            return None
        scales.append(one)
    if not all(torch.isfinite(x).all() for pair in rows for x in pair):
        return None
    return scales[0], scales[1], "fp8_e4m3"


def scaled(
    s: Operands, sequences: Sequences, n: int, k: torch.Tensor, v: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """What K and V of a sequence stand for, in f32; its keys index the scales, paged or not."""
    made = []
    for x, scale in ((k, s.k_scale), (v, s.v_scale)):
        b, first = int(sequences.which[n]), 0
        if s.cu_seqlens_kv is not None and s.kv_lens is None and s.block_table is None:
            b, first = 0, int(sequences.first[n])
        of = scale[b if scale.shape[0] > 1 else 0]
        of = of[:, first : first + len(x)] if scale.shape[2] > 1 else of
        made.append(x.float() * tensor(of).transpose(0, 1))
    return made[0], made[1]


class Latent:
    """One set of operands for the operator of latent attention, and the call on it.

    Keys are copied into a cache of 16 keys a block, as vLLM has one, and queries beside it: the
    operator's code for AVX-512 reads in front of a tensor, where the memory file may end.
    """

    BLOCK, FRONT = 16, 1  # keys a block; blocks in front of what the operator gets

    def __init__(self, p: Problem, s: Operands, n: int, operation: Operation) -> None:
        """Allocates the cache, which is filled before each request."""
        self.problem, self.operands = p, s
        blocks, kind = -(-p.kv_len // self.BLOCK), tensor(s.q).dtype
        whole = torch.zeros((self.FRONT + p.batch * blocks, self.BLOCK, p.qk_dim), dtype=kind)
        self.cache = whole[self.FRONT :].reshape(p.batch, blocks * self.BLOCK, p.qk_dim)
        front = self.FRONT * self.BLOCK
        self.queries = torch.zeros((front + p.batch * p.q_heads, p.qk_dim), dtype=kind)[front:]
        self.lens = torch.full((p.batch,), p.kv_len, dtype=torch.int32)
        operation.before[n].append(self.refresh)
        self.arguments = (
            tensor(operation.dense_result(n, s.o).reshape(p.batch, p.q_heads, p.v_dim)),
            self.queries.reshape(p.batch, p.q_heads, p.qk_dim),
            whole[self.FRONT :],
            p.scale,
            torch.arange(p.batch * blocks, dtype=torch.int32).reshape(p.batch, blocks),
            self.lens,
        )

    def refresh(self) -> None:
        """Copies queries, and the keys that sequences have; 0 stands behind them."""
        s = self.operands
        self.queries.copy_(tensor(s.q).reshape(self.queries.shape))
        self.cache.zero_()
        for b in range(self.problem.batch):
            count = self.problem.kv_len if s.kv_lens is None else int(s.kv_lens[b])
            self.cache[b, :count] = tensor(s.k)[b, 0, :count]
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

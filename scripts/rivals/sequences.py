"""Which rows of queries and keys belong to each sequence, by lengths, offsets and pages."""

from dataclasses import dataclass

import numpy as np

from rivals.memory_file import Operands
from rivals.problem import Problem


@dataclass
class Sequences:
    """Those that have queries which see a key, as the memory file says now."""

    which: np.ndarray  # (B) numbers of the sequences
    tokens: np.ndarray  # rows of all queries, one sequence behind the other
    starts: np.ndarray  # (B + 1) first of each in `tokens`
    keys: np.ndarray  # (B) lengths of keys
    first: np.ndarray  # (B) first rows of keys, where these do not lie in pages
    table: np.ndarray  # (B, blocks) block of each `block` keys

    @staticmethod
    def of(p: Problem, s: Operands, block: int, blocks: int) -> "Sequences | None":
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
            np.flatnonzero(some),
            np.concatenate(tokens) if tokens else np.zeros(0, np.int64),
            np.append(0, np.cumsum(seeing[some])),
            keys[some],
            first[some],
            table,
        )


def rows_of(p: Problem, s: Operands) -> int:
    """Rows of keys that there are, pages aside."""
    return s.k.shape[2] if s.cu_seqlens_kv is not None else p.batch * p.kv_len

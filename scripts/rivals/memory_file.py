"""Operands and results in the memory file of docs/protocol.md, as arrays that share its memory.

The file is a safetensors file (github.com/huggingface/safetensors, README: 8 bytes of header
length, a JSON header, the data).  Parsed here because arrays have to be views of the mapped file,
for results to be written in place; the format's own library copies.
"""

import json
import math
import mmap
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rivals.problem import BadRequest, Problem

# BF16 and the floats of 8 bits, which NumPy has not, come as their bits.
DTYPES = {
    "F32": np.float32,
    "F16": np.float16,
    "BF16": np.uint16,
    "BOOL": np.bool_,
    "I32": np.int32,
    "I8": np.int8,
    "U8": np.uint8,
    "F8_E4M3": np.uint8,
    "F8_E5M2": np.uint8,
}
FORMATS = {
    "f32": "F32",
    "f16": "F16",
    "bf16": "BF16",
    "i8": "I8",
    "i4": "U8",
    "f8e4m3": "F8_E4M3",
    "f8e5m2": "F8_E5M2",
}
Shape = tuple[int | None, ...]


def floats(array: np.ndarray) -> np.ndarray:
    """Numbers as f32, those of BF16 from their bits."""
    if array.dtype == np.uint16:
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float32)


def bits_of(numbers: np.ndarray) -> np.ndarray:
    """The bits of f32 numbers in BF16, rounded to nearest, ties to even."""
    bits = np.ascontiguousarray(numbers).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    # The carry would turn a NaN with all bits set into zero.
    return np.where(np.isnan(numbers), 0x7FC0, rounded).astype(np.uint16)


@dataclass(frozen=True)
class Operands:
    """One set: (B, H, S, D) each, whatever the order in memory; None where the problem has none.

    `refresh`: what makes those anew that are made of others, when these have changed.
    """

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    o: np.ndarray
    lse: np.ndarray | None
    bias: np.ndarray | None
    mask: np.ndarray | None
    sinks: np.ndarray | None = None
    slopes: np.ndarray | None = None
    kv_lens: np.ndarray | None = None
    cu_seqlens: np.ndarray | None = None
    cu_seqlens_kv: np.ndarray | None = None
    block_table: np.ndarray | None = None
    k_scale: np.ndarray | None = None
    v_scale: np.ndarray | None = None
    parents: np.ndarray | None = None
    refresh: tuple[Callable[[], None], ...] = ()


def read_header(data: mmap.mmap) -> tuple[dict[str, Any], int]:
    """The header, and where the data begins."""
    length = int.from_bytes(data[:8], "little")
    if length > len(data) - 8:
        raise BadRequest(f"the memory file has {len(data)} bytes, its header alone {length}")
    try:
        header = json.loads(data[8 : 8 + length])
    except ValueError as error:
        raise BadRequest(f"the memory file's header is not JSON: {error}") from error
    return header, 8 + length


class MemoryFile:
    """The mapped file.  Its size and header may differ at every prepare, so map it anew."""

    def __init__(self, descriptor: int) -> None:
        """Maps all of it, shared."""
        size = os.fstat(descriptor).st_size
        if size < 8:
            raise BadRequest(f"the memory file on descriptor {descriptor} has {size} bytes")
        self.data = mmap.mmap(descriptor, size)
        self.header, self.begin = read_header(self.data)

    def array(self, name: str) -> np.ndarray | None:
        """A tensor as it lies in the file; None where there is none of that name."""
        entry = self.header.get(name)
        if entry is None:
            return None
        dtype = DTYPES.get(entry["dtype"])
        if dtype is None:
            raise BadRequest(f"tensor {name}: no type {entry['dtype']} here")
        shape, (first, last) = entry["shape"], entry["data_offsets"]
        count = math.prod(shape)
        if last - first != count * np.dtype(dtype).itemsize or self.begin + last > len(self.data):
            raise BadRequest(f"tensor {name}: {last - first} bytes do not hold {shape}")
        flat = np.frombuffer(self.data, dtype, count, self.begin + first)
        return flat.reshape(shape)

    def operands(self, problem: Problem, index: int) -> Operands:
        """Set number `index`."""
        p = problem
        own: dict[str, np.ndarray | None] = {
            name: self.array(f"{name}.{index}")
            for name in ("kv_lens", "cu_seqlens", "cu_seqlens_kv", "block_table")
        }
        # None: as many as there are, pages of a cache or rows of all sequences.
        queries = (1, p.q_heads, None) if "packed" in p.options else (p.batch, p.q_heads, p.q_len)
        keys: Shape = (p.batch, p.kv_heads, p.kv_len)
        if p.page_size:
            keys = (None, p.kv_heads, p.page_size)
        elif own["cu_seqlens_kv"] is not None:
            keys = (1, p.kv_heads, None)
        k = self.operand(f"k.{index}", p, (*keys, p.stored(p.qk_dim)), p.kv_dtype)
        shared = "shared_kv" in p.options
        v_shape = (*keys, p.stored(p.v_dim))
        return Operands(
            q=self.operand(f"q.{index}", p, (*queries, p.qk_dim)),
            k=k,
            v=k[..., : p.stored(p.v_dim)]
            if shared
            else self.operand(f"v.{index}", p, v_shape, p.kv_dtype),
            o=self.result(f"o.{index}", p, (*queries, p.v_dim)),
            lse=self.array(f"lse.{index}"),
            bias=self.array(f"bias.{index}"),
            mask=self.array(f"mask.{index}"),
            sinks=self.array(f"sinks.{index}"),
            slopes=self.array(f"slopes.{index}"),
            k_scale=self.array(f"k_scale.{index}"),
            v_scale=self.array(f"v_scale.{index}"),
            parents=self.array(f"parents.{index}"),
            **own,
        )

    def result(self, name: str, problem: Problem, shape: Shape) -> np.ndarray:
        """O, or room for it where only other results are wanted."""
        if "o" in problem.outputs:
            return self.operand(name, problem, shape)
        return np.zeros(shape, DTYPES[FORMATS[problem.dtype]])

    def operand(self, name: str, problem: Problem, shape: Shape, dtype: str = "") -> np.ndarray:
        """Q, K, V or O in its logical order; `dtype` where that is not the problem's."""
        dtype = dtype or problem.dtype
        array = self.array(name)
        if array is None:
            raise BadRequest(f"the memory file has no tensor {name}")
        if self.header[name]["dtype"] != FORMATS[dtype]:
            raise BadRequest(f"tensor {name} is {self.header[name]['dtype']}, not {dtype}")
        if problem.layout == "bshd":
            array = array.transpose(0, 2, 1, 3)
        if tuple(n if m else None for n, m in zip(array.shape, shape, strict=True)) != shape:
            raise BadRequest(f"tensor {name} is {array.shape}, the problem says {shape}")
        return array

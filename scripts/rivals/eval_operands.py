"""The operands of a file as `attnbench eval` understands them: sequence by sequence, in float64.

docs/eval.md says which tensors a file may have.  The file has been through `attnbench eval`, so
that nothing is checked here.
"""

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

TYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
}
DTYPES = {"f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def read(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file."""
    raw = bytearray(path.read_bytes())
    (length,) = struct.unpack_from("<Q", raw)
    found = {}
    for name, entry in json.loads(raw[8 : 8 + length]).items():
        if name == "__metadata__" or entry["dtype"] not in TYPES:
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        dtype = TYPES[entry["dtype"]]
        data = raw[begin:end]  # a copy: tensors lie anywhere in the file
        flat = torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)
        found[name] = flat.reshape(entry["shape"])
    return found


def open_input(text: str) -> dict[str, Tensor]:
    """FILE or FILE:PREFIX; names without the prefix."""
    if Path(text).exists() or ":" not in text:
        return read(Path(text))
    path, prefix = text.rsplit(":", 1)
    found = read(Path(path))
    return {name.removeprefix(prefix): t for name, t in found.items() if name.startswith(prefix)}


def keys_of(problem: str) -> dict[str, str]:
    """key=value,... with the shorthand for both numbers of heads taken apart."""
    found = dict(item.split("=", 1) for item in problem.split(",") if item)
    if "h" in found:
        found["hq"] = found["hkv"] = found.pop("h")
    return found


@dataclass
class Sequence:
    """One sequence: q (Hq, Sq, D), k (Hkv, Skv, D), v (Hkv, Skv, Dv), float64."""

    q: Tensor
    k: Tensor
    v: Tensor
    mask: Tensor | None  # (Hq, Sq, Skv), true = attend
    bias: Tensor | None  # likewise, added


@dataclass
class Operands:
    """A file's tensors, and what the text says of them."""

    t: dict[str, Tensor]
    text: dict[str, str]

    @property
    def packed(self) -> bool:
        """Whether sequences lie behind each other."""
        return "cu_seqlens" in self.t

    @property
    def flat(self) -> bool:
        """Whether q is (B, S, H * D)."""
        return self.t["q"].dim() == 3 and not self.packed

    @property
    def dtype(self) -> torch.dtype:
        """What q is rounded to."""
        if "dtype" in self.text:
            return DTYPES[self.text["dtype"]]
        own = self.t["q"].dtype
        return torch.float32 if own == torch.float64 else own

    @property
    def nibbles(self) -> bool:
        """Whether bytes of k and v have two elements of 4 bits, the first in the lower half."""
        return self.text.get("kv_dtype") == "i4"

    def dim(self, name: str, room: int) -> int:
        """The dimensions of rows of k or v of 4 bits that have room for so many."""
        of_q = self.rows("q", "hq").shape[-1]
        if name == "v" and "dv" in self.text:
            return int(self.text["dv"])
        return of_q if name == "k" or room == of_q + of_q % 2 else room

    def rows(self, name: str, heads: str) -> Tensor:
        """q, k or v as (B, H, S, D) in float64, packed with a B of 1, in pages as they are."""
        x = self.t[name]
        packed = self.packed if name == "q" else "cu_seqlens_kv" in self.t
        if x.dim() == 3 and packed:
            x = x[None]
        elif x.dim() == 3:
            count = int(self.text.get(heads, self.text["hq"]))
            x = x.reshape(*x.shape[:2], count, -1).transpose(1, 2)
        if name != "q" and self.nibbles:
            x = torch.stack((x & 15, x >> 4), -1).flatten(-2)[
                ..., : self.dim(name, 2 * x.shape[-1])
            ]
        return (x if x.element_size() == 1 else x.to(self.dtype)).double()

    def small(self, name: str) -> Tensor | None:
        """Numbers that are computed with as f32."""
        return self.t[name].float().double() if name in self.t else None

    def cache(self, name: str, b: int, keys: int | None) -> Tensor:
        """Keys or values of a sequence, (Hkv, Skv, D)."""
        x = self.rows(name, "hkv")
        if "cu_seqlens_kv" in self.t:
            first, last = self.t["cu_seqlens_kv"][b : b + 2].tolist()
            return x[0, :, first:last]
        if "block_table" in self.t:
            size = x.shape[2]
            count = -(-(keys or 0) // size)
            pages = self.t["block_table"][b, :count].long()
            x = x[pages].transpose(0, 1).reshape(x.shape[1], count * size, -1)
            return x[:, :keys]
        return x[b, :, :keys]

    def scaled(self, x: Tensor, name: str, b: int) -> Tensor:
        """What elements of 8 or 4 bits stand for."""
        if self.nibbles:
            zero = self.of_sequence(name.replace("scale", "zero"), x, b)
            x = x - (8 if zero is None else zero)
        scale = self.of_sequence(name, x, b)
        return x if scale is None else x * scale

    def of_sequence(self, name: str, x: Tensor, b: int) -> Tensor | None:
        """Scales or zero points of a sequence's keys or values x, which broadcast to it."""
        scale = self.small(name)
        if scale is None:
            return None
        scale = scale[..., None] if scale.dim() == 3 else scale
        if self.nibbles and scale.shape[-1] > 1:
            group = int(self.text.get("kv_group", "32"))
            scale = scale.repeat_interleave(group, -1)[..., : x.shape[-1]]
        if "cu_seqlens_kv" in self.t:
            if scale.shape[2] > 1:
                first, last = self.t["cu_seqlens_kv"][b : b + 2].tolist()
                scale = scale[:, :, first:last]
            return scale[0]
        scale = scale[b if scale.shape[0] > 1 else 0]
        return scale[:, : x.shape[1]] if scale.shape[1] > 1 else scale

    def length(self, b: int) -> int | None:
        """Keys of a sequence in a cache; None: all of them."""
        if "kv_lens" in self.t:
            return int(self.t["kv_lens"][b])
        if "block_table" in self.t:
            room = self.t["block_table"].shape[1] * self.t["k"].shape[2]
            return int(self.text.get("skv", self.text.get("s", room)))
        return None

    def masking(self, b: int, q: Tensor, keys: int) -> tuple[Tensor | None, Tensor | None]:
        """The sequence's part of mask and bias."""
        found: list[Tensor | None] = [None, None]
        for name in ("mask", "bias"):
            if name not in self.t:
                continue
            added = self.t[name].is_floating_point()
            x = self.t[name].float().double() if added else self.t[name].bool()
            x = x.reshape((1,) * (4 - x.dim()) + x.shape)
            x = x[b if x.shape[0] > 1 else 0][:, : q.shape[1], :keys]
            found[added] = x.expand(q.shape[0], q.shape[1], keys)
        return found[0], found[1]

    def tree(self, b: int, first: int, sq: int, keys: int) -> Tensor | None:
        """(Sq, Skv): what the drafts of a sequence see; its queries begin at row `first`."""
        if "parents" not in self.t:
            return None
        rows = self.t["parents"][first : first + sq] if self.packed else self.t["parents"][b]
        seen = torch.ones(sq, keys, dtype=torch.bool)
        seen[:, max(keys - sq, 0) :] = False
        for i in range(sq):
            draft = i
            while draft >= max(sq - keys, 0):
                seen[i, keys - sq + draft] = True
                draft = int(rows[draft])
        return seen

    def listed(self, b: int, heads: int, sq: int, keys: int) -> Tensor | None:
        """(Hq, Sq, Skv): the keys that lists of a sequence name."""
        if "indices" not in self.t:
            return None
        lists = self.t["indices"].long()
        parts = self.text.get("keys", "").split(":")  # index:COUNT:QUERIES
        block = int(parts[2]) if len(parts) > 2 else 1
        first = 0
        if self.packed:
            lists = lists if lists.dim() == 4 else lists[None]
            lengths = self.t["cu_seqlens"].diff()[:b].tolist()
            first = sum(-(-length // block) for length in lengths)
        own = lists[0 if self.packed else b][:, first : first + -(-sq // block)]
        # key `keys` takes what is none
        seen = torch.zeros(*own.shape[:2], keys + 1, dtype=torch.bool)
        seen.scatter_(2, torch.where(own < 0, keys, own), True)
        seen = seen[..., :keys].repeat_interleave(block, 1)[:, :sq]
        return seen.repeat_interleave(heads // len(seen), 0)

    def sequences(self) -> Iterator[Sequence]:
        """All of them."""
        q = self.rows("q", "hq")
        batch = len(self.t["cu_seqlens"]) - 1 if self.packed else len(q)
        for b in range(batch):
            first = 0
            if self.packed:
                first, last = self.t["cu_seqlens"][b : b + 2].tolist()
                own = q[0, :, first:last]
            else:
                own = q[b]
            codes = self.cache("k", b, self.length(b))
            k = self.scaled(codes, "k_scale", b)
            values = (
                self.cache("v", b, self.length(b))
                if "v" in self.t
                else codes[..., : int(self.text.get("dv", codes.shape[-1]))]
            )
            v = self.scaled(values, "v_scale", b)
            mask, bias = self.masking(b, own, k.shape[1])
            tree = self.tree(b, first, own.shape[1], k.shape[1])
            if tree is not None:
                mask = tree.expand(len(own), *tree.shape) & (True if mask is None else mask)
            listed = self.listed(b, *own.shape[:2], k.shape[1])
            if listed is not None:
                mask = listed & (True if mask is None else mask)
            yield Sequence(own, k, v, mask, bias)

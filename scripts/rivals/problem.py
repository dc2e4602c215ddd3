"""What a request asks for, and why a kernel may have to refuse it."""

import math
from dataclasses import dataclass
from typing import Any


class Unsupported(Exception):
    """The library does not compute this problem; the message says why."""


class Unavailable(Exception):
    """The library is not installed; the message says how to install it."""


class BadRequest(Exception):
    """A request that no program could answer; the message says what is wrong with it."""


@dataclass(frozen=True)
class Problem:
    """The shape of a request.  Lengths in elements; letters as in attention.h."""

    batch: int
    q_heads: int
    kv_heads: int
    q_len: int
    kv_len: int
    qk_dim: int
    v_dim: int
    dtype: str
    kv_dtype: str
    masks: frozenset[str]
    options: frozenset[str]
    outputs: frozenset[str]
    scale: float
    softcap: float
    window_left: int
    window_right: int
    page_size: int
    layout: str
    kv_group: int

    @property
    def group(self) -> int:
        """Query heads per KV head."""
        return self.q_heads // self.kv_heads

    def stored(self, dim: int) -> int:
        """Elements of the file's tensors for `dim` of K or V: two of i4 are a byte."""
        return (dim + 1) // 2 if self.kv_dtype == "i4" else dim

    @property
    def causal(self) -> bool:
        """A causal mask of either alignment."""
        return bool(self.masks & {"causal", "causal_top_left"})

    @property
    def square(self) -> bool:
        """As many queries as keys: both alignments of a causal mask are the same."""
        return self.q_len == self.kv_len

    @property
    def ragged(self) -> bool:
        """Whether sequences have lengths of their own; masks.complete() says what each sees."""
        return "ragged" in self.options

    @property
    def offset(self) -> int | None:
        """Position of query 0 among the keys: masks and windows count from there.

        None where it differs from one sequence to the next.
        """
        if self.ragged:
            return None
        return 0 if "causal_top_left" in self.masks else self.kv_len - self.q_len


def problem_of(shape: Any) -> Problem:
    """Reads the `shape` of a prepare request."""
    if not isinstance(shape, dict):
        raise BadRequest("prepare: `shape` is not an object")
    numbers = {}
    for key in ("batch", "q_heads", "kv_heads", "q_len", "kv_len", "qk_dim", "v_dim"):
        value = shape.get(key)
        if not isinstance(value, int) or value < 1:
            raise BadRequest(f"prepare: shape.{key} is {value!r}, not a positive whole number")
        numbers[key] = value
    dtype = str(shape.get("dtype", "f32"))
    return Problem(
        **numbers,
        dtype=dtype,
        kv_dtype=str(shape.get("kv_dtype") or dtype),
        masks=frozenset(shape.get("mask") or ()) - {"none"},
        options=frozenset(shape.get("options") or ()),
        outputs=frozenset(shape.get("outputs") or ("o",)),
        scale=float(shape.get("scale") or 1 / math.sqrt(numbers["qk_dim"])),
        softcap=float(shape.get("softcap") or 0),
        window_left=int(shape.get("window_left", -1)),
        window_right=int(shape.get("window_right", -1)),
        page_size=int(shape.get("page_size", 0)),
        layout=str(shape.get("layout", "bhsd")),
        kv_group=int(shape.get("kv_group", 0)),
    )


def refuse_beyond(caps: dict[str, Any], problem: Problem) -> None:
    """Raises Unsupported where the capabilities, which are data, do not cover a problem."""
    if problem.dtype not in caps["dtypes"]:
        raise Unsupported(f"no {problem.dtype}")
    if problem.kv_dtype != problem.dtype and problem.kv_dtype not in caps["kv_dtypes"]:
        raise Unsupported(f"no K and V of {problem.kv_dtype}")
    for wanted, key, what in (
        (problem.masks, "masks", "mask"),
        (problem.options, "options", "option"),
        (problem.outputs, "outputs", "output"),
    ):
        missing = sorted(wanted - set(caps[key]))
        if missing:
            raise Unsupported(f"no {what} {missing[0]}")
    if caps["max_dim"] and max(problem.qk_dim, problem.v_dim) > caps["max_dim"]:
        raise Unsupported(f"no dimension above {caps['max_dim']}")

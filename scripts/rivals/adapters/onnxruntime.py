"""ONNX Runtime: its three attention operators, each a model of one node (onnx_node.py)."""

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import onnxruntime as ort

from rivals.masks import additive, boolean, positional
from rivals.memory_file import Operands
from rivals.onnx_node import MICROSOFT, STANDARD, Node, bound, session_of
from rivals.operation import Operation, aligned
from rivals.problem import Problem, Unsupported

LENGTHS = ("onnxruntime_gqa",)  # knows lengths itself: masks.complete() is not for it


def mha(p: Problem, s: Operands, n: int, operation: Operation) -> Node:
    """MultiHeadAttention on one head, with (batch, KV head) as its batch and the group as rows.

    It takes (B, S, H D) and transposes that to (B, H, S, D): with one head there is nothing to
    transpose.  Its flash kernel divides the work by batch, head and rows alike.  `unidirectional`
    is for as many queries as keys and no group; otherwise there is attention_bias.
    """
    batch, rows = p.batch * p.kv_heads, p.group * p.q_len
    inputs = {
        "query": operation.dense(n, s.q).reshape(batch, rows, p.qk_dim),
        "key": operation.dense(n, s.k).reshape(batch, p.kv_len, p.qk_dim),
        "value": operation.dense(n, s.v).reshape(batch, p.kv_len, p.v_dim),
    }
    given = s.mask is not None or s.bias is not None
    flag = p.causal and p.square and p.group == 1 and not given
    if given:
        inputs["attention_bias"] = operation.computed(
            n, lambda: folded(p, additive(p, s.mask, s.bias))
        )
    elif not flag and positional(p) is not None:
        inputs["attention_bias"] = folded(p, additive(p, None, None))
    order = ["query", "key", "value", "", "", "attention_bias"]
    return Node(
        "MultiHeadAttention",
        MICROSOFT,
        inputs,
        {"output": operation.dense_result(n, s.o).reshape(batch, rows, p.v_dim)},
        {"num_heads": 1, "scale": p.scale, "unidirectional": int(flag)},
        order if "attention_bias" in inputs else order[:3],
    )


def folded(p: Problem, mask: np.ndarray) -> np.ndarray:
    """An additive mask for `mha`: (1 or B Hkv, 1, G Sq, Skv)."""
    if mask.ndim == 2:
        return np.ascontiguousarray(np.tile(mask, (p.group, 1))[None, None])
    whole = np.broadcast_to(mask, (p.batch, p.q_heads, p.q_len, p.kv_len))
    return np.ascontiguousarray(whole).reshape(-1, 1, p.group * p.q_len, p.kv_len)


def standard(p: Problem, s: Operands, n: int, operation: Operation) -> Node:
    """Attention of the standard, on (B, H, S, D); is_causal is aligned to the first key."""
    inputs = {
        "Q": operation.dense(n, s.q),
        "K": operation.dense(n, s.k),
        "V": operation.dense(n, s.v),
    }
    flag = p.causal and p.offset == 0
    if s.bias is not None:
        inputs["attn_mask"] = operation.computed(n, lambda: additive(p, s.mask, s.bias))
    elif s.mask is not None:
        inputs["attn_mask"] = operation.computed(n, lambda: boolean(p, s.mask))
    elif not flag and positional(p) is not None:
        inputs["attn_mask"] = additive(p, None, None)
    attributes = {"scale": p.scale, "is_causal": int(flag and "attn_mask" not in inputs)}
    if p.softcap:
        attributes["softcap"] = p.softcap
    return Node("Attention", STANDARD, inputs, {"Y": operation.dense_result(n, s.o)}, attributes)


def cached(p: Problem, s: Operands, n: int, operation: Operation) -> Node:
    """GroupQueryAttention on its cache, which is (B, Hkv, S, D) as our tensors are.

    The keys before the last Sq are the cache, which is bound as `past` and as `present`, as its
    documentation has it for generating text; the last Sq are the new ones, which every call
    appends.  Without a cache or with one query, (batch, KV head) may be its batch: then K and V
    are taken where they lie, and sequences may have lengths of their own.
    """
    past = p.kv_len - p.q_len
    if p.q_len == 1 or not past:
        batch, kv_heads = p.batch * p.kv_heads, 1
    else:
        batch, kv_heads = p.batch, p.kv_heads

    def by_position(heads: np.ndarray) -> np.ndarray:
        """(B, H, S, D) as (B, S, H, D), as the operator takes queries and new keys."""
        return heads.reshape(batch, -1, *heads.shape[2:]).transpose(0, 2, 1, 3)

    q = operation.dense(n, by_position(operation.dense(n, s.q)))
    out = operation.dense_result(n, by_position(operation.dense_result(n, s.o)))
    inputs = {"query": q.reshape(batch, p.q_len, -1)}
    outputs = {"output": out.reshape(batch, p.q_len, -1)}
    for name, whole in (("key", s.k), ("value", s.v)):
        keys = operation.dense(n, whole).reshape(batch, kv_heads, p.kv_len, p.qk_dim)
        if p.ragged:
            new = operation.computed(n, partial(last_of_each, p, s, keys))
        else:
            new = operation.dense(n, by_position(keys[:, :, past:]))
        inputs[name] = new.reshape(batch, p.q_len, -1)
        if past:
            inputs[f"past_{name}"] = outputs[f"present_{name}"] = keys
        else:
            outputs[f"present_{name}"] = aligned(keys.shape, keys.dtype)
    inputs["seqlens_k"] = np.full(batch, p.kv_len - 1, np.int32)
    if p.ragged:
        inputs["seqlens_k"] = operation.computed(n, lambda: lengths(p, s) - 1)
        operation.after[n].append(lambda _: zero_empty(s))
    inputs["total_sequence_length"] = np.array(p.kv_len, np.int32)
    order = ["query", "key", "value", "past_key", "past_value", "seqlens_k"]
    order = [name if name in inputs else "" for name in [*order, "total_sequence_length"]]
    attributes = attributes_of(p, kv_heads)
    return Node("GroupQueryAttention", MICROSOFT, inputs, outputs, attributes, order)


def lengths(p: Problem, s: Operands) -> np.ndarray:
    """Of (batch, KV head), at least 1: the operator has no empty sequences; zero_empty()."""
    return np.repeat(np.clip(s.kv_lens, 1, p.kv_len), p.kv_heads).astype(np.int32)


def last_of_each(p: Problem, s: Operands, keys: np.ndarray) -> np.ndarray:
    """The new key of (batch, KV head), (B Hkv, 1, 1, D)."""
    return keys[np.arange(len(keys)), :, lengths(p, s) - 1][:, None]


def zero_empty(s: Operands) -> None:
    """Results of sequences without keys."""
    s.o[s.kv_lens <= 0] = 0


Start = Callable[[str, Node], ort.InferenceSession]


class Quantised:
    """GroupQueryAttention on caches of 8-bit or 4-bit integers, which it reads where they lie.

    All keys are in the cache and none are new, as in layers that share the cache of another one:
    the call quantises nothing.  (batch, KV head) are its KV heads, so that each may have scales of
    its own.  A scale is for all keys: in one model there is one for the tensor, in another one for
    each head and channel.  A check asks for others, too, and only their values say so: then the
    operator computes on floats, to which K and V are widened before.  That is not timed.
    """

    def __init__(self, p: Problem, s: Operands, n: int, operation: Operation, start: Start) -> None:
        """`start` makes the session of a node, or finds that of an earlier set."""
        self.problem, self.operands, self.start = p, s, start
        self.operation = operation
        self.heads = p.batch * p.kv_heads
        by_position = (2, 0, 1, 3)  # (B, H, S, D) as (S, B, H, D)
        q = operation.dense(n, s.q.transpose(by_position))
        o = operation.dense_result(n, s.o.transpose(by_position))
        self.q, self.o = (x.reshape(1, p.q_len, -1) for x in (q, o))
        self.stored = {
            name: operation.dense(n, x).reshape(1, self.heads, p.kv_len, x.shape[-1])
            for name, x in (("key", s.k), ("value", s.v))
        }
        self.node = self.call = None
        operation.before[n].append(self.refresh)
        self.refresh()

    def scales(self, whole: np.ndarray) -> np.ndarray | None:
        """One for the tensor, or one for each head and channel; None: keys have their own."""
        bits = whole.view(np.int32)  # a NaN is like itself
        if (bits == bits.flat[0]).all():
            return whole.reshape(-1)[:1]
        if (bits != bits[:, :, :1]).any():
            return None
        p = self.problem
        channels = of_channels(p, whole[:, :, :1])
        return np.broadcast_to(channels, (p.batch, p.kv_heads, 1, p.qk_dim)).reshape(-1)

    def refresh(self) -> None:
        """Reads the scales, and binds the arrays to the model for such scales."""
        p, s = self.problem, self.operands
        given = [self.scales(s.k_scale), self.scales(s.v_scale)]
        caches, kind = self.stored, "NONE"
        if any(x is None for x in given):
            given = []
            self.operation.untimed = "GroupQueryAttention takes no scales of each key"
            caches = {
                "key": widened(p, s.k, s.k_scale).reshape(1, self.heads, p.kv_len, -1),
                "value": widened(p, s.v, s.v_scale).reshape(1, self.heads, p.kv_len, -1),
            }
        elif given[0].size == given[1].size == 1:
            kind = "PER_TENSOR"
        else:
            kind = "PER_CHANNEL"
            given = [np.broadcast_to(x, self.heads * p.qk_dim) for x in given]
        nothing = np.zeros((1, 0, self.heads * p.qk_dim), np.float32)
        inputs = {"query": self.q, "key": nothing, "value": nothing}
        inputs |= {f"past_{name}": x for name, x in caches.items()}
        inputs["seqlens_k"] = np.full(1, p.kv_len - 1, np.int32)
        inputs["total_sequence_length"] = np.array(p.kv_len, np.int32)
        order = [*inputs, *[""] * 5]
        for name, x in zip(("k_scale", "v_scale"), given, strict=False):
            inputs[name] = np.array(x)
            order.append(name)
        outputs = {"output": self.o, **{f"present_{name}": x for name, x in caches.items()}}
        attributes = attributes_of(p, self.heads)
        if given:
            bits = 4 if p.kv_dtype == "i4" else 8
            attributes |= {"k_quant_type": kind, "v_quant_type": kind, "kv_cache_bit_width": bits}
        self.node = Node("GroupQueryAttention", MICROSOFT, inputs, outputs, attributes, order)
        self.call = bound(self.start(kind, self.node), self.node)

    def __call__(self) -> None:
        """The call that is timed."""
        self.call()


def of_channels(p: Problem, scales: np.ndarray) -> np.ndarray:
    """Scales of groups of channels for each channel."""
    if p.kv_dtype != "i4":
        return scales
    return np.repeat(scales, p.kv_group, -1)[..., : p.qk_dim]


def widened(p: Problem, stored: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """What K or V stand for; the first of two elements of i4 is in the lower half of a byte."""
    if p.kv_dtype == "i4":
        halves = np.stack((stored & 15, stored >> 4), -1).astype(np.float32) - 8
        stored = halves.reshape(*stored.shape[:-1], -1)
    return stored * of_channels(p, scales)


def attributes_of(p: Problem, kv_heads: int) -> dict[str, Any]:
    """GroupQueryAttention's, for any cache."""
    attributes = {"num_heads": kv_heads * p.group, "kv_num_heads": kv_heads, "scale": p.scale}
    if "window" in p.options and p.window_left >= 0:
        attributes["local_window_size"] = p.window_left + 1
    if p.softcap:
        attributes["softcap"] = p.softcap
    return attributes


def refuse(name: str, p: Problem) -> None:
    """What the table of capabilities cannot say."""
    if name == "onnxruntime_attention" and p.scale <= 0:
        raise Unsupported("Attention takes a positive scale only")
    if name != "onnxruntime_gqa":
        return
    if p.batch > 1 and 1 < p.q_len < p.kv_len and p.kv_dtype == p.dtype:
        raise Unsupported("GroupQueryAttention takes one sequence if it has a cache and new keys")
    if p.ragged and (p.q_len > 1 or p.kv_dtype != p.dtype):
        raise Unsupported("lengths of sequences with one query on a cache of floats only")
    if p.qk_dim % 8:
        raise Unsupported("GroupQueryAttention takes dimensions that are multiples of 8 only")
    if p.qk_dim != p.v_dim:
        raise Unsupported("GroupQueryAttention takes V of the dimension of Q and K only")
    if not p.causal and p.q_len > 1:
        raise Unsupported("GroupQueryAttention is causal")
    if "causal_top_left" in p.masks and not p.square:
        raise Unsupported("GroupQueryAttention aligns its causal mask to the last key")
    if p.q_len > p.kv_len:
        raise Unsupported("GroupQueryAttention takes no more queries than keys")
    if not p.causal and "window" in p.options and p.window_right >= 0:
        raise Unsupported("GroupQueryAttention has no limit on the right")


NODES = {"onnxruntime_mha": mha, "onnxruntime_gqa": cached, "onnxruntime_attention": standard}


def prepare(
    name: str, problem: Problem, sets: list[Operands], threads: int, cpus: list[int]
) -> Operation:
    """A session for each kind of model, and its binding to each set."""
    refuse(name, problem)
    operation = Operation(sets, threads)
    sessions: dict[str, ort.InferenceSession] = {}

    def start(kind: str, node: Node) -> ort.InferenceSession:
        if kind not in sessions:
            sessions[kind] = session_of(node, threads, cpus)
        return sessions[kind]

    for n, s in enumerate(sets):
        if problem.kv_dtype != problem.dtype:
            operation.call.append(Quantised(problem, s, n, operation, start))
            continue
        node = NODES[name](problem, s, n, operation)
        operation.call.append(bound(start(name, node), node))
        operation.kept.append(node)
    if len(cpus) == threads:
        os.sched_setaffinity(0, cpus[:1])
    used = next(iter(sessions.values()))
    operation.threads = used.get_session_options().intra_op_num_threads
    return operation

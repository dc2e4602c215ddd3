"""ONNX Runtime: its three attention operators, each a model of one node.

onnxruntime.ai, Thread management: one operator at a time (ORT_SEQUENTIAL), `intra_op_num_threads`
threads in it that spin while they wait, each bound to its CPU; the calling thread is one of them.
Operands and results are bound where they lie (I/O Binding).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

from rivals.masks import additive, boolean, positional
from rivals.memory_file import Operands
from rivals.operation import Operation, aligned
from rivals.problem import Problem, Unsupported

TYPES = {
    np.dtype(np.float32): TensorProto.FLOAT,
    np.dtype(np.int32): TensorProto.INT32,
    np.dtype(np.bool_): TensorProto.BOOL,
}
MICROSOFT, STANDARD = "com.microsoft", ""
OPSET, CONTRIB, IR = 24, 1, 10


@dataclass
class Node:
    """An operator with its arrays; inputs in order, "" where one is left out."""

    operator: str
    domain: str
    inputs: dict[str, np.ndarray]
    outputs: dict[str, np.ndarray]
    attributes: dict[str, Any]
    order: list[str] = field(default_factory=list)


def values(arrays: dict[str, np.ndarray]) -> list[Any]:
    """Declarations of tensors; shapes are fixed, so that buffers are planned once."""
    return [
        helper.make_tensor_value_info(name, TYPES[array.dtype], array.shape)
        for name, array in arrays.items()
    ]


def session_of(node: Node, threads: int, cpus: list[int]) -> ort.InferenceSession:
    """A session of a model of one node."""
    made = helper.make_node(
        node.operator,
        node.order or list(node.inputs),
        list(node.outputs),
        domain=node.domain,
        **node.attributes,
    )
    graph = helper.make_graph([made], "attention", values(node.inputs), values(node.outputs))
    opsets = [helper.make_opsetid(STANDARD, OPSET), helper.make_opsetid(MICROSOFT, CONTRIB)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.add_session_config_entry("session.intra_op.allow_spinning", "1")
    if threads > 1 and len(cpus) == threads:
        # Counted from 1, for all threads but the calling one, which is bound here.
        others = ";".join(str(cpu + 1) for cpu in cpus[1:])
        options.add_session_config_entry("session.intra_op_thread_affinities", others)
    return ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])


def bound(session: ort.InferenceSession, node: Node) -> Any:
    """A call of the session on the node's arrays."""
    binding = session.io_binding()
    for name, x in node.inputs.items():
        binding.bind_input(name, "cpu", 0, x.dtype.type, x.shape, x.ctypes.data)
    for name, x in node.outputs.items():
        binding.bind_output(name, "cpu", 0, x.dtype.type, x.shape, x.ctypes.data)
    return partial(session.run_with_iobinding, binding)


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
    are taken where they lie.
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
        new = operation.dense(n, by_position(keys[:, :, past:]))
        inputs[name] = new.reshape(batch, p.q_len, -1)
        if past:
            inputs[f"past_{name}"] = outputs[f"present_{name}"] = keys
        else:
            outputs[f"present_{name}"] = aligned(keys.shape, keys.dtype)
    inputs["seqlens_k"] = np.full(batch, p.kv_len - 1, np.int32)
    inputs["total_sequence_length"] = np.array(p.kv_len, np.int32)
    order = ["query", "key", "value", "past_key", "past_value", "seqlens_k"]
    order = [name if name in inputs else "" for name in [*order, "total_sequence_length"]]
    attributes = {"num_heads": kv_heads * p.group, "kv_num_heads": kv_heads, "scale": p.scale}
    if "window" in p.options and p.window_left >= 0:
        attributes["local_window_size"] = p.window_left + 1
    if p.softcap:
        attributes["softcap"] = p.softcap
    return Node("GroupQueryAttention", MICROSOFT, inputs, outputs, attributes, order)


def refuse(name: str, p: Problem) -> None:
    """What the table of capabilities cannot say."""
    if name == "onnxruntime_attention" and p.scale <= 0:
        raise Unsupported("Attention takes a positive scale only")
    if name != "onnxruntime_gqa":
        return
    if p.batch > 1 and 1 < p.q_len < p.kv_len:
        raise Unsupported("GroupQueryAttention takes one sequence if it has a cache and new keys")
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
    """A session, and its binding to each set."""
    refuse(name, problem)
    operation = Operation(sets, threads)
    session = None
    for n, s in enumerate(sets):
        node = NODES[name](problem, s, n, operation)
        session = session or session_of(node, threads, cpus)
        operation.call.append(bound(session, node))
        operation.kept.append(node)
    if len(cpus) == threads:
        os.sched_setaffinity(0, cpus[:1])
    operation.threads = session.get_session_options().intra_op_num_threads
    return operation

"""OpenVINO: a model of one ScaledDotProductAttention, compiled for the CPU.

docs.openvino.ai, High-level Performance Hints, and Performance Hints and Thread Scheduling: the
latency hint, one stream on all threads, each bound to its core.  The precision hint is the
problem's type: left alone, f32 models are computed in bf16 where the CPU has it.

The operator has as many heads of K and V as of Q.  The query heads of a group become further rows
of their KV head, so that nothing is repeated; the causal flag knows nothing of such rows, there a
fixed mask, which is what the plugin makes of the flag, stands in the model.
"""

from functools import partial

import numpy as np
import openvino as ov
from openvino import opset13 as ops

from rivals.masks import additive
from rivals.memory_file import Operands, bits_of
from rivals.operation import Operation
from rivals.problem import Problem

TYPES = {"f32": ov.Type.f32, "bf16": ov.Type.bf16}
CORE = ov.Core()
ATTENTION = "attention"  # the node


def tensor(array: np.ndarray, kind: ov.Type) -> ov.Tensor:
    """The same memory as a tensor; BF16 comes as its bits."""
    if array.dtype == np.uint16:
        return ov.Tensor(array, ov.Shape(list(array.shape)), kind)
    return ov.Tensor(array, shared_memory=True)


def rows(heads: np.ndarray, p: Problem) -> np.ndarray:
    """(B, Hq, Sq, D) with the heads of a group as further rows: (B, Hkv, G Sq, D)."""
    return heads.reshape(p.batch, p.kv_heads, p.group * p.q_len, -1)


def folded(mask: np.ndarray, p: Problem) -> np.ndarray:
    """An additive mask for those rows, in the type of the scores; BF16 as its bits."""
    if mask.ndim == 2:
        mask = np.tile(mask, (p.group, 1))[None, None]
    else:
        mask = rows(np.broadcast_to(mask, (p.batch, p.q_heads, p.q_len, p.kv_len)), p)
    return mask if p.dtype == "f32" else bits_of(mask)


def model_of(
    p: Problem, mask: np.ndarray | None, fixed: np.ndarray | None, causal: bool
) -> ov.Model:
    """The model: a mask is an operand, or fixed and part of the model, or the flag."""
    kind = TYPES[p.dtype]
    shapes = [
        (p.batch, p.kv_heads, p.group * p.q_len, p.qk_dim),
        (p.batch, p.kv_heads, p.kv_len, p.qk_dim),
        (p.batch, p.kv_heads, p.kv_len, p.v_dim),
    ]
    parameters = [ops.parameter(list(s), kind) for s in shapes]
    attention_mask = None
    if mask is not None:
        attention_mask = ops.parameter(list(mask.shape), kind)
        parameters.append(attention_mask)
    elif fixed is not None:
        attention_mask = ops.constant(tensor(fixed, kind), shared_memory=False)
    scale = ops.constant(np.float32(p.scale), dtype=kind)
    node = ops.scaled_dot_product_attention(
        *parameters[:3], attention_mask=attention_mask, scale=scale, causal=causal
    )
    node.set_friendly_name(ATTENTION)
    return ov.Model([node], parameters, "attention")


def compiled(model: ov.Model, problem: Problem, threads: int) -> ov.CompiledModel:
    """The model for the CPU."""
    return CORE.compile_model(
        model,
        "CPU",
        {
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": 1,
            "INFERENCE_NUM_THREADS": threads,
            "ENABLE_CPU_PINNING": True,
            "INFERENCE_PRECISION_HINT": problem.dtype,
            "KV_CACHE_PRECISION": problem.dtype,
        },
    )


def instructions(model: ov.CompiledModel) -> str:
    """How the attention node was compiled, as the plugin names it: "jit_avx512_f32"."""
    for node in model.get_runtime_model().get_ops():
        if node.get_friendly_name() == ATTENTION and "primitiveType" in node.rt_info:
            return node.rt_info["primitiveType"].astype(str)
    return ""


def prepare(
    name: str, problem: Problem, sets: list[Operands], threads: int, _cpus: list[int]
) -> Operation:
    """A compiled model, and a request with its tensors for each set."""
    p, kind = problem, TYPES[problem.dtype]
    operation, model = Operation(sets, threads), None
    flag = name == "openvino" and p.causal and p.offset == 0 and p.group == 1
    own = None if flag else additive(p, None, None)
    fixed = None if own is None else folded(own, p)
    for n, s in enumerate(sets):
        mask = None
        if s.mask is not None or s.bias is not None:
            mask = operation.computed(n, lambda s=s: folded(additive(p, s.mask, s.bias), p))
        elif name == "openvino_mask":
            mask = fixed
        model = model or compiled(model_of(p, mask, fixed, flag), p, threads)
        operands = [rows(operation.dense(n, s.q), p), *(operation.dense(n, x) for x in (s.k, s.v))]
        operands += [] if mask is None else [mask]
        result = rows(operation.dense_result(n, s.o), p)
        request = model.create_infer_request()
        for index, x in enumerate(operands):
            request.set_input_tensor(index, tensor(x, kind))
        request.set_output_tensor(0, tensor(result, kind))
        operation.kept += [*operands, result]
        operation.call.append(partial(request.infer, share_outputs=True))
    operation.threads = model.get_property("INFERENCE_NUM_THREADS")
    operation.instructions = instructions(model)
    return operation

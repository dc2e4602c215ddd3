"""ONNX models of one node, and how ONNX Runtime is to run them.

onnxruntime.ai, Thread management: one operator at a time (ORT_SEQUENTIAL), `intra_op_num_threads`
threads in it that spin while they wait, each bound to its CPU; the calling thread is one of them.
Operands and results are bound where they lie (I/O Binding).
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

TYPES = {
    np.dtype(np.float32): TensorProto.FLOAT,
    np.dtype(np.int32): TensorProto.INT32,
    np.dtype(np.bool_): TensorProto.BOOL,
    np.dtype(np.int8): TensorProto.INT8,
    np.dtype(np.uint8): TensorProto.UINT8,
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

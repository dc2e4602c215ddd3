"""ggml: its flash attention, called through the C interface of ggml.h and ggml-backend.h.

The library is built for this processor (requirements/ggml.txt).  Its threads are a pool that lasts,
each bound to its CPU, as those of llama.cpp with --cpu-mask and --cpu-strict (llama.cpp,
tools/cli/README.md); left alone it starts threads for every graph.  Q and O are f32 there whatever
K and V are, and a mask is a tensor of f16.
"""

import ctypes
import functools
import os
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np

from rivals.masks import additive, rank4
from rivals.memory_file import Operands, bits_of, floats
from rivals.operation import Operation, aligned
from rivals.problem import Problem

# enum ggml_type; BF16 comes as its bits.
TYPES = {np.dtype(np.float32): 0, np.dtype(np.float16): 1, np.dtype(np.uint16): 30}
INSTRUCTIONS = ("avx512_bf16", "avx512", "avx2", "avx")  # best first; it has AMX for int8 weights
MEMORY = 1 << 20  # bytes for the descriptions of a graph of one operation; tensors lie elsewhere


class InitParams(ctypes.Structure):
    """struct ggml_init_params."""

    _fields_ = (
        ("mem_size", ctypes.c_size_t),
        ("mem_buffer", ctypes.c_void_p),
        ("no_alloc", ctypes.c_bool),
    )


class PoolParams(ctypes.Structure):
    """struct ggml_threadpool_params."""

    _fields_ = (
        ("cpumask", ctypes.c_bool * 512),  # GGML_MAX_N_THREADS
        ("n_threads", ctypes.c_int),
        ("prio", ctypes.c_int),
        ("poll", ctypes.c_uint32),
        ("strict_cpu", ctypes.c_bool),
        ("paused", ctypes.c_bool),
    )


def library() -> dict[str, Any]:
    """The functions that are used here, by name."""
    folder = next(Path(sysconfig.get_path("platlib"), "libggml").glob("lib*/libggml.so")).parent
    base, cpu = (
        ctypes.CDLL(str(folder / f"libggml-{part}.so"), ctypes.RTLD_GLOBAL)
        for part in ("base", "cpu")
    )
    pointer, size, number = ctypes.c_void_p, ctypes.c_int64, ctypes.c_float
    signatures = {
        "ggml_init": (base, pointer, [InitParams]),
        "ggml_free": (base, None, [pointer]),
        "ggml_new_tensor_4d": (base, pointer, [pointer, ctypes.c_int, size, size, size, size]),
        "ggml_flash_attn_ext": (base, pointer, [pointer] * 5 + [number] * 3),
        "ggml_new_graph": (base, pointer, [pointer]),
        "ggml_build_forward_expand": (base, None, [pointer, pointer]),
        "ggml_backend_cpu_buffer_from_ptr": (base, pointer, [pointer, ctypes.c_size_t]),
        "ggml_backend_tensor_alloc": (base, ctypes.c_int, [pointer, pointer, pointer]),
        "ggml_backend_graph_compute": (base, ctypes.c_int, [pointer, pointer]),
        "ggml_backend_buffer_free": (base, None, [pointer]),
        "ggml_backend_cpu_init": (cpu, pointer, []),
        "ggml_backend_cpu_set_n_threads": (cpu, None, [pointer, ctypes.c_int]),
        "ggml_backend_cpu_set_threadpool": (cpu, None, [pointer, pointer]),
        **{f"ggml_cpu_has_{name}": (cpu, ctypes.c_int, []) for name in INSTRUCTIONS},
        "ggml_threadpool_params_default": (base, PoolParams, [ctypes.c_int]),
        "ggml_threadpool_new": (cpu, pointer, [ctypes.POINTER(PoolParams)]),
    }
    functions = {}
    for name, (where, result, arguments) in signatures.items():
        functions[name] = getattr(where, name)
        functions[name].restype, functions[name].argtypes = result, arguments
    return functions


C = library()
BACKEND = C["ggml_backend_cpu_init"]()


class Graph:
    """One flash attention on arrays where they lie."""

    def __init__(
        self, problem: Problem, operands: list[np.ndarray], mask: np.ndarray | None, o: np.ndarray
    ) -> None:
        """Q, K, V are (B, H, S, D), O is (B, S, H, D); ggml counts dimensions from the last."""
        self.buffers: list[int] = []
        self.context = C["ggml_init"](InitParams(MEMORY, None, True))
        q, k, v = (self.tensor(x) for x in operands)
        seen = None if mask is None else self.tensor(mask)
        node = C["ggml_flash_attn_ext"](
            self.context, q, k, v, seen, problem.scale, 0, problem.softcap
        )
        self.place(node, o)
        self.graph = C["ggml_new_graph"](self.context)
        C["ggml_build_forward_expand"](self.graph, node)
        self.call = functools.partial(C["ggml_backend_graph_compute"], BACKEND, self.graph)

    def tensor(self, array: np.ndarray) -> int:
        """A tensor of an array's memory."""
        kind, shape = TYPES[array.dtype], reversed(array.shape)
        made = C["ggml_new_tensor_4d"](self.context, kind, *shape)
        self.place(made, array)
        return made

    def place(self, tensor: int, array: np.ndarray) -> None:
        """Puts a tensor where an array lies."""
        address = array.ctypes.data
        self.buffers.append(C["ggml_backend_cpu_buffer_from_ptr"](address, array.nbytes))
        C["ggml_backend_tensor_alloc"](self.buffers[-1], tensor, address)

    def __del__(self) -> None:
        """Gives back what ggml allocated."""
        for buffer in self.buffers:
            C["ggml_backend_buffer_free"](buffer)
        C["ggml_free"](self.context)


def write(s: Operands, o: np.ndarray, _status: int) -> None:
    """Copies a result into the memory file."""
    o = o.transpose(0, 2, 1, 3)
    np.copyto(s.o, bits_of(o) if s.o.dtype == np.uint16 else o)


def half(problem: Problem, s: Operands) -> np.ndarray | None:
    """The mask, which ggml takes as f16 only."""
    mask = additive(problem, s.mask, None)
    if mask is None:
        return None
    made = aligned(rank4(mask).shape, np.float16)
    made[...] = mask
    return made


@functools.cache
def pool(threads: int, cpus: tuple[int, ...]) -> int:
    """Makes the backend's threads; how many there are, the calling one among them, as /proc has it.

    (ggml-cpu.h declares ggml_threadpool_get_n_threads; the library has no such function.)
    """
    params = C["ggml_threadpool_params_default"](threads)
    if len(cpus) == threads:
        params.strict_cpu = True
        for cpu in cpus:
            params.cpumask[cpu] = True
    others = len(os.listdir("/proc/self/task"))
    made = C["ggml_threadpool_new"](ctypes.byref(params))
    others = len(os.listdir("/proc/self/task")) - others
    C["ggml_backend_cpu_set_n_threads"](BACKEND, threads)
    C["ggml_backend_cpu_set_threadpool"](BACKEND, made)
    return others + 1


def prepare(
    _name: str, problem: Problem, sets: list[Operands], threads: int, cpus: list[int]
) -> Operation:
    """A graph for each set."""
    operation = Operation(sets, pool(threads, tuple(cpus)))
    built = (name for name in INSTRUCTIONS if C[f"ggml_cpu_has_{name}"]())
    operation.instructions = next(built, "").upper()
    for n, s in enumerate(sets):
        q = s.q
        if q.dtype != np.float32:
            q = operation.computed(n, functools.partial(floats, s.q))
        operands = [operation.dense(n, x) for x in (q, s.k, s.v)]
        mask = half(problem, s)
        if s.mask is not None:
            mask = operation.computed(n, functools.partial(half, problem, s))
        o = aligned((problem.batch, problem.q_len, problem.q_heads, problem.v_dim), np.float32)
        graph = Graph(problem, operands, mask, o)
        operation.kept += [operands, mask, graph]
        operation.call.append(graph.call)
        operation.after[n].append(functools.partial(write, s, o))
    return operation

"""A prepared problem: calls it, times it, writes its results down."""

import gc
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from rivals.memory_file import Operands
from rivals.problem import Unsupported

ALIGNMENT = 64  # bytes, as the tensors of the memory file


def aligned(shape: tuple[int, ...], dtype: type | np.dtype) -> np.ndarray:
    """A dense array that begins at a cache line."""
    count = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    raw = np.zeros(count + ALIGNMENT, np.uint8)
    first = -raw.ctypes.data % ALIGNMENT
    return raw[first : first + count].view(dtype).reshape(shape)


class Operation:
    """What an adapter prepares: for each set of operands a call, which is all that is timed.

    Operands change between requests, so that whatever does not take them where they lie copies
    them again, off the clock, before a request that says so; likewise results after it.
    """

    def __init__(self, sets: list[Operands], threads: int) -> None:
        """For sets of operands, on as many threads as the library says that it uses."""
        self.threads = threads
        self.instructions = ""  # the instruction set that the library uses, where it can tell
        self.untimed = ""  # why this is no time of the kernel, where it is not; it may be computed
        self.call: list[Callable[[], Any]] = []
        self.before: list[list[Callable[[], None]]] = [list(s.refresh) for s in sets]
        self.after: list[list[Callable[[Any], None]]] = [[] for _ in sets]
        self.kept: list[Any] = []  # memory that a library knows by its address alone

    def computed(self, index: int, make: Callable[[], np.ndarray]) -> np.ndarray:
        """An operand made of others, dense; made again before each request."""
        made = make()
        buffer = aligned(made.shape, made.dtype)
        self.before[index].append(lambda: np.copyto(buffer, make()))
        np.copyto(buffer, made)
        return buffer

    def dense(self, index: int, operand: np.ndarray) -> np.ndarray:
        """An operand as it lies where that is dense, or a copy."""
        if operand.flags.c_contiguous:
            return operand
        return self.computed(index, lambda: operand)

    def dense_result(self, index: int, result: np.ndarray) -> np.ndarray:
        """Where a library may write a result: in place where that is dense, or beside it."""
        if result.flags.c_contiguous:
            return result
        buffer = aligned(result.shape, result.dtype)
        # Before the existing ones: `result` may itself be such a buffer.
        self.after[index].insert(0, lambda _: np.copyto(result, buffer))
        return buffer

    def execute(self, index: int) -> None:
        """Computes a set from what is in the file now and writes its results."""
        for copy in self.before[index]:
            copy()
        self.store(index, self.call[index]())

    def refresh(self) -> None:
        """Copies what has to be copied of the operands of every set."""
        for copies in self.before:
            for copy in copies:
                copy()

    def store(self, index: int, result: Any) -> None:
        """Writes the result of a set's call into the memory file, if it is not there yet."""
        for copy in self.after[index]:
            copy(result)

    def measure(self, calls: int, first: int) -> float:
        """Seconds of `calls` calls on the sets from number `first` on, in rotation."""
        if self.untimed:
            raise Unsupported(self.untimed)
        count = len(self.call)
        used = [(first + n) % count for n in range(min(calls, count))]
        turns = [(n, self.call[n]) for n in used] * -(-calls // count)
        del turns[calls:]
        results: list[Any] = [None] * count
        begin = time.perf_counter()
        for n, call in turns:
            results[n] = call()
        seconds = time.perf_counter() - begin
        for n in used:
            self.store(n, results[n])
        return seconds


def collect_garbage() -> None:
    """Collects once, after a preparation, and never while calls are timed, as `timeit` does.

    What is alive then, a whole library, is not looked at again: that takes half a second in torch.
    """
    gc.disable()
    gc.collect()
    gc.freeze()


def cpus_of_threads() -> list[int]:
    """The CPUs where any thread of this process may run."""
    cpus: set[int] = set()
    for task in os.listdir("/proc/self/task"):
        try:
            cpus |= os.sched_getaffinity(int(task))
        except ProcessLookupError:  # ended meanwhile
            continue
    return sorted(cpus)

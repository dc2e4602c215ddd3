"""The conversation of docs/protocol.md: one request line, one answer line, until end of file."""

import importlib
import json
import os
import sys
import traceback
from collections.abc import Iterator
from typing import Any

from rivals.environments import environment
from rivals.kernels import KERNELS, describe, library_of
from rivals.problem import BadRequest, Unavailable, Unsupported, problem_of, refuse_beyond
from rivals.venvs import enter, label

PROTOCOL = 1
REQUESTS, ANSWERS, FILE = 3, 4, 5  # descriptors


class Rival:
    """The kernels of this program; at most one problem is prepared at a time."""

    def __init__(self) -> None:
        """Nothing prepared."""
        self.operation: Any = None
        self.pending = b""  # of the conversation: the request at hand and what came after it

    def describe(self, _request: dict[str, Any]) -> dict[str, Any]:
        """The kernels, installed or not."""
        return {"kernels": describe()}

    def prepare(self, request: dict[str, Any]) -> dict[str, Any]:
        """Loads the library, wraps the operands, compiles, computes set 0 once."""
        self.operation = None
        name, threads = request.get("kernel"), whole(request, "threads", 1)
        if name not in KERNELS:
            raise BadRequest(f"no kernel {name!r}; there are {', '.join(KERNELS)}")
        problem = problem_of(request.get("shape"))
        refuse_beyond(KERNELS[name]["caps"], problem)
        library, cpus = library_of(name), list(request.get("cpus") or ())
        enter(library, environment(library.name, threads, cpus), cpus, self.pending)

        # From here on NumPy and the library itself are loaded.
        memory_file = importlib.import_module("rivals.memory_file")
        adapter = importlib.import_module(f"rivals.adapters.{library.name}")
        file = memory_file.MemoryFile(whole(request, "file", 0, FILE))
        masks = importlib.import_module("rivals.masks")
        count = whole(request, "sets", 1, 1)
        sets = [file.operands(problem, n) for n in range(count)]
        if name not in getattr(adapter, "LENGTHS", ()):
            sets = [masks.complete(problem, s) for s in sets]
        operation = adapter.prepare(name, problem, sets, threads, cpus)
        operation.execute(0)
        operations = importlib.import_module("rivals.operation")
        operations.collect_garbage()
        self.operation = operation
        where = operations.cpus_of_threads()
        used = f"{label(library)} {operation.instructions}".rstrip()
        return {"threads": operation.threads, "cpus": where, "library": used}

    def execute(self, request: dict[str, Any]) -> dict[str, Any]:
        """Computes one set into the memory file."""
        operation = self.prepared()
        index = whole(request, "set", 0, 0)
        if index >= len(operation.call):
            raise BadRequest(f"execute: set {index} of {len(operation.call)}")
        operation.execute(index)
        return {}

    def measure(self, request: dict[str, Any]) -> dict[str, Any]:
        """Times calls back to back."""
        operation = self.prepared()
        calls, first = whole(request, "calls", 0), whole(request, "first", 0, 0)
        if request.get("changed", True):
            operation.refresh()
        return {"seconds": operation.measure(calls, first)}

    def release(self, _request: dict[str, Any]) -> dict[str, Any]:
        """Drops the prepared problem."""
        self.operation = None
        return {}

    def prepared(self) -> Any:
        """The prepared problem, which there must be."""
        if self.operation is None:
            raise BadRequest("nothing is prepared")
        return self.operation


ACTIONS = {
    "describe": Rival.describe,
    "prepare": Rival.prepare,
    "execute": Rival.execute,
    "measure": Rival.measure,
    "release": Rival.release,
}


def whole(request: dict[str, Any], key: str, least: int, absent: int | None = None) -> int:
    """A whole number of a request."""
    value = request.get(key, absent)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise BadRequest(f"`{key}` is {value!r}, not a whole number from {least} on")
    return value


def parse(line: bytes) -> dict[str, Any]:
    """A request, if it is one of this protocol."""
    try:
        request = json.loads(line)
    except ValueError as error:
        raise BadRequest(f"the request is not JSON: {error}") from error
    if not isinstance(request, dict):
        raise BadRequest("the request is not a JSON object")
    if request.get("protocol") != PROTOCOL:
        raise BadRequest(f"protocol {request.get('protocol')!r}; this program speaks {PROTOCOL}")
    if request.get("action") not in ACTIONS:
        raise BadRequest(f"no action {request.get('action')!r}; there are {', '.join(ACTIONS)}")
    return request


def answer(rival: Rival, line: bytes) -> dict[str, Any]:
    """What to say to a request; whatever goes wrong is said, too."""
    try:
        request = parse(line)
        return {"state": "ok", "why": None, **ACTIONS[request["action"]](rival, request)}
    except Unsupported as refused:
        return {"state": "unsupported", "why": str(refused)}
    except Unavailable as refused:
        return {"state": "unavailable", "why": str(refused)}
    except BadRequest as wrong:
        return {"state": "failed", "why": str(wrong)}
    except Exception as error:
        traceback.print_exc()  # into the log
        lines = str(error).strip().splitlines() or [""]
        return {"state": "failed", "why": f"{type(error).__name__}: {lines[0]}"}


def lines_of(descriptor: int, rival: Rival) -> Iterator[bytes]:
    """Requests, one a line.  Read by hand, so that an exec loses nothing that was read ahead."""
    while True:
        line, newline, _ = rival.pending.partition(b"\n")
        if newline:
            yield line
            rival.pending = rival.pending[len(line) + 1 :]
            continue
        more = os.read(descriptor, 1 << 16)
        if not more:
            return
        rival.pending += more


def write_all(descriptor: int, data: bytes) -> None:
    """Writes all of it, however large the pipe."""
    while data:
        data = data[os.write(descriptor, data) :]


def converse(arguments: list[str]) -> int:
    """Answers until end of file.  `--pending TEXT`: read before the exec, to be answered first."""
    rival = Rival()
    if arguments[:1] == ["--pending"]:
        rival.pending = arguments[1].encode("latin-1")
    elif arguments:
        print("usage: scripts/rivals/worker   (attnbench starts it)", file=sys.stderr)
        return 2
    try:
        os.fstat(REQUESTS), os.fstat(ANSWERS)
    except OSError:
        print("rivals: attnbench starts this program, with descriptors 3, 4 and 5", file=sys.stderr)
        return 2
    for line in lines_of(REQUESTS, rival):
        said = {"protocol": PROTOCOL, **answer(rival, line)}
        try:
            write_all(ANSWERS, json.dumps(said).encode() + b"\n")
        except BrokenPipeError:
            return 1
    return 0

"""Instructions of one call of a kernel, counted by valgrind's callgrind.

One worker is started under callgrind with a request (harness/session/protocol.h) to compute from a
file to a file (the action `eval`): it calls the kernel exactly once.  The count covers what happens
between entering and leaving `attn_execute`: neither the start nor the reading of operands.

What the OpenMP runtime does there, and what it calls in other libraries, is subtracted: its first
team allocates, and the cost of an allocation depends on the heap, by some 50 instructions.  The
rest is the same from run to run, down to the last instruction.

The operands are normally distributed from a fixed seed, whatever the input of the case: the two
sides of a comparison get the same ones.
"""

import json
import os
import re
import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from attntools.base.cli import ToolError
from attntools.gate.gate_builds import Build
from attntools.results.cells import Identity, problem_fields
from safetensors.numpy import save_file

# What valgrind 3.19 to 3.24 can run.  It does not support AVX-512: an unknown instruction ends the
# worker, and valgrind's CPUID says that there is no AVX-512.
ISAS = ("avx2", "baseline")

COUNTED = "attn_execute"
OPENMP = re.compile(r"/lib(gomp|i?omp)[^/]*$")
# Keys of problems that have operands beside q, k and v, or those in another shape.
MORE_TENSORS = ("ragged", "packed", "page", "kv_dtype", "shared_kv", "alibi", "sinks")
SEED = 1
TIMEOUT_S = 600

# One thread, and nothing that depends on the machine: a synthetic topology saves the discovery.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "LD_BIND_NOW": "1",  # else the first call of a library function looks it up
    "HWLOC_SYNTHETIC": "core:1 pu:1",
}


@dataclass(frozen=True)
class Count:
    """Instructions of one call, in all and by function (a callee's are its own)."""

    instructions: int
    functions: Mapping[str, int]


# ---- what callgrind writes -----------------------------------------------------------------------


class _Names:
    """Expands callgrind's abbreviations: `(3) name` defines what `(3)` means from then on."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], str] = {}

    def expand(self, kind: str, text: str) -> str:
        found = re.fullmatch(r"(\(\d+\))(?: (.*))?", text)
        if not found:
            return text
        number, name = found.groups()
        if name is not None:
            self.known[kind, number] = name
        return self.known[kind, number]


Function = tuple[str, str]  # object and name


def _costs(lines: Iterable[str]) -> Iterator[tuple[Function, Function | None, int]]:
    """Instructions of a function itself, or (with the second) of its calls of another one."""
    names = _Names()
    ob = fn = cfn = "???"
    cob: str | None = None
    is_call = False
    for line in lines:
        key, _, value = line.partition("=")
        if key == "ob":
            ob = names.expand("ob", value)
        elif key == "fn":
            fn = names.expand("fn", value)
        elif key == "cob":
            cob = names.expand("ob", value)
        elif key == "cfn":
            cfn = names.expand("fn", value)
        elif key == "calls":
            is_call = True
        elif re.match(r"[+*\-\d]", line):
            called = (cob or ob, cfn) if is_call else None
            yield (ob, fn), called, int(line.split()[1])
            is_call, cob = False, None


def _reached(start: Iterable[Function], calls: Mapping[Function, set[Function]]) -> set[Function]:
    """Some functions, and all that they call, directly or through others."""
    found, todo = set(start), list(start)
    while todo:
        new = calls.get(todo.pop(), set()) - found
        found |= new
        todo += new
    return found


def parse(text: str, program: str) -> Count:
    """The count of a callgrind file, without the OpenMP runtime.

    Args:
        text: of the file.
        program: the object whose functions stay counted where the runtime calls them.
    """
    own: Counter[Function] = Counter()
    calls: dict[Function, set[Function]] = defaultdict(set)
    overhead = 0
    for function, called, cost in _costs(text.splitlines()):
        runtime = OPENMP.search(function[0])
        if called is None:
            own[function] += 0 if runtime else cost
        elif called[0] != program:
            calls[function].add(called)
            overhead += cost if runtime and not OPENMP.search(called[0]) else 0
    # What the runtime shares with the kernel (such as malloc) is in the sum, but has no name here.
    hidden = _reached([f for f in calls if OPENMP.search(f[0])], calls)
    functions: Counter[str] = Counter()
    for (ob, name), cost in own.items():
        functions[name] += cost if (ob, name) not in hidden else 0
    return Count(own.total() - overhead, {n: c for n, c in functions.items() if c})


# ---- one worker ----------------------------------------------------------------------------------


def available() -> bool:
    """Whether instructions can be counted here."""
    return shutil.which("valgrind") is not None


def require_valgrind() -> None:
    """Raises ToolError where valgrind is missing."""
    if not available():
        raise ToolError("counting instructions needs valgrind: apt-get install valgrind")


def operands(problem: str, path: Path) -> None:
    """Writes q, k and v of a problem.

    Raises:
        ToolError: it has other operands, too, or those in another shape.
    """
    fields = problem_fields(problem)
    more = [key for key in MORE_TENSORS if fields.get(key, "0") != "0"]
    more += [mask for mask in ("bool", "bias") if mask in fields.get("mask", "").split("+")]
    if more:
        named = ", ".join(more)
        raise ToolError(
            f"cannot count {problem}: operands are made of q, k and v alone, not for {named}"
        )
    b, hq, hkv, sq, skv, d, dv = (
        int(fields[k]) for k in ("b", "hq", "hkv", "sq", "skv", "d", "dv")
    )
    shapes = {"q": (b, hq, sq, d), "k": (b, hkv, skv, d), "v": (b, hkv, skv, dv)}
    rng = np.random.default_rng(SEED)
    save_file({n: rng.standard_normal(s, dtype=np.float32) for n, s in shapes.items()}, path)


def request(identity: Identity, folder: Path, plugin: str = "") -> dict[str, object]:
    """The request to the worker."""
    return {
        "protocol": 1,
        "action": "eval",
        "problem": identity.problem,
        "input": identity.input,
        "case": "",
        "kernel": identity.kernel,
        "isa": identity.isa,
        **{"plugin": plugin, "arguments": "", "digest": "", "program": False},
        "threads": 1,
        "team": 1,
        **{"placement": "none", "memory": "first-touch", "huge_pages": False, "cold": False},
        "files": {},
        **{"sets": 1, "shift": 0, "slot": 0, "depth": "case", "seed": SEED, "max_samples": 1},
        **{"launch": 0, "experiment": "", "step": "", "token": ""},
        **{"warmup_s": 0.0, "sample_s": 0.0, "budget_s": 0.0},
        "path_in": str(folder / "in.safetensors"),
        "path_out": str(folder / "out.safetensors"),
    }


def _converse(command: list[str], line: str, folder: Path) -> tuple[str, str]:
    """Runs a worker with its request on descriptor 3; returns its answer and how it ended."""
    (folder / "request").write_text(line)
    (folder / "answer").unlink(missing_ok=True)
    done = subprocess.run(
        ["bash", "-c", 'exec "$@" 3<"$0/request" 4>"$0/answer"', str(folder), *command],
        env=os.environ | ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        errors="replace", timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    ended = [f"the worker ended with {done.returncode}", *done.stderr.strip().splitlines()[-3:]]
    return (folder / "answer").read_text(), " / ".join(ended)


def count(build: Build, identity: Identity, folder: Path) -> Count:
    """Counts one call of a cell's kernel.

    Args:
        build: the program, and the plug-ins that it is run with.
        identity: which kernel on which problem; its threads, input and placement do not matter.
        folder: for operands and callgrind's file.

    Raises:
        ToolError: valgrind is missing, does not know the instructions, or the worker cannot do it.
    """
    require_valgrind()
    program = build.program
    if identity.isa not in ISAS:
        raise ToolError(
            f"{identity.label}: valgrind does not know the instructions of {identity.isa}; "
            f"count {' or '.join(ISAS)}"
        )
    operands(identity.problem, folder / "in.safetensors")
    out = folder / "callgrind.out"
    out.unlink(missing_ok=True)
    command = ["valgrind", "--quiet", "--tool=callgrind", f"--toggle-collect={COUNTED}",
               f"--callgrind-out-file={out}", str(program), "worker"]  # fmt: skip
    asked = json.dumps(request(identity, folder, build.file_of(identity))) + "\n"
    try:
        answer, end = _converse(command, asked, folder)
    except subprocess.TimeoutExpired:
        raise ToolError(f"{identity.label}: not counted within {TIMEOUT_S} s") from None
    what = f"{identity.label} on {identity.problem}"
    said = json.loads(answer) if answer.endswith("\n") else {"state": "crashed", "why": end}
    if said["state"] != "ok":
        raise ToolError(f"{what}: {said['state']}: {said['why']}")
    found = parse(out.read_text(), str(program.resolve()))
    if found.instructions <= 0:
        raise ToolError(f"{what}: callgrind saw no call of {COUNTED}: is the program stripped?")
    return found

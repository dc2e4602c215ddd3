"""Running attnbench and reading what it leaves, for the command-line tests.

    python3 tests/commands/command.py test_usage -k TEXT

Standard library only.  ATTNBENCH and ATTNBENCH_HOST name the program and the one with broken
kernels (tests/commands/host.c).
"""

import contextlib
import itertools
import json
import math
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest
from collections.abc import Callable, Iterator, Sequence
from typing import Any

PROGRAM = os.environ["ATTNBENCH"]
HOST = os.environ["ATTNBENCH_HOST"]
# The instruction set that every host of the program's processor has, by its name there.
BASELINE = os.environ["ATTNBENCH_BASELINE"]
EMULATED = os.environ["ATTNBENCH_EMULATED"] == "1"
SANITIZED = os.environ.get("ATTNBENCH_SANITIZED") == "ON"
# CI runs the sanitized build, and not the night, which draws more problems: what the released build
# has asked and runs no code that other sanitized tests do not run is left to the night.
SANITIZED_IN_CI = SANITIZED and "ATTNBENCH_DRAWS" not in os.environ
DATA = pathlib.Path(__file__).parents[1] / "data"
SCHEMA = pathlib.Path(__file__).parents[2] / "results" / "schema.json"

Row = dict[str, Any]  # a line of a results file
Tensor = tuple[list[int], list[float]]  # shape and elements, row-major
TypedTensor = tuple[list[int], list[float], str]  # and its type, as safetensors calls it

# Types of safetensors as struct writes them; BF16 it does not know.
CODES = {"F64": "d", "F32": "f", "F16": "e", "I64": "q", "I32": "i", "I8": "b", "U8": "B",
         "BOOL": "?"}  # fmt: skip

# A case that every kernel finishes in microseconds.
TINY = "h=1,s=16,d=8"
# What other sessions on this machine do is no concern of a test.
BESIDE = ["--if-busy", "go-on"]
# How a session says that there is another one.
BUSY = " is measuring on this machine too: expect noise"
# Seconds that nothing takes but what hangs, however busy the machine is.
HANGS = 1200
# For a session of large cells: an emulator takes long for them.
PATIENCE = ["--timeout", str(HANGS)] if EMULATED else []
# One launch a cell, of a few samples.
BRIEF = ["--launches", "1", "--seconds", "0.01"]
# What a check in full asks of a kernel, check/registry asks, and of a wrong one, check/wrong: a
# session that is not about checks has the case alone checked.
UNCHECKED = ["--check", "case"]
FULL = ["--check", "full"]


def _of_one_thread(arguments: Sequence[str]) -> bool:
    """Whether a session is asked for one thread and no more; one that is repeated, by its file."""
    counts = {after for word, after in itertools.pairwise(arguments) if word == "--threads"}
    if counts:
        return counts == {"1"}
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
        if "--resume" in arguments:
            path = pathlib.Path(arguments[arguments.index("--resume") + 1])
            return _of_one_thread(json.loads(path.read_text().split("\n")[0])["command"])
    return False


@contextlib.contextmanager
def on_a_core(arguments: Sequence[str]) -> Iterator[None]:
    """A session of one thread that starts here stays on a core, each process's own.

    The program puts one thread on the first core, always: the sessions of tests side by side would
    share it while the others idle.
    """
    allowed = os.sched_getaffinity(0)
    if _of_one_thread(arguments):
        os.sched_setaffinity(0, {sorted(allowed)[os.getpid() % len(allowed)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def run(
    *arguments: str, program: str = PROGRAM, timeout: float = HANGS, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Runs the program to its end; stdout and stderr as text."""
    if arguments[:1] == ("run",) and "--help" not in arguments:
        arguments = (*arguments, *BESIDE)
        if not {"--check", "--dry-run", "--resume"} & set(arguments):
            arguments = (*arguments, *UNCHECKED)
    if arguments[:1] == ("experiment",) and "--help" not in arguments:
        arguments = (*arguments[:2], *BESIDE, *arguments[2:])
        if "--launches" in arguments and "--check" not in arguments:  # a session of `run`
            arguments = (*arguments, *UNCHECKED)
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    with on_a_core(arguments):
        return subprocess.run(
            [program, *arguments], text=True, timeout=timeout, check=False, **options
        )


def unless_emulated(what: str) -> Callable[[Any], Any]:
    """Skips a test under qemu-user; `what` ends the sentence "the emulator ..."."""
    return unittest.skipIf(EMULATED, f"the emulator {what}")


def lines(path: str) -> list[Row]:
    """The objects of a results file, every line of which must be whole."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    assert text.endswith("\n"), f"{path} ends in half a line"
    return [json.loads(line) for line in text.splitlines()]


def cells(path: str) -> dict[tuple[str, str, int], Row]:
    """The last row of every cell, by (case, kernel, threads)."""
    rows = [line for line in lines(path) if line["type"] == "cell"]
    return {(row["case"], row["kernel"], row["threads"]): row for row in rows}


def launches(path: str) -> list[Row]:
    """The launches that count: disturbed ones give way to their repeats, twins are noise."""
    taken = [line for line in lines(path) if line["type"] == "launch"]
    return [line for line in taken if "superseded" not in line and "twin" not in line]


def _bf16(x: float) -> int:
    """The bits of the nearest BF16, ties to even: the upper half of a float32."""
    (bits,) = struct.unpack("<I", struct.pack("<f", x))
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 if x == x else 0x7FC0


# Bits of a fraction, and the bias of the exponent.
FLOATS_OF_8_BITS = {"F8_E4M3": (3, 7), "F8_E5M2": (2, 15)}


def float_of_8_bits(code: int, dtype: str) -> float:
    """The number that a byte stands for, by the definition of OFP8."""
    bits, bias = FLOATS_OF_8_BITS[dtype]
    exponent, fraction = (code & 0x7F) >> bits, code & (1 << bits) - 1
    sign = -1.0 if code & 0x80 else 1.0
    if dtype == "F8_E5M2" and exponent == 31:
        return math.nan if fraction else sign * math.inf
    if dtype == "F8_E4M3" and code & 0x7F == 0x7F:
        return math.nan
    size = fraction + (1 << bits if exponent else 0)
    return sign * math.ldexp(size, max(exponent, 1) - bias - bits)


def encode(values: list[float], dtype: str) -> bytes:
    """Elements as they stand in a file; floats of 8 bits must be such numbers."""
    if dtype in FLOATS_OF_8_BITS:
        codes = {float_of_8_bits(code, dtype): code for code in range(256)}
        return bytes(codes[x] for x in values)
    if dtype == "BF16":
        return struct.pack(f"<{len(values)}H", *map(_bf16, values))
    return struct.pack(f"<{len(values)}{CODES[dtype]}", *values)


def decode(data: bytes, dtype: str) -> list[float]:
    """The elements of a file's bytes."""
    if dtype in FLOATS_OF_8_BITS:
        return [float_of_8_bits(code, dtype) for code in data]
    if dtype == "BF16":
        wide = b"".join(b"\0\0" + data[at : at + 2] for at in range(0, len(data), 2))
        return decode(wide, "F32")
    return [x for (x,) in struct.iter_unpack(f"<{CODES[dtype]}", data)]


def safetensors(path: str | pathlib.Path, tensors: dict[str, Tensor | TypedTensor]) -> None:
    """Writes tensors: name -> (shape, list of numbers), of float32 where no type is given."""
    header, data = {}, b""
    for name, (shape, values, *rest) in tensors.items():
        dtype = rest[0] if rest else "F32"
        begin = len(data)
        data += encode(values, dtype)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_typed(path: str) -> dict[str, TypedTensor]:
    """Name -> (shape, list of numbers, type) of a file."""
    raw = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack_from("<Q", raw)
    tensors = {}
    for name, entry in json.loads(raw[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        dtype = entry["dtype"]
        tensors[name] = (entry["shape"], decode(raw[begin:end], dtype), dtype)
    return tensors


def read_safetensors(path: str) -> dict[str, Tensor]:
    """Name -> (shape, list of numbers) of a file of float32 tensors."""
    tensors = {}
    for name, (shape, values, dtype) in read_typed(path).items():
        assert dtype == "F32", (name, dtype)
        tensors[name] = (shape, values)
    return tensors


class CommandTest(unittest.TestCase):
    """A test with an empty directory of its own."""

    def setUp(self) -> None:
        """Makes the directory."""
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.output = str(self.directory / "results.jsonl")

    def ran(self, *words: str, code: int = 0, **options: Any) -> subprocess.CompletedProcess[str]:
        """How the program ended, with this code."""
        done = run(*words, **options)
        self.assertEqual(done.returncode, code, done)
        return done

    def listed(self, *words: str, **options: Any) -> dict[str, Any]:
        """What the program has: kernels, suites, models, experiments."""
        return json.loads(run("list", "--json", *words, **options).stdout)

    def written(self, kind: str) -> int:
        """How many whole lines of a type the file has."""
        if not os.path.exists(self.output):
            return 0
        text = pathlib.Path(self.output).read_text(encoding="utf-8")
        return sum(f'"type":"{kind}"' in line for line in text.split("\n")[:-1])

    def cells_of(
        self, command: str, *words: str, code: int | None = 0, **options: Any
    ) -> list[Row]:
        """The rows of a session; `done` is how it ended, by default well.

        On one thread, and brief where times are taken, unless its words say otherwise.
        """
        if "--threads" not in words:
            words = (*words, "--threads", "1")
        if command == "run" and not {"--launches", "--seconds"} & set(words):
            words = (*words, *BRIEF)
        pathlib.Path(self.output).unlink(missing_ok=True)
        self.done = run(command, *words, "--output", self.output, **options)
        if code is not None:
            self.assertEqual(self.done.returncode, code, self.done)
        return list(cells(self.output).values()) if os.path.exists(self.output) else []

    def cell_of(self, command: str, *words: str, code: int | None = 0, **options: Any) -> Row:
        """The row of a session that has one."""
        (row,) = self.cells_of(command, *words, code=code, **options)
        return row

    def refused(
        self, arguments: list[str], code: int, *messages: str, program: str = PROGRAM
    ) -> None:
        """Expects an exit code, nothing on stdout, and a message of one line."""
        done = run(*arguments, program=program)
        self.assertEqual(done.returncode, code, done)
        self.assertEqual(done.stdout, "", done)
        for message in messages:
            self.assertIn(message, done.stderr)
        said = [line for line in done.stderr.splitlines() if not line.endswith(BUSY)]
        self.assertEqual(len(said), 1, done.stderr)
        self.assertTrue(said[0].startswith("attnbench: "), done.stderr)


if __name__ == "__main__":
    unittest.main(module=None)

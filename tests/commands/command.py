"""Running attnbench and reading what it leaves, for the command-line tests.

Standard library only.  ATTNBENCH and ATTNBENCH_HOST name the program and the one with broken
kernels (tests/commands/host.c).
"""

import json
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest
from typing import Any

PROGRAM = os.environ["ATTNBENCH"]
HOST = os.environ["ATTNBENCH_HOST"]
DATA = pathlib.Path(__file__).parents[1] / "data"
SCHEMA = pathlib.Path(__file__).parents[2] / "results" / "schema.json"

Row = dict[str, Any]  # a line of a results file
Tensor = tuple[list[int], list[float]]  # shape and elements, row-major

# A case that every kernel finishes in microseconds.
TINY = "h=1,s=16,d=8"
# What other sessions on this machine do is no concern of a test.
BESIDE = ["--if-busy", "go-on"]
# One launch a cell.
BRIEF = ["--launches", "1"]


def run(
    *arguments: str, program: str = PROGRAM, timeout: float = 120, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Runs the program to its end; stdout and stderr as text."""
    if arguments[:1] == ("run",) and "--help" not in arguments:
        arguments = (*arguments, *BESIDE)
    if arguments[:1] == ("experiment",) and "--help" not in arguments:
        arguments = (*arguments[:2], *BESIDE, *arguments[2:])
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run([program, *arguments], text=True, timeout=timeout, check=False, **options)


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


def safetensors(path: str | pathlib.Path, tensors: dict[str, Tensor]) -> None:
    """Writes float32 tensors: name -> (shape, list of numbers)."""
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        begin = len(data)
        data += struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path: str) -> dict[str, Tensor]:
    """Name -> (shape, list of numbers) of a file of float32 tensors."""
    raw = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack_from("<Q", raw)
    tensors = {}
    for name, entry in json.loads(raw[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        assert entry["dtype"] == "F32", entry
        values = list(struct.unpack(f"<{(end - begin) // 4}f", raw[begin:end]))
        tensors[name] = (entry["shape"], values)
    return tensors


class CommandTest(unittest.TestCase):
    """A test with an empty directory of its own."""

    def setUp(self) -> None:
        """Makes the directory."""
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.output = str(self.directory / "results.jsonl")

    def refused(
        self, arguments: list[str], code: int, *messages: str, program: str = PROGRAM
    ) -> None:
        """Expects an exit code, nothing on stdout, and a message of one line."""
        done = run(*arguments, program=program)
        self.assertEqual(done.returncode, code, done)
        self.assertEqual(done.stdout, "", done)
        for message in messages:
            self.assertIn(message, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("attnbench: "), done.stderr)

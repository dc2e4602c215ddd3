"""How every tool ends, and what it prints to, whatever its caller's environment."""

import os
import subprocess
import sys
from pathlib import Path

import fake
import pytest
import sample

SCRIPTS = Path(__file__).parents[3] / "scripts"


def python(
    *words: object, close: str = "", **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """Runs Python as scripts/tool does; `close` is what the shell closes, as in 1>&-."""
    variables = os.environ | {"PYTHONPATH": str(SCRIPTS)} | environment
    command = ["bash", "-c", f'exec "$@" {close}', "-", sys.executable, *map(str, words)]
    return subprocess.run(command, env=variables, capture_output=True, check=False)


def tool(name: str, *words: object, **more: str) -> subprocess.CompletedProcess[bytes]:
    """A tool, likewise."""
    return python("-m", "attntools", name, *words, **more)


@pytest.mark.parametrize(
    "code",
    [
        "from attntools.base import cli; cli.guard('gate', lambda: {}['key'])",
        "import attntools.gate.gate; import attntools.no_such_module",
    ],
)
def test_an_internal_error_is_no_regression(code: str) -> None:
    """Python ends with 1, which means "confirmed regression" in the gate."""
    done = python("-c", code)
    assert done.returncode == 70
    assert b"Traceback" in done.stderr


@pytest.mark.parametrize("coding", ["latin-1", "ascii"])
def test_output_is_utf8_whatever_the_locale(tmp_path: Path, coding: str) -> None:
    path = sample.write(tmp_path / "caf\u00e9.jsonl", sample.session(), sample.cell())
    done = tool("attntools.compare.compare", path, path, PYTHONIOENCODING=coding)
    assert done.returncode == 0
    assert str(path).encode() in done.stdout


def test_a_name_that_is_no_utf8(tmp_path: Path) -> None:
    path = os.fsdecode(bytes(tmp_path) + b"/caf\xe9.jsonl")
    sample.write(Path(path), sample.session(), sample.cell(), sample.cell(kernel="gemm"))
    done = tool("attntools.compare.compare", path, path)
    assert done.returncode == 0
    assert os.fsencode(path) in done.stdout
    done = tool("attntools.compare.compare", path + "x")
    assert done.returncode == 4
    assert b"No such file or directory" in done.stderr


def test_closed_streams(tmp_path: Path) -> None:
    """What is printed goes into no file that the tool opens, and is not lost without a word."""
    results = sample.write(tmp_path / "a.jsonl", sample.session(), sample.cell())
    out = tmp_path / "out.csv"
    export = ("attntools.results.export", results, "--format", "csv")
    whole = tool(*export).stdout
    for close in ("1>&-", "2>&-", "0<&- 1>&- 2>&-"):
        done = tool(*export, "--output", out, close=close)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert out.read_bytes() == whole
    done = tool(*export, close="1>&-")
    assert done.returncode == 3
    assert done.stderr == b"export: standard output: Bad file descriptor\n"
    assert tool("attntools.compare.compare", "none", close="2>&-").stdout == b""
    base = fake.program(tmp_path / "base")
    sides = ("--base", base, "--new", base, "-n", "6", "--sessions", "1")
    assert tool("attntools.gate.gate", *sides, close="1>&-").returncode == 4


@pytest.mark.parametrize(
    "module",
    ["compare.compare", "explain.explain", "gate.gate", "history.history", "results.export"],
)
def test_what_draws_nothing_loads_no_matplotlib(module: str) -> None:
    """It takes a second of a processor at each start."""
    code = f"import sys, attntools.{module}; print('matplotlib' in sys.modules)"
    assert python("-c", code).stdout == b"False\n"


def test_a_setup_that_fails_is_no_answer_of_the_gate(tmp_path: Path) -> None:
    """It ends with 3, which means "too noisy to tell" there."""
    (tmp_path / "tool").write_bytes((SCRIPTS / "tool").read_bytes())
    fake.script(tmp_path / "setup", "#!/bin/sh\nexit 3\n")
    done = subprocess.run(["bash", tmp_path / "tool", "gate"], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (4, b"")

"""Counts are exact, of the kernel alone, and of instruction sets that valgrind knows."""

import csv
import io
from pathlib import Path

import fake
import pytest
from attntools.gate import callgrind, gate, gate_instructions, icount
from attntools.gate.callgrind import Count
from attntools.gate.gate_builds import ROOT, Build
from attntools.results.cells import Identity
from attntools.results.schema import USUAL
from conftest import Outcome, Tool

PROGRAM = ROOT / "build/release/attnbench"
BUILD = Build(PROGRAM, "this tree")
real = pytest.mark.skipif(
    not (callgrind.available() and PROGRAM.exists()),
    reason="needs valgrind and build/release/attnbench",
)


def cell(kernel: str = "flash", isa: str = "avx2", problem: str = "") -> Identity:
    problem = problem or "b=1,hq=2,hkv=1,sq=32,skv=48,d=32"
    return Identity.of({**USUAL, "kernel": kernel, "isa": isa, "problem": problem, "threads": 1})


# ---- callgrind's file ----------------------------------------------------------------------------

FILE = """\
# callgrind format
version: 1
positions: line
events: Ir
summary: 1000

ob=(1) /b/attnbench
fl=(1) ???
fn=(1) attn_execute
0 10
cfn=(2) execute
calls=1 0
0 990

fn=(2)
+3 20
cob=(2) /lib/libgomp.so.1.0.0
cfi=(2) ???
cfn=(3) GOMP_parallel
calls=1 0
* 970

ob=(2)
fl=(2)
fn=(3)
0 30
cob=(3) /lib/libc.so.6
cfi=(3) malloc.c
cfn=(4) malloc
calls=1 7
0 140
cob=(1)
cfi=(1)
cfn=(5) execute._omp_fn.0
calls=1 0
0 800

ob=(3)
fl=(3)
fn=(4)
7 140

ob=(1)
fl=(1)
fn=(5)
0 700
cob=(3)
cfi=(3)
cfn=(6) memset
calls=1 0
0 100

ob=(3)
fl=(3)
fn=(6)
1 100

totals: 1000
"""


def test_runtime_and_what_it_calls_is_left_out() -> None:
    found = callgrind.parse(FILE, "/b/attnbench")
    # All but libgomp's own 30 and the 140 of the allocation that it asked for.
    assert found.instructions == 830
    assert found.functions["execute._omp_fn.0"] == 700
    assert found.functions["memset"] == 100
    assert not {"GOMP_parallel", "malloc"} & set(found.functions)


# ---- the real program ----------------------------------------------------------------------------


@pytest.mark.long
@real
@pytest.mark.parametrize("kernel", ["flash", "gemm"])
def test_count_is_the_same_again_and_grows_with_the_work(kernel: str, tmp_path: Path) -> None:
    first = callgrind.count(BUILD, cell(kernel), tmp_path)
    again = callgrind.count(BUILD, cell(kernel), tmp_path)
    batch = cell(kernel, problem="b=2,hq=2,hkv=1,sq=32,skv=48,d=32")
    twice = callgrind.count(BUILD, batch, tmp_path)
    # At least one multiply-add in eight lanes for each that the result needs.
    assert first.instructions > 2 * 32 * 48 * 64 / 8
    assert again == first
    assert 1.5 < twice.instructions / first.instructions < 2.2


@pytest.mark.long
@real
def test_tool_counts_what_is_right(tool: Tool) -> None:
    outcome = tool(
        icount, PROGRAM, "--problem", "s=16,d=16", "--kernel", "naive", "--format", "csv"
    )
    assert outcome.code == 0
    (row,) = csv.DictReader(io.StringIO(outcome.out))
    assert (row["kernel"], row["problem"]) == ("naive", "b=1,hq=1,hkv=1,sq=16,skv=16,d=16")
    assert int(row["instructions"]) > int(row["in_function"]) > 16 * 16 * 16


@pytest.mark.long
@real
@pytest.mark.parametrize(
    ("more", "named"),
    [
        ("page=64", "page"),
        ("mask=causal+bias", "bias"),
        ("mask=bool,sinks=1", "sinks, bool"),
        ("ragged=1,kv_dtype=i8", "ragged, kv_dtype"),
    ],
)
def test_problems_with_other_operands_are_refused(tool: Tool, more: str, named: str) -> None:
    words = ["--problem", f"h=2,s=64,d=16,{more}", "--kernel", "flash"]
    outcome = tool(icount, PROGRAM, *words)
    assert outcome.refused.endswith(f"operands are made of q, k and v alone, not for {named}\n")


@pytest.mark.long
@real
def test_same_build_takes_the_same_instructions(tool: Tool) -> None:
    options = ["--metric", "instructions", "--problem", "s=16,d=16", "--kernel", "flash"]
    outcome = tool(
        gate, "--base", PROGRAM, "--new", PROGRAM, "--threshold", "0", "--equal", *options
    )
    assert "| +0.000 % |  | SAME |" in outcome.printed


@pytest.mark.long
@real
def test_worker_that_cannot_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(callgrind.ToolError, match="unavailable: no kernel nonsense"):
        callgrind.count(BUILD, cell("nonsense"), tmp_path)


# ---- what valgrind cannot do ---------------------------------------------------------------------


@pytest.fixture
def with_valgrind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callgrind, "available", lambda: True)
    monkeypatch.setattr(gate_instructions, "available", lambda: True)


def test_avx512_is_refused(tool: Tool, tmp_path: Path, with_valgrind: None) -> None:
    program = fake.program(tmp_path / "new")
    outcome = tool(icount, program, "--isa", "avx2,avx512")
    assert outcome.refused == (
        "icount: --isa avx512: valgrind does not know these instructions; "
        "it can count avx2 and baseline\n"
    )
    assert tool(icount, program, "--threads", "2").code == 4


def test_no_such_program(tool: Tool) -> None:
    outcome = tool(icount, "no-such-ref")
    assert "the program, no-such-ref, is neither a program, a build folder nor" in outcome.refused


def test_without_valgrind(tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callgrind, "available", lambda: False)
    program = fake.program(tmp_path / "new")
    for outcome in (
        tool(icount, program),
        tool(gate, "--base", program, "--new", program, "--equal", "--metric", "instructions"),
    ):
        assert "counting instructions needs valgrind: apt-get install valgrind" in outcome.refused


def test_best_countable_instruction_set(tmp_path: Path) -> None:
    assert icount.countable_isa(fake.program(tmp_path / "new")) == "avx2"


# ---- the gate ------------------------------------------------------------------------------------


def fake_count(build: Build, identity: Identity, _folder: Path) -> Count:
    extra = (
        {"base": 0, "next": 30, "less": -30}[build.program.name]
        if identity.kernel == "flash"
        else 0
    )
    return Count(1000 + extra, {"inner": 600 + extra, "outer": 400})


@pytest.fixture
def counted(  # noqa: ANN201
    tool: Tool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    with_valgrind: None,
    in_process: None,
):
    """Runs the gate by instructions on fakes whose counts differ by 3 % in flash."""
    monkeypatch.setattr(gate_instructions, "count", fake_count)

    def run(new: str, *options: str, **settings: object) -> Outcome:
        base = fake.program(tmp_path / "base")
        other = fake.program(tmp_path / new, **settings)
        sides = ["--base", base, "--new", other, "--metric", "instructions"]
        return tool(gate, *sides, "--kernel", "flash,gemm", *options)

    return run


def test_more_instructions_are_a_regression(counted) -> None:  # noqa: ANN001
    outcome = counted("next")
    assert outcome.code == 1
    assert "1 of 2 cells take more instructions" in outcome.out
    assert "| flash/avx2 | 1,000 | 1,030 | +3.000 % | inner +30 | **SLOWER** |" in outcome.out
    assert "| gemm/avx2 | 1,000 | 1,000 | +0.000 % |  | SAME |" in outcome.out


def test_fewer_or_slightly_more_pass(counted) -> None:  # noqa: ANN001
    assert counted("less").code == 0
    assert counted("next", "--threshold", "3.1").code == 0


def test_wrong_result_is_not_counted(counted) -> None:  # noqa: ANN001
    outcome = counted("less", state="failed", broken="gemm")
    assert outcome.code == 2
    assert "gemm/avx2, 1 threads: failed: row 3 is off" in outcome.out


@pytest.mark.usefixtures("in_process")
def test_slower_without_counters_is_explained_by_callgrind(
    tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_valgrind: None
) -> None:
    monkeypatch.setattr(gate_instructions, "count", fake_count)
    base = fake.program(tmp_path / "base", counters=False)
    new = fake.program(tmp_path / "next", factor=1.05, counters=False)
    outcome = tool(gate, "--base", base, "--new", new, "-n", "8", "--sessions", "1")
    assert outcome.code == 1
    assert "instructions under callgrind +3.0 % (inner +30)" in outcome.out
    monkeypatch.setattr(gate_instructions, "available", lambda: False)
    outcome = tool(gate, "--base", base, "--new", new, "-n", "8", "--sessions", "1")
    assert "valgrind, which would count instructions instead, is not installed" in outcome.out


def test_avx512_is_explained_by_avx2(tmp_path: Path, monkeypatch, with_valgrind: None) -> None:  # noqa: ANN001
    monkeypatch.setattr(gate_instructions, "count", fake_count)
    builds = [Build(tmp_path / name, name) for name in ("base", "next")]
    text = gate_instructions.instead_of_counters(builds, cell(isa="avx512"), tmp_path)
    assert text == "instructions of the avx2 variant under callgrind +3.0 % (inner +30)"

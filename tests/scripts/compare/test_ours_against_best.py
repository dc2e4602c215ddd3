"""scripts/compare --rivals: the best of ours against the best rival, a row a case."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
import sample
from attntools.compare import compare
from attntools.compare.ours_against_best import ours_against_best
from attntools.results.results import read
from conftest import Tool

# Three rounds whose ratios to one another are known.
ROUNDS = np.array([1.0, 1.02, 0.98])


def row(kernel: str, group: str, ms: float, spread: float = 1, **changes: object) -> sample.Row:
    """A cell of three launches; rounds deviate `spread` times as much as ROUNDS."""
    medians = [float(x) for x in ms * 1e-3 * ROUNDS**spread]
    return sample.cell(medians, kernel=kernel, group=group, **changes)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rows = [
        *(row("flash", "ours", 1.0, s=s) for s in (64, 128, 256)),
        *(row("split_kv", "ours", t, s=s) for s, t in ((64, 2.0), (128, 0.9), (256, 2.0))),
        row("naive", "textbook", 0.1, s=64),
        # Behind by 100 % in every round; ahead by 10 %; noise of its own; no time.
        row("torch", "rivals", 2.0, s=64),
        row("torch", "rivals", 0.81, s=128),
        row("torch", "rivals", 1.05, -3, s=256),
        row("jax", "rivals", 3.0, s=64),
        row("jax", "rivals", 0.5, s=128, state="failed"),
        row("jax", "rivals", 9.0, s=256),
        row("flash", "ours", 1.0, s=64, threads=2),
        row("split_kv", "ours", 1.0, s=64, threads=2, state="crashed"),
        row("torch", "rivals", 1.0, s=64, threads=2, state="unavailable"),
        row("jax", "rivals", 1.0, s=64, threads=2, state="failed"),
        row("flash", "ours", 1.0, s=512),
        row("torch", "rivals", 2.0, s=512),
    ]
    return sample.write(tmp_path / "a.jsonl", sample.session(), *rows)


def test_who_needs_less_time(path: Path) -> None:
    rows, left_out = ours_against_best(read(path))
    assert [(r.ours.case, r.ours.threads, r.ours.identity.kernel) for r in rows] == [
        ("prefill-f32-s64-d64", 1, "flash"),
        ("prefill-f32-s64-d64", 2, "flash"),
        ("prefill-f32-s128-d64", 1, "split_kv"),
        ("prefill-f32-s256-d64", 1, "flash"),
    ]
    assert [r.rival.identity.kernel for r in rows] == ["torch", "jax", "torch", "torch"]
    assert [r.less_time for r in rows] == ["flash", "", "torch", "tie"]
    assert [(r.ratio, r.lo, r.hi) for r in rows[::2]] == [
        pytest.approx((0.5, 0.5, 0.5)),
        pytest.approx((10 / 9,) * 3),
    ]
    # The ratios of the rounds: ROUNDS**4 / 1.05.
    logs = 4 * np.log(ROUNDS) - np.log(1.05)
    half = 4.302653 * logs.std(ddof=1) / 3**0.5
    assert (rows[3].ratio, rows[3].lo, rows[3].hi) == pytest.approx(
        (1 / 1.05, np.exp(logs.mean() - half), np.exp(logs.mean() + half))
    )
    assert left_out == ["prefill-f32-s512-d64 on 1, without split_kv, jax"]


def test_the_table_hides_no_loss(tool: Tool, path: Path) -> None:
    lines = tool(compare, path, "--rivals", "--format", "markdown").out.splitlines()
    assert lines[0] == (
        "| case | threads | best rival | ours | ours against it | 95 % | less time |"
    )
    assert lines[2:6] == [
        "| `prefill-f32-s64-d64` | 1 | torch 2.00 ms | flash 1.00 ms | -50.0 % "
        "| -50.0 .. -50.0 % | flash |",
        "| `prefill-f32-s64-d64` | 2 | jax failed | flash 1.00 ms | - | - |  |",
        "| `prefill-f32-s128-d64` | 1 | torch 810 us | split_kv 900 us | **+11.1 %** "
        "| +11.1 .. +11.1 % | torch |",
        "| `prefill-f32-s256-d64` | 1 | torch 1.05 ms | flash 1.00 ms | -4.8 % "
        "| -22.0 .. +16.1 % | tie |",
    ]
    assert lines[7:9] == [
        "4 rows: ours needs less time in 1, a rival in 1, tie 1; 1 without an interval; "
        "-4.8 % in the median row, -50.0 % (prefill-f32-s64-d64 on 1) to +11.1 % "
        "(prefill-f32-s128-d64 on 1)",
        "left out: prefill-f32-s512-d64 on 1, without split_kv, jax",
    ]


def test_narrow_terminals_have_titles(
    tool: Tool, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two lines a row where one is too wide, nothing lost; one where it is not, and in a pipe."""
    piped = tool(compare, path, "--rivals").out
    monkeypatch.setenv("COLUMNS", "80")
    narrow = tool(compare, path, "--rivals").out.splitlines()
    assert max(map(len, narrow)) <= 80
    assert narrow[:9] == [
        "  best rival     ours             against it              95 %",
        "prefill-f32-s64-d64, 1 thread: flash needs less time",
        "  torch 2.00 ms  flash 1.00 ms       -50.0 %  -50.0 .. -50.0 %",
        "prefill-f32-s64-d64, 2 threads",
        "  jax failed     flash 1.00 ms             -                 -",
        "prefill-f32-s128-d64, 1 thread: torch needs less time",
        "  torch 810 us   split_kv 900 us     +11.1 %  +11.1 .. +11.1 %",
        "prefill-f32-s256-d64, 1 thread: tie",
        "  torch 1.05 ms  flash 1.00 ms        -4.8 %  -22.0 .. +16.1 %",
    ]
    monkeypatch.setenv("COLUMNS", "160")
    wide = tool(compare, path, "--rivals").out
    assert wide.split() == piped.split()
    assert wide.splitlines()[:6] == piped.splitlines()[:6]


def test_csv_has_both_sides(tool: Tool, path: Path) -> None:
    out = tool(compare, path, "--rivals", "--format", "csv").out
    first, without, *_ = csv.DictReader(io.StringIO(out))
    assert (first["problem"], first["threads"]) == ("b=1,hq=8,hkv=8,sq=64,skv=64,d=64", "1")
    assert (first["ours"], first["rival"], first["less_time"]) == (
        "flash/avx2",
        "torch/avx2",
        "flash",
    )
    assert (float(first["ours_s"]), float(first["rival_s"])) == pytest.approx((1e-3, 2e-3))
    assert float(first["ratio_hi"]) == pytest.approx(0.5)
    assert (without["rival_s"], without["ratio"], without["less_time"]) == ("", "", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "group"], "--rivals goes with --format, --allow and --output alone"),
        (["--fail-on", "slower"], "--rivals goes with"),
        (["--format", "junit"], "--rivals passes or fails nothing"),
        (["PATH"], "--by and --rivals compare within one file"),
    ],
)
def test_refused(tool: Tool, path: Path, options: list[str], message: str) -> None:
    outcome = tool(compare, path, *(path if o == "PATH" else o for o in options), "--rivals")
    assert message in outcome.refused


def test_a_file_of_rivals_alone_has_no_table(tool: Tool, tmp_path: Path) -> None:
    alone = sample.write(tmp_path / "b.jsonl", sample.session(), row("torch", "rivals", 1.0))
    outcome = tool(compare, alone, "--rivals")
    message = f"compare: {alone}: no case has both ours and rivals\n"
    assert (outcome.code, outcome.out, outcome.err) == (5, "", message)


def test_a_file_without_rivals_has_no_table(tool: Tool, tmp_path: Path) -> None:
    alone = sample.write(tmp_path / "b.jsonl", sample.session(), row("flash", "ours", 1.0))
    outcome = tool(compare, alone, "--rivals")
    assert (outcome.code, outcome.err) == (4, f"compare: {alone}: no rivals\n")


def test_a_file_without_times_is_told(tool: Tool, tmp_path: Path) -> None:
    """As an interrupted session, in which rivals were only checked, leaves it."""
    crashed = sample.cell(kernel="torch", group="rivals", state="crashed", time=None)
    path = sample.write(tmp_path / "b.jsonl", sample.session(), crashed)
    outcome = tool(compare, path, "--rivals")
    assert (outcome.code, outcome.out) == (5, "")
    assert outcome.err == f"compare: {path}: no cell has a time\n"

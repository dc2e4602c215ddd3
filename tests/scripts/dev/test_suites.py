"""scripts/dev/studies/suites.py: shares, targets and times of sessions whose cells are known."""

import sys
from pathlib import Path

import pytest
import sample
from dev.studies import suites


def cell(case: str, kernel: str, threads: int, seconds: float, **more: object) -> sample.Row:
    """A measured cell of 90 % of the multiply-adds and half the bandwidth."""
    changes = {"fraction_of_fma": 0.9, "fraction_of_bandwidth": 0.5, "problem": f"case={case}"}
    launches = [0.8 * seconds, *[seconds] * 4, 1.25 * seconds]
    return sample.cell(launches, case=case, kernel=kernel, threads=threads, **changes | more)


def few(row: sample.Row) -> sample.Row:
    """The cell with too few launches for an interval."""
    return row | {"time": row["time"] | {"ci95_s": None}}


@pytest.fixture
def printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # noqa: ANN201
    """What is printed of cells in two files."""

    def lines(*cells: sample.Row) -> list[str]:
        halves = (cells[half::2] for half in (0, 1))
        paths = [
            str(sample.write(tmp_path / f"{half}.jsonl", sample.session(), *rows))
            for half, rows in enumerate(halves)
        ]
        monkeypatch.setattr(sys, "argv", ["suites", *paths])
        suites.main()
        return capsys.readouterr().out.splitlines()

    return lines


def test_a_case_has_the_faster_of_ours_against_the_rival(printed) -> None:  # noqa: ANN001
    case = "prefill-f32-s1024-d64"
    lines = printed(
        cell(case, "flash", 1, 2.0),
        cell(case, "flash", 1, 3.0, isa="baseline"),
        cell(case, "split_kv", 1, 2.5),
        cell(case, "gemm", 1, 3.0),
        cell(case, "flash", 2, 1.0, state="failed"),
        cell(case, "split_kv", 2, 2.0, fraction_of_fma=0.4),
    )
    assert lines[-1] == f"| `{case}` | flash, split_kv | 90 [72 112] | 40 [32 50] | 1.50 / - |"


def test_a_target_counts_the_cases_that_reach_it(printed) -> None:  # noqa: ANN001
    lines = printed(
        cell("prefill-f32-s512-d64", "flash", 1, 1.0, fraction_of_fma=0.1),
        cell("prefill-f32-s1024-d64", "flash", 1, 1.0, fraction_of_fma=0.955),
        few(cell("prefill-f32-s2048-d64", "flash", 1, 1.0, fraction_of_fma=0.915)),
        cell("prefill-f32-s4096-d64-causal", "flash", 1, 1.0, fraction_of_fma=0.935),
        cell("decode-bf16-s16384-g8-d128", "split_kv", 2, 1.0, fraction_of_fma=0.2,
             fraction_of_bandwidth=0.5, fraction_of_bandwidth_in_place=0.91),
        cell("decode-f32-s1024-g8-d128", "split_kv", 1, 1.0, fraction_of_fma=0.76),
    )  # fmt: skip
    assert {
        "| f32 prefill | 91.5, 93.5, 95.5 (94: 1 of 2) |  |",
        "| f32 causal from S=4096 on | 93.5 (93.5: 1 of 1) |  |",
        "| bf16 decode from memory, group 8 |  | 91.0 (90: 1 of 1) |",
        "| f32 decode in caches, groups 4 and 8 |  | 76.0 (75: 1 of 1) |",
        "| `prefill-f32-s2048-d64` | flash | 92? | - | - / - |",
    } <= set(lines)


def test_the_rival_is_met_in_cases_of_a_kind(printed) -> None:  # noqa: ANN001
    times = {("prefill-f32-s1024-d64", 1): 1.25, ("prefill-f32-s512-d64", 1): 1.5}
    times |= {("prefill-f32-s512-d64", 2): 1.2, ("prefill-f32-s512-d64-causal", 1): 1.2}
    times |= {("short-f32-b1-h12-s128-d64", threads): 1.5 for threads in (1, 2)}
    cells = [
        cell(case, kernel, threads, seconds)
        for (case, threads), ratio in times.items()
        for kernel, seconds in (("flash", 1.0), ("gemm", ratio))
    ]
    lines = printed(*cells, cell("decode-bf16-s1024-g8-d128", "split_kv", 1, 1.0))
    assert {
        "| dense prefill | 1.20, 1.25, 1.50 (1.25: 2 of 3) |",
        "| causal prefill | 1.20 (1.3: 0 of 1) |",
        "| short | 1.50, 1.50, 1.50 (1.5: 2 of 2) |",
    } <= set(lines)
    assert not [line for line in lines if line.startswith("| decode |")]

"""Ranking the kernels of one file, and what its table says of each."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
import sample
from attntools.compare import compare
from attntools.compare.ranking import rank
from attntools.history import database, history
from attntools.report import headline, report
from attntools.results.results import read
from conftest import Tool


def test_ranking_shares_ranks_that_cannot_be_told_apart() -> None:
    rng = np.random.default_rng(1)
    rows = [
        sample.cell(sample.noisy(rng, t, 10, 0.01), kernel=k)
        for k, t in (("slow", 3.0), ("a", 1.0), ("b", 1.001), ("middle", 2.0))
    ]
    (group,) = rank(sample.results(*rows))
    assert [(r.rank, r.note) for r in group] == [
        (1, "tie with b/avx2"),
        (1, "tie with a/avx2"),
        (3, ""),
        (4, ""),
    ]
    assert [r.cell.identity.kernel for r in group[2:]] == ["middle", "slow"]
    assert group[2].lo < 2 < group[2].hi


def test_too_few_launches_rank_nothing(tool: Tool, tmp_path: Path) -> None:
    rows = [sample.cell([t], kernel=k) for k, t in (("a", 1.0), ("b", 2.0))]
    one = sample.write(tmp_path / "one", sample.session(), *rows)
    results = read(one)
    (group,) = rank(results)
    assert [(r.rank, r.note) for r in group] == [
        (None, "too few launches (1) to tell from 1 of the others")
    ] * 2
    assert headline.fastest(results).startswith("No kernel is called the fastest")
    line = "-: no rank for 2 of 2 cells: too few launches for an interval"
    for form, row in (("text", " -  a/avx2  "), ("markdown", " | - | a/avx2 | ")):
        outcome = tool(compare, one, "--format", form)
        assert outcome.out.splitlines().count(line) == 1
        assert row in outcome.out
        assert "to tell from" not in outcome.out
    outcome = tool(compare, one, "--format", "csv")
    assert [row["rank"] for row in csv.DictReader(io.StringIO(outcome.out))] == ["", ""]


def test_those_with_launches_are_ranked_beside_one_without(tool: Tool, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = [
        sample.cell(sample.noisy(rng, t, 8, 0.01), kernel=k) for k, t in (("b", 2.0), ("c", 3.0))
    ]
    path = sample.write(tmp_path / "a", sample.session(), sample.cell([1.0], kernel="a"), *rows)
    results = read(path)
    (group,) = rank(results)
    assert [(r.cell.identity.kernel, r.rank) for r in group] == [("b", 1), ("c", 2), ("a", None)]
    assert group[0].ratio == 1
    assert headline.fastest(results).startswith("b is fastest in 1 of 1 case on 1 thread")
    assert "-: no rank for 1 of 3 cells" in tool(compare, path).out


def test_one_kernel_has_a_rank_if_it_has_an_interval() -> None:
    for launches, standing in ((1, None), (8, 1)):
        cell = sample.cell([1.0 + 1e-3 * i for i in range(launches)])
        ((only,),) = rank(sample.results(cell))
        assert only.rank == standing


def test_ranking_names_some_of_many_ties() -> None:
    rows = [sample.cell([1.0, 1.1] * 4, kernel=k) for k in "abcde"]
    (group,) = rank(sample.results(*rows))
    assert [r.rank for r in group] == [1] * 5
    assert group[0].note == "tie with b/avx2, c/avx2, d/avx2 and 1 more"


def test_two_builds_of_a_plugin_are_two_variants(tool: Tool, tmp_path: Path) -> None:
    """Rows of one kernel from two files are told apart by the beginning of their digests."""
    files = {digit: "sha256:" + digit * 64 for digit in "ab"}
    rows = [
        sample.cell([t * (1 + 1e-4 * i) for i in range(8)], kernel="mine", plugin=files[digit])
        for digit, t in (("a", 1.0), ("b", 2.0))
    ]
    path = sample.write(tmp_path / "a.jsonl", sample.session(), *rows)
    (group,) = rank(read(path))
    assert [r.cell.identity.label for r in group] == ["mine/avx2@aaaaaaaa", "mine/avx2@bbbbbbbb"]
    assert "mine/avx2@bbbbbbbb" in tool(compare, path).printed
    outcome = tool(history, "--database", tmp_path / "h.db", "add", path)
    assert outcome.code == 0, outcome
    with database.opened(tmp_path / "h.db") as connection:
        names = [name for name, _, _ in database.series(connection, "mine")]
    assert names == [f"prefill-f32-s512-d64 mine/avx2 1 cores warm {f}" for f in files.values()]
    outcome = tool(report, path, "--output", tmp_path / "page.html")
    assert "mine/avx2@aaaaaaaa" in (tmp_path / "page.html").read_text()


def test_rank_counts_who_is_faster_beyond_doubt(tool: Tool, tmp_path: Path) -> None:
    """Round by round a < c surely, but b spreads over both: 1, 1, 2 and not 1, 1, 3."""
    rounds = range(10)
    rows = [
        sample.cell([m * (1 + 1e-3 * i) for i in rounds], kernel=k) for k, m in (("a", 1), ("c", 2))
    ]
    rows.insert(1, sample.cell([(0.9, 2.1)[i % 2] for i in rounds], kernel="b"))
    path = sample.write(tmp_path / "a", sample.session(), *rows)
    (group,) = rank(read(path))
    assert [(r.cell.identity.kernel, r.rank, r.note) for r in group] == [
        ("a", 1, "tie with b/avx2"),
        ("b", 1, "tie with a/avx2, c/avx2"),
        ("c", 2, "tie with b/avx2"),
    ]
    for form in ("text", "markdown"):
        out = tool(compare, path, "--format", form).out
        assert "\nrank: 1 where no variant is certainly faster" in out
    assert "rank: " not in tool(compare, path, "--format", "csv").out


def test_a_terminal_has_a_line_for_each_case(
    tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What does not fit beside a row stands below it."""
    steady, loud = [1e-3] * 8, [9e-4, 2.1e-3] * 4
    rows = [
        sample.cell(times, kernel=kernel, threads=threads)
        for threads in (1, 2)
        for kernel, times in (("split_kv_of_others", steady), ("row_parallel", loud))
    ]
    path = sample.write(tmp_path / "a", sample.session(), *rows)
    monkeypatch.setenv("COLUMNS", "80")
    narrow = tool(compare, path).out.splitlines()
    assert narrow[1:9:7] == ["prefill-f32-s512-d64, 1 thread", "prefill-f32-s512-d64, 2 threads"]
    assert narrow[2].split()[:2] == ["1", "split_kv_of_others/avx2"]
    assert narrow[3] == "      tie with row_parallel/avx2"
    assert narrow[4].split()[:2] == ["1", "row_parallel/avx2"]
    assert narrow[5] == "      tie with split_kv_of_others/avx2"
    assert narrow[6:8] == [
        "  split_kv_of_others/avx2 on 1 thread, 1.00 ms +-0.00 %; tie with",
        "    row_parallel/avx2",
    ]
    assert max(map(len, narrow)) <= 80
    monkeypatch.setenv("COLUMNS", "160")
    wide = tool(compare, path).out.splitlines()
    assert len(wide) == len(narrow) - 6
    assert wide[3].startswith("     1  row_parallel/avx2 ")
    assert wide[3].endswith("  tie with split_kv_of_others/avx2")


def test_a_long_name_has_a_line_of_its_own_where_a_terminal_is_narrow(
    tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In rankings and in comparisons; the others' rows stay as they are."""
    name = "attention_of_others_with_a_mask"
    rows = [
        sample.cell(sample.alike(t), kernel=k, isa="avx512_bf16")
        for k, t in (("flash", 1e-3), (name, 12e-3))
    ]
    path = sample.write(tmp_path / "a", sample.session(), *rows)
    for words, line in (([path], 3), ([path, path], 2)):
        monkeypatch.setenv("COLUMNS", "80")
        narrow = tool(compare, *words).out.splitlines()
        assert max(map(len, narrow)) <= 80
        first, second = narrow[line : line + 2]
        assert first.split()[-1] == f"{name}/avx512_bf16"
        monkeypatch.setenv("COLUMNS", "160")
        wide = tool(compare, *words).out.splitlines()
        (whole,) = [row for row in wide if name in row and "12.0 ms" in row and "thread" not in row]
        parted = first.split() + second.split()
        assert parted == [w for w in whole.split() if w != "compute"][: len(parted)]


def test_csv_has_numbers(tool: Tool, tmp_path: Path) -> None:
    rows = [sample.cell([t * (1 + i / 1e3) for i in range(8)], kernel=k)
            for k, t in (("gemm", 2e-3), ("flash", 1e-3))]  # fmt: skip
    one = sample.cell([3e-3], kernel="online", gflops=None)
    path = sample.write(tmp_path / "a", sample.session(), *rows, one)
    first, last, alone = csv.DictReader(io.StringIO(tool(compare, path, "--format", "csv").out))
    assert (first["case"], first["kernel"], first["isa"]) == (
        "prefill-f32-s512-d64",
        "flash",
        "avx2",
    )
    assert (first["threads"], first["rank"], first["memory"]) == ("1", "1", "first-touch")
    assert float(first["median_s"]) == pytest.approx(1.0035e-3)
    assert float(first["gflops"]) == pytest.approx(2 * 8 * 512 * 512 * 128 / 1.0035e6)
    assert [float(first[key]) for key in ("ratio", "ratio_lo", "ratio_hi")] == [1, 1, 1]
    assert (last["kernel"], last["rank"]) == ("gemm", "2")
    ratios = [float(last[key]) for key in ("ratio", "ratio_lo", "ratio_hi")]
    assert ratios == pytest.approx([2, 2, 2])
    assert float(alone["ratio"]) == pytest.approx(3)  # of its only round
    assert (alone["gflops"], alone["ratio_lo"], alone["ratio_hi"]) == ("", "", "")


def test_groups_come_by_case_and_threads() -> None:
    """Cases as the session has them, 16 threads after 2; not as kernels happened to end."""
    rows = [
        sample.cell(kernel="b", s=512, threads=16),
        sample.cell(kernel="a", s=512, threads=16),
        sample.cell(kernel="b", s=512, threads=2),
        sample.cell(kernel="a", s=64, threads=2),
        sample.cell(kernel="a", s=512, threads=1),
    ]
    groups = rank(sample.results(*rows))
    assert [(g[0].cell.case, g[0].cell.threads, len(g)) for g in groups] == [
        ("prefill-f32-s512-d64", 1, 1),
        ("prefill-f32-s512-d64", 2, 1),
        ("prefill-f32-s512-d64", 16, 2),
        ("prefill-f32-s64-d64", 2, 1),
    ]


def test_inputs_are_named_where_a_case_has_several(tool: Tool, tmp_path: Path) -> None:
    one = [sample.cell(s=16), sample.cell(s=32, input="negative")]
    lines = tool(compare, sample.write(tmp_path / "one", sample.session(), *one)).out.splitlines()
    assert [line.split()[:2] for line in lines[1:3]] == [
        ["prefill-f32-s16-d64", "1"],
        ["prefill-f32-s32-d64", "1"],
    ]
    two = [sample.cell(), sample.cell(input="negative")]
    out = tool(compare, sample.write(tmp_path / "two", sample.session(), *two)).out
    assert " normal:1 " in out
    assert " negative " in out


def test_a_file_without_times_is_told(tool: Tool, tmp_path: Path) -> None:
    row = sample.cell(time=None)  # as `attnbench check` writes it
    path = sample.write(tmp_path / "a.jsonl", sample.session(command=["check"]), row)
    outcome = tool(compare, path)
    assert (outcome.code, outcome.out) == (5, "")
    assert outcome.err == f"compare: {path}: no cell has a time\n"

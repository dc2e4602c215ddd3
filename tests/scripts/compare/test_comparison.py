"""What scripts/compare compares with what, and its verdicts."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
import sample
from attntools.compare import compare
from attntools.compare.comparison import (
    Comparison,
    Verdict,
    column_of,
    column_values,
    compare_columns,
    compare_files,
    judge,
    ratios,
)
from attntools.compare.ranking import rank
from attntools.results import export
from attntools.results.results import read
from conftest import Tool


@pytest.mark.parametrize(
    ("ratio", "lo", "hi", "verdict"),
    [
        (1.05, 1.03, 1.07, Verdict.SLOWER),
        (1.05, 0.99, 1.07, Verdict.UNCLEAR),  # may be no change
        (1.01, 1.005, 1.015, Verdict.SAME),  # a change, but below the threshold
        (1.01, 1.005, 1.03, Verdict.UNCLEAR),  # a change, perhaps above it
        (1.03, 1.01, 1.05, Verdict.SLOWER),  # beyond doubt a change, its median above it
        (0.95, 0.93, 0.97, Verdict.FASTER),
        (0.99, 0.985, 1.01, Verdict.SAME),
        (1.00, 0.90, 1.10, Verdict.UNCLEAR),
        (1.00, float("nan"), float("nan"), Verdict.UNCLEAR),
    ],
)
def test_judge(ratio: float, lo: float, hi: float, verdict: Verdict) -> None:
    assert judge(ratio, lo, hi, 0.02)[0] is verdict


def test_ratio_of_rounds_is_that_of_their_medians() -> None:
    a = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]  # the machine slows down; the ratio does not
    b = [1.1 * x for x in a]
    paired, independent = ratios([(a, b, True), (a, b, False)])
    assert paired == pytest.approx([1.1, 1.1, 1.1])
    assert independent[1] < 0.5 < 2 < independent[2]


def test_few_rounds_have_an_interval_of_student() -> None:
    a, b = [1.0, 2.0, 4.0], [1.1, 2.0, 3.6]
    logs = np.log([1.1, 1.0, 0.9])
    half = 4.302653 * logs.std(ddof=1) / 3**0.5
    expected = [1.0, np.exp(logs.mean() - half), np.exp(logs.mean() + half)]
    assert ratios([(a, b, True)])[0] == pytest.approx(expected)
    # A fourth launch of one side has no partner.
    assert ratios([(a, [*b, 9.0], True)])[0] == pytest.approx(expected)


@pytest.mark.parametrize(("launches", "paired"), [(2, True), (3, False)])
def test_fewer_rounds_and_few_launches_apart_have_none(launches: int, paired: bool) -> None:
    a, b = [1.0, 1.1, 1.2], [2.0, 2.2, 2.4]
    ratio, *interval = ratios([(a[:launches], b[:launches], paired)])[0]
    assert ratio == pytest.approx(2)
    assert np.isnan(interval).all()


def test_compare_files(files: tuple[Path, Path]) -> None:
    comparisons = compare_files(*map(read, files))
    by_case = {c.cell.case: c for c in comparisons}
    expected = {
        "prefill-f32-s64-d64": (Verdict.SAME, "no difference of 2 %"),
        "prefill-f32-s128-d64": (Verdict.SLOWER, "at least 9"),
        "prefill-f32-s256-d64": (Verdict.FASTER, "at least 8"),
        "prefill-f32-s1-d64": (Verdict.UNCLEAR, f"not in {files[1]}"),
        "prefill-f32-s2-d64": (Verdict.WRONG, f"failed in {files[1]}: because"),
        "prefill-f32-s3-d64": (Verdict.UNCLEAR, f"not in {files[0]}"),
    }
    assert by_case.keys() == expected.keys()
    for case, (verdict, reason) in expected.items():
        assert by_case[case].verdict is verdict
        assert by_case[case].reason.startswith(reason)
    assert [c.cell.case for c in comparisons if c.wrong] == ["prefill-f32-s2-d64"]
    assert by_case["prefill-f32-s128-d64"].ratio == pytest.approx(1.1, abs=0.005)


def test_like_is_compared_with_like(tool: Tool, tmp_path: Path) -> None:
    """Memory and huge pages are part of what a cell is; without them it is as it was before."""
    usual = {"memory": "first-touch", "huge_pages": False}
    old, same, huge, spread = (
        read(sample.write(tmp_path / name, sample.session(), sample.cell([t] * 8, **more)))
        for name, t, more in (
            ("old", 1.0, {}),
            ("same", 1.0, usual),
            ("huge", 2.0, usual | {"huge_pages": True}),
            ("spread", 3.0, usual | {"memory": "interleave"}),
        )
    )
    assert [c.verdict for c in compare_files(old, same)] == [Verdict.SAME]
    for other in (huge, spread):
        reasons = {c.reason for c in compare_files(same, other)}
        assert reasons == {f"not in {same.path}", f"not in {other.path}"}
    out = tool(compare, same.path, huge.path).out
    assert "s512-d64 huge-pages " in out
    assert "s512-d64 no-huge-pages " in out
    rows = list(
        csv.DictReader(io.StringIO(tool(compare, same.path, huge.path, "--format", "csv").out))
    )
    assert [(r["memory"], r["huge_pages"]) for r in rows] == [
        ("first-touch", "True"),
        ("first-touch", "False"),
    ]
    both = sample.results(
        sample.cell([1.0] * 8, **usual), sample.cell([1.5] * 8, **usual | {"huge_pages": True})
    )
    (c,) = compare_columns(both, "huge_pages", "no-huge-pages")
    assert (c.ratio, c.new_name) == (pytest.approx(1.5), "huge_pages huge-pages")
    assert [len(group) for group in rank(both)] == [1, 1]


def test_rows_come_by_case_kernel_and_threads(tool: Tool, tmp_path: Path) -> None:
    """Cases as the session has them, whatever cell was finished first, or is missing."""
    cells = [("online", 512, 2), ("flash", 512, 10), ("flash", 512, 2), ("flash", 64, 1)]
    rows = [sample.cell(kernel=k, s=s, threads=n) for k, s, n in cells]
    a = sample.results(*rows, sample.cell(kernel="a", s=512))
    b = sample.write(tmp_path / "b", sample.session(), *rows)
    expected = [("flash", "2"), ("flash", "10"), ("online", "2"), ("flash", "1")]
    for words in ((compare, b, b), (export, b)):
        out = tool(*words, "--format", "csv").out
        found = list(csv.DictReader(io.StringIO(out)))
        assert [(r["kernel"], r["threads"]) for r in found] == expected
        assert [r["case"] for r in found[2:]] == ["prefill-f32-s512-d64", "prefill-f32-s64-d64"]
    kernels = [c.cell.kernel for c in compare_files(a, read(b))]
    assert kernels == ["a", "flash", "flash", "online", "flash"]


def test_flags_are_part_of_a_reason() -> None:
    a = sample.results(sample.cell([1.0, 2.0]))
    b = sample.results(sample.cell([1.0, 2.0], flags=["preempted"]))
    (c,) = compare_files(a, b)
    assert c.reason == "too few launches for an interval (2 and 2); preempted"


def noise(ratio: float, ci95: list[float] | None, s: int = 512) -> sample.Row:
    """What a cell that was launched twice a round differed from itself by."""
    return sample.cell(s=s) | {"type": "noise", "rounds": 8, "ratio": ratio, "ci95": ci95}


def apart(slower: float, base: list[sample.Row], **changes: object) -> Comparison:
    """A cell in two sessions, the new one slower; further lines of the base's file."""
    rng = np.random.default_rng(3)
    first, second = (sample.noisy(rng, t * 1e-3, 12, 0.002) for t in (1.0, slower))
    a = sample.results(sample.cell(first), *base)
    b = sample.results(sample.cell(second, **changes))
    (c,) = compare_files(a, b)
    assert c.ratio == pytest.approx(slower, abs=0.005)
    return c


@pytest.mark.parametrize("slower", [1.5, 1.0, 0.7])
@pytest.mark.parametrize(
    "flag",
    [
        *("preempted", "migrated", "steal", "throttled", "frequency", "oversubscribed", "paged"),
        "halted",
    ],
)
def test_disturbed_sessions_apart_decide_nothing(slower: float, flag: str) -> None:
    c = apart(slower, [], flags=["outliers", flag])
    assert c.verdict is Verdict.UNCLEAR
    assert c.reason == f"measured apart, and disturbed (new: {flag})"


def test_disturbance_of_the_base_counts_too() -> None:
    a, b = (
        sample.results(sample.cell([t] * 8, flags=[flag]))
        for flag, t in (("steal", 1.0), ("outliers", 2.0))
    )
    (c,) = compare_files(a, b)
    assert (c.verdict, c.reason) == (
        Verdict.UNCLEAR,
        "measured apart, and disturbed (base: steal)",
    )


def test_what_samples_look_like_is_no_disturbance() -> None:
    c = apart(1.5, [], flags=["outliers"])
    assert c.verdict is Verdict.SLOWER
    assert c.reason.endswith(" % more time; outliers")


@pytest.mark.parametrize(
    ("slower", "lines", "verdict"),
    [
        (1.05, [noise(1.0, [0.99, 1.06])], Verdict.UNCLEAR),
        (1.05, [noise(1.0, [0.94, 1.01])], Verdict.UNCLEAR),  # to either side
        (0.95, [noise(1.0, [0.99, 1.06])], Verdict.UNCLEAR),
        (1.05, [noise(1.06, None)], Verdict.UNCLEAR),  # too few rounds for an interval
        (1.05, [noise(1.0, [0.99, 1.04])], Verdict.SLOWER),
        (1.05, [noise(1.0, [0.99, 1.06], s=64), noise(1.0, [1.0, 1.01])], Verdict.SLOWER),
        (1.00, [noise(1.0, [0.99, 1.06])], Verdict.SAME),
        (1.05, [noise(1.0, [0.99, 1.06], s=64)], Verdict.UNCLEAR),  # its own case has no record
    ],
)
def test_less_than_one_build_differs_from_itself(
    slower: float, lines: list[sample.Row], verdict: Verdict
) -> None:
    c = apart(slower, lines)
    assert c.verdict is verdict
    said = "measured apart, and one build differed from itself by up to 6."
    assert c.reason.startswith(said) is (verdict is Verdict.UNCLEAR)


def test_launches_of_one_round_are_compared_in_spite_of_noise() -> None:
    rows = [sample.cell([t] * 8, isa=i, flags=["steal"]) for i, t in (("avx2", 1.0), ("sse", 1.05))]
    results = sample.results(*rows, noise(1.2, None))
    (c,) = compare_columns(results, "isa", "avx2")
    assert c.verdict is Verdict.SLOWER


def test_columns_are_matched_by_all_the_rest() -> None:
    rows = [
        sample.cell([t * n] * 8, threads=n, s=s) for s in (64, 128) for n, t in ((1, 4), (2, 1))
    ]
    results = sample.results(*rows)
    comparisons = compare_columns(results, "threads", "1")
    assert [c.ratio for c in comparisons] == pytest.approx([0.5, 0.5])
    assert {(c.base.identity.threads, c.new.identity.threads) for c in comparisons} == {(1, 2)}
    with pytest.raises(KeyError):
        compare_columns(results, "threads", "3")


def test_keys_of_the_problem_are_columns() -> None:
    one = sample.cell([2.0] * 8)
    other = sample.cell([1.0] * 8) | {"problem": one["problem"] + ",dtype=bf16"}
    results = sample.results(one, other)
    (c,) = compare_columns(results, "dtype", "f32")
    assert c.ratio == pytest.approx(0.5)
    (cell, _) = results.cells.values()
    assert column_of(cell, "sq")[1] == "512"


def test_kernels_are_compared_by_their_best_variant() -> None:
    rows = [
        sample.cell([t] * 8, kernel=k, isa=isa)
        for k, isa, t in (("gemm", "baseline", 2.0), ("flash", "avx2", 1.0), ("flash", "sse", 4.0))
    ]
    results = sample.results(*rows)
    (c,) = compare_columns(results, "kernel", "gemm")
    assert c.new.identity.isa == "avx2"
    assert c.ratio == pytest.approx(0.5)


def test_groups_are_compared_by_their_best_kernel() -> None:
    rows = [
        sample.cell([t] * 8, kernel=k, isa=isa, group=group)
        for k, isa, group, t in (
            ("gemm", "avx2", "rivals", 4.0),
            ("torch", "avx512", "rivals", 2.0),
            ("flash", "avx512", "ours", 1.5),
            ("split_kv", "avx512", "ours", 3.0),
            ("naive", "avx2", "textbook", 1.0),
        )
    ]
    results = sample.results(*rows)
    ours, textbook = sorted(compare_columns(results, "group", "rivals"), key=lambda c: c.new_name)
    assert (ours.base.identity.kernel, ours.new.identity.kernel) == ("torch", "flash")
    assert (ours.base_name, ours.new_name) == ("group rivals", "group ours")
    assert ours.ratio == pytest.approx(0.75)
    assert textbook.new.identity.kernel == "naive"


def test_rows_of_older_programs_have_no_group() -> None:
    results = sample.results(sample.cell())
    assert column_values(results, "group") == ["-"]


def test_many_cells_are_all_compared(tmp_path: Path) -> None:
    a, b = (read(sample.many(tmp_path / str(i), 2000, i)) for i in (1, 2))
    comparisons = compare_files(a, b)
    assert len(comparisons) == 2000
    # Noise alone: 95 % intervals, so about 5 % exclude 1 (2000 cells: +-1 %).
    excluded = sum(c.lo > 1 or c.hi < 1 for c in comparisons) / 2000
    assert excluded == pytest.approx(0.05, abs=0.015)

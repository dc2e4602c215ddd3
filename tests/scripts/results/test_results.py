"""Every kind of bad file is named once, with file and line; what a kill leaves is read."""

import math
from pathlib import Path

import pytest
import sample
from attntools.compare.comparable import incomparable
from attntools.results.cells import ResultsError, problem_fields
from attntools.results.results import read


def test_reads_what_the_schema_says() -> None:
    results = sample.results(sample.cell([2e-3, 1e-3, 3e-3]))
    (cell,) = results.cells.values()
    assert results.complete
    assert results.notes == []
    assert cell.median_s == 2e-3
    assert cell.launch_medians_s == [2e-3, 1e-3, 3e-3]
    assert cell.interval_s is None
    assert cell.identity.variant == "flash/avx2"
    assert cell.identity.threads == 1


def test_last_row_of_a_cell_counts_and_the_others_are_noted() -> None:
    results = sample.results(sample.cell([1e-3]), sample.cell([2e-3]))
    (cell,) = results.cells.values()
    assert cell.median_s == 2e-3
    assert results.notes == [
        "a.jsonl:3: 1 rows replace earlier ones of the same cell (the first that of line 2)"
    ]


def test_unfinished_line_is_left_out_and_noted(tmp_path: Path) -> None:
    path = sample.write(tmp_path / "a.jsonl", sample.session(), sample.cell(), end=False)
    path.write_text(path.read_text() + '{"type":"cell","prob')
    results = read(path)
    assert len(results.cells) == 1
    assert results.notes == [
        f"{path}:3: an unfinished last line is left out (20 bytes)",
        f"{path}: the session did not end: cells may be missing",
    ]


def test_whole_last_line_without_newline_counts(tmp_path: Path) -> None:
    path = sample.write(tmp_path / "a.jsonl", sample.session(), sample.cell(), end=False)
    path.write_text(path.read_text().rstrip("\n"))
    assert len(read(path).cells) == 1


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    path = sample.write(tmp_path / "a.jsonl", sample.session(), sample.cell())
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert len(read(path).cells) == 1


def without(row: sample.Row, *keys: str) -> sample.Row:
    return {k: v for k, v in row.items() if k not in keys}


def with_time(**changes: object) -> sample.Row:
    row = sample.cell([1e-3] * 6)
    return row | {"time": row["time"] | changes}


NAN = float("nan")

# Besides those of bad_files.py, which go through the tools.
BAD = [
    ([{"a": 1}], ":1: is no results file of attnbench: a session line comes first"),
    ([sample.cell()], ":1: is no results file of attnbench: a session line comes first"),
    (
        [sample.session(schema="other/1")],
        ":1: is no results file of attnbench (schema 'other/1')",
    ),
    ([sample.session(schema="attnbench.results/x")], ":1: schema 'attnbench.results/x' names no"),
    ([without(sample.session(), "machine")], ":1: the session line has no machine"),
    ([sample.session(), {"x": 1}], ":2: has no type (keys: x)"),
    ([sample.session(), without(sample.cell(), "kernel")], ":2: has no kernel"),
    (
        [sample.session(), sample.cell() | {"threads": 0}],
        ":2: threads is 0, not a positive",
    ),
    ([sample.session(), sample.cell() | {"isa": None}], ":2: isa is None, not a text"),
    ([sample.session(), sample.cell() | {"threads": True}], ":2: threads is True, not"),
    ([sample.session(), sample.cell() | {"state": "fine"}], ":2: state is 'fine', none of"),
    ([sample.session(), sample.cell() | {"time": None}], ":2: state is ok, but there is no time"),
    ([sample.session(), with_time(median_s=None)], ":2: time.median_s is None, not a positive"),
    ([sample.session(), with_time(median_s=-1.0)], ":2: time.median_s is -1.0, not a positive"),
    (
        [sample.session(), with_time(launch_medians_s=[1.0, NAN])],
        ":2: time.launch_medians_s is [1.0, nan], not a list of positive numbers",
    ),
    ([sample.session(), with_time(launch_medians_s=[])], ":2: time.launch_medians_s is [], not"),
    ([sample.session(), with_time(ci95_s=[1.0])], ":2: time.ci95_s is [1.0], neither null"),
]


@pytest.mark.parametrize(("rows", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_rows(tmp_path: Path, rows: list[sample.Row], message: str) -> None:
    path = sample.write(tmp_path / "bad.jsonl", *rows)
    with pytest.raises(ResultsError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}{message}")


@pytest.mark.parametrize("text", ["hello\nworld\n", "\x00\x01\n", "[1]\n", "{", '{"type": "cell"'])
def test_foreign_files(tmp_path: Path, text: str) -> None:
    path = tmp_path / "foreign"
    path.write_text(text)
    with pytest.raises(ResultsError, match=r"foreign:1: is no "):
        read(path)


@pytest.mark.parametrize(("text", "message"), [("  ", " is empty"), ("\n", "1: is no JSON")])
def test_blank_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "blank"
    path.write_text(text)
    with pytest.raises(ResultsError, match=f"blank:{message}"):
        read(path)


def test_later_fields_and_line_types_are_no_error() -> None:
    assert len(sample.results({"type": "later"}, sample.cell(new=2), new=1).cells) == 1


def test_launch_lines_only_when_asked(tmp_path: Path) -> None:
    launch = {"type": "launch"} | without(sample.cell(), "type")
    path = sample.write(tmp_path / "a.jsonl", sample.session(), launch, sample.cell())
    assert read(path).launches == {}
    (launches,) = read(path, with_launches=True).launches.values()
    assert len(launches) == 1
    path = sample.write(tmp_path / "b.jsonl", launch, sample.session())
    with pytest.raises(ResultsError, match=r"b.jsonl:1: .* a session line comes first"):
        read(path)


def test_states_other_than_ok_need_no_time() -> None:
    results = sample.results(sample.cell(state="crashed"))
    assert results.timed == []
    assert len(results.cells) == 1


def other(part: str, **changes: object) -> dict[str, sample.Row]:
    """What another machine or build changes of a session."""
    return {part: sample.session()[part] | changes}


def test_comparable_builds_may_differ_in_commit_only() -> None:
    a, b = sample.results(), sample.results(**other("build", commit="b" * 40))
    assert incomparable([a, b]) == []


@pytest.mark.parametrize(
    ("part", "changes"),
    [
        ("machine", {"fingerprint": "beef"}),
        ("build", {"compiler": "Clang 14"}),
        ("build", {"flags": "-O0"}),
    ],
)
def test_incomparable_unless_told(part: str, changes: dict[str, str]) -> None:
    a, b = sample.results(), sample.results(path="b.jsonl", **other(part, **changes))
    (reason,) = incomparable([a, b])
    assert f"a.jsonl:1 and b.jsonl:1 are of different {part}s" in reason
    assert reason.endswith(f"--allow {part} to go on")
    assert incomparable([a, b], [part]) == []


def test_mixed_file_is_incomparable() -> None:
    a = sample.results(sample.cell(), sample.session(**other("build", commit="b" * 40)))
    (reason,) = incomparable([a])
    assert reason.startswith("a.jsonl:3: this session is of another build than that of line 1")
    assert incomparable([a], ["mixed"]) == []


def test_problem_fields_fill_in_defaults() -> None:
    fields = problem_fields("b=1,sq=4,d=64,dtype=bf16")
    assert fields == {"b": "1", "sq": "4", "d": "64", "dv": "64", "dtype": "bf16", "mask": "none"}


def test_nan_in_a_field_that_is_not_a_time_is_null() -> None:
    (cell,) = sample.results(sample.cell(gflops=NAN)).cells.values()
    assert cell.row["gflops"] is None
    assert math.isnan(cell.number("gflops"))
    assert cell.number("ceiling.fma_gflops") == 118


def test_only_an_ok_row_has_rates() -> None:
    """A file may hold the time of what was implausible: no tool gets to see it."""
    row = sample.cell() | {"state": "implausible", "why": "1062 %"}
    results = sample.results(row)
    (cell,) = results.cells.values()
    assert row["time"] and row["gflops"]
    assert (cell.timed, results.timed, results.right) == (False, [], [])
    for key in ("gflops", "fraction_of_fma", "time.median_s", "time.p05_s", "workspace_bytes"):
        assert math.isnan(cell.number(key)), key
    assert cell.number("check.error_over_bound") == 0.004

"""scripts/explain: what a row's numbers say, and nothing that they do not."""

from pathlib import Path

import pytest
import sample
from attntools.explain import explain
from conftest import Tool

# One that waits at its barriers, on one of two numbers of threads.
ROW = {
    "bound_by": "compute",
    "fraction_of_fma": 0.5,
    "fraction_of_machine": 0.5,
    "intensity_flop_per_byte": 128.0,
    "prepare_s": 0,
}


def page(tool: Tool, tmp_path: Path, *rows: sample.Row, row: int = 1) -> dict[str, list[str]]:
    """What is said, line by line, of each label."""
    path = sample.write(tmp_path / "a.jsonl", sample.session(), *rows)
    outcome = tool(explain, path, "--row", row)
    assert outcome.code == 0, outcome.err
    found: dict[str, list[str]] = {}
    label = ""
    for line in outcome.out.splitlines()[2:]:
        label = line[2:13].strip() or label
        found.setdefault(label, []).append(line[13:])
    return found


def test_rows_of_two_settings_are_told_apart(tool: Tool, tmp_path: Path) -> None:
    path = sample.write(
        tmp_path / "a.jsonl",
        sample.session(),
        *sample.settings(sample.alike(1e-3), sample.alike(2e-3)),
    )
    rows = [line.split("  ") for line in tool(explain, path).out.splitlines()]
    assert [[cell.strip() for cell in row if cell][2] for row in rows[-2:]] == [
        "flash/avx2 A=1",
        "flash/avx2 huge-pages A=2 B='x y'",
    ]


def test_a_row_that_could_be_faster(tool: Tool, tmp_path: Path) -> None:
    said = page(
        tool,
        tmp_path,
        sample.cell(sample.alike(1.2e-3), kernel="tiled", threads=2, busy_s=0.9e-3,
                    barrier_s=0.3e-3, flags=["outliers", "preempted"],
                    thread_busy_s=[1e-3, 8e-4], chosen=True, **ROW),
        sample.cell(sample.alike(1e-3), threads=2),
        sample.cell(sample.alike(0.8e-3), kernel="tiled", threads=1, **ROW),
    )  # fmt: skip
    assert said["limit"][0] == (
        "compute bound: 128 flops for each byte that must be moved, and here the multiply-adds "
        "bind from 5.90 flops a byte on"
    )
    assert said["limit"][1] == (
        "50 % of the GFLOP/s of the multiply-adds, launch by launch; the medians of both, 447 and "
        "236, divide to 189 %"
    )
    assert said["threads"] == [
        "in an extra sample of each launch, apart from those of the time, they work 75 % and wait "
        "25 % for each other; the busiest works 1.25 x as long as the idlest",
        "on 1 thread it takes 801 us: 1.50 x as fast as on 2, round by round",
    ]
    assert [line.split(":")[0] for line in said["disturbed"]] == ["preempted", "outliers"]
    assert said["others"][0].startswith("flash/avx2 on 2 threads, 1.00 ms")
    assert said["others"][1:] == [
        "this row takes 1.20 x as long, round by round [1.20 to 1.20]",
        "what differs: it alone was disturbed: preempted",
        "this is the variant that the library chooses",
        "the lowest median of this case: tiled/avx2 on 1 thread, 801 us, 1.50 x as fast as this "
        "row; 50 % of what the multiply-adds allow",
    ]
    assert said["try"] == [
        "--kernel flash/avx2: 1.20 x as fast in this file",
        "--threads 1: 1.50 x as fast in this file",
        "split_kv, which splits keys: the threads wait for each other 25 % of the time",
        "an idle machine, or fewer threads than it has: the row is preempted",
    ]
    assert said["repeat"] == [sample.cell(kernel="tiled")["repro"]]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"threads": 1}, "--threads 2: the machine has 2 cores, and no other number was measured"),
        ({"flags": ["steal"]}, "another hour: steal is beyond what a setting changes"),
        ({"flags": ["oversubscribed"]}, "an idle machine, or fewer threads than it has: the row is "
         "oversubscribed"),
        ({"flags": ["elsewhere"]}, "--memory bind, or a free node: memory lies elsewhere than was "
         "asked for"),
        ({"fraction_of_machine": 0.2}, "another instruction set: this host multiplies 2.50 x as "
         "fast as avx2"),
        ({"bound_by": "bandwidth", "fraction_of_bandwidth": 0.95},
         "fewer bytes of K and V (16 bits, int8, fewer KV heads): at 95 % of its limit no setting "
         "makes this much faster"),
        ({"bound_by": "bandwidth", "fraction_of_bandwidth": 0.5,
          "ceiling": {"fma_gflops": 1, "read_gbytes_per_s": 40, "read_in_place_gbytes_per_s": 25}},
         "--huge-pages: other memory, on huge pages if there are, was read 1.60 x as fast as K and "
         "V where they lie"),
        ({"medians": [1e-3, 2e-3] * 4}, "more --seconds: the interval is +-33.3 % wide"),
        ({"bound_by": "bandwidth", "fraction_of_bandwidth_in_place": 0.92,
          "ceiling": {"fma_gflops": 1, "read_gbytes_per_s": 40, "read_in_place_gbytes_per_s": 25}},
         "--huge-pages: at 92 % of what K and V allow where they lie, but other memory, on huge "
         "pages if there are, was read 1.60 x as fast as K and V where they lie"),
        ({"busy_s": 1e-3, "barrier_s": 1e-3}, "fewer threads, or split_kv, which splits keys: the "
         "threads wait for each other 50 % of the time"),
        ({"kernel": "split_kv", "busy_s": 1e-3, "barrier_s": 1e-3}, "fewer threads: the threads "
         "wait for each other 50 % of the time"),
        ({"medians": [1e-3] * 3}, "--launches 6 or more: for a 95 % interval of its time"),
        ({}, "nothing that these numbers support"),
    ],
)  # fmt: skip
def test_each_advice_needs_its_number(
    tool: Tool, tmp_path: Path, changes: sample.Row, says: str
) -> None:
    more = ROW | {"threads": 2} | changes
    medians = more.pop("medians", sample.alike(1e-3))
    slower = sample.cell(sample.alike(1), kernel="naive", threads=more["threads"])
    said = page(tool, tmp_path, sample.cell(medians, **more), slower)
    assert said["try"] == [says]
    assert said["others"][-1] == "no other row of this case has a lower median"


def test_advice_does_not_contradict_the_file(tool: Tool, tmp_path: Path) -> None:
    """Threads that wait, where split_kv and one thread were found slower."""
    waits = {"busy_s": 1e-3, "barrier_s": 1e-3}
    rows = (
        sample.cell(sample.alike(1e-3), threads=2, **waits, **ROW),
        sample.cell(sample.alike(3e-3), threads=2, kernel="split_kv", **waits, **ROW),
        sample.cell(sample.alike(2e-3), threads=1, **ROW),
    )
    assert page(tool, tmp_path, *rows)["try"] == ["nothing that these numbers support"]
    said = page(tool, tmp_path, *rows, row=2)["try"]
    assert said[0].startswith("--kernel flash/avx2: 3.00 x as fast")
    assert said[1].startswith("fewer threads: ")
    assert page(tool, tmp_path, rows[0])["try"][0] == (
        "--kernel best,ours: of this case the file has flash alone"
    )


def test_at_the_limit_a_faster_row_is_not_denied(tool: Tool, tmp_path: Path) -> None:
    full = ROW | {"bound_by": "bandwidth", "fraction_of_bandwidth": 0.95}
    rows = (
        sample.cell(sample.alike(2e-3), threads=1, **full),
        sample.cell(sample.alike(1e-3), threads=2),
    )
    said = page(tool, tmp_path, *rows, sample.cell(sample.alike(1), kernel="naive"))["try"]
    assert said == [
        "--threads 2: 2.00 x as fast in this file",
        "fewer bytes of K and V (16 bits, int8, fewer KV heads): at 95 % of its limit",
    ]


def test_huge_pages_are_not_proposed_where_they_were_no_faster(tool: Tool, tmp_path: Path) -> None:
    slow = ROW | {
        "bound_by": "bandwidth",
        "ceiling": {"fma_gflops": 1, "read_gbytes_per_s": 40, "read_in_place_gbytes_per_s": 25},
    }
    rows = (
        sample.cell(sample.alike(1e-3), **slow),
        sample.cell(sample.alike(1e-3), huge_pages=True, **slow),
    )
    assert any(line.startswith("--huge-pages") for line in page(tool, tmp_path, rows[0])["try"])
    assert not any("huge" in line for line in page(tool, tmp_path, *rows)["try"])


def test_the_librarys_choice_is_named(tool: Tool, tmp_path: Path) -> None:
    """By one launch each, which no interval is of."""
    rows = (
        sample.cell([3e-3], **ROW | {"flags": ["oversubscribed"]}),
        sample.cell([1e-3], kernel="split_kv", **ROW),
        sample.cell([2e-3], kernel="tiled", chosen=True, **ROW),
    )
    whole = page(tool, tmp_path, *rows)
    assert whole["time"] == ["3.00 ms in 1 launch, too few for a 95 % interval"]
    assert "an idle machine: the row is oversubscribed" in whole["try"]
    first, *_, last = whole["others"]
    assert first.endswith(
        "; 1 launch, too few to rank it; the library chooses tiled/avx2, 2.00 x as long, without "
        "an interval"
    )
    assert last == (
        "the lowest median of this case: split_kv/avx2 on 1 thread, 1.00 ms, 3.00 x as fast as "
        "this row; 50 % of what the multiply-adds allow"
    )
    rows[1]["chosen"], rows[2]["chosen"] = True, False
    assert page(tool, tmp_path, *rows)["others"][-1] == "the library chooses split_kv/avx2"


def test_a_ratio_is_said_once(tool: Tool, tmp_path: Path) -> None:
    """Round by round 1.20, by medians too; on two threads another row is the fastest."""
    rows = [
        sample.cell(sample.alike(1.2e-3), kernel="tiled", **ROW),
        sample.cell(sample.alike(1e-3), chosen=True, **ROW),
    ]
    this = "this row takes 1.20 x as long, round by round [1.20 to 1.20]"
    assert page(tool, tmp_path, *rows)["others"][1:] == [this, "the library chooses flash/avx2"]
    rows.append(sample.cell(sample.alike(0.6e-3), threads=2, chosen=True, **ROW))
    assert page(tool, tmp_path, *rows)["others"][1:] == [
        this,
        "the lowest median of this case: flash/avx2 on 2 threads, 601 us, 2.00 x as fast as this "
        "row; 50 % of what the multiply-adds allow; the library's choice for as many threads",
        "the library chooses flash/avx2",
    ]


@pytest.mark.parametrize(
    ("slow", "fast", "says"),
    [
        ({"counters": {"instructions": 3e6}}, {"counters": {"instructions": 2e6}},
         "it executes 1.50 x as many instructions"),
        ({"busy_s": 1e-3, "barrier_s": 1e-3}, {"busy_s": 1.9e-3, "barrier_s": 1e-4},
         "its threads wait 50 % of the time, those of the other 5 %"),
        ({"workspace_bytes": 65536}, {"workspace_bytes": 4096},
         "its workspace of 65.5 KB exceeds the last-level cache, 32.8 KB"),
        ({"isa": "avx2", "ceiling": {"fma_gflops": 100}},
         {"isa": "avx512", "ceiling": {"fma_gflops": 200}},
         "avx512 multiplies 2.00 x as fast as its avx2"),
        ({"flags": ["steal", "outliers"]}, {}, "it alone was disturbed: steal"),
        ({"flags": ["steal"]}, {"flags": ["steal"]}, None),
        ({}, {}, None),
    ],
)  # fmt: skip
def test_a_cause_is_named_where_both_rows_show_it(
    tool: Tool, tmp_path: Path, slow: sample.Row, fast: sample.Row, says: str | None
) -> None:
    rows = (
        sample.cell(sample.alike(2e-3), kernel="tiled", threads=2, **ROW | slow),
        sample.cell(sample.alike(1e-3), threads=2, **ROW | fast),
    )
    for row, name in ((1, "what"), (2, "tiled/avx2")):
        said = page(tool, tmp_path, *rows, row=row)["others"]
        assert [line for line in said if " differs: " in line] == (
            [f"{name} differs: {says}"] if says else []
        )
    tie = sample.cell(sample.alike(1e-3), kernel="tiled", threads=2, **ROW | slow)
    assert not any("differs" in line for line in page(tool, tmp_path, tie, rows[1])["others"])


def test_spreads_are_those_of_the_file(tool: Tool, tmp_path: Path) -> None:
    row = sample.cell()
    row["time"] |= {"spread_within": 0.329, "spread_between": 0}
    assert page(tool, tmp_path, row)["time"][1] == (
        "samples spread 32.9 % within a launch, and launches 0.0 % beyond what that explains"
    )


def test_a_row_is_a_number(tool: Tool, tmp_path: Path) -> None:
    path = sample.write(tmp_path / "a.jsonl", sample.session(), sample.cell())
    outcome = tool(explain, path, "--row", "flash")
    assert (
        "--row: flash is no number; the first column of scripts/explain FILE has" in outcome.refused
    )


def test_a_faster_neighbour_must_be_certain(tool: Tool, tmp_path: Path) -> None:
    """Medians of 1.5 and 1 ms, whose intervals overlap."""
    loud = [1e-3, 2e-3] * 4
    said = page(tool, tmp_path, sample.cell(loud, threads=2, **ROW), sample.cell(loud[:1] * 8))
    assert not any(line.startswith("--threads") for line in said["try"])


def test_another_kernel_on_other_threads(tool: Tool, tmp_path: Path) -> None:
    """As certain as a change of one of the two must be."""
    slow = sample.cell(sample.alike(2e-3), kernel="tiled", threads=2, **ROW)
    fast = sample.cell(sample.alike(1e-3), threads=1)
    says = "--kernel flash/avx2 --threads 1: 2.00 x as fast in this file"
    assert says in page(tool, tmp_path, slow, fast)["try"]
    loud = sample.cell([0.5e-3, 5e-3] * 4, threads=1)
    assert not any("flash" in line for line in page(tool, tmp_path, slow, loud)["try"])
    again = sample.cell(sample.alike(1e-3), threads=1, kernel="tiled")
    assert says.replace("kernel flash/avx2 --", "") in page(tool, tmp_path, slow, again)["try"]


def test_what_was_not_measured_is_not_said(tool: Tool, tmp_path: Path) -> None:
    said = page(
        tool, tmp_path, sample.cell(threads=2, ceiling={}, fraction_of_fma=None, prepare_s=None)
    )
    assert said["limit"] == ["no ceiling was measured beside it"]
    assert "threads" not in said
    assert said["disturbed"] == ["nothing was seen"]


def test_layers_of_a_model_are_compared(tool: Tool, tmp_path: Path) -> None:
    """Two kinds of layer in two passes; the row's own, and the fastest of the others."""

    def of(layers: int, *more: sample.Row) -> sample.Row:
        return {"passes": [{"name": "m-decode-64", "layers": layers}, *more]}

    rows = (
        sample.cell([1e-3] * 8, **of(2, {"name": "n-decode-64", "layers": 3})),
        sample.cell([2e-3] * 8, s=64, kernel="tiled", **of(6)),
        sample.cell([1e-3] * 8, s=64, **of(6)),
        sample.cell([1e-4] * 8, s=64, threads=2, **of(6)),
    )
    said = page(tool, tmp_path, *rows)["model"]
    assert said == [
        "m-decode-64: 2 layers x 1.00 ms are 2.00 ms, 25 % of 8.00 ms beside 6 x 1.00 ms of "
        "prefill-f32-s64-d64 by flash/avx2",
        "n-decode-64: 3 layers x 1.00 ms are 3.00 ms, all of its layers here",
    ]
    said = page(tool, tmp_path, *rows[:1], rows[3])["model"]
    assert said[0].endswith(
        "are 2.00 ms beside 6 layers of prefill-f32-s64-d64, without a time here"
    )
    assert "model" not in page(tool, tmp_path, sample.cell(), sample.cell(s=64))


def test_a_row_without_a_time_has_its_reason(tool: Tool, tmp_path: Path) -> None:
    said = page(tool, tmp_path, sample.cell(), sample.cell(kernel="bad", state="failed"), row=2)
    assert said["state"] == ["failed: because"]


def test_rows_are_those_of_the_file(tool: Tool, tmp_path: Path) -> None:
    rows = [sample.cell(), sample.cell(s=64), sample.cell()]
    path = sample.write(tmp_path / "a.jsonl", sample.session(), *rows)
    listed = tool(explain, path).out.splitlines()
    assert [line.split()[:2] for line in listed[1:]] == [
        ["2", "prefill-f32-s64-d64"],
        ["3", "prefill-f32-s512-d64"],
    ]
    for row, message in ((0, "no row 0, it has 3"), (4, "no row 4, it has 3"),
                         (1, "a later row of the same cell replaces row 1")):  # fmt: skip
        outcome = tool(explain, path, "--row", row)
        assert (outcome.code, outcome.out) == (4, "")
        assert outcome.err.splitlines()[-1] == f"explain: {path}: {message}"


def test_a_terminal_is_not_exceeded(
    tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sample.write(tmp_path / "a.jsonl", sample.session(), sample.cell(repro="short", **ROW))
    for width in (80, 160):
        monkeypatch.setenv("COLUMNS", str(width))
        assert max(map(len, tool(explain, path, "--row", 1).out.splitlines())) <= width
    long = sample.cell(case="m" * 60)
    path = sample.write(tmp_path / "b.jsonl", sample.session(), long, sample.cell(s=64))
    wide = tool(explain, path).out.splitlines()
    monkeypatch.setenv("COLUMNS", "80")
    narrow = tool(explain, path).out.splitlines()
    assert max(map(len, narrow)) <= 80
    assert [line.split() for line in narrow[1:3]] == [
        ["m" * 60],
        ["1", "flash/avx2", "1", "1.00", "ms", "ok"],
    ]
    assert len(wide) == 1 + 2

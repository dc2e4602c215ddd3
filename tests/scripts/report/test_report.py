"""Pages are whole, say the numbers of the file, and need nothing from outside."""

import re
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import sample
from attntools.history import history
from attntools.report import report
from attntools.report.page import without_folders
from attntools.report.page_session import lines
from attntools.results import flags
from conftest import Tool
from pages import Page, page_of


def test_a_session_begins_with_its_headline(tool: Tool, tmp_path: Path) -> None:
    launches = [0.99, 1.0, 1.0, 1.0, 1.0, 1.01]
    equal = [1.02e-3, 0.99e-3] * 3  # one round slower than flash, the next faster

    def row(kernel: str, ms: float, s: int, share: float) -> sample.Row:
        medians = [ms * 1e-3 * x for x in launches]
        return sample.cell(medians, kernel=kernel, s=s, threads=2, fraction_of_fma=share)

    path = sample.write(
        tmp_path / "mine.jsonl",
        sample.session(),
        *(row("flash", 1.0, s, share) for s, share in ((64, 0.5), (128, 0.7), (256, 0.9))),
        *(row("gemm", ms, s, 0.4) for s, ms in ((128, 0.5), (256, 2.0))),
        sample.cell(equal, kernel="gemm", s=64, threads=2),
        sample.cell([1e-6] * 8, kernel="gemm", threads=1),  # not on the most threads
        sample.cell(kernel="bad", state="failed"),
    )
    page = page_of(tool, path)
    assert page.headings[:2] == ["attnbench: mine", "All cells"]
    assert page.said[:4] == [
        "flash is fastest in 2 of 3 cases on 2 threads, in 1 of them without a tie; gemm in 1.",
        "Our fastest kernel is 1.00 x as fast as gemm in the median of 3 cases, from 0.500 x "
        "(prefill-f32-s128-d64) to 2.00 x (prefill-f32-s256-d64).",
        "The fastest kernel of a case reaches 45 to 70 % of the ceiling in the middle half of the "
        "cases; farthest from it: prefill-f32-s128-d64, 40.0 %.",
        "1 of 8 cells have no right result: bad failed in 1.",
    ]
    assert page.headings[-1] == "Noise, and how it was measured"  # it comes last
    assert all(page.alts)
    assert page.alts[0].startswith("Dot plot: percent of the ceiling")
    assert page.alts[1].startswith("How many times as fast")
    assert page.alts[-1].startswith("Left: how often differences")


def test_rows_of_two_settings_are_told_apart() -> None:
    rows = sample.settings([1e-3] * 8, [2e-3] * 8)
    found = lines(sample.results(*rows))
    assert [(line["case"], line["median"]) for line in found] == [
        ("prefill-f32-s512-d64 huge-pages A=2 B='x y'", "2.00 ms"),
        ("prefill-f32-s512-d64 no-huge-pages A=1", "1.00 ms"),
    ]


def test_machine_and_trust_are_three_lines(tool: Tool, tmp_path: Path) -> None:
    named = {k: v for k, v in sample.cell().items() if k in ("case", "kernel", "isa", "threads")}
    twin = {"type": "noise", "rounds": 6, "ratio": 0.95, "detectable": 0.031} | named
    rows = [sample.cell([1e-3] * 3, s=9), sample.cell(), sample.cell(s=8, state="unsupported")]
    machine = sample.MACHINE | {"isas": ["baseline", "avx2", "avx512", "amx", "avx512_fp16"]}
    machine["hypervisor"] = "KVMKVMKVM"
    session = sample.session(machine=machine)
    path = sample.write(tmp_path / "a.jsonl", session, *rows, twin, end=False)
    text = tool(report, path, "--output", "-").out
    for line in (
        "Test CPU, 2 cores, 2 threads, 17.2 GB, avx2 avx512 amx avx512_fp16, under KVM; "
        "aaaaaaaaaaaa, GNU 12.2.0 -O3 -DNDEBUG; 2026-01-02",
        "3 cells, 2 with a time; 1 unsupported; largest error 0.00400 of its bound",
        "a kernel and its twin differ by 5.00 % in the median; a difference of 3.10 % would have "
        "been seen; half an interval is 0 %; 1 cell with too few launches for an interval; the "
        "session did not end",
    ):
        assert f"<dd>{line}</dd>" in text


def test_every_cell_is_a_row_with_its_details(tool: Tool, tmp_path: Path) -> None:
    path = sample.write(
        tmp_path / "a.jsonl",
        sample.session(),
        sample.cell([0.9e-3, *[1e-3] * 7], flags=["preempted"], bound_by="compute"),
        sample.cell(kernel="bad", state="failed", why="<script>alert(1)</script>", threads=2),
    )
    out = tmp_path / "report.html"
    assert tool(report, path, "--output", out).code == 0
    page = Page(out.read_text())
    head, bad, good = page.rows
    details, *shown = good
    assert dict(zip(head[1:], shown, strict=True)) == {
        "kernel": "flash/avx2",
        "threads": "1",
        "median": "1.00 ms",
        "95 % interval": "-10.0 .. +0.0 %",
        "GFLOP/s": "537",
        "bound by": "compute",
        "% of ceiling": "455",
        "error / bound": "0.004",
        "state, flags": "preempted",
    }
    for text in ("prefill-f32-s512-d64", "8 launches, 900 us to 1.00 ms", "workspace 4.10 KB",
                 "flash/avx2 on 1 thread, 1.00 ms +-5.0 %: 455 % of what the multiply-adds allow",
                 "95 % interval 900 us to 1.00 ms", f"preempted: {flags.MEANING['preempted']}",
                 sample.cell()["repro"]):  # fmt: skip
        assert text in details
    assert bad[-1] == "failed "
    assert "<script>alert(1)</script>" in bad[0]  # shown, not run
    assert "<script>alert" not in out.read_text()
    assert page.attributes[1:] == [
        {"data-kind": "prefill", "data-dtype": "f32", "data-threads": "2", "data-kernel": "bad",
         "data-state": "failed"},
        {"data-kind": "prefill", "data-dtype": "f32", "data-threads": "1", "data-kernel": "flash",
         "data-state": "ok"},
    ]  # fmt: skip
    assert 'data-filters="kind dtype threads kernel state"' in out.read_text()


def test_figures_hold_what_a_name_may_have(tool: Tool, tmp_path: Path) -> None:
    name = "<a> & \"b' #%"
    path = sample.write(tmp_path / "a.jsonl", sample.session(), sample.cell(case=name))
    page = page_of(tool, path)
    texts = []
    for source in page.sources:
        kind, _, data = source.partition(",")
        assert kind == "data:image/svg+xml"
        texts += ["".join(e.itertext()) for e in ElementTree.fromstring(unquote(data)).iter()]
    assert f"{name}, flash 455 %" in [text.strip() for text in texts]  # in the roofline


def test_implausible_has_no_number_but_its_error(tool: Tool, tmp_path: Path) -> None:
    row = sample.cell([1e-9] * 8) | {"state": "implausible", "why": "1062 %"}
    path = sample.write(tmp_path / "a.jsonl", sample.session(), sample.cell(kernel="ok"), row)
    head, *rows = page_of(tool, path).rows
    (shown,) = [dict(zip(head, r, strict=True)) for r in rows if r[1].startswith("flash/")]
    assert shown["state, flags"] == "implausible "
    assert "1062 %" in shown["case"]
    assert shown["error / bound"] == "0.004"
    numbers = ("median", "95 % interval", "GFLOP/s", "% of ceiling")
    assert {shown[name] for name in numbers} == {""}


def test_a_page_shows_no_folder_of_the_machine(tool: Tool, tmp_path: Path) -> None:
    command = ["run", "--output", f"{tmp_path}/a.jsonl", "--plugin", "/home/me/k.so"]
    row = sample.cell(repro="attnbench run --plugin /home/me/k.so --kernel k", why="/opt/x/y: no")
    path = sample.write(tmp_path / "a.jsonl", sample.session(command=command), row, end=False)
    for text in (tool(report, path, "--output", "-").out,
                 tool(report, path, path, "--output", "-").out):  # fmt: skip
        assert "a.jsonl" in text
        assert not any(folder in text for folder in ("/home/", "/opt/", str(tmp_path)))
    assert without_folders("a/b.c /x/y.z ~/d/e 'file:/u/v'") == "a/b.c y.z e 'file:v'"


def test_flags_mean_what_the_program_says() -> None:
    source = (Path(__file__).parents[3] / "harness/bench/noise.c").read_text()
    source = re.sub(r'"\n *"', "", source)  # a text over two lines
    words = re.findall(r"{NOISE_\w+, '\w', \"([\w-]+)\",\s*\"([^\"]+)\",\s+\w+}", source)
    assert dict(words) == flags.MEANING


def test_ours_against_the_fastest_rival_is_a_table(tool: Tool, tmp_path: Path) -> None:
    path = sample.write(
        tmp_path / "a.jsonl",
        sample.session(),
        sample.cell([1e-3] * 8, group="ours"),
        sample.cell([2e-3] * 8, kernel="torch", group="rivals"),
        sample.cell([4e-3] * 8, kernel="gemm", group="rivals"),
    )
    page = page_of(tool, path)
    assert "Our fastest kernel (new) against the fastest rival (base)" in page.headings
    (row,) = [row for row in page.rows if row[1] == "torch/avx2 -> flash/avx2"]
    assert row[3:8] == ["2.00 ms", "1.00 ms", "-50.0 %", "-50.0 .. -50.0 %", "FASTER"]


def test_a_thousand_cells_stay_below_their_limit(tool: Tool, tmp_path: Path) -> None:
    path = sample.many(tmp_path / "a.jsonl", 1000, 1)
    out = tmp_path / "report.html"
    assert tool(report, path, "--output", out).code == 0
    assert out.stat().st_size < 1_500_000
    assert len(Page(out.read_text()).rows) == 1001


# ---- two files, and a history --------------------------------------------------------------------


def test_two_files_are_a_comparison(tool: Tool, files: tuple[Path, Path]) -> None:
    page = page_of(tool, *files)
    head, *rows = page.rows
    by_case = {row[0]: dict(zip(head, row, strict=True)) for row in rows}
    assert by_case["prefill-f32-s128-d64"]["verdict"] == "SLOWER"
    assert by_case["prefill-f32-s3-d64"]["base"] == "missing"
    verdicts = [row["verdict"] for row in by_case.values()]
    counts = {v: verdicts.count(v) for v in ("SLOWER", "FASTER", "SAME")}
    known = sum(row["change"] != "-" for row in by_case.values())
    said = (
        f"new against base: of {known} cells {counts['SLOWER']} slower, {counts['FASTER']} faster"
    )
    assert page.said[0].startswith(said)
    assert page.said[1].startswith("Slowest: prefill-f32-s128-d64 flash/avx2, 1 threads, +")
    assert "1 cells have a wrong result only in the new file; 2 cells are in one file only." in (
        page.said
    )
    assert {a["data-verdict"] for a in page.attributes[1:]} == {*verdicts}
    assert page.alts == ["Sorted dot plot: change of every cell's time."]


def test_the_largest_changes_are_named(tool: Tool, tmp_path: Path) -> None:
    def half(name: str, *ratios: float) -> Path:
        rng = np.random.default_rng(3)
        rows = [sample.cell(sample.noisy(rng, 1e-3 * r, 12, 0.002), s=s)
                for s, r in zip((64, 128, 256, 512), ratios, strict=True)]  # fmt: skip
        return sample.write(tmp_path / f"{name}.jsonl", sample.session(), *rows)

    page = page_of(tool, half("old", 1, 1, 1, 1), half("new", 1.5, 1.2, 0.5, 0.8))
    assert page.said[0].startswith("new against old: of 4 cells 2 slower, 2 faster, 0 the same, ")
    assert page.said[1].startswith("Slowest: prefill-f32-s64-d64 flash/avx2, 1 threads, +50.0 % (")
    assert page.said[2].startswith("Fastest: prefill-f32-s256-d64 flash/avx2, 1 threads, -50.0 % (")


def test_other_machines_are_shown_but_not_compared(tool: Tool, tmp_path: Path) -> None:
    a = sample.write(tmp_path / "a.jsonl", sample.session(), sample.cell())
    machine = sample.MACHINE | {"fingerprint": "beef"}
    b = sample.write(tmp_path / "b.jsonl", sample.session(machine=machine), sample.cell())
    page = page_of(tool, a, b)
    assert page.said[0] == "b is not compared with a."
    assert "are of different machines" in page.said[1]
    assert page.headings == ["b against a: attnbench", "a", "b"]
    assert page.rows == []


def test_a_history_is_its_changes(tool: Tool, tmp_path: Path) -> None:
    database = tmp_path / "h.sqlite"
    for day in range(1, 13):
        header = sample.session(id=f"s{day}", started=f"2026-01-{day:02}T00:00:00Z",
                                build=sample.BUILD | {"commit": f"{day:040x}"})  # fmt: skip
        rng = np.random.default_rng(day)
        steps = (sample.noisy(rng, t, 8, 0.002) for t in (1e-3 if day < 7 else 1.2e-3, 1e-3))
        rows = [sample.cell(x, s=s) for x, s in zip(steps, (64, 128), strict=True)]
        path = sample.write(tmp_path / f"{day}.jsonl", header, *rows)
        assert tool(history, "--database", database, "add", path).code == 0
    page = page_of(tool, database)
    assert page.said[0] == "1 change over 12 sessions, in 1 of 2 cells."
    first, second = page.rows[1:]
    assert first[:2] == ["prefill-f32-s64-d64 flash/avx2 1 cores warm", "12"]
    assert first[-1].startswith("2026-01-07 000000000000 +")
    assert second[-1] == ""
    assert len(page.alts) == 1
    assert tool(report, database, path, "--output", "-").code == 4


def test_a_history_of_one_cell(tool: Tool, tmp_path: Path) -> None:
    """Of a plug-in, whose digest is shortened where it is shown, and found by what is shown."""
    database = tmp_path / "h.sqlite"
    digest = f"sha256:{'0123456789abcdef' * 4}"
    cell = sample.cell(kernel="mine", plugin=f"{digest} --ranks 2")
    path = sample.write(tmp_path / "a.jsonl", sample.session(), cell)
    assert tool(history, "--database", database, "add", path).code == 0
    page = page_of(tool, database)
    assert page.said[0] == "No change over 1 session in 1 cell."
    name = "prefill-f32-s512-d64 mine/avx2 1 cores warm sha256:01234567 --ranks 2"
    assert page.rows[1][0] == name
    assert name in tool(history, "--database", database, "show", 1).printed
    found = tool(history, "--database", database, "trend", "sha256:01234567")
    assert found.printed == "1 cell followed, 0 changes\n"


def test_bad_input_writes_nothing(tool: Tool, tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    assert tool(report, empty, "--output", tmp_path / "out.html").code == 4
    assert not (tmp_path / "out.html").exists()


def test_commands_can_be_pasted_into_a_shell(tool: Tool, tmp_path: Path) -> None:
    command = ["run", "--problem", "h=1, s=2 input=negative", "--kernel", "flash"]
    session = sample.session(command=command, machine=sample.MACHINE | {"node": "n"})
    path = sample.write(tmp_path / "a.jsonl", session, sample.cell())
    told = "attnbench run --problem &#39;h=1, s=2 input=negative&#39; --kernel flash"
    for words in ((), ("--fleet",)):
        assert told in tool(report, *words, path, "--output", "-").out


def test_pages_of_files_without_a_time(tool: Tool, tmp_path: Path) -> None:
    """Of `attnbench check`, where all failed, or killed after its first line."""
    good = sample.write(tmp_path / "good.jsonl", sample.session(), sample.cell())
    check = sample.session(command=["check"])
    for name, rows in {
        "checked": (check, sample.cell(time=None)),
        "failed": (sample.session(), sample.cell(state="failed")),
        "alone": (sample.session(),),
    }.items():
        bare = sample.write(tmp_path / f"{name}.jsonl", *rows)
        outcome = tool(report, bare, "--output", "-")
        assert "No cell of this file has a time." in Page(outcome.printed).said
        for pair in ((good, bare), (bare, good)):
            outcome = tool(report, *pair, "--output", "-")
            assert outcome.code == 0
            Page(outcome.out)

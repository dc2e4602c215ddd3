"""The page is whole, escapes what it shows, and needs nothing from outside."""

import re
from html.parser import HTMLParser
from pathlib import Path

import sample
from attntools import report
from conftest import Tool

VOID = {"meta", "input", "img", "br"}


class Page(HTMLParser):
    """Checks that elements nest, and collects the cells of tables and all links outside."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.outside: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("src", "href") and not (value or "").startswith(("#", "data:")):
                self.outside.append(value or "")
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


def test_page_has_every_cell_and_its_repro_line(tool: Tool, tmp_path: Path) -> None:
    path = sample.write(
        tmp_path / "a.jsonl",
        sample.session(),
        sample.cell([1e-3] * 8, flags=["preempted"]),
        sample.cell(kernel="bad", state="failed", why="<script>alert(1)</script>"),
    )
    out = tmp_path / "report.html"
    assert tool(report, path, "--output", out).code == 0
    page = Page(out.read_text())
    assert page.outside == []
    head, bad, good = page.rows
    assert dict(zip(head, good, strict=True)) == {
        "case": "prefill-f32-s512-d64",
        "kernel/isa": "flash/avx2",
        "group": "-",
        "threads": "1",
        "state": "ok",
        "median": "1.00 ms",
        "95 % interval": "+0.0 .. +0.0 %",
        "GFLOP/s": "537",
        "% FMA": "455",
        "% read": "1.00",
        "error / bound": "0.004",
        "workspace": "4.10 KB",
        "flags": "preempted",
        "repro": sample.cell()["repro"],
    }
    assert bad[4] == "failed <script>alert(1)</script>"  # shown, not run
    assert "<script>alert" not in out.read_text()
    assert "disturbed cells</dt><dd>preempted: 1" in out.read_text()


def test_implausible_has_no_number_but_its_error(tool: Tool, tmp_path: Path) -> None:
    row = sample.cell([1e-9] * 8) | {"state": "implausible", "why": "1062 %"}
    path = sample.write(tmp_path / "a.jsonl", sample.session(), sample.cell(kernel="ok"), row)
    out = tmp_path / "report.html"
    assert tool(report, path, "--output", out).code == 0
    head, *rows = Page(out.read_text()).rows
    (shown,) = [dict(zip(head, r, strict=True)) for r in rows if r[1].startswith("flash/")]
    assert shown["state"] == "implausible 1062 %"
    numbers = ("median", "95 % interval", "GFLOP/s", "% FMA", "% read")
    assert {shown[name] for name in numbers} <= {"", "-"}


def test_noise_of_the_session_is_a_table(tool: Tool, tmp_path: Path) -> None:
    named = {k: v for k, v in sample.cell().items() if k in ("case", "kernel", "isa", "threads")}
    noise = {"type": "noise", "rounds": 6, "ratio": 0.95, "detectable": 0.031} | named
    path = sample.write(
        tmp_path / "a.jsonl",
        sample.session(),
        sample.cell(),
        noise,
        noise | {"rounds": 2, "detectable": None},
    )
    page = Page(tool(report, path, "--output", "-").out)
    assert page.rows[1:3] == [
        ["prefill-f32-s512-d64", "flash/avx2", "1", "6", "-5.0 %", "+3.1 %"],
        ["prefill-f32-s512-d64", "flash/avx2", "1", "2", "-5.0 %", "-"],
    ]


def test_ours_against_the_best_rival_is_a_table(tool: Tool, tmp_path: Path) -> None:
    path = sample.write(
        tmp_path / "a.jsonl",
        sample.session(),
        sample.cell([1e-3] * 8, group="ours"),
        sample.cell([2e-3] * 8, kernel="torch", group="rivals"),
        sample.cell([4e-3] * 8, kernel="gemm", group="rivals"),
    )
    assert tool(report, path, "--output", tmp_path / "report.html").code == 0
    rows = Page((tmp_path / "report.html").read_text()).rows
    (row,) = [row for row in rows if row[1] == "torch/avx2 -> flash/avx2"]
    assert row[3:8] == ["2.00 ms", "1.00 ms", "-50.0 %", "-50.0 .. -50.0 %", "FASTER"]


def test_further_files_are_compared_with_the_first(tool: Tool, tmp_path: Path) -> None:
    a = sample.write(tmp_path / "a.jsonl", sample.session(), sample.cell([1e-3] * 8))
    b = sample.write(tmp_path / "b.jsonl", sample.session(), sample.cell([2e-3] * 8))
    text = tool(report, a, b, "--output", "-").out
    assert "1 cells: 1 SLOWER, 0 UNCLEAR, 0 FASTER, 0 SAME" in text
    assert "Different sessions" in text
    assert len(re.findall('<section id="file', text)) == 2
    Page(text)


def test_other_machines_are_shown_but_not_compared(tool: Tool, tmp_path: Path) -> None:
    a = sample.write(tmp_path / "a.jsonl", sample.session(), sample.cell())
    machine = sample.MACHINE | {"fingerprint": "beef"}
    b = sample.write(tmp_path / "b.jsonl", sample.session(machine=machine), sample.cell())
    outcome = tool(report, a, b, "--output", "-")
    assert outcome.code == 0
    assert "Not compared with the first file: " in outcome.out


def test_bad_input_writes_nothing(tool: Tool, tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    assert tool(report, empty, "--output", tmp_path / "out.html").code == 4
    assert not (tmp_path / "out.html").exists()

"""The command scripts/compare: formats, output, refusals, exit codes."""

import csv
import io
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import sample
from attntools.compare import compare
from attntools.report import report
from conftest import Tool


def test_text_and_summary(tool: Tool, files: tuple[Path, Path]) -> None:
    outcome = tool(compare, *files)
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[0].split() == [
        *("case", "kernel/isa", "threads", "base", "new", "change", "95", "%", "interval"),
        "reason",
    ]
    assert lines[-3].startswith(
        f"{files[1]} against {files[0]}: 6 cells: 1 WRONG, 1 SLOWER, 2 UNCLEAR, 1 FASTER, 1 SAME; "
        "1 with a wrong result only in the new file; 2 in one file only; geometric mean "
    )
    assert lines[-1].startswith("Different sessions: these changes contain what changed on the ")


def test_columns_of_one_session_need_no_caveat(tool: Tool, tmp_path: Path) -> None:
    rows = [sample.cell(threads=n) for n in (1, 2)]
    path = sample.write(tmp_path / "a", sample.session(), *rows)
    out = tool(compare, path, "--by", "threads", "--base", "1").out
    assert "threads 2 against threads 1: 1 cell: " in out
    assert "Different sessions" not in out


def test_markdown(tool: Tool, files: tuple[Path, Path]) -> None:
    lines = tool(compare, *files, "--format", "markdown").out.splitlines()
    assert lines[0] == f"### {files[1]} against {files[0]}"
    assert lines[5].startswith("| --- | --- | ---: |")
    assert len(lines) == 6 + 6 + 2


def test_csv_has_the_whole_identity(tool: Tool, files: tuple[Path, Path]) -> None:
    rows = list(csv.DictReader(io.StringIO(tool(compare, *files, "--format", "csv").out)))
    slower = next(r for r in rows if r["verdict"] == "SLOWER")
    assert slower["problem"] == "b=1,hq=8,hkv=8,sq=128,skv=128,d=64"
    assert slower["placement"] == "cores"
    assert float(slower["ratio"]) == pytest.approx(1.1, abs=0.005)
    assert float(slower["new_s"]) == pytest.approx(1.1e-3, rel=0.01)


def test_junit(tool: Tool, files: tuple[Path, Path]) -> None:
    root = ElementTree.fromstring(tool(compare, *files, "--format", "junit").out)
    (suite,) = root
    counts = {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "6", "failures": "1", "errors": "1", "skipped": "2"}
    failure = suite.find("./testcase/failure")
    assert failure is not None
    assert failure.get("message", "").startswith("SLOWER +")


def test_output_is_written_aside(tool: Tool, files: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out.md"
    assert tool(compare, *files, "--format", "markdown", "--output", out).code == 0
    assert out.read_text().startswith("### ")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["base.jsonl", "new.jsonl", "out.md"]


def test_bad_input_leaves_the_output_alone(tool: Tool, files: tuple[Path, Path]) -> None:
    base, new = files
    out = base.parent / "out.csv"
    out.write_text("precious")
    new.write_text(new.read_text().replace('"median_s":0.00', '"median_s":NaN,"x":0.00', 1))
    outcome = tool(compare, base, new, "--format", "csv", "--output", out)
    assert outcome.refused == f"compare: {new}:2: time.median_s is nan, not a positive number\n"
    assert out.read_text() == "precious"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["missing.jsonl"], 4, "compare: missing.jsonl: No such file or directory"),
        (["--nonsense"], 4, "scripts/compare: "),
        (["BASE", "--by", "isa"], 4, "compare: --base is missing; the values of isa are avx2"),
        (["BASE", "--by", "isa", "--base", "sve"], 4, "no cell has isa sve; there are avx2"),
        (["BASE", "--by", "colour", "--base", "red"], 4, "no column colour"),
        (["BASE", "NEW", "--by", "isa"], 4, "--by and --rivals compare within one file"),
        (["BASE", "NEW", "--threshold", "-3"], 4, "-3 is no percentage"),
        (["BASE", "--format", "junit"], 4, "a ranking passes or fails nothing"),
        (["BASE", "NEW", "--output", "/nowhere/out"], 3, "/nowhere/out: No such"),
    ],
)
def test_usage(
    tool: Tool, files: tuple[Path, Path], arguments: list[str], code: int, message: str
) -> None:
    names = {"BASE": files[0], "NEW": files[1]}
    outcome = tool(compare, *(names.get(a, a) for a in arguments))
    assert outcome.code == code
    assert message in outcome.err


def test_other_machine_is_refused_unless_allowed(tool: Tool, tmp_path: Path) -> None:
    a = sample.write(tmp_path / "a", sample.session(), sample.cell())
    machine = sample.MACHINE | {"fingerprint": "beef"}
    b = sample.write(tmp_path / "b", sample.session(machine=machine), sample.cell())
    outcome = tool(compare, a, b)
    assert outcome.code == 5
    assert "are of different machines" in outcome.err
    assert tool(compare, a, b, "--allow", "machine").code == 0


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ([], 0, ""),
        (["--fail-on", "slower"], 1, "compare: found: 1 slower\n"),
        (["--fail-on", "wrong"], 1, "compare: found: 1 wrong\n"),
        (["--fail-on", "wrong,slower"], 1, "compare: found: 1 slower, 1 wrong\n"),
        (["--fail-on", "slower", "--fail-on", "wrong"], 1, "compare: found: 1 slower, 1 wrong\n"),
        (["--fail-on", "slower", "--only", "FASTER"], 1, "compare: found: 1 slower\n"),
        (["--fail-on", "slower", "--threshold", "20"], 0, ""),
        (["--fail-on", "unclear"], 1, "compare: found: 2 unclear\n"),
        (["--fail-on", "faster"], 4, "faster is none of slower, wrong, unclear"),
    ],
)
def test_fail_on(
    tool: Tool, files: tuple[Path, Path], options: list[str], code: int, said: str
) -> None:
    outcome = tool(compare, *files, *options)
    assert outcome.code == code
    assert said in outcome.err
    assert ("found" in outcome.err) == (code == 1)


def test_the_headline_is_of_all_cells(tool: Tool, files: tuple[Path, Path]) -> None:
    whole = tool(compare, *files).out
    (line,) = [line for line in whole.splitlines() if " cells: " in line]
    shown = tool(compare, *files, "--only", "SLOWER").out
    assert line in shown
    assert "FASTER  " not in shown
    assert len(shown.splitlines()) < len(whole.splitlines())


def test_no_mean_of_what_is_not_known(tool: Tool, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    paths = [
        sample.write(tmp_path / name, sample.session(), sample.cell(sample.noisy(rng, t, 8, 0.5)))
        for name, t in (("a", 1e-3), ("b", 1.1e-3))
    ]
    outcome = tool(compare, *paths)
    assert "1 cell: 0 SLOWER, 1 UNCLEAR, 0 FASTER, 0 SAME" in outcome.out
    assert "geometric mean" not in outcome.out
    page = tool(report, *paths, "--output", "-").out
    assert "of 1 cells 0 slower, 0 faster, 0 the same, 1 unclear." in page
    assert "in the mean" not in page


def test_files_without_a_common_cell(tool: Tool, tmp_path: Path) -> None:
    paths = [sample.write(tmp_path / f"{s}", sample.session(), sample.cell(s=s)) for s in (1, 2)]
    outcome = tool(compare, *paths)
    assert (outcome.code, "2 in one file only" in outcome.out) == (5, True)
    assert outcome.err == (f"compare: {paths[1]} against {paths[0]}: they have no cell in common\n")
    assert "2 and 1 have no cell in common" in tool(report, *paths, "--output", "-").out


def test_fail_on_what_is_not_there(tool: Tool, files: tuple[Path, Path]) -> None:
    assert tool(compare, files[0], files[0], "--fail-on", "slower,wrong").code == 0
    outcome = tool(compare, files[1], "--fail-on", "wrong")
    assert "a ranking finds nothing slower or wrong" in outcome.refused
    assert tool(compare, files[0], "--by", "s", "--fail-on", "slower", "--base", "x").code == 4


def test_fail_on_columns(tool: Tool, tmp_path: Path) -> None:
    rows = [sample.cell([t] * 8, isa=isa) for isa, t in (("avx2", 1.0), ("baseline", 2.0))]
    path = sample.write(tmp_path / "a", sample.session(), *rows)
    by = ["--by", "isa", "--fail-on", "slower", "--base"]
    assert tool(compare, path, *by, "avx2").code == 1
    assert tool(compare, path, *by, "baseline").code == 0

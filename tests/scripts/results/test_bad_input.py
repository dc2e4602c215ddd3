"""Every tool that reads results files refuses bad ones alike.

One message with file and line, exit code 4, nothing written.
"""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import sample
from attntools.compare import compare
from attntools.explain import explain
from attntools.history import history
from attntools.plot import plot
from attntools.report import report
from attntools.results import export
from bad_files import BAD, SESSION
from conftest import Tool

TOOLS = {
    "compare": (compare, ("--output", "OUT")),
    "plot": (plot, ("--output", "OUT")),
    "report": (report, ("--output", "OUT")),
    "explain": (explain, ("--output", "OUT")),
    "export": (export, ("--format", "csv", "--output", "OUT")),
}
# With those that draw, which take a second for each figure, among the long tests.
TOLD = [
    pytest.param(name, marks=pytest.mark.long) if name in ("plot", "report") else name
    for name in TOOLS
]


@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize("kind", BAD)
def test_bad_file_is_refused(tool: Tool, tmp_path: Path, name: str, kind: str) -> None:
    module, options = TOOLS[name]
    make, message = BAD[kind]
    bad, out = tmp_path / "bad.jsonl", tmp_path / "out"
    make(bad)
    outcome = tool(module, bad, *(out if word == "OUT" else word for word in options))
    assert outcome.refused.startswith(f"{name}: {bad}{message}")
    assert outcome.err.count("\n") == 1
    assert outcome.out == ""
    assert not out.exists()


@pytest.mark.parametrize("kind", BAD)
def test_history_takes_no_bad_file(tool: Tool, tmp_path: Path, kind: str) -> None:
    make, message = BAD[kind]
    bad, database = tmp_path / "bad.jsonl", tmp_path / "h.sqlite"
    make(bad)
    outcome = tool(history, "--database", database, "add", bad)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (4, "", 1)
    assert outcome.err.startswith(f"history: {bad}{message}")
    assert len(tool(history, "--database", database, "list").out.splitlines()) == 1


@pytest.mark.parametrize("name", TOLD)
def test_unfinished_and_repeated_rows_are_told(tool: Tool, tmp_path: Path, name: str) -> None:
    module, options = TOOLS[name]
    slow, fast = sample.cell([2e-3] * 8), sample.cell([1e-3] * 8)
    path = sample.write(tmp_path / "a.jsonl", SESSION, slow, fast, end=False)
    path.write_text(path.read_text() + '{"type":"ce')
    outcome = tool(module, path, *(tmp_path / "out" if w == "OUT" else w for w in options))
    assert outcome.code == 0
    assert outcome.err.splitlines() == [
        f"{name}: {path}:4: an unfinished last line is left out (11 bytes)",
        f"{name}: {path}:3: 1 rows replace earlier ones of the same cell"
        " (the first that of line 2)",
        f"{name}: {path}: the session did not end: cells may be missing",
    ]


@pytest.mark.parametrize("name", TOLD)
def test_control_characters_are_shown(tool: Tool, tmp_path: Path, name: str) -> None:
    """A kernel's own words may hold any: none moves a cursor, and XML may have none."""
    odd = "a\x1b[31m\x00\x08\r\x9b\ufffeb\nc"
    rows = [sample.cell(case=odd, why=odd, repro=odd), sample.cell(threads=2, state="failed")]
    rows[1]["why"] = odd
    compiler = sample.BUILD | {"compiler": odd}
    path = sample.write(tmp_path / "a.jsonl", sample.session(build=compiler), *rows)
    module, options = TOOLS[name]
    out = tmp_path / "out"
    words = [out if word == "OUT" else word for word in options]
    files = [path, path] if module is compare else [path]
    for more in ([], ["--format", "junit"]) if module is compare else ([],):
        outcome = tool(module, *files, *words, *more)
        assert outcome.code == 0
        written = out.rglob("*.svg") if out.is_dir() else [out]
        for text in [outcome.out, outcome.err, *(p.read_text() for p in written)]:
            assert not re.search("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\ufffe]", text)
        assert (
            out.is_dir() or "a\u241b[31m\u2400\u2408\u240d\ufffd\ufffdb\u240ac" in out.read_text()
        )
        if more:
            ElementTree.parse(out)


def test_missing_cells_are_unclear_and_counted(tool: Tool, tmp_path: Path) -> None:
    base = sample.write(tmp_path / "a", SESSION, sample.cell(), sample.cell(kernel="gone"))
    new = sample.write(tmp_path / "b", SESSION, sample.cell(), sample.cell(kernel="came"))
    outcome = tool(compare, base, new)
    assert f"not in {base}" in outcome.printed
    assert f"not in {new}" in outcome.out
    assert "3 cells: 0 SLOWER, 2 UNCLEAR, 0 FASTER, 1 SAME; 2 in one file only" in outcome.out


def test_every_reader_is_here() -> None:
    """A new tool that reads results files joins the table; test_submit.py goes through it, too."""
    folder = Path(compare.__file__).parents[1]
    readers = {
        path.stem
        for path in folder.rglob("*.py")
        if "from attntools.results.results import" in path.read_text()
        and "TOOL = " in path.read_text()
    }
    assert readers == {*TOOLS, "history", "submit", "capsule"}

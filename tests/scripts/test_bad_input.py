"""Every tool that reads results files refuses bad ones alike.

One message with file and line, exit code 4, nothing written.
"""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import sample
from attntools import compare, export, history, plot, report
from conftest import Tool

SESSION = sample.session()
NEWER = sample.session(schema="attnbench.results/2")
NAN = sample.cell(time=sample.cell()["time"] | {"median_s": float("nan")})


def written(*rows: sample.Row):  # noqa: ANN201
    """Makes a file of these rows."""
    return lambda path: sample.write(path, *rows)


def cut(path: Path) -> None:
    """A file that ends within its first line."""
    sample.write(path, SESSION)
    path.write_text(path.read_text()[:40])


def damaged(path: Path) -> None:
    """A line in the middle is cut short."""
    sample.write(path, SESSION, sample.cell(), sample.cell(threads=2))
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], lines[1][:80] + "\n", *lines[2:]]))


def text_of(row: sample.Row, old: str, new: str):  # noqa: ANN201
    """Makes a file of a session and a row in whose text something is replaced."""

    def make(path: Path) -> None:
        assert old in json.dumps(row)
        path.write_text(f"{json.dumps(SESSION)}\n{json.dumps(row).replace(old, new)}\n")

    return make


def machine(**changes: object) -> sample.Row:
    """A session of a machine with these fields."""
    return sample.session(machine=sample.MACHINE | changes)


CELL = sample.cell()
DEEP = "[" * 1100 + "]" * 1100

BAD = {
    "missing": (lambda _path: None, ": No such file or directory"),
    "folder": (lambda path: path.mkdir(), ": Is a directory"),
    "empty": (lambda path: path.write_text(""), ": is empty"),
    "foreign": (lambda path: path.write_text("case,median\na,1\n"), ":1: is no JSON"),
    "binary": (lambda path: path.write_bytes(bytes(range(256))), ":1: is no JSON"),
    "cut": (cut, ":1: is no results file of attnbench (no whole line)"),
    "damaged": (damaged, ":2: is no JSON"),
    "newer": (written(NEWER), ":1: schema attnbench.results/2 is newer"),
    "newer later": (written(SESSION, sample.cell(), NEWER), ":3: schema attnbench.results/2 is"),
    "a text for a number": (
        written(SESSION, sample.cell(gflops="fast")),
        ":2: gflops: expected a number or null, got a text",
    ),
    "deep inside": (
        written(SESSION, sample.cell(ceiling={"fma_gflops": "x"})),
        ":2: ceiling.fma_gflops: expected a number or null, got a text",
    ),
    "calls": (
        written(SESSION, sample.cell(time=CELL["time"] | {"calls_per_sample": "x"})),
        ":2: time.calls_per_sample: expected a number or null, got a text",
    ),
    "beyond a number": (
        text_of(CELL, '"median_s": 0.001', '"median_s": 1e999'),
        ":2: time.median_s is inf, not a positive number",
    ),
    "rate beyond a number": (text_of(CELL, '"gflops": ', '"gflops": 1e999, "x": '), ":2: gflops: "),
    "many digits": (written(SESSION, sample.cell(gflops=10**400)), ":2: gflops: "),
    "many brackets": (text_of(CELL, '"flags": []', f'"flags": {DEEP}'), ":2: is no JSON ("),
    "a problem without sizes": (
        written(SESSION, sample.cell(problem="b=1,hq=1,hkv=1,sq=few,skv=1,d=1")),
        ":2: problem 'b=1,hq=1,hkv=1,sq=few,skv=1,d=1': sq is no whole number",
    ),
    "noise": (
        written(SESSION, CELL, {"type": "noise", "ratio": "x"}),
        ":3: ratio: expected a number or null, got a text",
    ),
    "experiment": (
        written(SESSION, {"type": "experiment", "name": 5}),
        ":2: name: expected a text, got a number",
    ),
    "machine": (
        written(machine(memory_bytes="x")),
        ":1: the session line is not sound: machine.memory_bytes: expected a number or null, got",
    ),
    "NaN": (written(SESSION, sample.cell(), NAN), ":3: time.median_s is nan"),
}
TOOLS = {
    "compare": (compare, ("--output", "OUT")),
    "plot": (plot, ("--output", "OUT")),
    "report": (report, ("--output", "OUT")),
    "export": (export, ("--format", "csv", "--output", "OUT")),
}


@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize("kind", BAD)
def test_bad_file_is_refused(tool: Tool, tmp_path: Path, name: str, kind: str) -> None:
    module, options = TOOLS[name]
    make, message = BAD[kind]
    bad, out = tmp_path / "bad.jsonl", tmp_path / "out"
    make(bad)
    outcome = tool(module, bad, *(out if word == "OUT" else word for word in options))
    assert outcome.code == 4
    assert outcome.err.startswith(f"{name}: {bad}{message}")
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


@pytest.mark.parametrize("name", TOOLS)
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


@pytest.mark.parametrize("name", TOOLS)
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
    assert outcome.code == 0
    assert f"not in {base}" in outcome.out
    assert f"not in {new}" in outcome.out
    assert "3 cells: 0 SLOWER, 2 UNCLEAR, 0 FASTER, 1 SAME; 2 in one file only" in outcome.out


def test_every_reader_is_here() -> None:
    """A new tool that reads results files joins the table; test_submit.py goes through it, too."""
    folder = Path(compare.__file__).parent
    readers = {
        path.stem
        for path in folder.glob("*.py")
        if "from attntools.results import" in path.read_text() and "TOOL = " in path.read_text()
    }
    assert readers == {*TOOLS, "history", "submit"}

"""Whatever a results file holds, the tools read it or refuse it with file and line: no traceback.

A good file is changed in a few places, by Hypothesis: bytes, and fields of every line at any depth.
ATTNBENCH_EXAMPLES=5000 tries more files than CI, and others each time.
"""

import contextlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
import sample
from attntools.base import cli
from attntools.compare import compare
from attntools.history import history
from attntools.plot import plot
from attntools.report import report
from attntools.results import export
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ASKED = os.environ.get("ATTNBENCH_EXAMPLES")


def files(most: int) -> settings:
    """How many files are tried."""
    return settings(
        max_examples=int(ASKED or most),
        derandomize=not ASKED,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


FILES = files(30)
DRAWN = files(4)  # figures take a second or two

CELL = sample.cell()
IDENTITY = {name: CELL[name] for name in ("problem", "kernel", "isa", "threads", "input",
                                          "placement", "cache", "plugin")}  # fmt: skip
GOOD = [
    sample.session(),
    CELL,
    {"type": "launch", "samples_s": [1e-3]} | IDENTITY,
    sample.cell(threads=2, state="failed"),
    sample.experiment("variance", {"d": 64}, mean=0.5),
    {"type": "noise", "case": CELL["case"]},
    sample.cell(kernel="naive"),
    {"type": "end", "complete": True},
]

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from([10**400, -(2**63) - 1, 2**64, "attnbench.results/\u00b2", "\ud800", [], {}]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner,
                                                               max_size=3),
    max_leaves=5,
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every member of an object, at any depth, as the keys that lead to it."""
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    found = []
    for key in keys:
        found.append((*path, key))
        if isinstance(value[key], dict | list):
            found += places(value[key], (*path, key))
    return found


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """A results file with one to three fields taken out or replaced by anything."""
    rows = json.loads(json.dumps(GOOD))
    for _ in range(draw(st.integers(1, 3))):
        row = draw(st.sampled_from(rows[:-1]))
        *way, last = draw(st.sampled_from(places(row) or [("type",)]))
        for key in way:
            row = row[key]
        if draw(st.integers(0, 3)):
            row[last] = draw(ANYTHING)
        else:
            row.pop(last, None) if isinstance(row, dict) else row.pop(last)
    texts = [json.dumps(row, separators=(",", ":")) for row in rows]
    return "".join(f"{text}\n" for text in texts).encode()


@st.composite
def spoiled(draw: st.DrawFn) -> bytes:
    """A results file with some bytes replaced by any others, or taken out."""
    content = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in GOOD).encode()
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(content) - 1))
        to = at + draw(st.integers(0, 12))
        content = content[:at] + draw(st.binary(max_size=6)) + content[to:]
    return content


def refused(module: Any, path: Path, *arguments: object) -> bool:
    """Runs a tool, which must end as it says that it does: well, or with one line and the file."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.guard(module.TOOL, lambda: module.run([str(a) for a in arguments]))
        except SystemExit as ended:
            code = ended.code
    assert code in (*cli.Exit, cli.UNWRITTEN), err.getvalue()
    if code != cli.Exit.USAGE:
        return False
    assert err.getvalue().startswith(f"{module.TOOL}: {path}:"), err.getvalue()
    assert err.getvalue().count("\n") == 1
    assert out.getvalue() == ""
    return True


def read_by_all(content: bytes) -> None:
    """Every tool takes the file, or none does."""
    with tempfile.TemporaryDirectory() as folder:
        path, base = Path(folder) / "new.jsonl", sample.write(Path(folder) / "base.jsonl", *GOOD)
        database = Path(folder) / "h.sqlite"
        path.write_bytes(content)
        none = refused(compare, path, path)
        assert refused(compare, path, base, path) == none
        assert refused(export, path, path, "--format", "gbench") == none
        assert refused(export, path, path, "--format", "csv") == none
        assert not refused(history, base, "--database", database, "add", base)
        assert refused(history, path, "--database", database, "add", "--force", path) == none
        for command in ("list", "trend", "export"):
            assert not refused(history, path, "--database", database, command)


def drawn_by_all(content: bytes) -> None:
    """A page and figures are made of what the tools read, or there is nothing to draw."""
    with tempfile.TemporaryDirectory() as folder:
        path, base = Path(folder) / "new.jsonl", sample.write(Path(folder) / "base.jsonl", *GOOD)
        path.write_bytes(content)
        none = refused(compare, path, path)
        assert refused(report, path, path, "--output", "-") == none
        assert refused(report, path, base, path, "--output", "-") == none
        assert refused(plot, path, path, "--all", "--output", Path(folder) / "figures") >= none


@pytest.mark.long
@DRAWN
@given(lines() | spoiled())
def test_anything_may_be_drawn(content: bytes) -> None:
    drawn_by_all(content)


@FILES
@given(lines())
def test_any_field_may_be_anything(content: bytes) -> None:
    read_by_all(content)


@FILES
@given(spoiled() | st.binary(max_size=100))
def test_any_bytes_may_stand_there(content: bytes) -> None:
    read_by_all(content)


def test_the_file_that_is_changed_is_good(tmp_path: Path) -> None:
    path = sample.write(tmp_path / "good.jsonl", *GOOD)
    assert not refused(compare, path, path)
    assert not refused(history, path, "--database", tmp_path / "h.sqlite", "add", path)

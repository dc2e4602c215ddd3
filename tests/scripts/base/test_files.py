"""Outputs: files are replaced whole, links followed, devices and pipes written to, never replaced.

Devices are private nodes in a temporary folder, so that a failing test costs no machine its own.
"""

import errno
import os
import resource
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path
from unittest.mock import Mock

import pytest
import sample
from attntools.base import files
from attntools.compare import compare
from attntools.gate import gate
from attntools.gate.gate_summary import Outcome as Gated
from attntools.history import history
from attntools.plot import plot
from attntools.report import report
from attntools.results import export
from conftest import Outcome, Tool
from dev import gate_trials

SCRIPTS = Path(__file__).parents[3] / "scripts"
FULL = os.makedev(1, 7)


@pytest.fixture
def results(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Two rows; for a page without times, whose figures take a second to draw."""
    page = "[report]" in request.node.name
    rows = [sample.cell(kernel=k, state="unsupported" if page else "ok") for k in ("flash", "gemm")]
    return sample.write(tmp_path / "a.jsonl", sample.session(), *rows)


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """A device of our own that is always full, as /dev/full is."""
    node = tmp_path / "full"
    try:
        os.mknod(node, stat.S_IFCHR | 0o666, FULL)
        os.close(os.open(node, os.O_WRONLY))
    except PermissionError:
        pytest.skip("device nodes need root, and a file system that has them")
    return node


def only(folder: Path, *names: str) -> bool:
    """Whether these files are in a folder, and no other: nothing temporary is left."""
    return sorted(p.name for p in folder.iterdir()) == sorted(names)


def small_files(tool: str, *words: object) -> subprocess.CompletedProcess[str]:
    """Runs a tool that may write no file of more than 1 KB, as on a disk with so much left."""
    return subprocess.run(
        [sys.executable, "-m", "attntools", f"attntools.{tool}", *map(str, words)],
        env=os.environ | {"PYTHONPATH": str(SCRIPTS)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)),
        capture_output=True, text=True, check=False,
    )  # fmt: skip


# What writes the named output, by tool; OUT is where, IN a results file.
WRITERS = {
    "compare": (compare, ("IN", "IN", "--output", "OUT")),
    "ranking": (compare, ("IN", "--output", "OUT")),
    "export": (export, ("IN", "--format", "csv", "--output", "OUT")),
    "report": (report, ("IN", "--output", "OUT")),
    "history": (history, ("--database", "DB", "export", "--output", "OUT")),
}


def written(tool: Tool, name: str, results: Path, out: Path) -> Outcome:
    """Runs a tool of WRITERS."""
    module, words = WRITERS[name]
    database = results.with_name("h.sqlite")
    if module is history:
        assert tool(history, "--database", database, "add", results).code == 0
    names = {"IN": results, "OUT": out, "DB": database}
    return tool(module, *(names.get(word, word) for word in words))


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_device_stays_a_device(tool: Tool, results: Path, full: Path, name: str) -> None:
    outcome = written(tool, name, results, full)
    assert (full.stat().st_rdev, stat.S_ISCHR(full.stat().st_mode)) == (FULL, True)
    assert outcome.code == 3
    assert outcome.err == f"{WRITERS[name][0].TOOL}: {full}: No space left on device\n"


@pytest.mark.parametrize("name", WRITERS)
def test_a_pipe_is_written_to(tool: Tool, results: Path, tmp_path: Path, name: str) -> None:
    pipe, plain = tmp_path / "pipe", tmp_path / "plain"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert written(tool, name, results, pipe).code == 0
    reader.join(20)
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    assert written(tool, name, results, plain).code == 0
    assert read == [plain.read_bytes()]


@pytest.mark.parametrize("name", WRITERS)
def test_links_are_followed(tool: Tool, results: Path, tmp_path: Path, name: str) -> None:
    away = tmp_path / "away"
    away.mkdir()
    (away / "there").write_text("before")
    for link in ("there", "dangling"):
        (tmp_path / link).symlink_to(Path("away") / link)
        assert written(tool, name, results, tmp_path / link).code == 0
        assert os.readlink(tmp_path / link) == f"away/{link}"
        assert len((away / link).read_text()) > 100
    assert only(away, "there", "dangling")


@pytest.mark.parametrize("name", WRITERS)
def test_no_input_is_written_over(tool: Tool, results: Path, tmp_path: Path, name: str) -> None:
    """Whatever name it goes by."""
    source = tmp_path / "h.sqlite" if name == "history" else results
    written(tool, name, results, tmp_path / "out")
    before, link = source.read_bytes(), tmp_path / "link"
    link.symlink_to(source)
    module, words = WRITERS[name]
    names = {"IN": results, "DB": tmp_path / "h.sqlite"}
    for out in (source, link):
        outcome = tool(module, *(out if word == "OUT" else names.get(word, word) for word in words))
        assert outcome.refused == (
            f"{module.TOOL}: {out}: is an input, which this would write over\n"
        )
        assert source.read_bytes() == before


@pytest.mark.parametrize("name", WRITERS)
def test_errors_name_what_was_asked_for(
    tool: Tool, results: Path, tmp_path: Path, name: str
) -> None:
    who = WRITERS[name][0].TOOL
    for out, why in (
        (tmp_path, "Is a directory"),
        (tmp_path / "no" / "such" / "file", "No such file or directory"),
        (results / "file", "Not a directory"),
    ):
        outcome = written(tool, name, results, out)
        assert (outcome.code, outcome.err) == (3, f"{who}: {out}: {why}\n")


def test_permissions_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    for mode in (0o600, 0o640, 0o755):
        path.write_text("before")
        path.chmod(mode)
        files.write_text(path, "after")
        assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("after", mode)
    umask = os.umask(0o027)
    try:
        files.write_text(tmp_path / "new", "")
    finally:
        os.umask(umask)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_text("precious")
    with pytest.raises(files.OutputError) as raised, files.replacing(path) as aside:
        aside.write_text("half of")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(aside))
    assert (raised.value.errno, raised.value.filename) == (errno.ENOSPC, str(path))
    with pytest.raises(ValueError, match="other"), files.replacing(path):
        raise ValueError("other")
    assert path.read_text() == "precious"
    assert only(tmp_path, "kept")


def test_a_link_to_itself_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "loop"
    path.symlink_to("loop")
    with pytest.raises(files.OutputError, match="symbolic links"):
        files.write_text(path, "x")
    assert os.readlink(path) == "loop"


def test_standard_output_is_not_replaced(tmp_path: Path) -> None:
    """A file that a shell appends to keeps what stands in it, and takes what comes after."""
    log, ours = tmp_path / "log", tmp_path / "stdout"
    ours.symlink_to("/proc/self/fd/1")  # as /dev/stdout, but a private one
    code = "import sys; from attntools.base import files; files.write_text(sys.argv[1], 'text\\n')"
    environment = os.environ | {"PYTHONPATH": str(SCRIPTS)}
    with log.open("w") as out:
        for path in ("-", ours, log):
            subprocess.run(["echo", "before"], stdout=out, check=True)
            subprocess.run(
                [sys.executable, "-c", code, path], stdout=out, check=True, env=environment
            )
    assert log.read_text() == "before\ntext\n" * 3


def test_full_standard_output(tool: Tool, results: Path, full: Path) -> None:
    """Said once, with exit code 3, whether the text fits the buffer or not."""
    environment = os.environ | {"PYTHONPATH": str(SCRIPTS)}
    many = SCRIPTS.parent / "results" / "trust" / "default.jsonl"
    database = ("--database", results.with_name("h.sqlite"))
    tool(history, *database, "add", many)
    for name, *words in (
        ("compare.compare", results),
        ("results.export", many, "--format", "csv"),
        ("history.history", *database, "show", 1),
    ):
        with full.open("wb") as out:
            done = subprocess.run(
                [sys.executable, "-m", "attntools", f"attntools.{name}", *map(str, words)],
                stdout=out, stderr=subprocess.PIPE, env=environment, text=True, check=False,
            )  # fmt: skip
        assert (done.returncode, done.stderr) == (
            3,
            f"{name.split('.')[1]}: standard output: No space left on device\n",
        )


def test_figures(tool: Tool, results: Path, tmp_path: Path, full: Path) -> None:
    kind = ("--kind", "bars", "--format", "svg")
    assert tool(plot, results, *kind, "--output", tmp_path / "d").code == 0
    (figure,) = (tmp_path / "d").iterdir()
    text = figure.read_bytes()
    figure.unlink()
    figure.symlink_to(tmp_path / "elsewhere.svg")
    assert tool(plot, results, *kind, "--output", tmp_path / "d").code == 0
    assert (tmp_path / "elsewhere.svg").read_bytes() == text
    figure.unlink()
    figure.symlink_to(full)
    outcome = tool(plot, results, *kind, "--output", tmp_path / "d")
    assert (outcome.code, outcome.err) == (3, f"plot: {figure}: No space left on device\n")
    outcome = small_files(
        "plot.plot", results, "--kind", "bars", "--format", "pdf", "--output", tmp_path / "small"
    )
    pdf = tmp_path / "small" / figure.with_suffix(".pdf").name
    assert (outcome.returncode, outcome.stderr) == (3, f"plot: {pdf}: File too large\n")
    assert only(pdf.parent)
    for out, why in ((results, "File exists"), (full / "d", "Not a directory")):
        outcome = tool(plot, results, *kind, "--output", out)
        assert (outcome.code, outcome.err) == (3, f"plot: {out}: {why}\n")
    database = tmp_path / "h.sqlite"
    tool(history, "--database", database, "add", results)
    other = sample.session(started="2027-01-02T03:04:05Z")
    later = sample.write(tmp_path / "b.jsonl", other, sample.cell())
    tool(history, "--database", database, "add", later)
    outcome = tool(history, "--database", database, "trend", "--plot", results)
    assert (outcome.code, outcome.err) == (3, f"history: {results}: File exists\n")


def test_a_database_on_a_full_disk(
    tool: Tool, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Said with exit code 3; what is left is no history."""
    words = ("--database", tmp_path / "h.sqlite")
    outcome = small_files("history.history", *words, "add", results)
    assert (outcome.returncode, outcome.stderr) == (3, f"history: {words[1]}: disk I/O error\n")
    assert words[1].stat().st_size == 0
    assert "no such history" in tool(history, *words, "list").refused
    full = Mock(side_effect=sqlite3.OperationalError("database or disk is full"))
    monkeypatch.setattr(history.database, "add", full)
    outcome = tool(history, *words, "add", results)
    assert (outcome.code, outcome.err) == (3, f"history: {words[1]}: database or disk is full\n")


def test_a_database_is_a_regular_file(
    tool: Tool, results: Path, tmp_path: Path, full: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (full, pipe, tmp_path):
        mode = path.stat().st_mode
        outcome = tool(history, "--database", path, "add", results)
        assert (outcome.code, outcome.err) == (4, f"history: {path}: is no regular file\n")
        assert path.stat().st_mode == mode
    outcome = tool(history, "--database", results / "h", "add", results)
    assert (outcome.code, outcome.err) == (3, f"history: {results}: File exists\n")


def test_a_database_keeps_its_name_and_its_link(tool: Tool, results: Path, tmp_path: Path) -> None:
    """Characters that mean something in a URI mean nothing in a file's name."""
    odd, link = tmp_path / "50%41 a#b?mode=ro.sqlite", tmp_path / "link.sqlite"
    link.symlink_to(odd)
    assert tool(history, "--database", link, "add", results).code == 0
    assert link.is_symlink()
    assert "1234" not in tool(history, "--database", odd, "list").err
    assert len(tool(history, "--database", odd, "list").out.splitlines()) == 2
    assert only(tmp_path, "a.jsonl", odd.name, link.name)


def test_a_gate_that_cannot_say_so_was_not_too_noisy(
    tool: Tool, monkeypatch: pytest.MonkeyPatch, full: Path
) -> None:
    """3 means something else there."""
    done = Gated("a", "b", 20, 0.02)
    monkeypatch.setattr(gate, "gate", lambda _options, _folder: done)
    outcome = tool(gate, "--base", "a", "--new", "b", "--output", full)
    assert (outcome.code, outcome.err) == (4, f"gate: {full}: No space left on device\n")
    assert stat.S_ISCHR(full.stat().st_mode)
    outcome = tool(gate_trials, "--output", full, "--label", "x", "--", "--base", "a", "--new", "b")
    assert (outcome.code, outcome.err) == (4, f"gate-trials: {full}: is no regular file\n")

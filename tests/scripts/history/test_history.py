"""The history keeps what it is given, finds changes, and refuses what is not its own."""

import contextlib
import itertools
import os
import sqlite3
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
import sample
from attntools.history import database, history
from attntools.history.trend import Change, Series, changes, rest
from attntools.history.trend_figure import draw
from attntools.results.results import read
from conftest import Outcome, Tool
from matplotlib.dates import num2date


@pytest.fixture
def kept(tool: Tool, tmp_path: Path):  # noqa: ANN201
    def run(*arguments: object) -> Outcome:
        return tool(history, "--database", tmp_path / "h.sqlite", *arguments)

    return run


def day_of(day: int, **changes: object) -> sample.Row:
    """The session line of a day in January."""
    return sample.session(id=f"s{day}", started=f"2026-01-{day:02}T00:00:00Z", **changes)


def session_file(path: Path, day: int, median: float, *rows: sample.Row) -> Path:
    header = day_of(day, build=sample.BUILD | {"commit": f"{day:040x}"})
    medians = sample.noisy(np.random.default_rng(day), median, 8, 0.003)
    return sample.write(path / f"{day}.jsonl", header, sample.cell(medians), *rows)


def followed(path: Path) -> dict[str, list[database.Point]]:
    """The times of each cell in a history."""
    with database.opened(path / "h.sqlite") as connection:
        return {name: at for (name, *_), at in database.series(connection, "").items()}


def altered(path: Path, statements: str) -> None:
    """Changes a database behind the tool's back."""
    with contextlib.closing(sqlite3.connect(path)) as ours:
        ours.executescript(statements)


def test_changes_of_known_series() -> None:
    rng = np.random.default_rng(1)
    flat = list(1e-3 * np.exp(0.005 * rng.standard_normal(30)))
    assert changes(flat) == []
    (found,) = changes(flat[:15] + [1.05 * t for t in flat[15:]])
    assert found.index == 15
    assert found.ratio == pytest.approx(1.05, abs=0.01)
    assert changes([1.01 * t for t in flat[:15]] + flat[15:]) == []  # below 2 %
    spike = flat.copy()
    spike[10] *= 1.5
    assert changes(spike) == []  # one session is no level
    spike[11] *= 1.5
    assert changes(spike) == []  # nor are two
    assert changes([1.0, 2.0, 2.0]) == []
    assert changes([1.0] * 10) == []


def test_add_list_show_trend_accept(kept, tmp_path: Path) -> None:  # noqa: ANN001
    files = [session_file(tmp_path, day, 1e-3 if day < 8 else 1.1e-3) for day in range(1, 15)]
    assert kept("add", *files).code == 0
    listed = kept("list").out.splitlines()
    assert len(listed) == 15
    assert listed[1].split()[:2] == ["1", "2026-01-01T00:00:00Z"]
    assert "prefill-f32-s512-d64 flash/avx2 1 cores warm" in kept("show", 1).out
    lines = kept("trend").out.splitlines()
    assert lines[-1] == "1 cell followed, 1 change"
    assert "2026-01-08T00:00:00Z  000000000000" in lines[1]
    assert "+10." in lines[1] or "+9." in lines[1]
    outcome = kept("trend", "--fail-on", "new")
    assert (outcome.code, outcome.err) == (1, "history: 1 slow-down not accepted\n")
    assert kept("accept", 8, "--reason", "checks more").out == "1 cell accepted\n"
    assert kept("trend", "--fail-on", "new").code == 0
    assert kept("trend").out.splitlines() == [
        "1 cell followed, 1 change, 1 of them accepted (--all lists them)"
    ]
    assert kept("trend", "--all").out.splitlines()[1].endswith("checks more")
    assert kept("trend", "--plot", tmp_path / "figures").code == 0
    assert sorted(p.name for p in (tmp_path / "figures").iterdir()) == [
        "history.md", "history.png", "history.svg"]  # fmt: skip


def test_huge_pages_have_a_series_of_their_own(kept, tmp_path: Path) -> None:  # noqa: ANN001
    for day in range(1, 5):
        more = {"memory": "first-touch"} if day > 2 else {}  # as older programs wrote them
        huge = sample.cell([2e-3] * 8, huge_pages=True, **more)
        kept("add", session_file(tmp_path, day, 1e-3, huge))
    name = "prefill-f32-s512-d64 flash/avx2 1 cores warm"
    days = {key: [p.started[8:10] for p in at] for key, at in followed(tmp_path).items()}
    assert days == {key: ["01", "02", "03", "04"] for key in (name, f"{name} huge-pages")}
    assert kept("trend").out == "2 cells followed, 0 changes\n"


def test_settings_have_series_of_their_own(kept, tmp_path: Path) -> None:  # noqa: ANN001
    for day in (1, 2):
        kept("add", session_file(tmp_path, day, 1e-3, *sample.settings([2e-3] * 8, [3e-3] * 8)))
    name = "prefill-f32-s512-d64 flash/avx2 1 cores warm"
    times = {key: [round(p.median_s, 4) for p in at] for key, at in followed(tmp_path).items()}
    assert times == {
        name: [1e-3] * 2,
        f"{name} A=1": [2e-3] * 2,
        f"{name} huge-pages A=2 B='x y'": [3e-3] * 2,
    }


def test_a_session_of_before_is_known_again(kept, tmp_path: Path) -> None:  # noqa: ANN001
    """Its identities were written when a cell's had fewer fields."""
    path = session_file(tmp_path, 1, 1e-3)
    kept("add", path)
    with database.opened(tmp_path / "h.sqlite") as connection:
        connection.execute("UPDATE cell SET identity = json_remove(identity, '$[#-1]')")
    outcome = kept("add", path)
    assert (outcome.code, outcome.out) == (0, f"{path}: 1 session, 0 new\n")


def levels(path: Path, *medians: float) -> list[Path]:
    """Six sessions of each level; the cell `gemm` beside it never changes."""
    steady = sample.cell([1e-3] * 8, kernel="gemm")
    return [
        session_file(path, 1 + 6 * level + i, median, steady)
        for level, median in enumerate(medians)
        for i in range(6)
    ]


@pytest.mark.parametrize("session", [7, 8, 10, 12])
def test_any_session_of_a_level_accepts_it(kept, tmp_path: Path, session: int) -> None:  # noqa: ANN001
    kept("add", *levels(tmp_path, 1e-3, 1.1e-3, 1.3e-3))
    outcome = kept("accept", session, "--reason", "checks more")
    assert (outcome.code, outcome.out) == (0, "1 cell accepted\n")
    assert outcome.err == f"history: 1 others did not change up to session {session}\n"
    first, second = kept("trend", "--all").out.splitlines()[1:3]
    assert "2026-01-07T" in first
    assert first.endswith("checks more")
    assert "2026-01-13T" in second
    assert "checks more" not in second


def test_nothing_to_accept_is_refused(kept, tmp_path: Path) -> None:  # noqa: ANN001
    kept("add", *levels(tmp_path, 1e-3, 1.1e-3, 1.3e-3))
    outcome = kept("accept", 3, "flash", "--reason", "why not")
    assert outcome.refused == (
        "history: session 3 is of the first level of its cells: nothing had changed; levels begin "
        "with sessions 7, 13\n"
    )
    outcome = kept("accept", 9, "gemm", "--reason", "why not")
    assert outcome.refused.endswith("nothing had changed; no other level is known\n")
    assert "why not" not in kept("trend", "--all").out + kept("show", 3).out + kept("show", 9).out


def test_adding_twice_replaces(kept, tmp_path: Path) -> None:  # noqa: ANN001
    path = session_file(tmp_path, 1, 1e-3)
    assert kept("add", path).out == f"{path}: 1 session, 1 new\n"
    assert kept("add", path).out == f"{path}: 1 session, 0 new\n"
    assert len(kept("list").out.splitlines()) == 2


def test_export_is_a_results_file_again(kept, tmp_path: Path) -> None:  # noqa: ANN001
    path = session_file(tmp_path, 1, 1e-3, sample.cell(kernel="bad", state="failed"))
    kept("add", path, session_file(tmp_path, 2, 1e-3))
    out = tmp_path / "out.jsonl"
    assert kept("export", 1, "--output", out).code == 0
    before, after = read(path), read(out)
    assert {i: c.row for i, c in before.cells.items()} == {i: c.row for i, c in after.cells.items()}
    assert before.sessions[0].header == after.sessions[0].header


def test_cells_come_by_case_kernel_and_threads(kept, tmp_path: Path) -> None:  # noqa: ANN001
    """Cases as the session has them, whatever cell was finished first."""
    cells = [("online", 512, 2), ("flash", 512, 10), ("flash", 512, 2), ("flash", 64, 1)]
    rows = [sample.cell(kernel=k, s=s, threads=n) for k, s, n in cells]
    kept("add", sample.write(tmp_path / "a.jsonl", sample.session(), *rows))
    expected = [("flash", 512, 2), ("flash", 512, 10), ("online", 512, 2), ("flash", 64, 1)]
    shown = [line.split()[:3] for line in kept("show", 1).out.splitlines()[1:]]
    assert shown == [[f"prefill-f32-s{s}-d64", f"{k}/avx2", str(n)] for k, s, n in expected]
    out = tmp_path / "out.jsonl"
    kept("export", 1, "--output", out)
    exported = [(i.kernel, c.case, i.threads) for i, c in read(out).cells.items()]
    assert exported == [(k, f"prefill-f32-s{s}-d64", n) for k, s, n in expected]


def test_a_database_of_version_1_is_upgraded(kept, tmp_path: Path) -> None:  # noqa: ANN001
    """Its cells stay as they were; those added later have their place."""
    kept("add", session_file(tmp_path, 1, 1e-3))
    altered(tmp_path / "h.sqlite", "ALTER TABLE cell DROP COLUMN place; PRAGMA user_version = 1;")
    assert "prefill-f32-s512-d64 flash/avx2" in kept("show", 1).out
    more = sample.cell(kernel="a", s=64)
    assert kept("add", session_file(tmp_path, 2, 1e-3, more)).code == 0
    shown = kept("show", 2).out.splitlines()[1:]
    assert [line.split()[0] for line in shown] == ["prefill-f32-s512-d64", "prefill-f32-s64-d64"]


def test_failing_session_never_becomes_a_base(kept, tmp_path: Path) -> None:  # noqa: ANN001
    kept("add", session_file(tmp_path, 1, 1e-3, sample.cell(kernel="bad", state="failed")))
    outcome = kept("accept", 1, "--reason", "why not")
    assert outcome.refused == "history: session 1 has 1 wrong results: it cannot become a base\n"


def test_a_resumed_session_is_one(kept, tmp_path: Path) -> None:  # noqa: ANN001
    """Its rows count once, under the number of the first; earlier programs kept two sessions."""
    path = session_file(tmp_path, 1, 1e-3)
    began = path.read_text()
    more = sample.session(id="r", started="2026-01-01T01:00:00Z", command=["run", "--resume", "x"])
    header = sample.session()["build"] | {"commit": f"{1:040x}"}
    rest = sample.write(tmp_path / "rest", more | {"build": header}, sample.cell(kernel="gemm"))
    sample.write(
        tmp_path / "old.jsonl", more | {"build": header, "command": ["run"]}, sample.cell()
    )
    kept("add", tmp_path / "old.jsonl", path)
    assert kept("accept", 1, "--reason", "x").code == 4
    path.write_text(began.rsplit("\n", 2)[0] + "\n" + rest.read_text())
    outcome = kept("add", path)
    assert (outcome.code, outcome.out) == (0, f"{path}: 1 session, 0 new\n")
    listed = [line.split() for line in kept("list").out.splitlines()[1:]]
    assert [(line[0], line[-2]) for line in listed] == [("2", "2")]
    other = rest.read_text().replace(f"{1:040x}", f"{2:040x}")  # of another build: not the same
    path.write_text(began.rsplit("\n", 2)[0] + "\n" + other)
    assert kept("add", "--force", path).out == f"{path}: 2 sessions, 1 new\n"


def test_a_named_pipe_is_refused(kept, tmp_path: Path) -> None:  # noqa: ANN001
    os.mkfifo(tmp_path / "pipe")
    outcome = kept("add", tmp_path / "pipe")
    assert (outcome.code, "is a named pipe, which may never have a writer" in outcome.err) == (
        4,
        True,
    )


def test_one_bad_file_does_not_keep_the_others_out(kept, tmp_path: Path) -> None:  # noqa: ANN001
    files = [session_file(tmp_path, day, 1e-3) for day in (1, 2)]
    bad = tmp_path / "bad.jsonl"
    bad.write_text("{}\n")
    outcome = kept("add", files[0], bad, tmp_path / "none", files[1])
    assert outcome.code == 4
    wrong, missing = outcome.err.splitlines()
    assert wrong.startswith(f"history: {bad}:1: ")
    assert missing == f"history: {tmp_path / 'none'}: No such file or directory"
    assert outcome.out == "".join(f"{path}: 1 session, 1 new\n" for path in files)
    assert len(kept("list").out.splitlines()) == 3


def test_a_cut_copy_replaces_nothing(kept, tmp_path: Path) -> None:  # noqa: ANN001
    gemm = sample.cell(kernel="gemm")
    path = session_file(tmp_path, 1, 1e-3, gemm)
    kept("add", path)
    whole = path.read_text()
    lines = whole.splitlines(keepends=True)
    other = session_file(tmp_path, 2, 1e-3)
    for count, lost in ((1, 2), (2, 1)):
        path.write_text("".join(lines[:count]))
        outcome = kept("add", path, other)
        assert outcome.refused.splitlines()[0] == (
            f"history: {path}:1: session 1 has 2 cells, of which {lost} are not in this file; "
            "--force replaces it all the same"
        )
        assert len(kept("show", 1).out.splitlines()) == 3
        assert len(kept("list").out.splitlines()) == 3
    assert kept("add", "--force", path).code == 0
    assert len(kept("show", 1).out.splitlines()) == 2
    path.write_text(whole)
    assert kept("add", path).code == 0
    assert len(kept("show", 1).out.splitlines()) == 3


def test_what_was_exported_can_be_added(kept, tool: Tool, tmp_path: Path) -> None:  # noqa: ANN001
    """The same cells in every session: each keeps its own rows."""
    kept("add", *(session_file(tmp_path, day, 1e-3) for day in (1, 2, 3)))
    out = tmp_path / "out.jsonl"
    kept("export", "--output", out)
    other = ("--database", tmp_path / "other.sqlite")
    added = tool(history, *other, "add", out)
    assert (added.code, added.out, added.err) == (0, f"{out}: 3 sessions, 3 new\n", "")
    for session in (1, 2, 3):
        assert tool(history, *other, "show", session).out == kept("show", session).out


def test_missing_foreign_newer_and_locked(kept, tmp_path: Path) -> None:  # noqa: ANN001
    path = tmp_path / "h.sqlite"
    assert "no such history" in kept("list").err
    path.write_text("this is no database, whatever its name says, but text\n" * 20)
    assert kept("list").err == f"history: {path}: file is not a database\n"
    path.unlink()
    altered(path, "CREATE TABLE t (x)")
    assert kept("list").err == f"history: {path}: is a database of another program\n"
    path.unlink()
    file = session_file(tmp_path, 1, 1e-3)
    kept("add", file)
    altered(path, "PRAGMA user_version = 9")
    assert "version 9 is newer than this program reads (2)" in kept("list").err
    altered(path, "PRAGMA user_version = 2")


def test_locked_and_read_only(kept, tmp_path: Path, monkeypatch) -> None:  # noqa: ANN001
    file = session_file(tmp_path, 1, 1e-3)
    kept("add", file)
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **(k | {"timeout": 0})))
    holder = connect(tmp_path / "h.sqlite")
    holder.execute("BEGIN EXCLUSIVE")
    outcome = kept("add", file)
    holder.close()
    assert outcome.refused == f"history: {tmp_path / 'h.sqlite'}: database is locked\n"
    read_only = f"file:{tmp_path / 'h.sqlite'}?mode=ro"
    monkeypatch.setattr(sqlite3, "connect", lambda *_a, **_k: connect(read_only, uri=True))
    assert "readonly database" in kept("add", file).refused


def test_usage(kept, tmp_path: Path) -> None:  # noqa: ANN001
    kept("add", session_file(tmp_path, 1, 1e-3))
    assert kept("show", 7).err == "history: no session 7; scripts/history list shows them\n"
    assert kept("accept", 1, "nothing", "--reason", "x").code == 4
    assert kept("accept", 1).code == 4
    assert kept("export", 7).code == 4
    assert kept().code == 4


def test_series_of_other_compilers_are_kept_apart(kept, tmp_path: Path) -> None:  # noqa: ANN001
    kept("add", session_file(tmp_path, 1, 1e-3))
    other = sample.session(id="x", build=sample.BUILD | {"compiler": "Clang 14"})
    kept("add", sample.write(tmp_path / "o.jsonl", other, sample.cell()))
    with database.opened(tmp_path / "h.sqlite") as connection:
        assert sorted(len(p) for p in database.series(connection, "").values()) == [1, 1]


def test_another_compiler_is_said_once(kept, tmp_path: Path) -> None:  # noqa: ANN001
    """Its times begin a series of their own, which was silence; a CI may have two in turn."""
    compilers = ("GNU 12.2.0", "GNU 13.1.0", "GNU 12.2.0", "GNU 13.1.0")
    for day, compiler in enumerate(compilers, 1):
        header = day_of(
            day,
            build=sample.BUILD | {"compiler": compiler},
            machine=sample.MACHINE | {"kernel": "6.1" if day < 3 else "6.5", "microcode": "0x1"},
        )
        kept("add", sample.write(tmp_path / f"{day}.jsonl", header, sample.cell()))
    assert kept("trend").out.splitlines() == [
        "not compared: compiler GNU 12.2.0 -> GNU 13.1.0, from 2026-01-02T00:00:00Z on",
        "compared all the same: kernel 6.1 -> 6.5, from 2026-01-03T00:00:00Z on",
        "2 cells followed, 0 changes",
    ]


def series(name: str, percent: list[float], at: list[int], hours: float = 24) -> Series:
    """A cell whose sessions are so many hours apart, in percent of 1 ms."""
    begin = datetime(2026, 1, 1)
    points = [
        database.Point(i, f"{begin + timedelta(hours=hours * i):%Y-%m-%dT%H:%M:%SZ}", "c" * 40,
                       1e-3 * (1 + p / 100))
        for i, p in enumerate(percent)
    ]  # fmt: skip
    return Series(name, points, [Change(i, 1.25) for i in at])


def test_a_step_of_5_percent_is_seen_at_its_date() -> None:
    """Of cells that changed by 5 and by 20 % and one that did not: two panels, the larger first."""
    five = series("five", [0.0] * 10 + [5.0] * 10, [10])
    twenty = series("twenty", [0.0] * 5 + [20.0] * 15, [5])
    five.changes, twenty.changes = [Change(10, 1.05)], [Change(5, 1.2)]
    still = series("still", [0.1, -0.1] * 10, [])
    fig = draw([still, five, twenty])
    fig.canvas.draw()
    _, second = fig.axes
    assert [ax.get_title(loc="left") for ax in fig.axes] == ["twenty", "five"]
    assert fig.texts[0].get_text() == "2 of 3 cells changed; most, +20.0 %, since 2026-01-06"
    days = num2date(second.lines[0].get_xdata())
    assert [f"{day:%m-%d}" for day in days[:2]] == ["01-01", "01-02"]
    assert list(second.lines[0].get_ydata()) == pytest.approx([0.0] * 10 + [5.0] * 10)
    lo, hi = second.get_ylim()
    assert (lo, hi) == (pytest.approx(-4.5), pytest.approx(9.5))  # 5 % is a third of the axis
    assert [t.get_text() for t in second.texts] == ["+5.0 %\n" + "c" * 10]
    assert rest([still, five, twenty]).splitlines()[2:] == [
        "| still | 20 | 2026-01-01 | 2026-01-20 | 999 us | -0.1 % |"]  # fmt: skip
    assert draw([still]) is None


@pytest.mark.long
@pytest.mark.parametrize(
    ("hours", "count", "at"),
    [(24, 7, [3]), (24, 14, [4, 12]), (24, 40, [4, 6, 8, 10, 12, 36, 38]), (0.1, 20, [10])],
)
def test_labels_of_a_figure_do_not_collide(hours: float, count: int, at: list[int]) -> None:
    fig = draw([series(name, [0.0] * count, at, hours) for name in "abcd"])
    fig.canvas.draw()
    texts = [
        *fig.texts, *(text for ax in fig.axes for text in (
            *ax.texts, *ax.get_xticklabels(), *ax.get_yticklabels(), ax.xaxis.get_offset_text())),
    ]  # fmt: skip
    boxes = [t.get_window_extent() for t in texts if t.get_text()]
    assert not [(a, b) for a, b in itertools.combinations(boxes, 2) if a.overlaps(b)]
    assert all(ax.texts for ax in fig.axes)
    width, _ = fig.canvas.get_width_height()
    assert all(box.x0 >= 0 and box.x1 <= width for box in boxes)


@pytest.mark.long
def test_many_series_that_changed_are_one_figure() -> None:
    fig = draw([series(f"s{i}", [0.0] * 5 + [5.0] * 5, [5]) for i in range(117)])
    assert len(fig.axes) == 24
    assert "The 24 that changed most." in fig.texts[1].get_text()
    assert fig.get_figheight() < 20

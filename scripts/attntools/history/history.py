"""Keeps sessions in a database, and shows how times changed.

    scripts/history add FILE.jsonl [...]            adds sessions; one that is known is replaced if
                                                    the file has all of its cells, or by --force; a
                                                    file that is refused does not stop the others
    scripts/history list                            all sessions
    scripts/history show SESSION                    the cells of one session
    scripts/history trend [TEXT] [--plot DIR]       change points of cells with TEXT in their names
                                                    that are not accepted; --all: all of them.
                                                    DIR gets a figure of the cells that changed
                                                    most, and a table of the others, history.md
    scripts/history trend --fail-on new             the same for CI: exit 1 where one is slower
    scripts/history fleet [--hosts]                 machine types side by side, hosts that are off
    scripts/history accept SESSION [TEXT] --reason WHY
                                                    the level that this session belongs to is the
                                                    new normal
    scripts/history export [SESSION] --output FILE  as a results file again

Times are followed per cell, machine and compiler; of a fleet each node by itself.  A session with
a wrong result is kept, but cannot be accepted.  The database is --database (default:
results-local/history.sqlite).

Exit codes: 0 done, 1 trend --fail-on new found a slow-down that is not accepted, 3 output, 4 usage,
input (what could be read was added), or a database that is locked, read-only or foreign.
"""

import argparse
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path

from attntools.base import tables
from attntools.base.cli import Exit, ToolError, parser, reason, refuse_over, say
from attntools.base.files import make_directory, write_text
from attntools.base.tables import width_of
from attntools.base.units import counted, seconds
from attntools.fleet.fleet_tables import fleet_of, fleet_text
from attntools.gate.gate_builds import ROOT
from attntools.history import database, trend
from attntools.results.cells import ResultsError
from attntools.results.results import read

TOOL = "history"


def add(connection: sqlite3.Connection, options: argparse.Namespace) -> Exit:
    """Adds files, each of them whole or not at all; the exit code says whether one was refused."""
    refused = 0
    for path in options.files:
        connection.execute("SAVEPOINT file")
        try:
            if Path(path).is_fifo() and not str(path).startswith("/dev/fd/"):
                raise ResultsError(f"{path}: is a named pipe, which may never have a writer")
            results = read(path)
            count = len(database.continued(results))
            new = database.add(connection, results, force=options.force)
        except (ResultsError, OSError) as wrong:
            connection.execute("ROLLBACK TO file")
            say(TOOL, reason(wrong))
            refused += 1
            continue
        finally:
            connection.execute("RELEASE file")
        for note in results.notes:
            if not results.earlier or " rows replace " not in note:  # each session keeps its own
                say(TOOL, note)
        print(f"{results.path}: {counted(count, 'session')}, {new} new")
    return Exit.USAGE if refused else Exit.OK


def list_sessions(connection: sqlite3.Connection, _options: argparse.Namespace) -> None:
    """One line a session."""
    rows = [
        (str(number), started, database.machine_name(cpu, node),
         (commit or "?")[:12] + ("+" if dirty else ""), str(cells), str(wrong))
        for number, started, cpu, node, commit, dirty, wrong, cells in connection.execute(
            "SELECT number, started, cpu, json_extract(header, '$.machine.node'), commit_id, dirty,"
            " wrong, count(identity)"
            " FROM session LEFT JOIN cell ON session = number GROUP BY number ORDER BY started"
        )
    ]  # fmt: skip
    head = ("session", "started", "machine", "commit", "cells", "wrong")
    write_text("-", tables.text(head, rows, (True, False, False, False, True, True), colours=False))


def _known(connection: sqlite3.Connection, session: int) -> None:
    if not connection.execute("SELECT 1 FROM session WHERE number = ?", (session,)).fetchone():
        raise ToolError(f"no session {session}; scripts/history list shows them")


def show(connection: sqlite3.Connection, options: argparse.Namespace) -> None:
    """The cells of a session."""
    _known(connection, options.session)
    rows = [
        (database.shown_name(name), seconds(median) if median else state, accepted or "")
        for name, state, median, accepted in connection.execute(
            "SELECT cell.name, state, median_s, reason FROM cell LEFT JOIN accepted"
            " ON accepted.name = cell.name AND accepted.session = cell.session"
            " WHERE cell.session = ? ORDER BY place, cell.identity",
            (options.session,),
        )
    ]
    head = ("cell", "median", "accepted")
    write_text("-", tables.text(head, rows, (False, True, False), colours=False))


def show_trend(connection: sqlite3.Connection, options: argparse.Namespace) -> Exit:
    """Change points, with date, commit and size; drawn on request."""
    rows, followed, known, new = [], trend.followed(connection, options.text), 0, 0
    if options.text and not followed:
        raise ToolError(f"no cell has {options.text!r} in its name")
    machines = database.machines(connection)
    several = len(machines) > 1
    for s in followed:
        where = (s.machine,) if several else ()
        for c, why in zip(s.changes, s.reasons, strict=True):
            at = s.points[c.index]
            known += bool(why)
            new += not why and c.ratio > 1
            if options.all or not why:
                rows.append(
                    (
                        database.shown_name(s.cell),
                        *where,
                        at.started,
                        at.commit[:12],
                        c.text(s.points),
                        why,
                    )
                )
    if options.plot:
        # Matplotlib takes a second to load.
        from attntools.history import trend_figure
        from attntools.plot import style

        make_directory(options.plot)
        if fig := trend_figure.draw(followed):
            style.save(fig, options.plot / "history")
        write_text(options.plot / "history.md", trend.rest(followed))
    if rows:
        head = ("cell", *(("machine",) if several else ()), "since", "commit", "change", "accepted")
        numeric = [word == "change" for word in head]
        write_text("-", tables.text(head, rows, numeric, colours=False))
    for b in database.breaks(connection):
        where = f" on {machines[b.machine]}" if several else ""
        how = "compared all the same" if b.compared else "not compared"
        write_text("-", f"{how}: {b.what}, from {b.started} on{where}\n")
    hidden = f", {known} of them accepted (--all lists them)" if known and not options.all else ""
    changes = counted(len(rows) + (known if hidden else 0), "change")
    write_text("-", f"{counted(len(followed), 'cell')} followed, {changes}{hidden}\n")
    if options.fail_on and new:
        say(TOOL, f"{counted(new, 'slow-down')} not accepted")
        return Exit.REGRESSION
    return Exit.OK


def accept(connection: sqlite3.Connection, options: argparse.Namespace) -> None:
    """Records a reason for the level that a session belongs to, in each cell that has changed."""
    session = options.session
    database.refuse_wrong(connection, session)
    changed, same, begin = [], 0, set()
    for s in trend.followed(connection, options.text):
        numbers = [p.session for p in s.points]
        if session not in numbers:
            continue
        begin |= {numbers[c.index] for c in s.changes}
        if s.changes and numbers.index(session) >= s.changes[0].index:
            changed.append(s.cell)
        else:
            same += 1
    if not changed and not same:
        raise ToolError(f"session {session} has no timed cell with '{options.text}'")
    if not changed:
        others = f"levels begin with sessions {', '.join(map(str, sorted(begin)))}"
        raise ToolError(
            f"session {session} is of the first level of its cells: nothing had changed; "
            + (others if begin else "no other level is known")
        )
    database.accept(connection, session, changed, options.reason)
    if same:
        say(TOOL, f"{same} others did not change up to session {session}")
    print(f"{counted(len(changed), 'cell')} accepted")


def export(connection: sqlite3.Connection, options: argparse.Namespace) -> None:
    """Sessions as a results file."""
    refuse_over(options.output, [options.database])
    if options.session is not None:
        _known(connection, options.session)
    numbers = connection.execute(
        "SELECT number FROM session WHERE ? IS NULL OR number = ? ORDER BY started",
        (options.session, options.session),
    ).fetchall()
    lines = [line for (number,) in numbers for line in database.lines_of(connection, number)]
    lines.append('{"type":"end","complete":true}')
    write_text(options.output, "\n".join(lines) + "\n")


def show_fleet(connection: sqlite3.Connection, options: argparse.Namespace) -> None:
    """Machine types side by side, and hosts that are off: of each host the latest."""
    found = fleet_of(database.sessions(connection))
    write_text("-", fleet_text(found, every=options.hosts, width=width_of(sys.stdout)))


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parses the command line."""
    p = parser(TOOL, __doc__)
    p.add_argument("--database", type=Path, default=ROOT / "results-local/history.sqlite")
    actions = p.add_subparsers(dest="action", required=True, metavar="ACTION")
    one = actions.add_parser("add")
    one.add_argument("files", nargs="+", metavar="FILE")
    one.add_argument("--force", action="store_true", help="also where a session loses cells")
    one.set_defaults(act=add)
    actions.add_parser("list").set_defaults(act=list_sessions)
    one = actions.add_parser("show")
    one.add_argument("session", type=int)
    one.set_defaults(act=show)
    one = actions.add_parser("trend")
    one.add_argument("text", nargs="?", default="")
    one.add_argument("--plot", type=Path, metavar="DIR")
    one.add_argument("--all", action="store_true", help="accepted changes, too")
    one.add_argument(
        "--fail-on", choices=("new",), help="exit with 1 where a slow-down is not accepted"
    )
    one.set_defaults(act=show_trend)
    one = actions.add_parser("fleet")
    one.add_argument("--hosts", action="store_true", help="the deviations of every host")
    one.set_defaults(act=show_fleet)
    one = actions.add_parser("accept")
    one.add_argument("session", type=int)
    one.add_argument("text", nargs="?", default="")
    one.add_argument("--reason", required=True)
    one.set_defaults(act=accept)
    one = actions.add_parser("export")
    one.add_argument("session", type=int, nargs="?")
    one.add_argument("--output", default="-", metavar="FILE")
    one.set_defaults(act=export)
    return p.parse_args(argv)


def run(argv: Sequence[str] | None = None) -> int:
    """The tool."""
    options = arguments(argv)
    create = options.action == "add"
    if create:
        make_directory(options.database.parent)
    with database.opened(options.database, create=create) as connection:
        return options.act(connection, options) or Exit.OK

"""The history: an SQLite file of sessions, their cells as they were written, and what was accepted.

A session's lines are stored whole, so that an export is a results file again.  `place` orders the
cells of a session for readers; cells added by version 1 have none and come by their identity.
"""

import errno
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import msgspec
from attntools.base.cli import ToolError
from attntools.base.files import OutputError
from attntools.compare.comparable import build_key, machine_key
from attntools.results.cells import (
    WRONG_STATES,
    Cell,
    Identity,
    Results,
    ResultsError,
    Session,
    row_order,
)
from attntools.results.results import of_lines
from attntools.results.schema import ABSENT

# "atbn": distinguishes our files from other programs' databases.
APPLICATION = 0x6174626E
VERSION = 2

# What SQLite says of a disk that is full, or of a file that may not grow.
FULL = ("database or disk is full", "disk I/O error")

# From version 1, whose cells had no place.
UPGRADE = "ALTER TABLE cell ADD COLUMN place INTEGER NOT NULL DEFAULT 0"

SCHEMA = """
CREATE TABLE session (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL, started TEXT NOT NULL, machine TEXT NOT NULL,
    build TEXT NOT NULL, cpu TEXT, commit_id TEXT, dirty INTEGER, wrong INTEGER NOT NULL,
    header TEXT NOT NULL, UNIQUE (id, started)
);
CREATE TABLE cell (
    session INTEGER NOT NULL REFERENCES session ON DELETE CASCADE,
    identity TEXT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL, median_s REAL, lo_s REAL,
    hi_s REAL, row TEXT NOT NULL, place INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (session, identity)
) WITHOUT ROWID;
CREATE INDEX cell_identity ON cell (identity, session);
CREATE TABLE accepted (
    name TEXT NOT NULL, session INTEGER NOT NULL REFERENCES session, reason TEXT NOT NULL,
    at TEXT NOT NULL, PRIMARY KEY (name, session)
);
"""


@contextmanager
def opened(path: Path | str, *, create: bool = False) -> Iterator[sqlite3.Connection]:
    """The database; changes are committed if the block ends well, undone otherwise.

    Raises:
        ToolError: it is missing, locked, read-only, of another program or newer.
        OutputError: the disk is full.
    """
    path = Path(path)
    # An empty file is what `add` leaves on a full disk.
    if not create and (not path.exists() or (path.is_file() and not path.stat().st_size)):
        raise ToolError(f"{path}: no such history (scripts/history add makes one)")
    if path.exists() and not path.is_file():
        raise ToolError(f"{path}: is no regular file")
    connection = None
    try:
        mode = "rwc" if create else "rw"
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=5)
        _check(connection, path)
        with connection:
            yield connection
    except sqlite3.Error as wrong:
        if str(wrong) in FULL:
            raise OutputError(errno.ENOSPC, str(wrong), str(path)) from None
        raise ToolError(f"{path}: {wrong}") from None
    finally:
        if connection:
            connection.close()


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Makes the tables in a new file; refuses what is not ours."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if not tables:
        connection.executescript(
            f"BEGIN; {SCHEMA} PRAGMA application_id = {APPLICATION};"
            f"PRAGMA user_version = {VERSION}; COMMIT;"
        )
    elif application != APPLICATION:
        raise ToolError(f"{path}: is a database of another program")
    elif version > VERSION:
        raise ToolError(f"{path}: version {version} is newer than this program reads ({VERSION})")
    elif version < VERSION:
        connection.executescript(f"BEGIN; {UPGRADE}; PRAGMA user_version = {VERSION}; COMMIT;")
    connection.execute("PRAGMA foreign_keys = ON")


def cell_name(cell: Cell) -> str:
    """A cell as a person writes it: usual values are left out."""
    identity = cell.identity
    said = ["threads", "placement", "cache"]
    said += [name for name in ABSENT if getattr(identity, name) != ABSENT[name]]
    said += ["plugin"] if identity.plugin else []
    return " ".join([cell.case, identity.variant, *map(identity.text, said)])


def shown_name(name: str) -> str:
    """A cell's name for tables: of a plug-in's digest the beginning, by which `trend` finds it."""
    return re.sub("(sha256:[0-9a-f]{8})[0-9a-f]{56}", r"\1", name)


def _followed(session: Session) -> tuple[Any, ...]:
    """The machine whose times are followed: the hardware; in a fleet, each node by itself.

    Runners of a CI come and go, and are one machine as long as their hardware is the same.
    """
    node = session.machine.get("node")
    return (*machine_key(session), node) if node else machine_key(session)


def lines_of(connection: sqlite3.Connection, session: int) -> list[str]:
    """A session as it was written, its rows in order."""
    (header,) = connection.execute("SELECT header FROM session WHERE number = ?", (session,))
    rows = "SELECT row FROM cell WHERE session = ? ORDER BY place, identity"
    return [*header, *(row for (row,) in connection.execute(rows, (session,)))]


def sessions(connection: sqlite3.Connection) -> list[Results]:
    """Every session as the results of a file of its own, named after the host."""
    known = connection.execute(
        "SELECT number, json_extract(header, '$.machine.host') FROM session"
        " ORDER BY started, number"
    ).fetchall()
    found = []
    for number, host in known:
        name = f"host {host[:8]}" if host else f"session {number}"
        results = of_lines(name, lines_of(connection, number))
        results.notes.clear()  # whether it ended was said when it was added
        found.append(results)
    return found


def machine_name(cpu: str | None, node: str | None) -> str:
    """The processor, behind the node where there is one."""
    return f"{node} ({cpu or '?'})" if node else cpu or "?"


def machines(connection: sqlite3.Connection) -> dict[str, str]:
    """Names of the machines that are followed: the processor, and the node where there is one."""
    return {
        machine: machine_name(cpu, node)
        for machine, cpu, node in connection.execute(
            "SELECT DISTINCT machine, cpu, json_extract(header, '$.machine.node') FROM session"
        )
    }


def _refuse_fewer(
    connection: sqlite3.Connection, number: int, session: Session, cells: list[Cell]
) -> None:
    """A cut copy of a session must not take the place of the whole one."""
    identities = {c.identity for c in cells}
    rows = connection.execute("SELECT row FROM cell WHERE session = ?", (number,))
    # Not the column, which has the fields of an identity as they were when the session was added.
    known = [Identity.of(json.loads(row)) for (row,) in rows]
    lost = sum(identity not in identities for identity in known)
    if lost:
        raise ResultsError(
            f"{session.path}:{session.line}: session {number} has {len(known)} cells, of which "
            f"{lost} are not in this file; --force replaces it all the same"
        )


def continued(results: Results) -> list[list[Session]]:
    """The sessions of a file, each with those that went on with it (--resume) on the same build."""
    found: list[list[Session]] = []
    for session in results.sessions:
        resumed = "--resume" in (session.header.get("command") or [])
        if found and resumed and session.build == found[-1][0].build:
            found[-1].append(session)
        else:
            found.append([session])
    return found


def _forget(connection: sqlite3.Connection, session: Session, number: int) -> None:
    """Removes a resumed session, which earlier programs kept by itself; `number` it belongs to."""
    key = (str(session.header.get("id")), str(session.header["started"]))
    known = connection.execute("SELECT number FROM session WHERE id = ? AND started = ?", key)
    for (old,) in known.fetchall():
        connection.execute(
            "UPDATE OR REPLACE accepted SET session = ? WHERE session = ?", (number, old)
        )
        connection.execute("DELETE FROM session WHERE number = ?", (old,))


def add(connection: sqlite3.Connection, results: Results, *, force: bool = False) -> int:
    """Adds the sessions of a file; returns how many were new.  A known one is replaced.

    Args:
        connection: the history.
        results: the file; a cell that several of its sessions have counts in each of them.
        force: whether a known session may lose cells.

    Raises:
        ResultsError: a known session would lose cells.
    """
    new = 0
    for session, *resumed in continued(results):
        every = [*results.earlier, *results.cells.values()]
        own = {id(s) for s in (session, *resumed)}
        cells = [*{c.identity: c for c in every if id(c.session) in own}.values()]
        cells.sort(key=row_order(cells))
        header, key = (
            session.header,
            (str(session.header.get("id")), str(session.header["started"])),
        )
        known = connection.execute("SELECT number FROM session WHERE id = ? AND started = ?", key)
        row = known.fetchone()
        values = (
            *key,
            msgspec.json.encode(_followed(session)).decode(),
            msgspec.json.encode(build_key(session)).decode(),
            session.machine.get("cpu"),
            session.build.get("commit"),
            bool(session.build.get("dirty")),
            sum(c.state in WRONG_STATES for c in cells),
            msgspec.json.encode(header).decode(),
        )
        if row:
            (number,) = row
            if not force:
                _refuse_fewer(connection, number, session, cells)
            connection.execute("DELETE FROM cell WHERE session = ?", (number,))
            connection.execute(
                "UPDATE session SET (id, started, machine, build, cpu, commit_id, dirty, wrong,"
                " header) = (?,?,?,?,?,?,?,?,?) WHERE number = ?",
                (*values, number),
            )
        else:
            number = connection.execute(
                "INSERT INTO session (id, started, machine, build, cpu, commit_id, dirty, wrong,"
                " header) VALUES (?,?,?,?,?,?,?,?,?)",
                values,
            ).lastrowid
            new += 1
        for later in resumed:
            _forget(connection, later, number)
        connection.executemany(
            "INSERT INTO cell VALUES (?,?,?,?,?,?,?,?,?)",
            [
                (
                    number,
                    msgspec.json.encode(c.identity).decode(),
                    cell_name(c),
                    c.state,
                    c.median_s if c.timed else None,
                    *((c.interval_s if c.timed else None) or (None, None)),
                    c.text.decode(),
                    place,
                )
                for place, c in enumerate(cells)
            ],
        )
    return new


@dataclass
class Point:
    """One session's time of a cell."""

    session: int
    started: str
    commit: str
    median_s: float


def series(connection: sqlite3.Connection, pattern: str) -> dict[tuple[str, str, str], list[Point]]:
    """The times of cells whose name holds a text, by name, machine and build, oldest first."""
    found: dict[tuple[str, str, str], list[Point]] = {}
    for name, machine, build, *point in connection.execute(
        "SELECT name, machine, build, number, started, coalesce(commit_id, '?'), median_s"
        " FROM cell JOIN session ON session = number"
        " WHERE median_s IS NOT NULL AND instr(name, ?) ORDER BY name, started, number",
        (pattern,),
    ):
        found.setdefault((name, machine, build), []).append(Point(*point))
    return found


@dataclass
class Break:
    """A session that begins something new on its machine."""

    machine: str
    started: str
    what: str
    compared: bool  # whether times are followed across it


# What a session's header says of a build, beyond which times are not followed, and of a machine
# that is otherwise the same.
BUILT = ("compiler", "flags", "type")
SYSTEM = ("kernel", "microcode")


def breaks(connection: sqlite3.Connection) -> list[Break]:
    """Where compiler, flags, kernel or microcode of a machine became others, oldest first.

    What changes back and forth, such as two compilers of one CI, counts the first time.
    """
    found, last, known = [], {}, {}
    for machine, started, text in connection.execute(
        "SELECT machine, started, header FROM session ORDER BY started, number"
    ):
        header = json.loads(text)
        for part, names in (("build", BUILT), ("machine", SYSTEM)):
            now = tuple(header[part].get(name) for name in names)
            before = last.get((machine, part), now)
            seen = known.setdefault((machine, part), {now})
            if now not in seen:
                pairs = zip(names, before, now, strict=True)
                what = ", ".join(f"{n} {a or '?'} -> {b or '?'}" for n, a, b in pairs if a != b)
                found.append(Break(machine, started, what, part == "machine"))
                seen.add(now)
            last[machine, part] = now
    return found


def refuse_wrong(connection: sqlite3.Connection, session: int) -> None:
    """A failing session never becomes a base.

    Raises:
        ToolError: this one fails, or there is none.
    """
    row = connection.execute("SELECT wrong FROM session WHERE number = ?", (session,)).fetchone()
    if row is None:
        raise ToolError(f"no session {session}; scripts/history list shows them")
    if row[0]:
        raise ToolError(f"session {session} has {row[0]} wrong results: it cannot become a base")


def accept(connection: sqlite3.Connection, session: int, names: Iterable[str], reason: str) -> None:
    """Records that a session's times of these cells are the new normal."""
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    connection.executemany(
        "INSERT OR REPLACE INTO accepted VALUES (?,?,?,?)",
        [(name, session, reason, now) for name in names],
    )

"""The page of a history: which cells' times changed, when, by how much, and how they went."""

import sqlite3
from dataclasses import dataclass

from attntools.base.units import change, seconds
from attntools.history import database, trend, trend_figure
from attntools.history.database import Point
from attntools.history.trend import Change
from attntools.report.page import image, render, without_folders
from attntools.report.page_session import Picture

ALT = "Times of the cells that changed most over the dates of their sessions, with their changes."
WIDTH, HEIGHT = 150, 22  # of a small line, pixels


@dataclass
class Followed:
    """A cell over the sessions."""

    name: str
    sessions: int
    since: str
    last: str
    median: float
    text: str
    line: str
    since_first: str
    changes: list[tuple[str, str, str, str]]
    largest: float


def small_line(times: list[float]) -> str:
    """The path of a drawing of times, oldest first, lowest 0."""
    top = max(times)
    across = (WIDTH - 4) / max(1, len(times) - 1)
    places = [(2 + across * i, HEIGHT - 2 - (HEIGHT - 4) * t / top) for i, t in enumerate(times)]
    return "M" + "L".join(f"{x:.0f} {y:.1f}" for x, y in places)


def _reasons(connection: sqlite3.Connection) -> dict[tuple[str, int], str]:
    """Why levels were accepted, by cell and session."""
    rows = connection.execute("SELECT name, session, reason FROM accepted")
    return {(name, session): reason for name, session, reason in rows}


def _followed(
    name: str, points: list[Point], found: list[Change], reasons: dict[tuple[str, int], str]
) -> Followed:
    times = [p.median_s for p in points]
    ends = [*(c.index for c in found), len(points)][1:]
    listed = []
    for c, end in zip(found, ends, strict=True):
        at = points[c.index]
        known = (reasons.get((name, p.session)) for p in points[c.index : end])
        accepted = next(filter(None, known), "")
        listed.append((at.started[:10], at.commit[:12], c.text(points), accepted))
    return Followed(
        name=name,
        sessions=len(points),
        since=points[0].started[:10],
        last=points[-1].started[:10],
        median=times[-1],
        text=seconds(times[-1]),
        line=small_line(times),
        since_first=change(times[-1] / times[0]),
        changes=listed,
        largest=trend.Series(name, points, found).largest,
    )


def page(connection: sqlite3.Connection, name: str) -> str:
    """The whole page; the cells that changed most come first, with a figure each."""
    reasons = _reasons(connection)
    found, followed = [], []
    machines = database.machines(connection)
    for (cell, machine, _build), points in database.series(connection, "").items():
        changes = trend.changes([p.median_s for p in points])
        found.append(_followed(cell, points, changes, reasons))
        found[-1].name = title = f"{cell}, {machines[machine]}" if len(machines) > 1 else cell
        followed.append(trend.Series(title, points, changes))
    fig = trend_figure.draw(followed)
    pictures = [Picture("changes", ALT, image(fig))] if fig else []
    (sessions,) = connection.execute("SELECT count(*) FROM session").fetchone()
    changed = [f for f in found if f.changes]
    more = sum(len(f.changes) for f in found)
    headline = (
        f"{len(changed)} of {len(found)} cells changed in {sessions} sessions, "
        f"{more} times in all." if changed else
        f"None of {len(found)} cells changed in {sessions} sessions."
    )  # fmt: skip
    return render(
        "history.html",
        title=f"{without_folders(name)}: attnbench",
        headline=headline,
        found=sorted(found, key=lambda f: -f.largest),
        pictures=pictures,
        width=WIDTH,
        height=HEIGHT,
    )

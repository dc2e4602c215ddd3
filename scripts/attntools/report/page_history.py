"""The page of a history: which cells' times changed, when, by how much, and how they went."""

import sqlite3

from attntools.base.units import change, counted, seconds
from attntools.history import trend, trend_figure
from attntools.history.trend import Series
from attntools.report.page import Texts, image, render, without_folders
from attntools.report.page_session import Picture

ALT = "Times of the cells that changed most over the dates of their sessions, with their changes."
WIDTH, HEIGHT = 150, 22  # of a small line, pixels


def small_line(times: list[float]) -> str:
    """The path of a drawing of times, oldest first, lowest 0."""
    top = max(times)
    across = (WIDTH - 4) / max(1, len(times) - 1)
    places = [(2 + across * i, HEIGHT - 2 - (HEIGHT - 4) * t / top) for i, t in enumerate(times)]
    return "M" + "L".join(f"{x:.0f} {y:.1f}" for x, y in places)


def _row(s: Series) -> Texts:
    """What the table has of a cell."""
    times = [p.median_s for p in s.points]
    return {
        "name": s.name,
        "sessions": len(times),
        "since": s.points[0].started[:10],
        "last": s.points[-1].started[:10],
        "median": times[-1],
        "text": seconds(times[-1]),
        "line": small_line(times),
        "since_first": change(times[-1] / times[0]),
        "changes": [
            (at.started[:10], at.commit[:12], c.text(s.points), reason)
            for c, reason in zip(s.changes, s.reasons, strict=True)
            for at in (s.points[c.index],)
        ],
    }


def page(connection: sqlite3.Connection, name: str) -> str:
    """The whole page; the cells that changed most come first, with a figure each."""
    found = trend.followed(connection, "")
    fig = trend_figure.draw(found)
    pictures = [Picture("changes", ALT, image(fig))] if fig else []
    (sessions,) = connection.execute("SELECT count(*) FROM session").fetchone()
    measured = counted(sessions, "session")
    changed = trend.changed(found)
    more = sum(len(s.changes) for s in changed)
    cells = counted(len(found), "cell")
    headline = (
        f"{counted(more, 'change')} over {measured}, in {len(changed)} of {cells}." if changed else
        f"No change over {measured} in {cells}."
    )  # fmt: skip
    return render(
        "history.html",
        title=f"{without_folders(name)}: attnbench",
        headline=headline,
        found=[_row(s) for s in sorted(found, key=lambda s: -s.largest)],
        pictures=pictures,
        width=WIDTH,
        height=HEIGHT,
    )

"""Where a series of times changed, and by how much."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby, pairwise

import numpy as np
from attntools.base import tables
from attntools.base.units import change, counted, seconds
from attntools.compare.comparison import THRESHOLD
from attntools.history import database
from attntools.history.database import Point

# Sessions that a new level must last for: one or two slow sessions are noise, not a change.
SHORTEST = 3

# Changes that are none, for each session: what a permutation test may be wrong by.
FALSE = 1e-3
ORDERS = 999

# Distances from the middle are cut off at so many deviations.
FAR = 3

MOST_PANELS = 24  # of the figure

Array = np.ndarray


@dataclass
class Change:
    """The first session of a new level, or the first and last of a drift."""

    index: int
    ratio: float  # median after over median before
    last: int = -1  # index; for a drift, that of its last step

    def __post_init__(self) -> None:
        """A step ends where it begins."""
        self.last = max(self.last, self.index)

    def text(self, points: Sequence[Point]) -> str:
        """The change as people read it."""
        drift = f" drift, until {points[self.last].started[:10]}" if self.last > self.index else ""
        return change(self.ratio) + drift


def scores(x: Array) -> Array:
    """Deviations from the median, in units of the median one and no larger than FAR."""
    off = x - np.median(x)
    # A clock knows no more than this; without it a series of equal times would split anywhere.
    spread = max(1.4826 * np.median(abs(off)), 1e-3)
    return np.clip(off / spread, -FAR, FAR)


def steps(y: Array) -> Array:
    """The size of the step at each split of a series, or of each row, in units of its noise."""
    n = y.shape[-1]
    before = np.arange(SHORTEST, n - SHORTEST + 1)
    sums = np.cumsum(y - y.mean(-1, keepdims=True), -1)[..., before - 1]
    return abs(sums) / np.sqrt(before * (n - before) / n)


def distance(x: Array) -> float:
    """How far numbers lie from their median, in all: single slow sessions weigh little."""
    return float(abs(x - np.median(x)).sum())


@cache
def orders(n: int) -> Array:
    """Rows of n numbers in a random order, the same in every run."""
    return np.argsort(np.random.default_rng(n).random((ORDERS, n)), axis=1)


def resemblance(x: Array, ends: list[int]) -> float:
    """The correlation of sessions with the ones before them, about the levels between ends.

    Less three quarters of its standard error, a choice: with more, days that resemble each other
    show changes that are none; with less, steps of 5 % are missed (scripts/dev/studies/trends.py).
    """
    y = scores(np.concatenate([x[i:j] - np.median(x[i:j]) for i, j in pairwise(ends)]))
    squares = float((y**2).sum())
    if not squares:
        return 0
    return float(np.clip((y[1:] * y[:-1]).sum() / squares - 0.75 * len(x) ** -0.5, 0, 0.9))


def split(x: Array, rho: float) -> int:
    """Where a series changes; 0 where its sessions in another order have steps as large.

    The share of orders with a step as large is the probability of one if no order is more likely
    than another (Westfall and Young 1993: a permutation test of the largest of many statistics).
    It holds for any noise.  If sessions resemble the ones before them, by rho, a sum varies
    (1 + rho) / (1 - rho) times as much, and the step is made smaller by that.
    """
    if len(x) < 2 * SHORTEST:
        return 0
    y = scores(x)
    chance = steps(y[orders(len(x))]).max(1)
    step = steps(y).max() * ((1 - rho) / (1 + rho)) ** 0.5
    as_large = 1 + np.count_nonzero(chance >= step * (1 - 1e-9))
    if as_large > FALSE * len(x) * (ORDERS + 1):
        return 0
    parted = [distance(x[:at]) + distance(x[at:]) for at in range(SHORTEST, len(x) - SHORTEST + 1)]
    return int(np.argmin(parted)) + SHORTEST


def segments(x: Array, rho: float) -> list[int]:
    """Where the levels of a series begin and end, by binary segmentation."""
    ends, todo = {0, len(x)}, [(0, len(x))]
    while todo:
        start, end = todo.pop()
        at = split(x[start:end], rho)
        if at:
            ends.add(start + at)
            todo += [(start, start + at), (start + at, end)]
    return sorted(ends)


def changes(times: Sequence[float], threshold: float = THRESHOLD) -> list[Change]:
    """Change points of a series, oldest first, of its logarithms.

    Found as if sessions were independent, and again by how much they turn out to resemble each
    other.
    """
    x = np.log(np.array(times))
    ends = segments(x, 0)
    if len(ends) > 2:
        ends = segments(x, resemblance(x, ends))
    levels = [(i, float(np.median(x[i:j]))) for i, j in pairwise(ends)]
    found = [Change(i, float(np.exp(new - old))) for (_, old), (i, new) in pairwise(levels)]
    found = [c for c in found if not 1 / (1 + threshold) <= c.ratio <= 1 + threshold]
    runs = [list(run) for _, run in groupby(found, key=lambda c: c.ratio > 1)]
    return [c for number in range(len(runs)) for c in _one_thing(x, runs, number)]


def _one_thing(x: Array, runs: list[list[Change]], number: int) -> list[Change]:
    """Steps in one direction; one change where a line through their levels fits better than they.

    The line goes through the middles of the levels, so that it has as many parameters as the steps.
    It begins and ends in the outer ones as near as it passes through their neighbours.
    """
    run = runs[number]
    if len(run) < 2:
        return run
    start = runs[number - 1][-1].index if number else 0
    end = runs[number + 1][0].index if number + 1 < len(runs) else len(x)
    ends = [start, *(c.index for c in run), end]
    levels = [float(np.median(x[i:j])) for i, j in pairwise(ends)]
    middles = [(i + j - 1) / 2 for i, j in pairwise(ends)]
    middles[0] = max(middles[0], 2 * ends[1] - middles[1])
    middles[-1] = min(middles[-1], 2 * ends[-2] - middles[-2])
    line = np.interp(np.arange(start, end), middles, levels)
    step = np.repeat(levels, np.diff(ends))
    if abs(x[start:end] - line).sum() >= abs(x[start:end] - step).sum():
        return run
    return [Change(run[0].index, float(np.prod([c.ratio for c in run])), run[-1].index)]


# ---- many series --------------------------------------------------------------------------------


@dataclass
class Series:
    """A cell over the sessions, its changes, and why each was accepted or ""."""

    name: str
    points: list[Point]
    changes: list[Change]
    cell: str = ""  # the name without the machine
    machine: str = ""  # where there are several
    reasons: list[str] = field(default_factory=list)

    @property
    def largest(self) -> float:
        """Of its largest change, the logarithm."""
        return max((abs(float(np.log(c.ratio))) for c in self.changes), default=0.0)

    @property
    def last(self) -> float:
        """The newest time over the first level's."""
        return self.points[-1].median_s / self.first

    @property
    def first(self) -> float:
        """The time of the first level."""
        end = self.changes[0].index if self.changes else len(self.points)
        return float(np.median([p.median_s for p in self.points[:end]]))


def followed(connection: sqlite3.Connection, text: str) -> list[Series]:
    """The cells with a text in their names."""
    accepted = {
        (cell, session): reason
        for cell, session, reason in connection.execute(
            "SELECT name, session, reason FROM accepted"
        )
    }
    machines = database.machines(connection)
    found = []
    for (cell, of, _build), points in database.series(connection, text).items():
        machine = machines[of] if len(machines) > 1 else ""
        moved = changes([p.median_s for p in points])
        ends = [*(c.index for c in moved), len(points)]
        reasons = [
            next((r for p in points[i:j] if (r := accepted.get((cell, p.session)))), "")
            for i, j in pairwise(ends)
        ]
        name = database.shown_name(cell) + (f", {machine}" if machine else "")
        found.append(Series(name, points, moved, cell, machine, reasons))
    return found


def changed(found: Sequence[Series]) -> list[Series]:
    """Those that changed, by how much."""
    return sorted((s for s in found if s.changes), key=lambda s: -s.largest)


def title(found: Sequence[Series]) -> str:
    """How many cells changed, and which most."""
    moved = changed(found)
    first = moved[0]
    most = max(first.changes, key=lambda c: abs(np.log(c.ratio)))
    since = first.points[most.index].started[:10]
    cells = counted(len(found), "cell")
    return f"{len(moved)} of {cells} changed; most, {change(most.ratio)}, since {since}"


def rest(found: Sequence[Series]) -> str:
    """A Markdown table of the series that the figure does not show."""
    shown = changed(found)[:MOST_PANELS]
    rows = [
        (s.name, str(len(s.points)), s.points[0].started[:10], s.points[-1].started[:10],
         seconds(s.points[-1].median_s), change(s.last))
        for s in found if s not in shown
    ]  # fmt: skip
    head = ("cell", "sessions", "since", "last", "time", "over the first level")
    return tables.markdown(head, rows, [False, True, False, False, True, True])

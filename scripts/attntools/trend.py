"""Where a series of times changed, and by how much."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import ruptures
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from scipy.ndimage import median_filter

from attntools import style
from attntools.comparison import THRESHOLD
from attntools.database import Point
from attntools.units import change, seconds

# Sessions that a new level must last for: a single slow session is noise, not a change.
SHORTEST = 2


@dataclass
class Change:
    """The first session of a new level."""

    index: int
    ratio: float  # median after over median before


def changes(times: list[float], threshold: float = THRESHOLD) -> list[Change]:
    """Change points of a series, oldest first (PELT, Killick et al. 2012, through ruptures).

    On logarithms, with the penalty of a normal model whose spread comes from the differences
    of neighbours (their median absolute deviation, so that the changes themselves do not count).
    """
    if len(times) < 2 * SHORTEST:
        return []
    x = np.log(np.array(times))
    steps = np.diff(x)
    spread = 1.4826 * np.median(np.abs(steps - np.median(steps))) / np.sqrt(2)
    # A clock knows no more than this; without it a series of equal times would split anywhere.
    spread = max(float(spread), 1e-3)
    penalty = 3 * np.log(len(x)) * spread**2
    # Of three neighbours the middle one: a step stays where it is, a single slow session goes.
    level = median_filter(x, 3, mode="nearest")
    search = ruptures.Pelt(model="l2", min_size=SHORTEST, jump=1).fit(level[:, None])
    ends = [0, *search.predict(pen=penalty)]
    found = []
    for before, at, after in zip(ends, ends[1:], ends[2:], strict=False):
        ratio = float(np.exp(np.median(x[at:after]) - np.median(x[before:at])))
        if not 1 / (1 + threshold) <= ratio <= 1 + threshold:
            found.append(Change(at, ratio))
    return found


def draw(name: str, points: list[Point], found: list[Change]) -> Figure:
    """The series with its change points, date by date."""
    fig, (ax,) = style.figure(height=2.8)
    times = [p.median_s for p in points]
    look = style.Look(0)
    ax.plot(range(len(times)), times, look.marker, color=look.colour)
    ends = [0, *(c.index for c in found), len(times)]
    for start, end in pairwise(ends):
        level = float(np.median(times[start:end]))
        ax.plot([start - 0.4, end - 0.6], [level, level], color=style.INK, lw=1)
    for c in found:
        ax.axvline(c.index - 0.5, color=style.COLOURS[1], ls="--", lw=1.2)
        ax.annotate(f"{change(c.ratio)}\n{points[c.index].commit[:10]}", (c.index - 0.4, 0.98),
                    xycoords=("data", "axes fraction"), va="top", fontsize=7)  # fmt: skip
    step = max(1, len(points) // 8)
    ax.set_xticks(range(0, len(points), step), [p.started[:10] for p in points[::step]], fontsize=7)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: seconds(y)))
    ax.set_ylim(0, 1.25 * max(times))
    ax.set_title(name, fontsize=8)
    return fig

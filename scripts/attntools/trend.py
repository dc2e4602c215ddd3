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

# Sessions that a new level must last for: one or two slow sessions are noise, not a change.
SHORTEST = 3

DATES = 8  # that fit below a figure
COMMIT = 10  # letters of a commit
LANE_INCHES = 0.4  # height of a change's label


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
    # Of five neighbours the middle one: a step stays where it is, one or two slow sessions go.
    level = median_filter(x, 2 * SHORTEST - 1, mode="nearest")
    search = ruptures.Pelt(model="l2", min_size=SHORTEST, jump=1).fit(level[:, None])
    ends = [0, *search.predict(pen=penalty)]
    found = []
    for before, at, after in zip(ends, ends[1:], ends[2:], strict=False):
        ratio = float(np.exp(np.median(x[at:after]) - np.median(x[before:at])))
        if not 1 / (1 + threshold) <= ratio <= 1 + threshold:
            found.append(Change(at, ratio))
    return found


def dates(started: list[str]) -> list[str]:
    """Times of sessions as labels: days or, where two of them are of one day, hours too."""
    days = [text[:10] for text in started]
    return days if len({*days}) == len(days) else [text[5:16].replace("T", " ") for text in started]


def draw(name: str, points: list[Point], found: list[Change]) -> Figure:
    """The series with its change points, date by date."""
    fig, (ax,) = style.figure()
    times = [p.median_s for p in points]
    look = style.Look(0)
    ax.plot(range(len(times)), times, look.marker, color=look.colour)
    ends = [0, *(c.index for c in found), len(times)]
    for start, end in pairwise(ends):
        level = float(np.median(times[start:end]))
        ax.plot([start - 0.4, end - 0.6], [level, level], color=style.INK, lw=1)
    # Labels of changes that are close stand in lanes one below the other, above all times.
    width = len(times) * style.share_of_width(ax, "0" * COMMIT)
    starts = [min(c.index - 0.4, len(times) - width) for c in found]
    lanes = style.lanes(starts, width)
    height = 2.4 + LANE_INCHES * (1 + max(lanes, default=0))
    fig.set_figheight(height)
    step = LANE_INCHES / (height - 0.5)  # as a share of the axes, which ticks and title are beside
    for c, start, lane in zip(found, starts, lanes, strict=True):
        ax.axvline(c.index - 0.5, color=style.COLOURS[1], ls="--", lw=1.2)
        ax.annotate(
            f"{change(c.ratio)}\n{points[c.index].commit[:COMMIT]}", (start, 0.98 - step * lane),
            xycoords=("data", "axes fraction"), va="top", fontsize=7,
            bbox={"color": "white", "pad": 0.5},
        )  # fmt: skip
    ticks = range(0, len(points), -(-len(points) // DATES))
    ax.set_xticks(ticks, dates([points[i].started for i in ticks]), fontsize=7)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: seconds(y)))
    ax.set_ylim(0, max(times) / (0.95 - step * (1 + max(lanes, default=0))))
    ax.set_title(name, fontsize=8)
    return fig

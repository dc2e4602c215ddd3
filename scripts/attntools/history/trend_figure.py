"""The series that changed most, drawn."""

from collections.abc import Sequence
from datetime import datetime

import numpy as np
from attntools.base.units import change
from attntools.history import trend
from attntools.plot import labels, style
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

COLUMNS = 3
LETTERS = 47  # of a name that a panel has room for in 6.8 points
COMMIT = 10  # letters of a commit
LEAST_SPAN = 10.0  # percent that the axis of a series shows at least: 5 % is seen, 0.5 % is small


def _panel(ax: Axes, s: trend.Series) -> None:
    """A series in percent of its first level, with a line for each level and its change."""
    at = date2num([datetime.fromisoformat(p.started.replace("Z", "+00:00")) for p in s.points])
    percent = [100 * (p.median_s / s.first - 1) for p in s.points]
    look = style.Look(0, style.NEUTRAL)
    ax.plot(at, percent, look.marker, color=look.colour, ms=3)
    begin = [0, *(c.last for c in s.changes)]
    for start, end in zip(begin, [*(c.index for c in s.changes), len(at)], strict=True):
        level = float(np.median(percent[start:end]))
        ax.plot([at[start], at[end - 1]], [level, level], color=style.INK, lw=1)
    reach = max(LEAST_SPAN, max(percent) - min(percent))
    middle = (max(percent) + min(percent)) / 2
    ax.set_ylim(middle - 0.7 * reach, middle + 0.7 * reach)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:+g} %" if y else "0"))
    ax.locator_params(axis="y", nbins=5)
    ax.xaxis.set_major_locator(AutoDateLocator(minticks=2, maxticks=5))
    ax.xaxis.set_major_formatter(ConciseDateFormatter(ax.xaxis.get_major_locator()))
    ax.tick_params(labelsize=6.5)
    ax.xaxis.get_offset_text().set_fontsize(6.5)
    _changes(ax, s, at)


def _changes(ax: Axes, s: trend.Series, at: np.ndarray) -> None:
    """A dashed line at each change, above the axes its size and commit, the largest where close."""
    lo, hi = ax.get_xlim()
    width = labels.share_of_width(ax, "0" * COMMIT)
    taken: list[float] = []
    for c in sorted(s.changes, key=lambda c: -abs(np.log(c.ratio))):
        x = (at[c.index - 1] + at[c.index]) / 2
        ax.axvline(x, color=style.NEUTRAL[1], ls="--", lw=1)
        place = min((x - lo) / (hi - lo), 1 - width)
        if all(abs(place - other) >= width for other in taken):
            taken.append(place)
            commit = s.points[c.index].commit[:COMMIT]
            ax.text(place, 1.01, f"{change(c.ratio)}\n{commit}", va="bottom", fontsize=6.5,
                    transform=ax.transAxes)  # fmt: skip


def draw(found: Sequence[trend.Series]) -> Figure | None:
    """The series that changed most over their dates, a panel each; None where none did."""
    moved = trend.changed(found)
    if not moved:
        return None
    shown = moved[: trend.MOST_PANELS]
    columns = min(COLUMNS, len(shown))
    fig, axes = style.panels(
        -(-len(shown) // columns), columns, height=1.1, gap=(0.55, 0.85), sides=(0.6, 0.2), top=1.1
    )
    for ax, s in zip(axes, shown, strict=False):
        _panel(ax, s)
        ax.set_title(s.name, fontsize=min(6.8, 6.8 * LETTERS / len(s.name)), pad=22)
    for ax in axes[len(shown) :]:
        ax.remove()
    part = "" if len(shown) == len(moved) else f" The {len(shown)} that changed most."
    style.heading(
        fig, trend.title(found), "Time over that of the first level; lines: levels; dashed: the "
        f"first session of a new one, with its commit.{part}", ""
    )  # fmt: skip
    return fig

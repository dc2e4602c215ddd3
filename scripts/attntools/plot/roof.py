"""The roof of a roofline: its lines, and their labels where neither points nor lines are.

Nothing lies above the highest ceiling, so that is where all labels stand: one row for the read
bandwidths, each near the ridge where its slope ends, and above it a row for each instruction set.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from attntools.base.units import digits
from attntools.plot import labels, style
from matplotlib.axes import Axes

ROW = 0.05  # height of a row of labels, as a share of the axes'
STEP = 0.012  # between the leaders of two of them, as a share of the width
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))


def room(lowest: float, highest: float, sets: int, below: float) -> tuple[float, float]:
    """Limits of the logarithmic y axis that leave rows above `highest` and room below `lowest`.

    Args:
        lowest: of all points.
        highest: of all points and lines.
        sets: instruction sets, each a row above.
        below: share of the axis to leave free.
    """
    lo, hi = lowest / 1.5, highest * 1.1
    above = ROW * (sets + 2)
    whole = math.log(hi / lo) / (1 - above - below)
    return lo * math.exp(-below * whole), hi * math.exp(above * whole)


def _slopes(ax: Axes, bandwidths: Sequence[float], top: float, x: np.ndarray, row: float) -> None:
    """A slope for each bandwidth, its label above the ridge, beside the others'."""
    texts = [f"{digits(b)} GB/s" for b in bandwidths]
    width = labels.share_of_width(ax, max(texts, key=len))
    ridges = [float(np.clip(top / b, x[0], x[-1])) for b in bandwidths]  # or where it leaves
    wanted = [float(np.log(ridge / x[0]) / np.log(x[-1] / x[0])) for ridge in ridges]
    places = labels.spread(wanted, width, width / 2, 1 - width / 2)
    for bandwidth, text, ridge, place in zip(bandwidths, texts, ridges, places, strict=True):
        ax.plot(x, np.minimum(bandwidth * x, top), color=style.INK, lw=1)
        ax.annotate(
            text, (ridge, min(bandwidth * ridge, top)), (place, row), textcoords="axes fraction",
            fontsize=7, ha="center", va="center", arrowprops=style.LEADER,
        )  # fmt: skip


def draw(ax: Axes, rates: Mapping[str, float], reads: Sequence[float], x: np.ndarray) -> None:
    """The multiply-add rate of each instruction set, and the span of read bandwidths.

    Args:
        ax: with its x limits set, to those of x.
        rates: GFLOP/s by instruction set.
        reads: bandwidths in GB/s; the lowest and the highest are drawn.
        x: flops per byte at which to draw, ascending.
    """
    top = max(rates.values())
    rows = (1 - ROW * (number + 0.5) for number in range(len(rates) + 1))
    ordered = sorted(rates.items(), key=lambda item: -item[1])
    for number, (isa, rate) in enumerate(ordered):
        dash, row = DASHES[number % len(DASHES)], next(rows)
        ax.axhline(rate, color=style.INK, lw=1, ls=dash)
        # From the label to the right and down to the line, inside of the leaders above it.
        beside, end = 1 - STEP * (number + 1), 1 - STEP * (len(ordered) + 1)
        ax.text(end, row, f"{isa}: {digits(rate)} GFLOP/s", fontsize=7, ha="right", va="center",
                transform=ax.transAxes)  # fmt: skip
        ax.plot([end, beside], [row, row], color=style.INK, lw=0.6, transform=ax.transAxes)
        ax.annotate("", (beside, rate), (beside, row), xycoords=ax.get_yaxis_transform(),
                    textcoords="axes fraction", arrowprops=style.LEADER)  # fmt: skip
    _slopes(ax, sorted({max(reads), min(reads)}, reverse=True), top, x, next(rows))

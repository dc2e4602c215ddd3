"""One figure of the fastest kernel of ours against the fastest of other people's, case by case.

How many times as long the other takes, with the 95 % interval of that ratio from launches side by
side.  Left of 1 the other is faster.  A panel a thread count, with a row a case,
sorted; of more cases than have room for names the distribution, of all and of each kind.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from attntools.base.units import counted, digits, short
from attntools.compare.comparison import best, ratios_of
from attntools.plot import figures, shapes, style
from attntools.results.cells import Cell, Results
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

TICKS = (0.2, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100, 200, 500, 1000)
NAMED_ROWS = 45  # rows that can each have their name
ROW = 0.15  # inches of a row with a name
NAMED_ENDS = 4  # of more the last are named
TICK = 0.25  # inches of a number at the axis
BINS = 50  # of the axis

TIE = "a tie, or unknown"
VERDICTS = {"ours slower": style.NEUTRAL[1], TIE: style.FAINT, "ours faster": style.NEUTRAL[0]}


@dataclass
class Speedup:
    """Ours and the other on one case: the other's time over ours, and its interval."""

    ours: Cell
    other: Cell
    among: int  # kernels of which the other is the fastest
    ratio: float
    lo: float
    hi: float

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return self.lo <= self.hi


def speedups(results: Results) -> list[Speedup]:
    """The fastest of ours against the fastest of the others, where a case has both."""
    pairs = []
    for group in shapes.groups(results.timed):
        ours = [c for c in group if shapes.is_ours(c)]
        others = [c for c in group if shapes.is_rival(c)]
        if ours and others:
            kernels = {c.identity.kernel for c in others}
            pairs.append((best(ours), best(others), len(kernels)))
    found = ratios_of((a, b) for a, b, _ in pairs)
    return [Speedup(*pair, *ratio) for pair, ratio in zip(pairs, found, strict=True)]


def reach(found: Sequence[Speedup]) -> tuple[float, float]:
    """Limits of the axis: all ratios and intervals, and 1 to 2 whatever they are."""
    lows = [s.lo if s.known else s.ratio for s in found]
    highs = [s.hi if s.known else s.ratio for s in found]
    return min(0.85, 0.93 * min(lows)), max(2.2, 1.08 * max(highs))


def span(found: Sequence[Speedup]) -> tuple[float, float]:
    """Limits of the axis without intervals, a few of which may be a hundred times as wide."""
    ratios = [s.ratio for s in found]
    return min(0.85, 0.9 * min(ratios)), max(2.2, 1.1 * max(ratios))


def others(found: Sequence[Speedup]) -> str:
    """What ours are held against, in a word or two."""
    kernels = {s.other.identity.kernel for s in found}
    alone = len(kernels) == 1 and all(s.among == 1 for s in found)
    return kernels.pop() if alone else "the fastest rival"


def _name(s: Speedup, several: bool) -> str:
    """A row: the case, and where there are several others the one that was fastest."""
    return f"{s.ours.case} ({s.other.identity.kernel})" if several else s.ours.case


def _verdict(s: Speedup) -> str:
    """What the interval says."""
    return "ours faster" if s.known and s.lo > 1 else "ours slower" if s.known and s.hi < 1 else TIE


def title(found: Sequence[Speedup]) -> str:
    """How many cells ours win and lose, and the median."""
    count = Counter(map(_verdict, found))
    cells = counted(len(found), "cell")
    verdicts = f"faster in {count['ours faster']} of {cells}, slower in {count['ours slower']}"
    if count[TIE] == len(found):
        known = any(s.known for s in found)
        verdicts = f"{'no difference is shown' if known else 'too few launches to tell'} in {cells}"
    middle = f"{digits(median(s.ratio for s in found))} times as fast in the median"
    return f"Ours against {others(found)}: {verdicts}, {middle}"


def _axis(ax: Axes, reach: tuple[float, float]) -> None:
    """Ratios, logarithmic, with a line at 1."""
    ax.axvline(1, color=style.INK, lw=1)
    ax.set_xscale("log")
    lo, hi = reach
    ax.set_xlim(lo, hi)
    ticks = [t for t in TICKS if lo <= t <= hi]
    room = ax.get_position().width * ax.figure.get_figwidth() / TICK
    ax.set_xticks(ticks[:: max(1, math.ceil(len(ticks) / room))])
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: short(x)))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.xaxis.set_minor_locator(NullLocator())


def _histogram(ax: Axes, found: Sequence[Speedup], several: bool) -> None:
    """How many cells have each ratio, by what their intervals say; the lowest ones by name."""
    bins = np.geomspace(*ax.get_xlim(), BINS + 1)
    parts = {v: [s.ratio for s in found if _verdict(s) == v] for v in VERDICTS}
    ax.hist(list(parts.values()), bins, stacked=True, color=list(VERDICTS.values()))
    ax.set_ylabel("cells", fontsize=8)
    ax.set_ylim(0, 1.5 * ax.get_ylim()[1])
    ax.tick_params(labelsize=7.5)
    names = [f"{digits(s.ratio)} x  {_name(s, several)}" for s in found[: -NAMED_ENDS - 1 : -1]]
    ax.text(0.99, 0.98, "\n".join(["slowest against it:", *names]), fontsize=6.5, ha="right",
            va="top", transform=ax.transAxes)  # fmt: skip


def _spreads(ax: Axes, found: Sequence[Speedup]) -> None:
    """The middle of all cells and of those of each kind: 5 to 95 %, 25 to 75 %, median."""
    kinds = {"all": list(found)} | figures.by(
        sorted(found, key=lambda s: shapes.kind(s.ours)), lambda s: shapes.kind(s.ours)
    )
    for y, part in enumerate(kinds.values()):
        p05, p25, p50, p75, p95 = np.quantile(
            [s.ratio for s in part], [0.05, 0.25, 0.5, 0.75, 0.95]
        )
        ax.plot([p05, p95], [y, y], color=style.NEUTRAL[0], lw=1.2)
        ax.plot([p25, p75], [y, y], color=style.NEUTRAL[0], lw=5, solid_capstyle="butt")
        ax.plot(p50, y, "o", color="white", mec=style.NEUTRAL[0], ms=5)
        ax.text(0.99, y, digits(p50), fontsize=7, ha="right", va="center",
                transform=ax.get_yaxis_transform(), bbox=style.PAPER)  # fmt: skip
    ax.set_yticks(range(len(kinds)), [f"{k}, {len(p)}" for k, p in kinds.items()], fontsize=7.5)
    ax.set_ylim(len(kinds) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")


def _distribution(
    parts: Sequence[Sequence[Speedup]], several: bool, limits: tuple[float, float]
) -> tuple[Figure, list[Axes]]:
    """Two rows of panels: a histogram of each thread count, and below it the kinds."""
    kinds = max(len({shapes.kind(s.ours) for s in part}) for part in parts) + 1
    fig, axes = style.panels(2, len(parts), height=max(2.0, 0.2 * kinds), sides=(0.9, 0.15),
                             gap=(0.9, 0.3))  # fmt: skip
    for above, below, part in zip(axes, axes[len(parts) :], parts, strict=False):
        for ax in (above, below):
            _axis(ax, limits)
        _histogram(above, part, several)
        _spreads(below, part)
    return fig, axes


class Verdict(style.Look):
    """The colour of a verdict, as a square."""

    def __init__(self, colour: str) -> None:
        """Of this colour."""
        super().__init__(1)
        self.colour = colour


def _panel(
    ax: Axes, found: Sequence[Speedup], looks: dict[str, style.Look], several: bool,
    reach: tuple[float, float],
) -> None:  # fmt: skip
    """One thread count, the largest ratio on top."""
    for kind, look in looks.items():
        rows = [(i, s) for i, s in enumerate(found) if shapes.kind(s.ours) == kind]
        at = [i for i, _ in rows]
        style.interval(ax, [(s.lo, s.hi) for _, s in rows], at, look.colour)
        ax.scatter([s.ratio for _, s in rows], at, s=20, marker=look.marker, lw=1, zorder=3,
                   edgecolors=look.colour,
                   facecolors=[look.colour if s.known else "white" for _, s in rows])  # fmt: skip
    _axis(ax, reach)
    ax.set_ylim(len(found) - 0.2, -0.8)
    ax.grid(visible=False, axis="y")
    ax.set_yticks(range(len(found)), [_name(s, several) for s in found], fontsize=6.8)


def _sorted(
    parts: Sequence[Sequence[Speedup]], several: bool, looks: dict[str, style.Look],
    limits: tuple[float, float],
) -> tuple[Figure, list[Axes]]:  # fmt: skip
    """A row a case, by name."""
    most = max(map(len, parts))
    left = 0.2 + 0.06 * max(len(_name(s, several)) for part in parts for s in part)
    fig, axes = style.panels(1, len(parts), height=max(1.2, ROW * most), sides=(left, 0.15),
                             gap=(left, 0))  # fmt: skip
    for ax, part in zip(axes, parts, strict=True):
        _panel(ax, part, looks, several, limits)
    return fig, axes


def figure(results: Results) -> Figure | None:
    """How many times as fast ours are; None where there is nothing to hold them against."""
    found = sorted(speedups(results), key=lambda s: -s.ratio)
    if not found:
        return None
    counts = figures.threads_of(s.ours for s in found)
    counts = counts if len(counts) <= 2 else [counts[0], counts[-1]]
    parts = [[s for s in found if s.ours.identity.threads == n] for n in counts]
    several = others(found) == "the fastest rival"
    hollow = "" if all(s.known for s in found) else "; hollow: too few launches for one"
    if max(map(len, parts)) <= NAMED_ROWS:
        looks = {k: v for k, v in style.looks(map(shapes.kind, results.timed)).items()
                 if k in {shapes.kind(s.ours) for s in found}}  # fmt: skip
        fig, axes = _sorted(parts, several, looks, reach(found))
        note = f"left of 1 ours is slower; lines: 95 % intervals{hollow}"
    else:
        looks = {name: Verdict(colour) for name, colour in VERDICTS.items()}
        fig, axes = _distribution(parts, several, span(found))
        note = ("left of 1 ours is slower; below: the middle half of the cells, a line from 5 "
                "to 95 %, and the median")  # fmt: skip
    for ax, threads in zip(axes, counts, strict=False):
        ax.set_title(figures.threads_title(threads), pad=3, fontsize=9)
    for ax in axes[-len(counts) :]:
        ax.set_xlabel(f"times as fast as {others(found)}", fontsize=8)
    style.heading(fig, title(found), note, figures.origin(results))
    style.key(fig, looks)
    return fig

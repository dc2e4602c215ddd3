"""One figure of the fastest kernel of ours against the fastest of other people's, case by case.

A row a case, sorted, a panel a thread count: how many times as long the other takes, with the
95 % interval of that ratio from launches side by side.  Left of 1 the other is faster.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from attntools.base.units import digits
from attntools.compare.comparison import best, ratios, same_rounds
from attntools.plot import figures, shapes, style
from attntools.results.cells import Cell, Results
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

TICKS = (0.2, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100, 200, 500, 1000)
NAMED_ROWS = 45  # rows that can each have their name
ROW = 0.15  # inches of a row with a name
HEIGHT = 5.2  # inches of a panel whose rows have none
NAMED_ENDS = 4  # of those the first and the last are named


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
    found = ratios(
        [(a.launch_medians_s, b.launch_medians_s, same_rounds(a, b)) for a, b, _ in pairs]
    ).tolist()
    return [Speedup(*pair, *ratio) for pair, ratio in zip(pairs, found, strict=True)]


def reach(found: Sequence[Speedup]) -> tuple[float, float]:
    """Limits of the axis: all ratios and intervals, and 1 to 2 whatever they are."""
    lows = [s.lo if s.known else s.ratio for s in found]
    highs = [s.hi if s.known else s.ratio for s in found]
    return min(0.85, 0.93 * min(lows)), max(2.2, 1.08 * max(highs))


def others(found: Sequence[Speedup]) -> str:
    """What ours are held against, in a word or two."""
    kernels = {s.other.identity.kernel for s in found}
    alone = len(kernels) == 1 and all(s.among == 1 for s in found)
    return kernels.pop() if alone else "the fastest rival"


def _name(s: Speedup, several: bool) -> str:
    """A row: the case, and where there are several others the one that was fastest."""
    return f"{s.ours.case} ({s.other.identity.kernel})" if several else s.ours.case


def _ends(ax: Axes, found: Sequence[Speedup], several: bool) -> None:
    """The names of the first and last rows, in the corners that the sorted marks leave empty."""
    n = len(found)
    upper, lower = found[:NAMED_ENDS], found[n - NAMED_ENDS :]
    for i, s in enumerate(upper):
        ax.annotate(f"{digits(s.ratio)} x  {_name(s, several)}", (s.lo if s.known else s.ratio, i),
                    (0.03, 0.97 - 0.032 * i), textcoords="axes fraction", fontsize=6.5, va="center",
                    arrowprops=style.LEADER | {"color": style.FAINT, "relpos": (1, 0.5)},
                    bbox=style.PAPER)  # fmt: skip
    for i, s in enumerate(lower):
        ax.annotate(f"{digits(s.ratio)} x  {_name(s, several)}",
                    (s.hi if s.known else s.ratio, n - len(lower) + i),
                    (0.97, 0.03 + 0.032 * (len(lower) - 1 - i)), textcoords="axes fraction",
                    fontsize=6.5, va="center", ha="right",
                    arrowprops=style.LEADER | {"color": style.FAINT, "relpos": (0, 0.5)},
                    bbox=style.PAPER)  # fmt: skip


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
    ax.axvline(1, color=style.INK, lw=1)
    ax.set_xscale("log")
    lo, hi = reach
    ax.set_xlim(lo, hi)
    ticks = [t for t in TICKS if lo <= t <= hi]
    ax.set_xticks(ticks if len(ticks) < 12 else ticks[::2])
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_ylim(len(found) - 0.2, -0.8)
    ax.grid(visible=False, axis="y")
    if len(found) <= NAMED_ROWS:
        ax.set_yticks(range(len(found)), [_name(s, several) for s in found], fontsize=6.8)
    else:
        ax.set_yticks([])
        _ends(ax, found, several)


def figure(results: Results) -> Figure | None:
    """How many times as fast ours are; None where there is nothing to hold them against."""
    found = sorted(speedups(results), key=lambda s: -s.ratio)
    if not found:
        return None
    counts = figures.threads_of(s.ours for s in found)
    counts = counts if len(counts) <= 2 else [counts[0], counts[-1]]
    parts = [[s for s in found if s.ours.identity.threads == n] for n in counts]
    most, several = max(map(len, parts)), others(found) == "the fastest rival"
    named = most <= NAMED_ROWS
    letters = max(len(_name(s, several)) for s in found) if named else 0
    left = 0.2 + 0.06 * letters
    fig, axes = style.panels(
        1, len(counts), height=max(1.2, ROW * most) if named else HEIGHT,
        sides=(left, 0.15), gap=(left if named else 0.3, 0),
    )  # fmt: skip
    looks = {k: v for k, v in shapes.kind_looks(results).items()
             if k in {shapes.kind(s.ours) for s in found}}  # fmt: skip
    for ax, threads, part in zip(axes, counts, parts, strict=True):
        _panel(ax, part, looks, several, reach(found))
        ax.set_title(figures.threads_title(threads), pad=3, fontsize=9)
        ax.set_xlabel(f"times as fast as {others(found)}", fontsize=8)
    hollow = "" if all(s.known for s in found) else "; hollow: too few launches for one"
    style.heading(
        fig, f"Our fastest kernel against {others(found)}, sorted",
        f"left of 1 ours is slower; lines: 95 % intervals{hollow}", figures.origin(results),
    )  # fmt: skip
    style.key(fig, looks)
    return fig

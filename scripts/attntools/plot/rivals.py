"""One figure of the kernels of ours against everybody else's.

A row a case, a panel a thread count: how many times as long each rival takes as our fastest kernel,
with the 95 % interval of that ratio from launches side by side.  To the left of 1 the rival wins.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from attntools.compare.comparison import (
    Comparison,
    best,
    column_of,
    compare_columns,
    ratios,
    same_rounds,
)
from attntools.plot import figures, style
from attntools.results.cells import OURS, RIVALS, Cell, Results
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

TICKS = (0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10)  # an axis of one decade has room for them
WIDE = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3000, 10000)


@dataclass
class Against:
    """A rival on one case: times as long as the fastest kernel of ours, and its interval."""

    ours: Cell
    rival: Cell
    ratio: float
    lo: float
    hi: float


def against_ours(results: Results) -> list[Against]:
    """Each rival, by its best variant, against the fastest kernel of ours on the same case."""
    groups: dict[object, list[Cell]] = defaultdict(list)
    for cell in results.timed:
        groups[column_of(cell, "group")[0]].append(cell)
    pairs = []
    for cells in groups.values():
        ours = [c for c in cells if c.group == OURS]
        rivals = figures.by((c for c in cells if c.group == RIVALS), lambda c: c.identity.kernel)
        pairs += [(best(ours), best(variants)) for variants in rivals.values() if ours]
    found = ratios(
        [(a.launch_medians_s, b.launch_medians_s, same_rounds(a, b)) for a, b in pairs]
    ).tolist()
    return [Against(*pair, *ratio) for pair, ratio in zip(pairs, found, strict=True)]


def against_the_best(results: Results) -> list[Comparison]:
    """The fastest kernel of ours against the fastest rival, case by case; none without rivals."""
    if not any(cell.group == RIVALS for cell in results.cells.values()):
        return []
    return [c for c in compare_columns(results, "group", RIVALS) if c.cell.group == OURS]


def _panel(
    ax: Axes, found: Sequence[Against], cases: Sequence[str], looks: dict[str, style.Look]
) -> None:
    """One thread count."""
    rows = {case: -i for i, case in enumerate(cases)}
    for a in found:
        look, y = looks[a.rival.identity.kernel], rows[a.ours.case]
        if a.lo <= a.hi:
            ax.plot([a.lo, a.hi], [y, y], color=look.colour, lw=1.2)
        ax.plot(a.ratio, y, look.marker, color=look.colour, ls="", ms=4.5,
                mfc=look.colour if a.lo <= a.hi else "white")  # fmt: skip
    ax.axvline(1, color=style.INK, lw=1)
    ax.set_xscale("log")
    # As far as the ratios go.  An interval of three launches may reach a hundred times as far.
    lo = min(0.9, *(a.ratio / 1.3 for a in found))
    hi = max(2.2, *(a.ratio * 1.3 for a in found))
    ax.set_xlim(lo, hi)
    ax.set_xticks([t for t in (TICKS if hi <= 10 * lo else WIDE) if lo <= t <= hi])
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_ylim(0.6 - len(cases), 0.4)
    ax.set_yticks([rows[case] for case in cases], cases, fontsize=7)


def rivals(results: Results) -> Figure | None:
    """Every rival against ours; None where the file has no rivals."""
    found = against_ours(results)
    if not found:
        return None
    counts = figures.threads_of(a.ours for a in found)
    cases = list(dict.fromkeys(a.ours.case for a in found))
    looks = style.looks(sorted({a.rival.identity.kernel for a in found}))
    fig, axes = style.figure(1, len(counts), height=1.9 + 0.22 * len(cases))
    for ax, threads in zip(axes, counts, strict=True):
        _panel(ax, [a for a in found if a.ours.identity.threads == threads], cases, looks)
        ax.set_title(figures.threads_title(threads))
        ax.set_xlabel("time of a call, ours = 1", fontsize=8)
        if ax is not axes[0]:
            ax.set_yticklabels([])
    for name, look in looks.items():
        axes[0].plot([], [], look.marker, color=look.colour, ls="", label=name)
    style.legend(fig, axes[:1], columns=5)
    style.source(fig, f"bars: 95 % intervals, cut at the frame · {figures.origin(results)}")
    return fig

"""One figure of the kernels of ours against everybody else's.

A row a case, a panel a thread count: how many times as long the fastest rival takes as our fastest
kernel, with the 95 % interval of that ratio from launches side by side; the other rivals are faint.
Left of 1 a rival wins.
"""

import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from attntools.base.units import digits, short
from attntools.compare.comparison import Comparison, best, column_of, compare_columns, ratios_of
from attntools.plot import figures, kernel_looks, shapes, style
from attntools.results.cells import OURS, RIVALS, Cell, Results
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

TICKS = (0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10)  # an axis of one decade has room for them
WIDE = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3000, 10000)

MOST_CASES = 45
FARTHEST = 10  # times as long as ours, up to which faint marks make the axis longer


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
    return [Against(*pair, *ratio) for pair, ratio in zip(pairs, ratios_of(pairs), strict=True)]


def against_the_best(results: Results) -> list[Comparison]:
    """The fastest kernel of ours against the fastest rival, case by case; none without rivals."""
    if not any(cell.group == RIVALS for cell in results.cells.values()):
        return []
    return [c for c in compare_columns(results, "group", RIVALS) if c.cell.group == OURS]


def bests(found: Sequence[Against]) -> dict[tuple[str, int], Against]:
    """The fastest rival of each case and thread count, by its median as in tables."""
    fastest: dict[tuple[str, int], Against] = {}
    for a in sorted(found, key=lambda a: a.rival.median_s):
        fastest.setdefault((a.ours.case, a.ours.identity.threads), a)
    return fastest


def title(best: Sequence[Against]) -> str:
    """How often ours are ahead of the fastest rival, and by how much."""
    faster = sum(1 < a.lo <= a.hi for a in best)
    slower = sum(a.lo <= a.hi < 1 for a in best)
    behind = f"behind in {slower}, " if slower else ""
    return (f"Ours are ahead of the fastest rival in {faster} of {len(best)} cells, {behind}by "
            f"{digits(statistics.median(a.ratio for a in best))} times in the median")  # fmt: skip


def _panel(
    ax: Axes, found: Sequence[Against], cases: Sequence[str], looks: dict[str, style.Look]
) -> None:
    """One thread count."""
    rows = {case: -i for i, case in enumerate(cases)}
    best = bests(found).values()
    rest = [a for a in found if a not in best]
    at = [rows[a.ours.case] for a in rest]
    ax.plot([a.ratio for a in rest], at, "o", color=style.FAINT, ms=3, mew=0, ls="")  # fmt: skip
    for a in best:
        look, y = looks[a.rival.identity.kernel], rows[a.ours.case]
        if a.lo <= a.hi:
            ax.plot([a.lo, a.hi], [y, y], color=look.colour, lw=1.2)
        ax.plot(a.ratio, y, look.marker, color=look.colour, ls="", ms=5,
                mfc=look.colour if a.lo <= a.hi else "white")  # fmt: skip
    ax.axvline(1, color=style.INK, lw=1)
    ax.set_xscale("log")
    # As far as the ratios go.  An interval of three launches may reach a hundred times as far.
    lo = min(0.9, *(a.ratio / 1.3 for a in found))
    hi = max(2.2, *(a.ratio * 1.3 for a in best), min(FARTHEST, max(a.ratio for a in found)))
    ax.set_xlim(lo, hi)
    ax.set_xticks([t for t in (TICKS if hi <= 10 * lo else WIDE) if lo <= t <= hi])
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: short(x)))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_ylim(0.6 - len(cases), 0.4)
    ax.set_yticks([rows[case] for case in cases], cases, fontsize=7)


def rivals(results: Results) -> Figure | None:
    """Ours against the fastest rival of each case, the others faint; None without rivals."""
    found = against_ours(results)
    if not found:
        return None
    counts = figures.threads_of(a.ours for a in found)
    known = list(dict.fromkeys(a.ours.case for a in found))
    cases = shapes.thinned(known, MOST_CASES)
    best = bests(found)
    names = Counter(a.rival.identity.kernel for a in best.values() if a.ours.case in cases)
    looks = kernel_looks.looks([name for name, _ in names.most_common()])
    fig, axes = style.figure(1, len(counts), height=0.5 + 0.2 * len(cases))
    for ax, threads in zip(axes, counts, strict=True):
        here = [a for a in found if a.ours.identity.threads == threads and a.ours.case in cases]
        _panel(ax, here, cases, looks)
        ax.set_title(figures.threads_title(threads))
        ax.set_xlabel("time of a call, ours = 1", fontsize=8)
        if ax is not axes[0]:
            ax.set_yticklabels([])
    for name, look in looks.items():
        axes[0].plot([], [], look.marker, color=look.colour, ls="", label=name)
    style.legend(fig, axes[:1], columns=5)
    part = (
        "" if len(cases) == len(known) else f" {len(cases)} of {len(known)} cases, evenly chosen."
    )
    style.heading(
        fig, title(list(best.values())), "Marks: the fastest rival of a case, with its 95 % "
        "interval, cut at the frame; grey: the other rivals. Left of 1 the rival is faster."
        f"{part}",
        figures.origin(results),
    )  # fmt: skip
    return fig

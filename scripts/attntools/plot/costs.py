"""One figure of what options cost: each case beside the plain one of its size.

The plain case of a case is the one whose name is the beginning of its own, up to a hyphen, the
shortest where there are several: `mask-f32-s2048-d64` of `mask-f32-s2048-d64-bias-keys`.  A point
is a kernel's useful GFLOP/s as a share of what the same kernel reaches on the plain case with the
same number of threads.  Launches of different cases are not side by side, so that the interval, of
two independent samples, also holds what the machine did between them.
"""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from attntools.compare.comparison import ratios
from attntools.plot import figures, kernel_looks, shapes, style
from attntools.results.cells import Cell, Results
from matplotlib.axes import Axes
from matplotlib.figure import Figure

MOST_CASES = 45


@dataclass
class Cost:
    """A cell, its plain case, and the share of its rate with a 95 % interval."""

    cell: Cell
    plain: str
    share: float
    lo: float
    hi: float


def plain_case(case: str, cases: Iterable[str]) -> str | None:
    """The shortest other name that is the beginning of this one; None where there is none."""
    return min((c for c in cases if case.startswith(c + "-")), key=len, default=None)


def costs(results: Results) -> list[Cost]:
    """Each cell whose kernel was timed on its plain case too, in the order of the file."""
    cells = {(c.case, c.identity.series, c.identity.threads): c for c in results.timed}
    names = list(dict.fromkeys(c.case for c in results.timed))
    plains = {name: plain_case(name, names) for name in names}
    pairs = [
        (cell, cells[plain, series, threads])
        for (case, series, threads), cell in cells.items()
        if (plain := plains[case]) and (plain, series, threads) in cells
    ]
    found = ratios([(a.launch_medians_s, b.launch_medians_s, False) for a, b in pairs]).tolist()
    out = []
    for (cell, plain), (ratio, lo, hi) in zip(pairs, found, strict=True):
        # the plain case's time over this one's, times work over work, is rate over rate
        work = (cell.number("gflops") * cell.median_s) / (plain.number("gflops") * plain.median_s)
        out.append(Cost(cell, plain.case, ratio * work, lo * work, hi * work))
    return out


def _panel(
    ax: Axes, found: Sequence[Cost], rows: dict[str, int], looks: dict[str, style.Look]
) -> None:
    """One thread count."""
    names = list(looks)
    for cost in found:
        kernel = cost.cell.identity.kernel
        look = looks[kernel]
        y = rows[cost.cell.case] + 0.5 - (names.index(kernel) + 1) / (len(names) + 1)
        if cost.lo <= cost.hi:
            ax.plot([100 * cost.lo, 100 * cost.hi], [y, y], color=look.colour, lw=1.2)
        ax.plot(100 * cost.share, y, look.marker, color=look.colour, ls="", ms=4)
    ax.axvline(100, color=style.INK, lw=1)
    ax.set_xlim(left=0)
    ax.set_ylim(0.5 - len(rows), 0.5)
    ax.set_yticks(list(rows.values()), list(rows), fontsize=7)
    ax.set_xlabel("% of the plain case's GFLOP/s", fontsize=8)


def title(found: Sequence[Cost]) -> str:
    """What the kernel with most options keeps in the median, and with the costliest one."""
    by_kernel = figures.by(found, lambda c: c.cell.identity.kernel)
    kernel, rows = max(by_kernel.items(), key=lambda item: len(item[1]))
    least = min(rows, key=lambda c: c.share)
    middle = statistics.median(c.share for c in rows)
    option = least.cell.case.removeprefix(f"{least.plain}-")
    return (f"{kernel} keeps {100 * middle:.0f} % of the plain case's rate with the median option, "
            f"{100 * least.share:.0f} % with {option}")  # fmt: skip


def figure(results: Results) -> Figure | None:
    """What every option costs; None where no case has a plain one."""
    found = costs(results)
    if not found:
        return None
    counts = figures.threads_of(c.cell for c in found)
    known = list(dict.fromkeys(c.cell.case for c in found))
    rows = {case: -i for i, case in enumerate(shapes.thinned(known, MOST_CASES))}
    looks = kernel_looks.looks(dict.fromkeys(c.cell.identity.kernel for c in found))
    fig, axes = style.figure(1, len(counts), height=0.6 + 0.22 * len(rows))
    for ax, threads in zip(axes, counts, strict=True):
        here = [c for c in found if c.cell.identity.threads == threads and c.cell.case in rows]
        _panel(ax, here, rows, looks)
        ax.set_title(figures.threads_title(threads))
        if ax is not axes[0]:
            ax.set_yticklabels([])
    for name, look in looks.items():
        axes[0].plot([], [], look.marker, color=look.colour, ls="", label=name)
    style.legend(fig, axes[:1], columns=5)
    part = f" {len(rows)} of {len(known)} cases, evenly chosen." if len(rows) < len(known) else ""
    style.heading(fig, title(found), "Useful GFLOP/s of each option, the plain case of its size "
                  f"= 100 %; lines: 95 % intervals.{part}", figures.origin(results))  # fmt: skip
    return fig

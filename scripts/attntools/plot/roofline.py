"""The roofline (Williams et al. 2009): every cell under the ceilings that were measured beside it.

Named below the points: of each kind of case the one whose fastest kernel is farthest from the roof,
or the cases that were asked for.
"""

import math
import statistics
from collections.abc import Collection, Sequence

import numpy as np
from attntools.plot import figures, kernel_looks, roof, shapes, style
from attntools.results.cells import Cell, Results
from matplotlib.axes import Axes
from matplotlib.figure import Figure

HEIGHT = 3.9  # inches of a panel
NAME = 0.034  # height of a name, as a share of the axes'
LETTER = 0.054  # inches of one of its letters
MOST_NAMES = 12  # of a panel


def intensity(cell: Cell) -> float:
    """Useful flops per compulsory byte."""
    bytes_per_s = cell.number("gbytes_per_s")
    return cell.number("gflops") / bytes_per_s if bytes_per_s else math.nan


def _fma(cells: Sequence[Cell]) -> float:
    """The multiply-add rate of an instruction set in GFLOP/s, 0 where none was measured.

    Its kernels may compute in types of different rates (bf16, or widened to f32): the fastest is
    the set's.
    """
    measured = [
        [f for c in group if (f := c.number("ceiling.fma_gflops")) > 0]
        for group in figures.by(cells, lambda c: c.identity.kernel).values()
    ]
    return max((statistics.median(found) for found in measured if found), default=0)


def _ceilings(cells: Sequence[Cell]) -> tuple[dict[str, float], list[float]]:
    """The multiply-add rate of each instruction set, and the read bandwidths, of some cells."""
    by_isa = figures.by(cells, lambda c: c.identity.isa)
    rates = {str(isa): _fma(group) for isa, group in by_isa.items()}
    reads = [r for c in cells if (r := c.number("ceiling.read_gbytes_per_s")) > 0]
    return {isa: rate for isa, rate in rates.items() if rate}, reads


def named(cells: Sequence[Cell], cases: Collection[str] = ()) -> list[tuple[str, Cell]]:
    """The points of a panel that are named, and their names.

    Args:
        cells: with a place in the roofline.
        cases: texts; where there are any, the fastest cell of each case that has one in its name.
    """
    fastest = [min(group, key=lambda c: c.median_s) for group in shapes.groups(cells)]
    if cases:
        chosen = [c for c in fastest if any(text in c.case for text in cases)]
    else:
        kinds = figures.by(fastest, shapes.kind).values()
        chosen = [min(group, key=shapes.share) for group in kinds]
    shown = sorted(chosen, key=intensity)[:MOST_NAMES]
    return [(f"{c.case}, {c.identity.kernel} {shapes.share(c):.0f} %", c) for c in shown]


def _names(ax: Axes, found: Sequence[tuple[str, Cell]]) -> None:
    """A name a line below all points, behind it a thin line up to its own.

    From the left down to the right: a name that ends at its line meets no other line.
    """
    mixed = ax.get_xaxis_transform()  # x as the data, y as a share of the axes
    width = ax.get_position().width * ax.figure.get_figwidth()
    for i, (text, cell) in enumerate(found):
        x, y = intensity(cell), cell.number("gflops")
        place = ax.transAxes.inverted().transform(ax.transData.transform((x, y)))
        at = NAME * (len(found) - i - 0.4)
        side = "right" if place[0] * width > min(LETTER * len(text), width / 2) else "left"
        ax.plot([x, x], [at, place[1]], transform=mixed, color=style.GREY, lw=0.6, zorder=1)
        ax.text(x, at, text, transform=mixed, fontsize=6.5, va="center", ha=side,
                bbox=style.PAPER, zorder=4)  # fmt: skip


def _panel(
    ax: Axes, cells: Sequence[Cell], span: tuple[float, float], looks: dict[str, style.Look],
    labels: dict[str, str],
) -> None:  # fmt: skip
    """One thread count."""
    ax.set_xlim(*span)
    ceilings, reads = _ceilings(cells)
    if ceilings and reads:
        roof.draw(ax, ceilings, reads, np.geomspace(*span, 200))
    for name, look in looks.items():
        group = [c for c in cells if labels[c.identity.series] == name]
        if group:
            ax.plot([intensity(c) for c in group], [c.number("gflops") for c in group],
                    look.marker, color=look.colour, label=name, mec="white", mew=0.4,
                    ms=4.5, alpha=0.85)  # fmt: skip


def title(cells: Sequence[Cell]) -> str:
    """How near fastest kernels come to the roof, and which case stays farthest."""
    fastest = [min(group, key=lambda c: c.median_s) for group in shapes.groups(cells)]
    known = [c for c in fastest if shapes.share(c) > 0]
    if not known:
        return "Roofline: no ceiling was measured"
    farthest = min(known, key=shapes.share)
    middle = statistics.median(map(shapes.share, known))
    text = f"Roofline: the fastest kernel reaches {middle:.0f} % of the roof"
    if len(known) == 1:
        return text
    return f"{text} in the median; {farthest.case} only {shapes.share(farthest):.0f} %"


def figure(results: Results, cases: Collection[str] = ()) -> Figure | None:
    """Cells by flops per byte and rate, a panel a thread count; None where none has a place.

    Args:
        results: the file.
        cases: texts of the names of cases to name; without any one of each kind is.
    """
    cells = [c for c in results.timed if intensity(c) > 0]
    if not cells:
        return None
    counts = figures.threads_of(cells)
    counts = counts if len(counts) <= 2 else [counts[0], counts[-1]]
    labels, looks = shapes.names(results.timed), kernel_looks.by_wins(results)
    flops = [intensity(c) for c in cells]
    ridges = [f / r for c in cells if (r := c.number("ceiling.read_gbytes_per_s")) > 0
              and (f := c.number("ceiling.fma_gflops")) > 0]  # fmt: skip
    # From left of the ridges, so that the slopes are seen whatever the cells are bound by.
    span = min([*flops, *(r / 2 for r in ridges)]) / 2, max(flops) * 2
    parts = [[c for c in cells if c.identity.threads == n] for n in counts]
    names = [named(part, cases) for part in parts]
    rates = [c.number("gflops") for c in cells]
    of_sets, _ = _ceilings(cells)
    below = NAME * (1 + max(map(len, names)))
    low, high = roof.room(min(rates), max([*rates, *of_sets.values()]), len(of_sets), below)
    fig, axes = style.panels(1, len(counts), height=HEIGHT, gap=(0.45, 0), sides=(0.7, 0.15))
    for ax, threads, part, found in zip(axes, counts, parts, names, strict=True):
        _panel(ax, part, span, looks, labels)
        ax.set_ylim(low, high)
        figures.plain_log(ax, "x")
        figures.plain_log(ax, "y")
        _names(ax, found)
        ax.set_title(figures.threads_title(threads), fontsize=9, pad=3)
        ax.set_xlabel("useful flops per compulsory byte", fontsize=8)
        ax.tick_params(labelsize=7.5)
    axes[0].set_ylabel("useful GFLOP/s", fontsize=8)
    note = "cases asked for" if cases else "of each kind the case that is farthest from the roof"
    style.heading(
        fig, title(cells), f"named: {note}, with its fastest kernel and share of the roof\n"
        "slopes: the highest and the lowest bandwidth at which memory was read beside the cells",
        figures.origin(results),
    )  # fmt: skip
    style.key(fig, looks)
    return fig

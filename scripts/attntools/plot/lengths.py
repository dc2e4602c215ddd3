"""Two figures over the length, as small multiples: time over S, and decode over the keys.

Cases that differ in their length only share a panel, with a line a kernel; drawn are the largest
thread count and the families with the most lengths.
"""

import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from attntools.base.units import length as binary
from attntools.base.units import short
from attntools.plot import figures, kernel_looks, overview, shapes, style
from attntools.plot.labels import end_labels
from attntools.results.cells import Cell, Results, problem_fields
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

LEAST_LENGTHS = 3
MOST_PANELS = 12
COLUMNS = 4
DIRECT = 4  # lines of a panel that can have their names beside them
LENGTH = re.compile(r"(s|sq|skv)=?\d+")  # the words of a shape that say its length


@dataclass(frozen=True)
class Figures:
    """What one of the two shows."""

    title: str
    note: str
    across: str
    up: str
    holds: Callable[[dict[str, str]], bool]
    value: Callable[[Cell], float]
    falls: bool  # whether the value falls as the time rises
    linear: float  # largest value over the least up to which the axis begins at 0
    ceiling: str = ""  # of a row, drawn as a line


def per_pair_ns(cell: Cell) -> float:
    """Nanoseconds for each query and key that see each other, from the rate of useful flops."""
    fields = problem_fields(cell.problem)
    flops = 2 * (int(fields["d"]) + int(fields["dv"]))
    rate = cell.number("gflops")
    return flops / rate if rate > 0 else float("nan")


TIMES = Figures(
    "Time over S", "time of a call over the pairs that the mask leaves, so "
    "that a kernel of quadratic cost is a flat line; lines: 95 % intervals",
    "S, queries and keys", "ns a pair",
    lambda problem: problem.get("sq") == problem.get("skv"), per_pair_ns, False, 8,
)  # fmt: skip
DECODE = Figures(
    "Decode over the keys", "K and V read once, over the time of a "
    "call; black: bandwidth measured beside it; lines: 95 % intervals",
    "keys of one query", "GB/s",
    lambda problem: problem.get("sq") == "1" != problem.get("skv"),
    lambda cell: cell.number("gbytes_per_s"), True, 0, "ceiling.read_gbytes_per_s",
)  # fmt: skip


def length(cell: Cell) -> int:
    """Keys."""
    return int(problem_fields(cell.problem)["skv"])


def family(cell: Cell) -> str:
    """A case without its length."""
    words = [w for w in shapes.shape(cell).split() if not LENGTH.fullmatch(w)]
    return " ".join([f"{shapes.kind(cell)}, {shapes.dtype(cell)},", *words]).rstrip(",")


def families(results: Results, what: Figures) -> dict[str, list[Cell]]:
    """The cells of each panel, in the order of the file."""
    cells = [
        c for c in results.timed if what.holds(problem_fields(c.problem)) and what.value(c) > 0
    ]
    if not cells:
        return {}
    threads = shapes.most_threads(cells)
    found: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        if cell.identity.threads == threads:
            found[family(cell)].append(cell)
    lengths = {name: len({length(c) for c in group}) for name, group in found.items()}
    most = sorted(found, key=lambda name: -lengths[name])[:MOST_PANELS]
    return {n: g for n, g in found.items() if n in most and lengths[n] >= LEAST_LENGTHS}


def _line(
    ax: Axes, cells: Sequence[Cell], what: Figures, look: style.Look, name: str
) -> tuple[float, float]:
    """One kernel; returns its last point."""
    cells = sorted(cells, key=length)
    at, values = [length(c) for c in cells], [what.value(c) for c in cells]
    spans: list[tuple[float, float] | None] = []
    for cell, value in zip(cells, values, strict=True):
        ends = [t / cell.median_s for t in cell.interval_s or ()]
        if what.falls:
            ends = [1 / e for e in reversed(ends)]
        spans.append((value * ends[0], value * ends[1]) if ends else None)
    style.interval(ax, spans, at, look.colour, across=False)
    ax.plot(at, values, lw=1.2, ms=3.6, label=name, **look.drawn)
    return at[-1], values[-1]


def _panel(
    ax: Axes, cells: Sequence[Cell], what: Figures, looks: dict[str, style.Look],
    labels: dict[str, str],
) -> None:  # fmt: skip
    """One family."""
    by_name = figures.by(cells, lambda c: labels[c.identity.series])
    ends = {str(name): _line(ax, group, what, looks[str(name)], str(name))
            for name, group in by_name.items()}  # fmt: skip
    at = sorted({length(c) for c in cells})
    if what.ceiling:
        ax.plot(at, [_ceiling(cells, n, what.ceiling) for n in at], color=style.INK, lw=0.9)
    direct = len(ends) <= DIRECT
    ax.set_xscale("log", base=2)
    ax.set_xlim(at[0] / 1.3, at[-1] * (1.3 if not direct else (at[-1] / at[0]) ** 0.42))
    ticks = [t for t in overview.ticks(at) if at[0] <= t <= at[-1]]
    ax.set_xticks(ticks[:: max(1, -(-len(ticks) // 4))])
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: binary(x)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.tick_params(labelsize=7)
    lo, hi = ax.get_ylim()
    if hi < what.linear * lo:
        ax.set_ylim(0, None)
        ax.locator_params(axis="y", nbins=5)
    else:
        _plain_decades(ax)
    if direct:
        end_labels(ax, ends, looks)


def _ceiling(cells: Sequence[Cell], at: int, field: str) -> float:
    """The median of what was measured beside the cells of a length; NaN without any."""
    known = [x for c in cells if length(c) == at and (x := c.number(field)) > 0]
    return statistics.median(known) if known else float("nan")


def _plain_decades(ax: Axes) -> None:
    """A logarithmic axis with numbers, the more a decade the fewer there are."""
    ax.set_yscale("log")
    lo, hi = ax.get_ylim()
    steps = (1,) if hi / lo > 300 else (1, 2, 5) if hi / lo > 10 else (1, 2, 3, 5, 7)
    decades = range(int(np.floor(np.log10(lo))), int(np.ceil(np.log10(hi))) + 1)
    ticks = [s * 10.0**e for e in decades for s in steps]
    ax.set_yticks([t for t in ticks if lo <= t <= hi])
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: short(y)))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_minor_locator(NullLocator())


def _figure(results: Results, what: Figures) -> Figure | None:
    found = families(results, what)
    if not found:
        return None
    labels, looks = shapes.names(results.timed), kernel_looks.by_wins(results)
    columns = min(COLUMNS, len(found))
    rows = -(-len(found) // columns)
    fig, axes = style.panels(rows, columns, height=1.55 if rows > 1 else 2.4, gap=(0.42, 0.5))
    for ax in axes[len(found) :]:
        ax.set_visible(False)
    for number, (ax, (name, cells)) in enumerate(zip(axes, found.items(), strict=False)):
        _panel(ax, cells, what, looks, labels)
        ax.set_title(name, fontsize=7.8, pad=3)
        if number + columns >= len(found):
            ax.set_xlabel(what.across, fontsize=7.5)
        if number % columns == 0:
            ax.set_ylabel(what.up, fontsize=7.5)
    threads = next(iter(found.values()))[0].identity.threads
    used = {labels[c.identity.series] for group in found.values() for c in group}
    drawn = [c for cells in found.values() for c in cells]
    title = f"{what.title}: {leader(drawn, labels)}, on {figures.threads_title(threads)}"
    style.heading(fig, title, what.note, figures.origin(results))
    style.key(fig, {n: v for n, v in looks.items() if n in used}, lines=True)
    return fig


def leader(cells: Sequence[Cell], labels: dict[str, str]) -> str:
    """The kernel that is fastest most often."""
    groups = shapes.groups(cells)
    wins = Counter(labels[min(g, key=lambda c: c.median_s).identity.series] for g in groups)
    name, count = wins.most_common(1)[0]
    return f"{name} is fastest in {count} of {len(groups)} cases"


def times(results: Results) -> Figure | None:
    """Time over S; None without three lengths of anything."""
    return _figure(results, TIMES)


def decode(results: Results) -> Figure | None:
    """Decode over the keys; None without three lengths of anything."""
    return _figure(results, DECODE)

"""One figure of accuracy against speed: what a kernel gives up for its time, by data type."""

import statistics
from collections import defaultdict

from attntools.base.units import digits
from attntools.plot import figures, kernel_looks, shapes, style
from attntools.plot.labels import beside
from attntools.results.cells import Results
from matplotlib.axes import Axes
from matplotlib.figure import Figure

DIRECT = 4  # kernels that can have their names beside them
MOST_LETTERS = 20  # of such a name; the legend has the longer ones

Point = tuple[float, float]


def points(results: Results) -> dict[str, dict[str, list[Point]]]:
    """Times as long as the fastest on the same case, and error over bound, by type and kernel."""
    labels = shapes.names(results.timed)
    found: dict[str, dict[str, list[Point]]] = defaultdict(lambda: defaultdict(list))
    for group in shapes.groups(results.timed):
        fastest = min(c.median_s for c in group)
        for cell in group:
            error = cell.number("check.error_over_bound")
            if error > 0:
                of_type = found[shapes.dtype(cell)][labels[cell.identity.series]]
                of_type.append((cell.median_s / fastest, error))
    return found


def _panel(ax: Axes, found: dict[str, list[Point]], looks: dict[str, style.Look]) -> None:
    """One type: every cell, faint, and each kernel's median with its name."""
    middles: list[tuple[str, float, float]] = []
    for name, look in looks.items():
        if name not in found:
            continue
        x, y = zip(*found[name], strict=True)
        ax.scatter(x, y, s=9, marker=look.marker, color=look.colour, alpha=0.35, lw=0)
        middles.append((name, statistics.median(x), statistics.median(y)))
    ax.axhline(1, color=style.INK, lw=0.9)
    ax.set_xscale("log")
    ax.set_yscale("log")
    lo, hi = ax.get_xlim()
    ax.set_xlim(lo, hi * (hi / lo) ** 0.12)
    figures.plain_log(ax, "x")
    lo, hi = ax.get_ylim()
    ax.set_ylim(min(lo, 0.1), max(hi, 2))
    figures.plain_log(ax, "y")
    for name, x, y in middles:
        look = looks[name]
        ax.plot(x, y, look.marker, color=look.colour, ms=8, mec="white", mew=1, zorder=4)
    if len(middles) <= DIRECT and max(len(name) for name, *_ in middles) <= MOST_LETTERS:
        beside(ax, middles, looks)


def title(found: dict[str, dict[str, list[Point]]]) -> str:
    """The largest error over its bound, and whose it is."""
    errors = {name: max(e for of_type in found.values() for _, e in of_type.get(name, [(0, 0)]))
              for kernels in found.values() for name in kernels}  # fmt: skip
    worst = max(errors, key=errors.__getitem__)
    text = f"errors of {worst}" if len(errors) > 1 else f"{worst}'s errors"
    return (
        f"Accuracy against speed: the largest {text} reach {digits(errors[worst])} of their bound"
    )


def figure(results: Results) -> Figure | None:
    """Error against time; None where no cell has an error."""
    found = points(results)
    if not found:
        return None
    used = {name for kernels in found.values() for name in kernels}
    looks = {n: v for n, v in kernel_looks.by_wins(results).items() if n in used}
    fig, axes = style.panels(1, len(found), height=3.0, gap=(0.5, 0))
    for ax, (dtype, kernels) in zip(axes, found.items(), strict=True):
        _panel(ax, kernels, looks)
        ax.set_title(dtype, fontsize=9, pad=3)
        ax.set_xlabel("time, the fastest kernel of the case = 1", fontsize=8)
        ax.tick_params(labelsize=7.5)
    axes[0].set_ylabel("largest error over its bound", fontsize=8)
    style.heading(
        fig, title(found), "small marks: one cell each; large: a kernel's median; "
        "black: the bound, above which a kernel fails; left and low is better",
        figures.origin(results),
    )  # fmt: skip
    style.key(fig, looks)
    return fig

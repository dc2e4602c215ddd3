"""One figure of what more threads give: times as fast as one thread, by kind of case and kernel."""

import math
from collections import defaultdict

import numpy as np
from attntools.plot import figures, kernel_looks, shapes, style
from attntools.results.cells import Cell, Results
from matplotlib.axes import Axes
from matplotlib.figure import Figure

MOST_COLUMNS = 5
ROW = 0.2  # inches of a kernel on a number of threads
LEAST_HEIGHT = 0.8
FARTHEST = (
    1.5  # times the most threads, where the axis ends: one case beyond would squeeze all others
)

Key = tuple[str, int]  # a kernel and a thread count


def speedups(results: Results) -> dict[str, dict[Key, list[float]]]:
    """One thread's time over that of more, by kind, and by kernel and thread count."""
    labels = shapes.names(results.timed)
    one: dict[tuple[str, str], Cell] = {
        (c.case, c.identity.series): c for c in results.timed if c.identity.threads == 1
    }
    found: dict[str, dict[Key, list[float]]] = defaultdict(lambda: defaultdict(list))
    for cell in results.timed:
        alone = one.get((cell.case, cell.identity.series))
        if alone and cell.identity.threads > 1:
            key = labels[cell.identity.series], cell.identity.threads
            found[shapes.kind(cell)][key].append(alone.median_s / cell.median_s)
    return found


def _panel(
    ax: Axes,
    found: dict[Key, list[float]],
    rows: list[Key],
    looks: dict[str, style.Look],
    end: float,
) -> None:
    """One kind: a row a kernel and thread count, with every case and their median.

    Cases beyond the end stand there as an arrow; the median's number is that of all.
    """
    for y, (name, threads) in enumerate(rows):
        ax.plot([threads] * 2, [y - 0.5, y + 0.5], color=style.INK, lw=0.9, zorder=1)
        values = found.get((name, threads))
        if not values:
            continue
        look, middle = looks[name], float(np.median(values))
        near = [v for v in values if v <= end]
        ax.plot(near, [y] * len(near), look.marker, color=look.colour, ms=3.4, alpha=0.4,
                mew=0, ls="")  # fmt: skip
        if len(near) < len(values):
            ax.plot([end], [y], ">", color=look.colour, ms=5, mew=0)
        if middle <= end:
            ax.plot([middle] * 2, [y - 0.36, y + 0.36], color=look.colour, lw=2.2)
        ax.text(0.99, y, f"{middle:.2f}", fontsize=7, ha="right", va="center", color=look.colour,
                transform=ax.get_yaxis_transform(), bbox=style.PAPER)  # fmt: skip
    ax.set_yticks(range(len(rows)), [])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
    ax.tick_params(labelsize=7)
    ax.tick_params(axis="y", length=0)


def title(found: dict[str, dict[Key, list[float]]], names: list[str], on: str) -> str:
    """The median speed-up of the first three kernels, each on its most threads."""
    said = []
    for name in names[:3]:
        most = max(threads for of_kind in found.values() for n, threads in of_kind if n == name)
        values = [v for of_kind in found.values() for v in of_kind.get((name, most), [])]
        said.append(f"{name} {np.median(values):.2f}")
    return f"{on[0].upper()}{on[1:]} make {', '.join(said)} times as fast in the median case"


def figure(results: Results) -> Figure | None:
    """Speed-up over one thread; None where only one thread count was measured."""
    found = speedups(results)
    if not found:
        return None
    used = {key for of_kind in found.values() for key in of_kind}
    looks = {
        n: v for n, v in kernel_looks.by_wins(results).items() if n in {name for name, _ in used}
    }
    rows = sorted(used, key=lambda key: (list(looks).index(key[0]), key[1]))
    counts = {threads for _, threads in rows}
    labels = [name if len(counts) == 1 else f"{name}, {threads}" for name, threads in rows]
    lines = math.ceil(len(found) / MOST_COLUMNS)
    columns = math.ceil(len(found) / lines)
    left = 0.25 + 0.065 * max(map(len, labels))
    fig, axes = style.panels(
        lines, columns, height=max(LEAST_HEIGHT, ROW * len(rows)),
        gap=(0.25, 0.55), sides=(left, 0.15),
    )  # fmt: skip
    values = [v for of_kind in found.values() for vs in of_kind.values() for v in vs]
    end = min(max(*values, *counts), FARTHEST * max(counts))
    beyond = sum(v > end for v in values)
    for ax in axes[len(found) :]:
        ax.set_visible(False)
    for number, (ax, (kind, of_kind)) in enumerate(zip(axes, found.items(), strict=False)):
        _panel(ax, of_kind, rows, looks, end)
        ax.set_title(kind, fontsize=8.5, pad=3)
        ax.set_xlim(0, 1.25 * end)
        if number % columns == 0:
            ax.set_yticklabels(labels, fontsize=7.5)
        if number + columns >= len(found):
            ax.set_xlabel("speed-up over one", fontsize=7.5)
    on = figures.threads_title(counts.pop()) if len(counts) == 1 else "more threads"
    style.heading(
        fig, title(found, list(looks), on), "a mark a case, a bar and a number their median; "
        "black: as many times as fast as there are threads"
        + (f"; arrow: {beyond} farther right, up to {max(values):.1f}" if beyond else ""),
        figures.origin(results),
    )  # fmt: skip
    return fig

"""The figure of the experiment layouts: where the time of each layout of a kernel lies."""

import re

import numpy as np
from attntools.experiments.experiment_rows import Row, rows_of, series
from attntools.plot import style
from attntools.plot.figures import origin
from attntools.results.cells import Results
from matplotlib.figure import Figure

# KERNEL_FACTOR_NUMBER, as harness/experiments/layouts/layouts.h has it.
NAME = re.compile(r"(\w+)_(again|stack|environment|code)_(\d+)$")
FACTORS = {
    "again": "nothing",
    "stack": "stack",
    "environment": "environment",
    "code": "code",
}


def _factor(row: Row) -> str:
    """What is moved in a row's layout."""
    match = NAME.match(row["params"]["kernel"])
    return match[2] if match else ""


def places(rows: list[Row]) -> np.ndarray:
    """Percent by which each of the layouts of a factor takes longer than their median.

    As the program's report has it: each round's times relative to their median, of each layout the
    median over rounds.
    """
    rounds = min(len(row["values"]["launch_medians_s"]) for row in rows)
    logs = np.log([row["values"]["launch_medians_s"][:rounds] for row in rows])
    return 100 * np.expm1(np.median(logs - np.median(logs, axis=0), axis=1))


def layouts(results: Results) -> Figure | None:
    """A point a layout, a line what is moved, a panel a kernel."""
    rows = [r for r in rows_of(results, "layouts") if r["values"]["launch_medians_s"]]
    if not rows:
        return None
    kernels = series(rows, "of")
    fig, axes = style.figure(1, len(kernels), height=2.2)
    for ax, (kernel, group) in zip(axes, kernels.items(), strict=True):
        for y, factor in enumerate(FACTORS):
            moved = [row for row in group if _factor(row) == factor]
            if moved:
                at = places(moved)
                ax.plot(at, np.full(len(at), -y), "o", color=style.COLOURS[y], ms=4, alpha=0.8)
        ax.axvline(0, color=style.INK, lw=1)
        ax.set_ylim(0.5 - len(FACTORS), 0.5)
        ax.set_yticks([-y for y in range(len(FACTORS))], FACTORS.values())
        ax.set_title(f"{kernel}/{group[0]['params']['isa']}")
        ax.set_xlabel("time over the median one, %", fontsize=8)
        if ax is not axes[0]:
            ax.set_yticklabels([])
    axes[0].set_ylabel("moved")
    addresses = rows[0]["params"]["addresses"]
    style.source(fig, f"addresses of each launch {addresses} · {origin(results)}")
    return fig

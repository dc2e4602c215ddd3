"""One figure of how far the session can be trusted: what its twins differed by, and its flags."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from attntools.base.units import digits, short
from attntools.plot import figures, style
from attntools.results.cells import Results
from matplotlib.axes import Axes
from matplotlib.figure import Figure

SAME, SHOWN, WIDTH = "twins differ by", "a difference is seen from", "half an interval"
NO_INTERVAL = "no-interval"  # the flag of a cell with few launches, which nothing disturbed
LEAST = 0.02  # percent: smaller differences are drawn there


def differences(results: Results) -> dict[str, list[float]]:
    """In percent, sorted: between twins, what would have shown, and half-widths of intervals."""
    twins = [abs(line["ratio"] - 1) for line in results.noise if line.get("ratio")]
    shown = [line["detectable"] for line in results.noise if line.get("detectable")]
    widths = [
        (c.interval_s[1] - c.interval_s[0]) / 2 / c.median_s for c in results.timed if c.interval_s
    ]
    found = {SAME: twins, WIDTH: widths, SHOWN: shown}
    return {name: sorted(100 * v for v in values) for name, values in found.items() if values}


def _curves(ax: Axes, found: dict[str, list[float]]) -> None:
    """Cumulative shares, each with its median."""
    looks = style.looks(found)
    for name, values in found.items():
        look = looks[name]
        x = np.maximum(values, LEAST)
        share = 100 * np.arange(1, len(x) + 1) / len(x)
        ax.step([x[0], *x], [0, *share], where="post", color=look.colour, ls=look.line, lw=1.6)
    ax.set_xscale("log")
    figures.plain_log(ax, "x", lambda v: f"{short(v)} %")
    ax.set_ylim(0, 100)
    ax.set_yticks([0, 25, 50, 75, 100], ["0", "25", "50", "75", "100 %"])
    ax.axhline(50, color=style.FAINT, lw=0.8)
    for name, values in found.items():
        look = looks[name]
        ax.plot(max(float(np.median(values)), LEAST), 50, look.marker, color=look.colour, ms=7,
                mec="white", zorder=4)  # fmt: skip
    ax.set_xlabel("difference", fontsize=8)
    ax.set_ylabel("share of the cases or cells", fontsize=8)
    ax.tick_params(labelsize=7.5)


def _flags(ax: Axes, counts: Sequence[tuple[str, int]], cells: int) -> None:
    """Cells by flag."""
    at = range(len(counts))
    ax.barh(at, [100 * n / cells for _, n in counts], 0.6, color=style.NEUTRAL[0])
    for y, (_, n) in zip(at, counts, strict=True):
        ax.annotate(str(n), (100 * n / cells, y), (3, 0), textcoords="offset points", fontsize=7.5,
                    va="center")  # fmt: skip
    ax.set_yticks(at, [word for word, _ in counts], fontsize=7.5)
    ax.set_ylim(max(len(counts), 4) - 0.4, -0.6)
    ax.set_xlim(0, max(10.0, 115 * max((n for _, n in counts), default=0) / cells))
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:g} %")
    ax.tick_params(labelsize=7.5)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel(f"share of the {cells} cells with a time", fontsize=8)


def title(found: dict[str, list[float]]) -> str:
    """The median difference that would have shown; without twins half the width of intervals.

    By how much twins differ is no such limit: two equal kernels may differ by little by chance.
    """
    name = next((n for n in (SHOWN, WIDTH) if n in found), None)
    if name is None:
        return "Noise: too few launches to say which differences to believe"
    return f"Noise: believe no difference below {digits(float(np.median(found[name])))} %"


def figure(results: Results) -> Figure | None:
    """What difference would show; None where the file says nothing of it."""
    found = differences(results)
    if not found:
        return None
    disturbed = Counter(flag for c in results.timed for flag in c.flags if flag != NO_INTERVAL)
    counts = disturbed.most_common()
    fig, axes = style.panels(1, 2, height=2.7, gap=(1.35, 0), sides=(0.75, 0.15))
    _curves(axes[0], found)
    _flags(axes[1], counts, len(results.timed))
    axes[0].set_title("What difference would show", fontsize=9, pad=3)
    axes[1].set_title("What disturbed cells" if counts else "Nothing disturbed a cell", fontsize=9,
                      pad=3)  # fmt: skip
    style.heading(
        fig, title(found), "one kernel of each case was launched twice a "
        "round, as if it were two; seen: with a probability of 0.8; below: medians",
        figures.origin(results),
    )  # fmt: skip
    named = {f"{name} {digits(float(np.median(values)))} %": values
             for name, values in found.items()}  # fmt: skip
    style.key(fig, style.looks(named), lines=True)
    return fig

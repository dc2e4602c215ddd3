"""One figure for a first look: how near each kernel comes to what the machine can do.

On the left prefill as a share of the multiply-adds, on the right decode as a share of the reads,
each over the sequence length.  A share is that of a ceiling measured in the same processes; its
interval is that of the time.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from attntools.base.units import length
from attntools.plot import figures, kernel_looks, style
from attntools.results.cells import Cell, Results, problem_fields
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter


@dataclass(frozen=True)
class Panel:
    """One half of the figure."""

    title: str
    kind: str
    of: str
    share: str  # field of a row, the fraction that is drawn
    length: str  # label of the horizontal axis
    holds: Callable[[dict[str, str]], bool]  # whether a problem belongs into it


PANELS = (
    Panel(
        "Prefill: % of the multiply-add ceiling",
        "prefill",
        "of the multiply-adds",
        "fraction_of_fma",
        "S, queries and keys",
        lambda problem: problem.get("sq") == problem.get("skv"),
    ),
    Panel(
        "Decode: % of the read bandwidth",
        "decode",
        "of the read bandwidth",
        "fraction_of_bandwidth",
        "Skv, keys for one query",
        lambda problem: problem.get("sq") == "1" != problem.get("skv"),
    ),
)

MOST_TICKS = 8

# What a subtitle leaves out: the axis has the lengths, and these values are the usual ones.
USUAL = {"b": "1", "mask": "none"}


def _length(cell: Cell) -> int:
    return int(problem_fields(cell.problem).get("skv", 0))


def chosen(results: Results, panel: Panel) -> list[Cell]:
    """The cells of a panel: of those that differ in length only, the largest group, or none."""
    groups = [
        group
        for cells in figures.families(results).values()
        if (group := [c for c in cells if c.number(panel.share) > 0])
        and panel.holds(problem_fields(group[0].problem))
    ]
    return max(groups, key=len, default=[])


def percent(cell: Cell, field: str) -> tuple[float, tuple[float, float] | None]:
    """The share of a ceiling in percent, and its interval: the longer the time, the lower it is."""
    share = 100 * cell.number(field)
    return share, cell.interval_of(share)


def _subtitle(cell: Cell) -> str:
    """What the cells of a panel have in common."""
    fields = problem_fields(cell.problem)
    if fields.get("hq") == fields.get("hkv"):
        fields = {"h": fields.pop("hq"), **fields}
        del fields["hkv"]
    if fields["dv"] == fields["d"]:
        del fields["dv"]
    kept = [f"{k}={v}" for k, v in fields.items() if k not in ("sq", "skv") and USUAL.get(k) != v]
    return ", ".join([*kept, figures.threads_title(cell.identity.threads)])


def leaders(halves: Sequence[Sequence[Cell]]) -> list[str]:
    """The variants, those first that reach the largest shares: they get the plainest looks."""
    best: dict[str, float] = {}
    for panel, cells in zip(PANELS, halves, strict=True):
        for cell in cells:
            name = cell.identity.series
            best[name] = max(best.get(name, 0), cell.number(panel.share))
    return sorted(best, key=lambda name: -best[name])


def _names(known: Sequence[str]) -> dict[str, str]:
    """Label of each variant: the kernel alone where it has no other variant here."""
    alone = [name.split("/")[0] for name in known]
    return {
        name: kernel if alone.count(kernel) == 1 else name
        for name, kernel in zip(known, alone, strict=True)
    }


def _series(ax: Axes, cells: Sequence[Cell], field: str, look: style.Look, label: str) -> None:
    """One kernel: a line, an interval at each point; a hollow point has none."""
    points = [(_length(c), *percent(c, field)) for c in sorted(cells, key=_length)]
    ax.plot([x for x, _, _ in points], [y for _, y, _ in points], color=look.colour, ls=look.line,
            lw=1.2)  # fmt: skip
    for x, y, interval in points:
        if interval:
            ax.plot([x, x], interval, color=look.colour, lw=1.2, marker="_", ms=5)
        ax.plot(x, y, look.marker, color=look.colour, mfc=look.colour if interval else "white")
    ax.plot([], [], lw=1.2, label=label, **look.drawn)


def ticks(lengths: Sequence[int]) -> list[int]:
    """Powers of two over the lengths, so few that their labels stay apart."""
    lo, hi = (round(math.log2(end)) for end in (min(lengths), max(lengths)))
    return [2**e for e in range(lo, hi + 1, 1 + (hi - lo) // MOST_TICKS)]


def title(halves: Sequence[Sequence[Cell]]) -> str:
    """The largest share of each half, and whose it is."""
    said = []
    for panel, cells in zip(PANELS, halves, strict=True):
        best = max(cells, key=lambda c: c.number(panel.share))
        said.append(f"{best.identity.kernel} reaches {100 * best.number(panel.share):.0f} % "
                    f"{panel.of} in {panel.kind}")  # fmt: skip
    return ", ".join(said)


def overview(results: Results) -> Figure | None:
    """Both panels; None unless the file has a group of three lengths at least for each."""
    halves = [chosen(results, panel) for panel in PANELS]
    if not all(halves):
        return None
    drawn = [cell for half in halves for cell in half]
    names = _names(leaders(halves))
    looks = kernel_looks.looks(names)
    fig, axes = style.figure(1, len(PANELS), height=3.7)
    for ax, panel, cells in zip(axes, PANELS, halves, strict=True):
        groups = figures.by(cells, lambda c: c.identity.series)
        for name in (n for n in names if n in groups):
            _series(ax, groups[name], panel.share, looks[name], names[name])
        ax.set_xscale("log", base=2)
        ax.set_xticks(ticks([_length(c) for c in cells]))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: length(x)))
        ax.set_ylim(0, max(100.0, 1.05 * ax.get_ylim()[1]))
        ax.set_xlabel(f"{panel.length}\n{_subtitle(cells[0])}")
        ax.set_title(panel.title, fontsize=9)
    style.legend(fig, axes)
    hollow = "" if all(c.interval_s for c in drawn) else ", hollow: too few launches for one"
    style.heading(fig, title(halves), f"Bars: 95 % intervals{hollow}.", figures.origin(results))
    return fig

"""One figure of two sessions: the change of every cell, sorted, with its interval."""

from collections.abc import Sequence

from attntools.base.units import change
from attntools.compare.comparison import Comparison, Verdict
from attntools.compare.comparison_tables import variant_text
from attntools.plot import figures, shapes, style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

NAMED_ROWS = 45  # rows that can each have their name
ROW = 0.15  # inches of a row with a name
HEIGHT = 5.2  # inches of a panel whose rows have none
NAMED_ENDS = 4  # of those the first and the last are named

LOOKS = {
    Verdict.SLOWER.value: (style.NEUTRAL[1], "s"),
    Verdict.FASTER.value: (style.NEUTRAL[0], "o"),
    Verdict.SAME.value: (style.NEUTRAL[2], "^"),
    Verdict.UNCLEAR.value: (style.FAINT, "D"),
}


def looks() -> dict[str, style.Look]:
    """A look for each verdict."""
    found = style.looks(LOOKS)
    for name, (colour, marker) in LOOKS.items():
        found[name].colour, found[name].marker = colour, marker
    return found


def name(c: Comparison) -> str:
    """A cell as a row."""
    return f"{c.cell.case} {variant_text(c)}"


def _panel(ax: Axes, found: Sequence[Comparison]) -> None:
    """One thread count, the cells that became slowest on top."""
    for verdict, look in looks().items():
        rows = [(i, c) for i, c in enumerate(found) if c.verdict.value == verdict]
        at = [i for i, _ in rows]
        spans = [(100 * (c.lo - 1), 100 * (c.hi - 1)) for _, c in rows]
        style.interval(ax, spans, at, look.colour)
        ax.plot([100 * (c.ratio - 1) for _, c in rows], at, look.marker, color=look.colour, ms=4,
                ls="", label=verdict)  # fmt: skip
    ax.axvline(0, color=style.INK, lw=1)
    ax.set_ylim(len(found) - 0.2, -0.8)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel("change of the time, %", fontsize=8)
    if len(found) <= NAMED_ROWS:
        ax.set_yticks(range(len(found)), [name(c) for c in found], fontsize=6.8)
        return
    ax.set_yticks([])
    for top, part in ((0.97, found[:NAMED_ENDS]), (0.03 + 0.032 * NAMED_ENDS, found[-NAMED_ENDS:])):
        for i, c in enumerate(part):
            ax.text(0.02 if top > 0.5 else 0.98, top - 0.032 * (i + (top < 0.5)),
                    f"{change(c.ratio)}  {name(c)}", transform=ax.transAxes, fontsize=6.5,
                    ha="left" if top > 0.5 else "right", va="center", bbox=style.PAPER)  # fmt: skip


def figure(comparisons: Sequence[Comparison], title: str) -> Figure | None:
    """The changes of all cells that have one; None without any."""
    found = sorted((c for c in comparisons if c.ratio == c.ratio), key=lambda c: -c.ratio)
    if not found:
        return None
    counts = figures.threads_of(c.cell for c in found)
    counts = counts if len(counts) <= 2 else [counts[0], counts[-1]]
    parts = [[c for c in found if c.cell.identity.threads == n] for n in counts]
    most = max(map(len, parts))
    named = most <= NAMED_ROWS
    left = 0.2 + 0.058 * max(len(name(c)) for c in found) if named else 0.25
    fig, axes = style.panels(
        1, len(counts), height=max(1.2, ROW * most) if named else HEIGHT, sides=(left, 0.2),
        gap=(left if named else 0.3, 0),
    )  # fmt: skip
    for ax, threads, part in zip(axes, counts, parts, strict=True):
        _panel(ax, part)
        ax.set_title(figures.threads_title(threads), pad=3, fontsize=9)
    kinds = ", ".join(dict.fromkeys(shapes.kind(c.cell) for c in found))
    style.heading(fig, title, f"right of 0 slower; lines: 95 % intervals; {kinds}", "")
    style.key(fig, {n: v for n, v in looks().items() if n in {c.verdict.value for c in found}})
    return fig

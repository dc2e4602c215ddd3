"""Figures of a fleet: shares of the ceiling by type, and how far hosts lie from their type."""

from collections.abc import Sequence
from math import expm1

import matplotlib.pyplot as plt
from attntools.fleet.fleet_kernels import Case
from attntools.fleet.fleet_tables import Fleet
from attntools.fleet.outliers import Deviation, Spread
from attntools.plot import shapes, style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

MOST_CASES = 36
ROW, LETTER = 0.2, 0.062  # inches
FARTHEST = 125  # percent up to which shares make the axis longer
MOST_PANELS = 12
NAMED = 6  # hosts of a panel


def origin(fleet: Fleet) -> str:
    """Hosts, builds and dates."""
    latest = [host.latest for kind in fleet.types for host in kind.hosts]
    days = sorted({str(s.header.get("started", ""))[:10] for s in latest})
    commits = sorted({str(s.build.get("commit") or "?")[:10] for s in latest})
    commit = commits[0] if len(commits) == 1 else f"{len(commits)} commits"
    dates = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"{len(latest)} hosts · {commit} · {dates}"


def _shares(ax: Axes, cases: Sequence[Case], fleet: Fleet, looks: dict[str, style.Look]) -> None:
    """A row a case, a mark a type: the fastest kernel's share."""
    letters = [kind.letter for kind in fleet.types]
    for i, kind in enumerate(fleet.types):
        look = looks[kind.letter]
        shown = [
            (y, case.on[kind.letter]) for y, case in enumerate(cases) if kind.letter in case.on
        ]
        offset = (i + 1) / (len(letters) + 1) - 0.5
        ax.plot([on.kernels[on.fastest].share for _, on in shown], [y + offset for y, _ in shown],
                look.marker, color=look.colour, ms=4.5, ls="")  # fmt: skip
    for y in range(1, len(cases), 2):
        ax.axhspan(y - 0.5, y + 0.5, color=style.BAND, lw=0, zorder=0)
    ax.axvline(100, color=style.INK, lw=0.8)
    ax.set_ylim(len(cases) - 0.5, -0.5)
    ax.set_yticks(range(len(cases)), [case.name for case in cases], fontsize=7)
    ax.grid(visible=False, axis="y")
    ax.tick_params(length=0)


def shares(fleet: Fleet) -> Figure | None:
    """Share of the ceiling that the fastest kernel of each case reaches, by machine type."""
    known = [c for c in fleet.cases
             if any(on.kernels[on.fastest].share > 0 for on in c.on.values())]  # fmt: skip
    if not known:
        return None
    cases = shapes.thinned(known, MOST_CASES)
    looks = style.looks(kind.letter for kind in fleet.types)
    height = max(ROW, 0.075 * len(looks)) * len(cases)
    fig = plt.figure(figsize=(style.PAGE, style.TOP + height + style.BOTTOM))
    left = 0.3 + LETTER * max(len(case.name) for case in cases)
    x, y = style.inches(fig, left, style.TOP + height)
    size = (style.PAGE - left - 0.3) / style.PAGE, height / fig.get_figheight()
    ax = fig.add_axes((x, y, *size))
    _shares(ax, cases, fleet, looks)
    highest = max(on.kernels[on.fastest].share for case in cases for on in case.on.values())
    ax.set_xlim(0, max(102, min(FARTHEST, 1.04 * highest)))
    ax.set_xticks([0, 25, 50, 75, 100], ["0", "25", "50", "75", "100 %"])
    part = "" if len(cases) == len(known) else f"; {len(cases)} of {len(known)} cases"
    style.heading(
        fig, "How near the fastest kernel of each case comes to the ceiling, by machine type",
        f"median over a type's hosts; ceiling: multiply-adds or reads, measured beside it{part}",
        origin(fleet),
    )  # fmt: skip
    style.key(fig, {f"{t.letter}: {t.name}": looks[t.letter] for t in fleet.types})
    return fig


def _strip(ax: Axes, spread: Spread) -> None:
    """One quantity of one type: a mark a host, those that are off by name."""
    percent = {d: 100 * (d.ratio - 1) for d in spread.hosts}
    look, off = style.looks(("within", "off")).values()
    if spread.called < float("inf"):
        ends = [100 * expm1(sign * spread.called) for sign in (-1, 1)]
        ax.axvspan(*ends, color=style.BAND, lw=0, zorder=0)
    ax.axvline(0, color=style.FAINT, lw=0.8)
    order = sorted(spread.hosts, key=percent.__getitem__)
    for y, d in enumerate(order):
        drawn = off if d.off else look
        style.interval(ax, [(100 * (d.lo - 1), 100 * (d.hi - 1))], [y], drawn.colour)
        ax.plot(percent[d], y, drawn.marker, color=drawn.colour, ms=4)
    _names(ax, order, percent)
    reach = max(max(map(abs, percent.values())), 3.0)
    ax.set_xlim(-1.6 * reach, 1.6 * reach)
    ax.set_ylim(-0.7, len(order) - 0.3)
    ax.set_yticks([])
    ax.grid(visible=False, axis="y")
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:+g} %" if x else "0")
    ax.locator_params(axis="x", nbins=5)
    ax.tick_params(labelsize=7)
    ax.set_title(f"{spread.kind.letter}: {spread.on_threads}", fontsize=8.5, pad=3)


def _names(ax: Axes, order: Sequence[Deviation], percent: dict[Deviation, float]) -> None:
    """Names of the hosts that are off, of all where they are few."""
    for y, d in enumerate(order):
        if d.off or len(order) <= NAMED:
            right = percent[d] < 0
            ax.annotate(d.host.name, (100 * ((d.hi if right else d.lo) - 1) if d.lo <= d.hi
                        else percent[d], y), (5 if right else -5, 0), fontsize=7,
                        textcoords="offset points", va="center", ha="left" if right else "right",
                        weight="bold" if d.off else "normal")  # fmt: skip


def hosts(fleet: Fleet) -> Figure | None:
    """How far each host lies from the median host of its type, a panel a quantity."""
    drawn = [s for s in fleet.spreads if len(s.hosts) > 1]
    if not drawn:
        return None
    # Panels with a host that is off come first.
    chosen = sorted(drawn, key=lambda s: not any(d.off for d in s.hosts))[:MOST_PANELS]
    shown = [s for s in drawn if s in chosen]
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    most = max(len(s.hosts) for s in shown)
    height = min(max(0.9, 0.13 * most), 10.0 / rows - 0.6)
    fig, axes = style.panels(rows, columns, height=height, gap=(0.25, 0.6), sides=(0.15, 0.15))
    for ax, spread in zip(axes, shown, strict=False):
        _strip(ax, spread)
    for ax in axes[len(shown) :]:
        ax.remove()
    part = "" if len(shown) == len(drawn) else f"; {len(shown)} of {len(drawn)} quantities"
    style.heading(
        fig, "How far each host lies from the median host of its type",
        "left: slow; lines: 95 % intervals over cells; grey: no host in it is called off; "
        f"bold: called off{part}",
        origin(fleet),
    )  # fmt: skip
    return fig

"""Figures of results files.  Each function returns a figure, or None where it has no data."""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from attntools.base.units import counted, digits, length, seconds, short, short_seconds
from attntools.plot import kernel_looks, style
from attntools.results.cells import Cell, Results, problem_fields
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

HEAT_ROWS = 40  # cases of a page


def series(cells: Iterable[Cell]) -> list[str]:
    """Names of the variants, each as it was measured, in order of appearance."""
    return list(dict.fromkeys(c.identity.series for c in cells))


def threads_of(cells: Iterable[Cell]) -> list[int]:
    """Thread counts, ascending."""
    return sorted({c.identity.threads for c in cells})


def threads_title(threads: int) -> str:
    """1 thread, 2 threads."""
    return counted(threads, "thread")


def by(cells: Iterable[Cell], key: Callable[[Cell], object]) -> dict[object, list[Cell]]:
    """Cells grouped by a key, in order of appearance."""
    groups: dict[object, list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[key(cell)].append(cell)
    return groups


def origin(results: Results) -> str:
    """Machine, build and date of a file."""
    session = results.sessions[0]
    date = str(session.header.get("started", ""))[:10]
    commit = (session.build.get("commit") or "?")[:10]
    machine = session.machine
    return f"{machine.get('cpu', '?')}, {machine.get('cores', '?')} cores · {commit} · {date}"


def plain_log(ax: Axes, axis: str, unit: Callable[[float], str] = short) -> None:
    """A logarithmic axis of at most eight numbers: three to a decade where few."""
    getattr(ax, f"set_{axis}scale")("log")
    which = getattr(ax, f"{axis}axis")
    lo, hi = getattr(ax, f"get_{axis}lim")()
    steps = (1, 2, 5) if math.log10(hi / lo) < 2.5 else (1,)
    which.set_major_locator(LogLocator(subs=steps, numticks=9))
    which.set_major_formatter(FuncFormatter(lambda x, _: unit(x)))
    which.set_minor_formatter(NullFormatter())


# ---- bars ----------------------------------------------------------------------------------------


def bars(results: Results, case: str) -> Figure | None:
    """Median time of every variant on one case, with its 95 % interval, fastest on top."""
    cells = [c for c in results.timed if c.case == case]
    if not cells:
        return None
    counts = threads_of(cells)
    by_threads = by(cells, lambda c: c.identity.threads)
    looks = kernel_looks.looks(series(results.timed))
    most = max(len(group) for group in by_threads.values())
    fig, axes = style.figure(1, len(counts), height=0.7 + 0.27 * most)
    for ax, threads in zip(axes, counts, strict=True):
        group = sorted(by_threads[threads], key=lambda c: -c.median_s)
        for y, cell in enumerate(group):
            look = looks[cell.identity.series]
            ax.barh(y, cell.median_s, 0.66, color=look.colour, alpha=0.85, lw=0)
            reach = cell.median_s
            if cell.interval_s:
                lo, hi = cell.interval_s
                ax.plot([lo, hi], [y, y], color=style.INK, lw=1.2, marker="|", ms=6)
                reach = max(hi, reach)
            gflops = cell.number("gflops")
            text = f" {seconds(cell.median_s)}"
            text += f" · {digits(gflops)} GFLOP/s" if gflops == gflops else ""
            ax.annotate(text, (reach, y), va="center", fontsize=7, xytext=(3, 0),
                        textcoords="offset points")  # fmt: skip
        ax.set_yticks(range(len(group)), [c.identity.series for c in group], fontsize=7.5)
        ax.set_title(threads_title(threads))
        ax.set_xlim(0, 2.7 * max(c.median_s for c in group))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: short_seconds(x)))
        ax.locator_params(axis="x", nbins=3)
        ax.grid(visible=False, axis="y")
    note = f"{case}: time of a call, median over launches, with its 95 % interval."
    style.heading(fig, bars_title(cells), note, origin(results))
    return fig


def bars_title(cells: Sequence[Cell]) -> str:
    """The fastest on each thread count, and how far ahead of the next kernel it is."""
    said = []
    for threads in threads_of(cells):
        ordered = sorted((c for c in cells if c.identity.threads == threads),
                         key=lambda c: c.median_s)  # fmt: skip
        first = ordered[0]
        rest = [c for c in ordered if c.identity.kernel != first.identity.kernel]
        times = digits(rest[0].median_s / first.median_s) if rest else ""
        ahead = f" {times} times as fast as the next" if rest else ""
        said.append(f"{first.identity.kernel}{ahead} on {threads_title(threads)}")
    return "Fastest: " + ", ".join(said)


# ---- over S --------------------------------------------------------------------------------------


def _length(cell: Cell) -> int:
    return int(problem_fields(cell.problem).get("skv", 0))


def _without_length(cell: Cell) -> str:
    """The rest of the problem, as a title; prefill where queries and keys are equally many."""
    fields = problem_fields(cell.problem)
    kind = "S" if fields.get("sq") == fields.get("skv") else f"Skv, Sq = {fields.get('sq')}"
    rest = [f"{k}={v}" for k, v in fields.items() if k not in ("sq", "skv", "dv", "b")]
    rest = [r for r in rest if r not in ("mask=none", "dtype=f32")]
    return f"over {kind}: {', '.join(rest)}, {threads_title(cell.identity.threads)}"


def families(results: Results) -> dict[str, list[Cell]]:
    """Cells that differ in sequence length only, where there are three lengths at least."""
    groups = by(results.timed, _without_length)
    return {str(t): g for t, g in groups.items() if len({_length(c) for c in g}) >= 3}


def over_length(results: Results, family: str) -> Figure | None:
    """Time and GFLOP/s over the sequence length, one line a variant."""
    cells = families(results).get(family)
    if not cells:
        return None
    looks = kernel_looks.looks(series(results.timed))
    fig, axes = style.figure(1, 2, height=3.6)
    for name, group in by(cells, lambda c: c.identity.series).items():
        group.sort(key=_length)
        lengths = [_length(c) for c in group]
        times = np.array([c.median_s for c in group])
        spans = np.array([c.interval_s or (c.median_s, c.median_s) for c in group]).T
        drawn = looks[str(name)].drawn | {"label": name}
        axes[0].errorbar(lengths, times, [times - spans[0], spans[1] - times], capsize=2, **drawn)
        axes[1].plot(lengths, [c.number("gflops") for c in group], **drawn)
    ceiling = [f for c in cells if (f := c.number("ceiling.fma_gflops")) > 0]
    if ceiling:
        axes[1].axhline(statistics.median(ceiling), color=style.INK, lw=1)
        axes[1].annotate("multiply-add ceiling", (0.01, statistics.median(ceiling)), fontsize=7,
                         xycoords=("axes fraction", "data"), xytext=(0, -9),
                         textcoords="offset points")  # fmt: skip
    ticks = sorted({_length(c) for c in cells})
    for ax, label in zip(axes, ("time per call", "useful GFLOP/s"), strict=True):
        ax.set_xscale("log", base=2)
        ax.set_xticks(ticks[:: max(1, len(ticks) // 7)])
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: length(x)))
        ax.set_xlabel("sequence length")
        ax.set_title(label)
    plain_log(axes[0], "y", short_seconds)
    axes[1].set_ylim(0, None)
    style.legend(fig, axes[:1])
    style.heading(fig, length_title(cells), f"{family}; bars: 95 % intervals.", origin(results))
    return fig


def length_title(cells: Sequence[Cell]) -> str:
    """Who is fastest at most lengths, and how large a share of the ceiling it reaches."""
    groups = by(cells, _length).values()
    fastest = [min(group, key=lambda c: c.median_s) for group in groups]
    name, count = Counter(c.identity.series for c in fastest).most_common(1)[0]
    rate = max(c.number("gflops") for c in cells if c.identity.series == name)
    return (
        f"{name} is fastest at {count} of {len(fastest)} lengths, with up to {digits(rate)} GFLOP/s"
    )


# ---- heat map ------------------------------------------------------------------------------------


def heat_pages(results: Results, threads: int) -> list[list[str]]:
    """The cases of each page of a heat map."""
    cells = [c for c in results.cells.values() if c.identity.threads == threads]
    cases = list(dict.fromkeys(c.case for c in cells))
    return [cases[i : i + HEAT_ROWS] for i in range(0, len(cases), HEAT_ROWS)]


def heat(results: Results, threads: int, cases: Sequence[str]) -> Figure | None:
    """Share of the multiply-add ceiling, cases by variants; a cross where there is no time."""
    cells = [c for c in results.cells.values()
             if c.identity.threads == threads and c.case in cases]  # fmt: skip
    names = sorted(series(cells))
    if not any(c.timed for c in cells):
        return None
    share = np.full((len(cases), len(names)), np.nan)
    for c in cells:
        if c.timed:
            at = cases.index(c.case), names.index(c.identity.series)
            share[at] = 100 * c.number("fraction_of_fma")
    fig, (ax,) = style.figure(height=1.1 + 0.24 * len(cases))
    image = ax.imshow(share, cmap=style.SEQUENTIAL, vmin=0, vmax=100, aspect="auto")
    for i, j in np.ndindex(share.shape):
        known = np.isfinite(share[i, j])
        text = f"{share[i, j]:.0f}" if known else "x"
        dark = known and share[i, j] < 55
        ax.text(j, i, text, ha="center", va="center", fontsize=7, color="w" if dark else "k")
    ax.set_xticks(range(len(names)), names, rotation=30, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(cases)), cases)
    ax.grid(visible=False)
    fig.colorbar(image, ax=ax, pad=0.01)
    medians = {name: float(np.median(x)) for name, column in zip(names, share.T, strict=True)
               if len(x := column[np.isfinite(column)])}  # fmt: skip
    name = max(medians, key=medians.__getitem__)
    style.heading(fig, f"{name} reaches {medians[name]:.0f} % of the multiply-add ceiling in "
                  f"the median case, on {threads_title(threads)}",
                  "Percent of the multiply-add ceiling; x: no time.", origin(results))  # fmt: skip
    return fig

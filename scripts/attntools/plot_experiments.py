"""Figures of experiments: one function each, from the rows of a results file."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from attntools import style
from attntools.cells import Results
from attntools.figures import origin, plain_log

Row = dict[str, Any]

# How scales are written on paper.
SCALES = {"1": "1", "d^-1/4": "$d^{-1/4}$", "d^-1/2": "$1/\\sqrt{d}$", "1/d": "$1/d$"}


def rows_of(results: Results, name: str, **params: object) -> list[Row]:
    """Rows of an experiment whose parameters have these values."""
    return [
        row
        for row in results.experiments
        if row["name"] == name and all(row["params"].get(k) == v for k, v in params.items())
    ]


def series(rows: Iterable[Row], key: str) -> dict[Any, list[Row]]:
    """Rows by one parameter, in order of appearance."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["params"].get(key), []).append(row)
    return groups


def column(rows: Iterable[Row], key: str) -> np.ndarray:
    """One value of each row."""
    return np.array([row["values"][key] for row in rows], dtype=float)


def parameter(rows: Iterable[Row], key: str) -> np.ndarray:
    """One parameter of each row."""
    return np.array([row["params"][key] for row in rows], dtype=float)


def doubling(ax: Axes, values: Iterable[float], most: int = 8) -> None:
    """A logarithmic x axis whose ticks are the values that were measured, `most` of them."""
    ticks = sorted(set(values))
    ax.set_xscale("log", base=2)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticks(ticks[:: max(1, -(-len(ticks) // most))])
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}" if x >= 1 else f"1/{1 / x:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


# ---- variance ------------------------------------------------------------------------------------


def variance(results: Results) -> Figure | None:
    """var(q.k) and var(q.k)/d over d, with the exact values and the published ones."""
    rows = rows_of(results, "variance", part="sweep")
    if not rows:
        return None
    fig, axes = style.figure(1, 2, height=3.8)
    groups = series(rows, "input")
    looks = style.looks(groups)
    for name, group in groups.items():
        look, d = looks[name], parameter(group, "d")
        for ax, value, exact in zip(
            axes, ("variance", "scaled"), ("theory", "scaled_theory"), strict=True
        ):
            interval = np.array(
                [r["values"]["ci95" if value == "variance" else "scaled_ci95"] for r in group]
            ).T
            middle = column(group, value)
            ax.plot(d, column(group, exact), color=look.colour, lw=1, alpha=0.6)
            ax.errorbar(d, middle, abs(interval - middle), fmt=look.marker, color=look.colour,
                        capsize=2, label=name, ms=4)  # fmt: skip
    published = rows_of(results, "variance", part="published")
    for ax, key in zip(axes, ("before", "after"), strict=True):
        if published:
            ax.plot(parameter(published, "d"), column(published, key), "x", color=style.INK,
                    ms=8, mew=1.6, label="published")  # fmt: skip
        doubling(ax, parameter(rows, "d"))
        ax.set_xlabel("dimension d")
    plain_log(axes[0], "y")
    axes[0].set_title("var(q·k): grows as d")
    axes[1].set_title("var(q·k / √d): the same at every d")
    axes[1].set_ylim(0, None)
    style.legend(fig, axes[:1], columns=5)
    style.source(fig, f"lines: exact; bars: 95 % intervals · {origin(results)}")
    return fig


# ---- softmax -------------------------------------------------------------------------------------


def _logits(row: Row) -> str:
    keys = row["params"].get("keys")
    return f"{keys} random logits" if keys else "the published 5 logits"


def softmax(results: Results) -> Figure | None:
    """What a multiplier does to softmax: keys in use, Jacobian, gradient."""
    rows = rows_of(results, "softmax", part="multiplier")
    if not rows:
        return None
    panels = (
        ("largest", "largest weight"),
        ("jacobian", "norm of the Jacobian"),
        ("gradient", "gradient to the logits"),
    )
    fig, axes = style.figure(1, 3, height=3.4)
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(_logits(row), []).append(row)
    looks = style.looks(groups)
    for ax, (value, title) in zip(axes, panels, strict=True):
        for name, group in groups.items():
            look = looks[name]
            ax.plot(parameter(group, "multiplier"), column(group, value), color=look.colour,
                    marker=look.marker, ls=look.line, label=name)  # fmt: skip
        doubling(ax, parameter(rows, "multiplier"), 6)
        ax.set_xlabel("multiplier of the logits")
        ax.set_title(title, fontsize=9)
    axes[0].set_ylim(0, 1.02)
    axes[1].set_ylim(0, None)
    axes[2].set_yscale("log")
    style.legend(fig, axes[:1])
    style.source(fig, origin(results))
    return fig


# ---- saturation ----------------------------------------------------------------------------------


def saturation(results: Results) -> Figure | None:
    """Keys in use, gradient and dead rows over d, a line per scale, for normal inputs."""
    rows = rows_of(results, "saturation", part="random", input="normal")
    rows = rows or rows_of(results, "saturation", part="random")
    rows = [r for r in rows if r["params"]["input"] == rows[0]["params"]["input"]]
    if not rows:
        return None
    fig, axes = style.figure(1, 3, height=3.4)
    groups = series(rows, "scale")
    looks = style.looks(groups)
    panels = (("effective_keys", "keys in use"), ("gradient", "gradient to a query"),
              ("dead", "rows that do not learn, %"))  # fmt: skip
    for ax, (value, title) in zip(axes, panels, strict=True):
        for name, group in groups.items():
            look, factor = looks[name], 100 if value == "dead" else 1
            ax.plot(parameter(group, "d"), factor * column(group, value), color=look.colour,
                    marker=look.marker, ls=look.line,
                    label=f"scale {SCALES.get(name, name)}")  # fmt: skip
        doubling(ax, parameter(rows, "d"), 7)
        ax.set_xlabel("dimension d")
        ax.set_title(title, fontsize=9)
    plain_log(axes[0], "y")
    plain_log(axes[1], "y")
    axes[2].set_ylim(0, 100)
    params = rows[0]["params"]
    style.legend(fig, axes[:1])
    style.source(fig, f"{params['keys']} {params['input']} keys · {origin(results)}")
    return fig


# ---- worked examples -----------------------------------------------------------------------------


def worked_examples(results: Results) -> Figure | None:
    """How far every printed number is from ours, against the rounding of the print."""
    rows = [
        r for r in rows_of(results, "worked-examples") if r["values"].get("published") is not None
    ]
    if not rows:
        return None
    names = list(
        dict.fromkeys(f"{r['params']['example']}: {r['params']['quantity']}" for r in rows)
    )
    groups = series(rows, "by")
    looks = style.looks(groups)
    fig, (ax,) = style.figure(height=1.6 + 0.22 * len(names))
    for index, (by, group) in enumerate(groups.items()):
        look = looks[by]
        at = [
            names.index(f"{r['params']['example']}: {r['params']['quantity']}")
            + 0.6 * (index / max(1, len(groups) - 1) - 0.5)
            for r in group
        ]
        share = [r["values"]["difference"] / r["values"]["tolerance"] for r in group]
        ax.plot(share, at, look.marker, color=look.colour, label=by, ms=4)
    ax.axvline(1, color=style.INK, lw=1)
    ax.annotate("allowed", (1, -0.6), ha="right", va="bottom", fontsize=7, xytext=(-3, 0),
                textcoords="offset points")  # fmt: skip
    ax.set_yticks(range(len(names)), names, fontsize=7)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlim(0, 1.1)
    ax.set_xlabel("largest difference from the printed number / what its rounding allows")
    style.legend(fig, [ax])
    style.source(fig, origin(results))
    return fig


# ---- error growth --------------------------------------------------------------------------------


def error_growth(results: Results) -> Figure | None:
    """RMS error relative to the output over the number of keys, a panel per storage type."""
    rows = rows_of(results, "error-growth")
    if not rows:
        return None
    types = series(rows, "dtype")
    looks = style.looks(row["params"]["kernel"] for row in rows)
    fig, axes = style.figure(1, len(types), height=3.8, share_y=True)
    for ax, (dtype, group) in zip(axes, types.items(), strict=True):
        for kernel, line in series(group, "kernel").items():
            look, output = looks[kernel], column(line, "output_rms")
            ax.plot(parameter(line, "s"), column(line, "rms") / output, color=look.colour,
                    marker=look.marker, ls=look.line, label=kernel, ms=4)  # fmt: skip
        first = next(iter(series(group, "kernel").values()))
        bound = column(first, "bound_rms") / column(first, "output_rms")
        ax.plot(parameter(first, "s"), bound, color=style.INK, lw=1, label="bound of the checks")
        doubling(ax, parameter(group, "s"), 5)
        ax.set_yscale("log")
        ax.set_xlabel("keys")
        ax.set_title(dtype)
    axes[0].set_ylabel("RMS error / RMS output")
    style.legend(fig, axes)
    style.source(fig, origin(results))
    return fig


# ---- overflow ------------------------------------------------------------------------------------


def overflow(results: Results) -> Figure | None:
    """The first logit at which each softmax fails; an arrow where none that its type holds does."""
    rows = rows_of(results, "overflow")
    if not rows:
        return None
    names = list(dict.fromkeys(r["params"]["by"] for r in rows))
    types = series(rows, "dtype")
    looks = style.looks(types)
    fig, (ax,) = style.figure(height=1.6 + 0.32 * len(names))
    for index, (dtype, group) in enumerate(types.items()):
        look, shift = looks[dtype], 0.2 * (index - (len(types) - 1) / 2)
        for row in group:
            values = row["values"]
            failures = [values[k] for k in ("up", "down") if values[k] is not None]
            x, y = min(failures, default=values["most"]), names.index(row["params"]["by"]) + shift
            ax.plot(x, y, look.marker if failures else ">", color=look.colour, ms=6,
                    mfc=look.colour if failures else "white")  # fmt: skip
        ax.plot([], [], look.marker, color=look.colour, label=dtype)
    ax.plot([], [], ">", color=style.INK, mfc="white", label="none that the type can hold")
    ax.set_xscale("log")
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlabel("first logit, up or down, at which the softmax fails")
    style.legend(fig, [ax])
    style.source(fig, origin(results))
    return fig


# ---- rescale -------------------------------------------------------------------------------------


def rescale(results: Results) -> Figure | None:
    """Rescales per row by block size and threshold, and the time of the worst order of keys."""
    rows = rows_of(results, "rescale", part="count")
    timed = rows_of(results, "rescale", part="time")
    if not rows:
        return None
    fig, axes = style.figure(1, 3 if timed else 2, height=3.6)
    for ax, name, title in zip(axes, ("normal", "layer0."), ("random logits", "a real layer"),
                               strict=False):  # fmt: skip
        group = [r for r in rows if r["params"]["input"] == name]
        groups = series(group, "threshold")
        looks = style.looks(groups)
        for threshold, line in groups.items():
            look = looks[threshold]
            ax.plot(parameter(line, "block"), column(line, "rescales"), color=look.colour,
                    marker=look.marker, ls=look.line,
                    label=f"grown by more than $2^{{{threshold:g}}}$")  # fmt: skip
        if group:
            doubling(ax, parameter(group, "block"), 4)
        ax.set_xlabel("keys in a block")
        ax.set_title(title, fontsize=9)
        ax.set_ylim(0, None)
    axes[0].set_ylabel("rescales per row")
    style.legend(fig, axes[:1], columns=2)
    if timed:
        _order_times(axes[2], timed)
    style.source(fig, origin(results))
    return fig


def _order_times(ax: Axes, rows: list[Row]) -> None:
    """Ratios of times with their intervals."""
    shown = [r for r in rows if r["params"]["input"] != "descending"]
    for y, row in enumerate(shown):
        ratio, interval = row["values"]["ratio"], row["values"]["ci95"]
        ax.plot(ratio, y, "o", color=style.COLOURS[0])
        if interval:
            ax.plot(interval, [y, y], color=style.COLOURS[0])
    names = [f"{r['params']['kernel']}, {r['params']['input']}" for r in shown]
    ax.set_yticks(range(len(names)), names, fontsize=7)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.axvline(1, color=style.INK, lw=1)
    ax.set_xlabel("time / descending")
    ax.set_title("what the order costs", fontsize=9)


# ---- memory --------------------------------------------------------------------------------------


def memory(results: Results) -> Figure | None:
    """Workspace, operands and results over S, with and without weights."""
    rows = rows_of(results, "memory")
    if not rows:
        return None
    looks = style.looks(row["params"]["kernel"] for row in rows)
    fig, axes = style.figure(1, 2, height=3.8, share_y=True)
    titles = {"o": "outputs only", "o+weights": "outputs and weights"}
    for ax, (outputs, title) in zip(axes, titles.items(), strict=True):
        group = [r for r in rows if r["params"]["outputs"] == outputs]
        for kernel, line in series(group, "kernel").items():
            look = looks[kernel]
            total = column(line, "workspace_bytes") + column(line, "operand_bytes")
            ax.plot(parameter(line, "s"), total / 1e6, color=look.colour, marker=look.marker,
                    ls=look.line, label=kernel, ms=4)  # fmt: skip
        doubling(ax, parameter(rows, "s"), 6)
        ax.set_yscale("log")
        ax.set_xlabel("queries and keys")
        ax.set_title(title)
    axes[0].set_ylabel("operands, results and workspace, MB")
    style.legend(fig, axes)
    style.source(fig, origin(results))
    return fig


# ---- invariance ----------------------------------------------------------------------------------


def invariance(results: Results) -> Figure | None:
    """Same bits, or the largest difference: kernels by changes that mean nothing."""
    rows = rows_of(results, "invariance")
    if not rows:
        return None
    cells = list(dict.fromkeys(_cell_name(r) for r in rows))
    changes = list(dict.fromkeys(r["params"]["change"] for r in rows))
    fig, (ax,) = style.figure(height=1.4 + 0.24 * len(cells))
    for row in rows:
        y, x = cells.index(_cell_name(row)), changes.index(row["params"]["change"])
        same = row["values"]["equal"]
        text = "same bits" if same else f"{row['values']['largest']:.0e}"
        ax.barh(y, 0.96, 0.9, x - 0.48, color=style.COLOURS[2 if same else 4], alpha=0.5, lw=0)
        ax.text(x, y, text, ha="center", va="center", fontsize=7)
    ax.set_xticks(range(len(changes)), changes)
    ax.set_yticks(range(len(cells)), cells, fontsize=7)
    ax.set_xlim(-0.5, len(changes) - 0.5)
    ax.set_ylim(len(cells) - 0.5, -0.5)
    ax.grid(visible=False)
    ax.xaxis.tick_top()
    style.source(fig, origin(results))
    return fig


def _cell_name(row: Row) -> str:
    params = row["params"]
    return f"{params['kernel']}, {params['dtype']}, {params['problem']}"


# ---- exp-degree ----------------------------------------------------------------------------------


def exp_degree(results: Results) -> Figure | None:
    """Error of the output, and time of an exponential, over the polynomial's degree."""
    rows = rows_of(results, "exp-degree", part="error")
    timed = rows_of(results, "exp-degree", part="time")
    if not rows:
        return None
    fig, axes = style.figure(1, 2 if timed else 1, height=3.6)
    types = series(rows, "dtype")
    looks = style.looks([*types, "exponential alone"])
    for dtype, line in types.items():
        look = looks[dtype]
        axes[0].plot(parameter(line, "degree"), column(line, "relative"), color=look.colour,
                     marker=look.marker, ls=look.line, label=f"output, {dtype}")  # fmt: skip
    first, look = next(iter(types.values())), looks["exponential alone"]
    axes[0].plot(parameter(first, "degree"), column(first, "exp_error"), color=look.colour,
                 marker=look.marker, ls=look.line, label="the exponential, largest")  # fmt: skip
    axes[0].set_yscale("log")
    axes[0].set_title("relative error")
    if timed:
        times = 1e9 * column(timed, "seconds")
        axes[1].bar(parameter(timed, "degree"), times, 0.6, color=style.COLOURS[0], lw=0)
        axes[1].set_title("time of one exponential, ns")
    for ax in axes:
        ax.set_xlabel("degree of the polynomial")
        ax.set_xticks(sorted(set(parameter(rows, "degree"))))
    style.legend(fig, axes[:1])
    style.source(fig, origin(results))
    return fig


# ---- layer ---------------------------------------------------------------------------------------


def layer(results: Results) -> Figure | None:
    """Share of attention in a layer's time over S, a line per width."""
    rows = rows_of(results, "layer", part="time")
    if not rows:
        return None
    fig, (ax,) = style.figure(height=3.8)
    widths = series(rows, "d_model")
    looks = style.looks(widths)
    for width, line in widths.items():
        look, share = looks[width], 100 * column(line, "attention_share")
        interval = 100 * np.array([r["values"]["ci95"] for r in line], dtype=float).T
        ax.errorbar(parameter(line, "s"), share, abs(interval - share), color=look.colour,
                    marker=look.marker, ls=look.line, capsize=2,
                    label=f"$d_{{model}}$ = {width}")  # fmt: skip
    ax.axhline(50, color=style.INK, lw=1)
    doubling(ax, parameter(rows, "s"))
    ax.set_ylim(0, 100)
    ax.set_xlabel("tokens S")
    ax.set_ylabel("attention's share of the layer's time, %")
    style.legend(fig, [ax])
    threads = rows[0]["params"]["threads"]
    style.source(fig, f"the rest: projections · {threads} threads · {origin(results)}")
    return fig


FIGURES: dict[str, Callable[[Results], Figure | None]] = {
    "variance": variance,
    "softmax": softmax,
    "saturation": saturation,
    "worked-examples": worked_examples,
    "layer": layer,
    "error-growth": error_growth,
    "overflow": overflow,
    "rescale": rescale,
    "exp-degree": exp_degree,
    "memory": memory,
    "invariance": invariance,
}


def every(results: Results) -> Iterator[tuple[str, Figure | None]]:
    """Name and figure of each experiment that has one."""
    for name, draw in FIGURES.items():
        yield f"experiment-{name}", draw(results)

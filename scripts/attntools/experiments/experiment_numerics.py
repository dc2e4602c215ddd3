"""Figures of experiments on exactness: printed examples, errors, overflow, bits, exponentials."""

from attntools.experiments.experiment_rows import Row, column, doubling, parameter, rows_of, series
from attntools.plot import style
from attntools.plot.figures import origin
from attntools.results.cells import Results
from matplotlib.figure import Figure

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
    """RMS error relative to the output over the number of keys: a panel per input and type."""
    rows = rows_of(results, "error-growth")
    if not rows:
        return None
    panels = [
        (f"{dtype} behind a sink" if given == "sink" else dtype, group)
        for given, part in series(rows, "input").items()
        for dtype, group in series(part, "dtype").items()
    ]
    across = len(series(rows, "dtype"))
    looks = style.looks(row["params"]["kernel"] for row in rows)
    down = len(panels) // across
    fig, axes = style.figure(down, across, height=1.2 + 2.6 * down, share_y=True)
    for number, (ax, (title, group)) in enumerate(zip(axes, panels, strict=True)):
        for kernel, line in series(group, "kernel").items():
            look, output = looks[kernel], column(line, "output_rms")
            ax.plot(parameter(line, "s"), column(line, "rms") / output, color=look.colour,
                    marker=look.marker, ls=look.line, label=kernel, ms=4)  # fmt: skip
        first = next(iter(series(group, "kernel").values()))
        bound = column(first, "bound_rms") / column(first, "output_rms")
        ax.plot(parameter(first, "s"), bound, color=style.INK, lw=1, label="bound of the checks")
        doubling(ax, parameter(group, "s"), 5)
        ax.set_yscale("log")
        ax.set_title(title)
        if number >= len(panels) - across:
            ax.set_xlabel("keys")
        if number % across == 0:
            ax.set_ylabel("RMS error / RMS output")
    style.legend(fig, axes)
    style.source(fig, origin(results))
    return fig


# ---- overflow ------------------------------------------------------------------------------------


def overflow(results: Results) -> Figure | None:
    """The first logit at which each softmax fails; an arrow where no logit of its type does."""
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


# ---- invariance ----------------------------------------------------------------------------------


def invariance(results: Results) -> Figure | None:
    """Same bits, or the largest difference: kernels by changes that should make no difference."""
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
                 marker=look.marker, ls=look.line, label="the exponential, at worst")  # fmt: skip
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

"""Figures of experiments on exactness: printed examples, errors, overflow, bits, exponentials."""

from attntools.base.units import digits, length, power
from attntools.experiments.experiment_rows import column, doubling, line, parameter, rows_of, series
from attntools.plot import kernel_looks, style
from attntools.plot.figures import origin, plain_log
from attntools.results.cells import Results, Row
from matplotlib.axes import Axes
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
    looks = kernel_looks.looks(groups)
    fig, (ax,) = style.figure(height=0.9 + 0.22 * len(names))
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
    shares = [r["values"]["difference"] / r["values"]["tolerance"] for r in rows]
    beyond = sum(share > 1 for share in shares)
    title = (f"{beyond} of {len(rows)} printed matrices differ by more than their rounding"
             if beyond else f"All {len(rows)} comparisons with printed matrices agree within their "
             f"rounding; the farthest takes {max(shares):.2f} of it")  # fmt: skip
    style.heading(fig, title, "A row is a printed matrix, a mark a kernel.", origin(results))
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
    looks = kernel_looks.looks([row["params"]["kernel"] for row in rows])
    down = len(panels) // across
    fig, axes = style.figure(down, across, height=0.8 + 2.4 * down, share_y=True)
    for number, (ax, (title, group)) in enumerate(zip(axes, panels, strict=True)):
        for kernel, of in series(group, "kernel").items():
            error = column(of, "rms") / column(of, "output_rms")
            line(ax, looks[kernel], of, "s", error, label=kernel, ms=4.5, lw=1.2, mfc="none")
        first = next(iter(series(group, "kernel").values()))
        bound = column(first, "bound_rms") / column(first, "output_rms")
        ax.plot(parameter(first, "s"), bound, color=style.INK, lw=1.6)
        at = len(bound) // 2
        ax.annotate("allowed", (parameter(first, "s")[at], bound[at]), (-2, 4), ha="right",
                    textcoords="offset points", fontsize=7.5)  # fmt: skip
        doubling(ax, parameter(group, "s"), 4)
        ax.set_title(title, fontsize=9)
        if number >= len(panels) - across:
            ax.set_xlabel("keys")
        if number % across == 0:
            ax.set_ylabel("error of the output")
    for ax in axes:
        plain_log(ax, "y")
    style.legend(fig, axes)
    note = "Root mean square of the error over that of the output. Kernels of equal errors lie "
    note += "over each other."
    if any(r["params"]["input"] == "sink" for r in rows):
        note += " Sink: the first key has nearly all the weight, so that the rest is small."
    style.heading(fig, error_title(rows), note, origin(results))
    return fig


def error_title(rows: list[Row]) -> str:
    """The errors of each type from the fewest keys to the most, of normal inputs."""
    said = []
    rows = [r for r in rows if r["params"]["input"] != "sink"] or rows
    for dtype, group in series(rows, "dtype").items():
        worst = [
            max(column(at, "rms") / column(at, "output_rms"))
            for _, at in sorted(series(group, "s").items())
        ]
        grows = worst[-1] > 2 * worst[0]
        grown = f"grows from {power(worst[0])} to {power(worst[-1])}"
        said.append(f"{dtype}'s error {grown if grows else f'stays at {power(max(worst))}'}")
    least, most = (length(end(parameter(rows, "s"))) for end in (min, max))
    text = f"From {least} to {most} keys " + ", ".join(said)
    below = (column(rows, "rms") <= column(rows, "bound_rms")).all()
    return text + ("; all below what is allowed" if below else "")


# ---- overflow ------------------------------------------------------------------------------------


def first_failure(row: Row) -> float | None:
    """The smallest logit, up or down, at which a softmax fails; None where it never does."""
    return min((v for k in ("up", "down") if (v := row["values"][k]) is not None), default=None)


def overflow(results: Results) -> Figure | None:
    """From which logit on each softmax fails, softmaxes by types."""
    rows = rows_of(results, "overflow")
    if not rows:
        return None
    names = list(dict.fromkeys(r["params"]["by"] for r in rows))
    types = list(series(rows, "dtype"))
    fig, (ax,) = style.figure(height=0.5 + 0.27 * len(names))
    at: set[tuple[int, int]] = set()
    for row in rows:
        failed = first_failure(row)
        text = "never" if failed is None else f"from {_logit(failed)} on"
        at.add(place := (types.index(row["params"]["dtype"]), names.index(row["params"]["by"])))
        _square(ax, *place, text, good=failed is None)
    for x, y in {(x, y) for x in range(len(types)) for y in range(len(names))} - at:
        ax.text(x, y, "not run", ha="center", va="center", fontsize=7, color=style.GREY)
    _grid(ax, types, names)
    note = "By how large a logit is, up or down. Never: not up to the most that its operands give, "
    most = {r["params"]["dtype"]: r["values"]["most"] for r in rows}
    note += ", ".join(f"{_logit(x)} in {dtype}" for dtype, x in most.items())
    style.heading(fig, overflow_title(rows), note + ".", origin(results))
    return fig


def _logit(value: float) -> str:
    """A logit: 88.7, or a power of ten."""
    return digits(value) if value < 1e5 else power(value)


def overflow_title(rows: list[Row]) -> str:
    """What fails first, and what fails only near the end of its type."""
    failed = [r for r in rows if first_failure(r) is not None]
    if not failed:
        return "No logit that its type can hold makes a softmax fail"
    first = min(failed, key=lambda r: first_failure(r) or 0)
    early = {r["params"]["by"] for r in failed if (first_failure(r) or 0) < 1e4}
    late = sorted({r["params"]["by"] for r in failed} - early)
    text = f"{first['params']['by']} fails from a logit of {_logit(first_failure(first) or 0)} on"
    if late:
        text += f"; {' and '.join(late)} only at the end of a type"
    return text[0].upper() + text[1:]


# ---- invariance ----------------------------------------------------------------------------------


def invariance(results: Results) -> Figure | None:
    """Same bits, or the largest difference: kernels by changes that should make no difference."""
    rows = rows_of(results, "invariance")
    if not rows:
        return None
    cells = list(dict.fromkeys(_cell_name(r) for r in rows))
    changes = series(rows, "change")
    fig, (ax,) = style.figure(height=0.5 + 0.2 * len(cells))
    for row in rows:
        same = row["values"]["equal"]
        text = "same bits" if same else power(row["values"]["largest"])
        at = list(changes).index(row["params"]["change"]), cells.index(_cell_name(row))
        _square(ax, *at, text, good=same)
    _grid(ax, list(changes), cells)
    style.heading(fig, invariance_title(changes), "A number: the largest difference from the "
                  "output without the change.", origin(results))  # fmt: skip
    return fig


def invariance_title(changes: dict[str, list[Row]]) -> str:
    """Which changes leave all bits, and how often the others do not."""
    moved = {name: sum(not r["values"]["equal"] for r in rows) for name, rows in changes.items()}
    still = [name for name, count in moved.items() if not count]
    said = [f"{name}: {moved[name]} of {len(rows)} differ"
            for name, rows in changes.items() if moved[name]]  # fmt: skip
    text = f"Same bits whatever the {', '.join(still)}" if still else ""
    return "; ".join([text] * bool(still) + said)


def _square(ax: Axes, x: int, y: int, text: str, *, good: bool) -> None:
    """A field of a table of outcomes."""
    ax.barh(y, 0.96, 0.9, x - 0.48, color=style.NEUTRAL[2 if good else 1], alpha=0.5, lw=0)
    ax.text(x, y, text, ha="center", va="center", fontsize=7)


def _grid(ax: Axes, across: list[str], down: list[str]) -> None:
    """The names of a table's columns, above them, and of its rows."""
    ax.set_xticks(range(len(across)), across)
    ax.set_xlim(-0.5, len(across) - 0.5)
    style.names_down(ax, down, fontsize=7)
    ax.grid(visible=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.xaxis.tick_top()


def _cell_name(row: Row) -> str:
    params = row["params"]
    return f"{params['kernel']}, {params['dtype']}, {params['problem']}"


# ---- cache ---------------------------------------------------------------------------------------


def cache(results: Results) -> Figure | None:
    """Work with a KV cache and without, over the length; tokens with the same bits either way."""
    work, bits = (rows_of(results, "cache", part=part) for part in ("work", "bits"))
    if not work or not bits:
        return None
    fig, (left, right) = style.figure(1, 2, height=max(3.6, 1.4 + 0.24 * len(bits)))
    lines = {
        "operations, with a cache": "flops", "operations, computed again": "flops_again",
        "bytes, with a cache": "bytes", "bytes, computed again": "bytes_again",
    }  # fmt: skip
    looks = style.looks(lines)
    for label, key in lines.items():
        line(left, looks[label], work, "length", key, label=label, ms=4)
    doubling(left, parameter(work, "length"), 5)
    left.set_yscale("log")
    left.set_xlabel("tokens")
    left.set_ylabel("operations, bytes")
    for y, row in enumerate(bits):
        share = row["values"]["same"] / row["params"]["s"]
        right.barh(y, share, color=style.NEUTRAL[2 if share == 1 else 1], alpha=0.5)
        if share < 1:
            text = f"others differ by up to {power(row['values']['largest'])}"
            right.text(0.02, y, text, va="center", fontsize=7)
    names = [f"{r['params']['kernel']}, {r['params']['dtype']}" for r in bits]
    style.names_down(right, names, fontsize=7)
    right.set_xlim(0, 1)
    right.grid(visible=False)
    right.set_xlabel("share of tokens with the same bits either way")
    style.legend(fig, [left], columns=2)
    note = (
        "All tokens one after the other. Bytes: the least that must be moved. "
        "Green: every token has the same bits."
    )
    style.heading(fig, cache_title(work), note, origin(results))
    return fig


def cache_title(work: list[Row]) -> str:
    """What computing again costs at the largest number of tokens."""
    last = max(work, key=lambda row: row["params"]["length"])
    flops, moved = (last["values"][f"times_{key}"] for key in ("flops", "bytes"))
    return (f"Without a cache {last['params']['length']} tokens take {flops:.0f} times the "
            f"operations and {digits(moved)} times the bytes")  # fmt: skip


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
    for dtype, of in types.items():
        line(axes[0], looks[dtype], of, "degree", "relative", label=f"output, {dtype}")
    first, look = next(iter(types.values())), looks["exponential alone"]
    line(axes[0], look, first, "degree", "exp_error", label="the exponential, at worst")
    plain_log(axes[0], "y")
    axes[0].set_title("relative error")
    if timed:
        times = 1e9 * column(timed, "seconds")
        axes[1].bar(parameter(timed, "degree"), times, 0.6, color=style.NEUTRAL[0], lw=0)
        axes[1].set_title("time of one exponential, ns")
    for ax in axes:
        ax.set_xlabel("degree of the polynomial")
        ax.set_xticks(sorted(set(parameter(rows, "degree"))))
    style.legend(fig, axes[:1])
    said = ", ".join(f"{last_gain(of)} in {dtype}" for dtype, of in types.items())
    style.heading(
        fig, f"No smaller error beyond a degree of {said}",
        "exp as a polynomial, in attention of f32, bf16 and f16.", origin(results),
    )  # fmt: skip
    return fig


def last_gain(rows: list[Row]) -> int:
    """The lowest degree whose error is within a tenth of the least."""
    least = min(column(rows, "relative"))
    return min(r["params"]["degree"] for r in rows if r["values"]["relative"] <= 1.1 * least)

"""Figures of experiments on time and memory."""

from collections.abc import Iterator

import numpy as np
from attntools.base.statistics import median_interval
from attntools.base.units import digits, length, raised, size, trimmed
from attntools.experiments.experiment_rows import column, doubling, line, parameter, rows_of, series
from attntools.experiments.fits import power
from attntools.plot import kernel_looks, style
from attntools.plot.figures import origin, plain_log, threads_title
from attntools.results.cells import Results, Row
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# ---- rescale -------------------------------------------------------------------------------------


def rescale(results: Results) -> Figure | None:
    """Rescales per row by block size and threshold; of older files also times by order of keys."""
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
        for threshold, of in groups.items():
            label = f"if the maximum grew by more than $2^{{{threshold:g}}}$"
            line(ax, looks[threshold], of, "block", "rescales", label=label)
        if group:
            doubling(ax, parameter(group, "block"), 4)
        ax.set_xlabel("keys in a block")
        ax.set_title(title, fontsize=9)
        ax.set_ylim(0, None)
    axes[0].set_ylabel("rescales per row")
    style.legend(fig, axes[:1], columns=2)
    if timed:
        _order_times(axes[2], timed)
    style.heading(fig, rescale_title(rows), "A row's sum and output are rescaled where its largest "
                  "logit grows by more than a threshold.", origin(results))  # fmt: skip
    return fig


def rescale_title(rows: list[Row]) -> str:
    """What the largest threshold saves with the largest blocks of random logits."""
    rows = [r for r in rows if r["params"]["input"] == rows[0]["params"]["input"]]
    block = max(r["params"]["block"] for r in rows)
    at = {r["params"]["threshold"]: r["values"]["rescales"]
          for r in rows if r["params"]["block"] == block}  # fmt: skip
    none, most = at[min(at)], at[max(at)]
    often = f"{digits(most)} times" if most else "never"
    return (f"In blocks of {block:g} keys a row is rescaled {digits(none)} times, "
            f"{often} with a threshold of 2{raised(max(at))}")  # fmt: skip


def _order_times(ax: Axes, rows: list[Row]) -> None:
    """Ratios of times with their intervals."""
    shown = [r for r in rows if r["params"]["input"] != "descending"]
    looks = kernel_looks.looks([r["params"]["kernel"] for r in shown])
    for y, row in enumerate(shown):
        ratio, interval = row["values"]["ratio"], row["values"]["ci95"]
        look = looks[row["params"]["kernel"]]
        ax.plot(ratio, y, look.marker, color=look.colour)
        if interval:
            ax.plot(interval, [y, y], color=look.colour)
    names = [f"{r['params']['kernel']}, {r['params']['input']}" for r in shown]
    style.names_down(ax, names, fontsize=7)
    ax.axvline(1, color=style.INK, lw=1)
    ax.set_xlabel("time / descending")
    ax.set_title("what the order costs", fontsize=9)


# ---- key-order -----------------------------------------------------------------------------------


CONTROL = "gemm"  # keeps no running maximum, and is launched in the same rounds


def _over_control(group: list[Row]) -> dict[str, np.ndarray]:
    """Median ratio of a kernel's launches to those of gemm, and its interval, by kernel."""
    launches = {r["params"]["kernel"]: r["values"]["launch_medians_s"] or [] for r in group}
    found = {}
    for kernel, times in launches.items():
        pairs = [a / b for a, b in zip(times, launches.get(CONTROL, []), strict=False)]
        if kernel != CONTROL and pairs:
            found[kernel] = np.array([np.median(pairs), *median_interval(pairs)], dtype=float)
    return found


def _orders(results: Results) -> list[Row]:
    """Those ratios over that of descending keys, with the outer ends of both intervals."""
    given = {key.partition(":")[0]: _over_control(group)
             for key, group in series(rows_of(results, "key-order"), "input").items()}  # fmt: skip
    found = []
    for kernel, (base, lo, hi) in given.get("descending", {}).items():
        for order in ("normal", "ascending"):
            if kernel in given.get(order, {}):
                middle, low, high = given[order][kernel]
                ends = [low / hi, high / lo]
                values = {"ratio": middle / base, "ci95": ends if np.isfinite(ends).all() else None}
                found.append({"params": {"kernel": kernel, "input": order}, "values": values})
    return found


def key_order(results: Results) -> Figure | None:
    """Time over gemm's with ascending and random keys, against the same with descending ones."""
    rows = _orders(results)
    if not rows:
        return None
    fig, (ax,) = style.figure(height=1.4 + 0.24 * len(rows))
    _order_times(ax, rows)
    ax.set_xlabel("time over gemm's / the same with descending keys")
    apart = [r for r in rows if (ends := r["values"]["ci95"]) and not ends[0] <= 1 <= ends[1]]
    names = ", ".join(dict.fromkeys(r["params"]["kernel"] for r in apart))
    title = (f"The order of keys changes the time of {names}" if apart
             else "No order of keys changes the time of a kernel beyond its interval")  # fmt: skip
    note = "Against gemm, which keeps no running maximum; lines: 95 % intervals."
    style.heading(fig, title, note, origin(results))
    return fig


def key_order_findings(results: Results) -> Iterator[str]:
    """What ascending keys cost each kernel."""
    for row in _orders(results):
        if row["params"]["input"] == "ascending":
            lo, hi = row["values"]["ci95"] or (None, None)
            interval = f" (95 % interval {lo:.3f} .. {hi:.3f})" if lo else ""
            yield (
                f"With ascending keys {row['params']['kernel']} takes "
                f"{row['values']['ratio']:.3f} times as long as with descending ones{interval}, "
                "against gemm."
            )


# ---- memory --------------------------------------------------------------------------------------


def memory(results: Results) -> Figure | None:
    """Workspace, operands and results over S, with and without weights."""
    rows = [r for r in rows_of(results, "memory") if r["values"]["workspace_bytes"] is not None]
    if not rows:
        return None
    looks = kernel_looks.looks([row["params"]["kernel"] for row in rows])
    fig, axes = style.figure(1, 2, height=3.8, share_y=True)
    titles = {"o": "outputs only", "o+weights": "outputs and weights"}
    for ax, (outputs, title) in zip(axes, titles.items(), strict=True):
        group = [r for r in rows if r["params"]["outputs"] == outputs]
        for kernel, of in series(group, "kernel").items():
            line(ax, looks[kernel], of, "s", _total_bytes(of) / 1e6, label=kernel, ms=4)
        doubling(ax, parameter(rows, "s"), 6)
        plain_log(ax, "y", lambda mb: trimmed(size(1e6 * mb)))
        ax.set_xlabel("queries and keys")
        ax.set_title(title)
    style.legend(fig, axes)
    style.heading(fig, memory_title(rows), "Operands, results and workspace of one head.",
                  origin(results))  # fmt: skip
    return fig


def memory_title(rows: list[Row]) -> str:
    """What the kernels that need most take at the largest S, without weights and with them."""
    at = max(r["params"]["s"] for r in rows)
    most = {outputs: max(_total_bytes([r])[0] for r in group if r["params"]["s"] == at)
            for outputs, group in series(rows, "outputs").items()}  # fmt: skip
    said = [f"{size(most[o])} {how}" for o, how in (("o", "without weights"),
            ("o+weights", "with them")) if o in most]  # fmt: skip
    return f"At S = {length(at)} a head takes at most " + ", ".join(said)


def _total_bytes(rows: list[Row]) -> np.ndarray:
    """Workspace, operands and results; older rows have the latter two, in f32 of one head here."""
    known = rows[0]["values"].get("operand_bytes") is not None
    return column(rows, "workspace_bytes") + (
        column(rows, "operand_bytes") if known else np.array([_operands(r) for r in rows])
    )


def _operands(row: Row) -> float:
    """Bytes of Q, K, V, O and, where they are kept, the weights."""
    p = row["params"]
    weights = p["s"] ** 2 if "weights" in p["outputs"] else 0
    return 4.0 * p["batch"] * p["heads"] * (4 * p["s"] * p["d"] + weights)


def memory_findings(results: Results) -> Iterator[str]:
    """Exponents over S, of the kernel that grows fastest with and without the weights."""
    rows = [r for r in rows_of(results, "memory") if r["values"]["workspace_bytes"] is not None]
    for outputs, group in series(rows, "outputs").items():
        fits = {k: power(parameter(of, "s"), _total_bytes(of))
                for k, of in series(group, "kernel").items()}  # fmt: skip
        found = {kernel: fit for kernel, fit in fits.items() if fit}
        if found:
            most = max(found, key=lambda kernel: found[kernel].value)
            yield (f"Outputs {outputs}: memory of {most} grows fastest, as "
                   f"S^{found[most].text('.2f')}.")  # fmt: skip


# ---- layer ---------------------------------------------------------------------------------------


def _differences(results: Results) -> Figure | None:
    """Differences from the output in a layer's file, as shares of what rounding explains."""
    rows = [r for r in rows_of(results, "layer", part="real") if r["values"]["difference"]]
    if not rows:
        return None
    fig, (ax,) = style.figure(height=0.6 + 0.24 * len(rows))
    looks = kernel_looks.looks([r["params"]["kernel"] for r in rows])
    share = column(rows, "difference") / column(rows, "tolerance")
    for y, row in enumerate(rows):
        look = looks[row["params"]["kernel"]]
        ax.plot(share[y], y, look.marker, color=look.colour)
    ax.axvline(1, color=style.INK, lw=1)
    style.names_down(ax, [r["params"]["kernel"] for r in rows])
    ax.set_xlim(0, max(1.1, 1.1 * share.max()))
    ax.set_xlabel("largest difference from the model's output / what rounding explains")
    beyond = [r["params"]["kernel"] for r, x in zip(rows, share, strict=True) if x > 1]
    title = (f"Not the model's output: {', '.join(beyond)}" if beyond
             else f"Every kernel gives the model's output, within {share.max():.2f} of what "
             "rounding explains")  # fmt: skip
    style.heading(fig, title, "A layer of MiniLM, its output as the model computed it.",
                  origin(results))  # fmt: skip
    return fig


def layer(results: Results) -> Figure | None:
    """How far the output of each kernel is from the file's; of older files attention's share."""
    rows = rows_of(results, "layer", part="time")
    if not rows:
        return _differences(results)
    fig, (ax,) = style.figure(height=3.8)
    widths = series(rows, "d_model")
    looks = style.looks(widths)
    for width, of in widths.items():
        share = 100 * column(of, "attention_share")
        interval = 100 * np.array([r["values"]["ci95"] for r in of], dtype=float).T
        ax.errorbar(parameter(of, "s"), share, abs(interval - share), capsize=2,
                    label=f"width {width}", **looks[width].drawn)  # fmt: skip
    ax.axhline(50, color=style.INK, lw=1)
    doubling(ax, parameter(rows, "s"))
    ax.set_ylim(0, 100)
    ax.set_xlabel("tokens S")
    ax.set_ylabel("attention's share of the layer's time, %")
    style.legend(fig, [ax])
    threads = rows[0]["params"]["threads"]
    style.heading(fig, layer_title(widths), f"The rest of a layer's time: its projections. "
                  f"{threads_title(threads)}; bars: 95 % intervals.", origin(results))  # fmt: skip
    return fig


def layer_title(widths: dict[int, list[Row]]) -> str:
    """From which S on attention takes more than half of the time, by width."""
    said = []
    for width, of in widths.items():
        over = [r["params"]["s"] for r in of if r["values"]["attention_share"] > 0.5]
        said.append(f"from S = {length(min(over))} at a width of {width}" if over
                    else f"at no S at {width}")  # fmt: skip
    return "Attention takes more than half of a layer " + ", ".join(said)

"""How time grows with the sequence, with threads and with the batch: figure and fitted laws."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from attntools.base.statistics import median_interval
from attntools.base.units import digits, raised, short_seconds
from attntools.experiments.experiment_rows import column, doubling, parameter, rows_of, series
from attntools.experiments.fits import amdahl, power, scalability
from attntools.plot import kernel_looks, style
from attntools.plot.figures import origin, plain_log
from attntools.results.cells import Results, Row
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

AMDAHL_COUNTS, SCALABILITY_COUNTS = 4, 6  # thread counts, one included, from which a law is fitted


def sweeps(results: Results) -> dict[str, list[Row]]:
    """The rows with a time over the length, over threads and over the batch.

    Older files say of each row to which of them it belongs.  In a session of `attnbench run`, all
    kernels ran every case on every number of threads: over S are the single sequences on one
    thread, over the batch the cases of the S that more than one batch has, on the most threads, and
    over threads the single sequence of that S.
    """
    rows = [r for r in rows_of(results, "scaling") if r["values"]["median_s"] is not None]
    if any("part" in r["params"] for r in rows):
        return {p: [r for r in rows if r["params"]["part"] == p]
                for p in ("length", "threads", "batch")}  # fmt: skip
    batches = [r["params"]["s"] for r in rows if r["params"]["batch"] > 1]
    at = max(batches, default=max((r["params"]["s"] for r in rows), default=0))
    most = max((r["params"]["threads"] for r in rows), default=1)
    return {
        "length": _of(rows, batch=1, threads=1),
        "threads": _of(rows, batch=1, s=at),
        "batch": _of(rows, s=at, threads=most),
    }


def _of(rows: list[Row], **params: int) -> list[Row]:
    """The rows with these parameters, ordered by all three."""
    found = [r for r in rows if all(r["params"][k] == v for k, v in params.items())]
    return sorted(found, key=lambda r: [r["params"][k] for k in ("s", "batch", "threads")])


def findings(results: Results) -> Iterator[str]:
    """Exponents, and what Amdahl's law and the universal scalability law say."""
    parts = sweeps(results)
    yield from _exponents(parts["length"], "s", "S")
    for kernel, rows in series(parts["threads"], "kernel").items():
        yield from _laws(kernel, rows)
    yield from _exponents(parts["batch"], "batch", "B")


def _exponents(rows: list[Row], key: str, letter: str) -> Iterator[str]:
    for kernel, line in series(rows, "kernel").items():
        x, times = parameter(line, key), column(line, "median_s")
        fit = power(x, times)
        if fit:
            last = np.log(times[-1] / times[-2]) / np.log(x[-1] / x[-2])
            yield (f"Time of {kernel} grows as {letter}^{fit.text('.2f')} from {letter} = "
                   f"{x[0]:.0f} to {x[-1]:.0f}; from {x[-2]:.0f} on as "
                   f"{letter}^{last:.2f}.")  # fmt: skip
        else:
            yield (f"{kernel}: {len(line)} times over {letter} are too few for an exponent, "
                   "which takes 3.")  # fmt: skip


def _laws(kernel: str, rows: list[Row]) -> Iterator[str]:
    one = next((r for r in rows if r["params"]["threads"] == 1), None)
    if not one:
        return
    n = parameter(rows, "threads")
    speedups = np.array([np.median(_speedups(one, r)) for r in rows])
    for count, speedup in zip(n[n > 1], speedups[n > 1], strict=True):
        yield (f"{kernel} on {count:.0f} threads is {speedup:.2f} times as fast as on one: "
               f"{100 * speedup / count:.0f} % efficient.")  # fmt: skip
    if len(n) < AMDAHL_COUNTS:
        yield (f"{kernel} ran on {len(n)} thread counts: not enough for Amdahl's law, which is "
               f"fitted from {AMDAHL_COUNTS} on, nor for the universal scalability law, from "
               f"{SCALABILITY_COUNTS} on.")  # fmt: skip
        return
    yield f"{kernel} by Amdahl's law: {amdahl(n, speedups).text('.4f')} of the work is serial."
    if len(n) < SCALABILITY_COUNTS:
        yield (f"{len(n)} thread counts are not enough for the universal scalability law, which is "
               f"fitted from {SCALABILITY_COUNTS} on.")  # fmt: skip
        return
    contention, coherency = scalability(n, speedups)
    yield (f"{kernel} by the universal scalability law: contention {contention.text('.4f')}, "
           f"coherency {coherency.text('.5f')}.")  # fmt: skip


def scaling(results: Results) -> Figure | None:
    """Time over S, speed-up over threads, time of a sequence over the batch."""
    parts = sweeps(results)
    rows = [r for here in parts.values() for r in here]
    if not rows:
        return None
    looks = kernel_looks.looks([r["params"]["kernel"] for r in rows])
    fig, axes = style.figure(1, 3, height=3.6)
    draws = (("length", _over_length), ("threads", _over_threads), ("batch", _over_batch))
    for ax, (part, draw) in zip(axes, draws, strict=True):
        here = parts[part]
        for kernel, line in series(here, "kernel").items():
            draw(ax, line, label=kernel, **looks[kernel].drawn)
        if here and part != "threads":
            doubling(ax, parameter(here, "s" if part == "length" else "batch"), 4)
        ax.autoscale()
    _square(axes[0], parts["length"])
    _ideal(axes[1], parts["threads"])
    plain_log(axes[0], "y", short_seconds)
    axes[0].set_title("time over S")
    axes[0].set_xlabel("queries and keys S")
    axes[1].set_title("times as fast as one thread")
    axes[1].set_xlabel("threads")
    axes[2].set_title("time per sequence")
    axes[2].set_xlabel("sequences in a batch")
    axes[2].yaxis.set_major_formatter(FuncFormatter(lambda x, _: short_seconds(x)))
    axes[2].set_ylim(0, None)
    style.legend(fig, axes)
    params = rows[0]["params"]
    style.heading(fig, title(parts), f"{params['heads']} heads, d = {params['d']}; bars: 95 % "
                  "intervals.", origin(results))  # fmt: skip
    return fig


def title(parts: dict[str, list[Row]]) -> str:
    """What twice the length costs each kernel, and what the most threads give it."""
    grows, faster, most = [], [], 1
    for kernel, line in series(parts["length"], "kernel").items():
        if fit := power(parameter(line, "s"), column(line, "median_s")):
            grows.append(f"that of {kernel} as S{raised(round(fit.value, 2))}")
    for kernel, line in series(parts["threads"], "kernel").items():
        most = max(most, line[-1]["params"]["threads"])
        if line[0]["params"]["threads"] == 1 < line[-1]["params"]["threads"]:
            ratio = float(np.median(_speedups(line[0], line[-1])))
            faster.append(f"{kernel} {digits(ratio)}")
    said = [f"Time grows over S: {', '.join(grows)}"] if grows else []
    said += [f"{most:g} threads make {', '.join(faster)} times as fast"] if faster else []
    return "; ".join(said) or "Time over S, threads and batch"


def _bars(rows: list[Row], divisor: np.ndarray | float = 1) -> tuple[np.ndarray, np.ndarray]:
    """Medians and the lengths of their intervals' arms, each over the divisor."""
    middle = column(rows, "median_s")
    spans = [r["values"]["ci95_s"] or [r["values"]["median_s"]] * 2 for r in rows]
    return middle / divisor, abs(np.array(spans).T - middle) / divisor


def _over_length(ax: Axes, rows: list[Row], **look: Any) -> None:
    """Medians with intervals."""
    middle, arms = _bars(rows)
    ax.errorbar(parameter(rows, "s"), middle, arms, capsize=2, **look)


def _square(ax: Axes, rows: list[Row]) -> None:
    """A line of slope 2 below the last times."""
    s = np.unique(parameter(rows, "s"))[-2:]
    if len(s) == 2:
        last = min(r["values"]["median_s"] for r in rows if r["params"]["s"] == s[-1])
        square = last * (s / s[-1]) ** 2 / 3
        ax.plot(s, square, color=style.INK, lw=1)
        ax.annotate("S²", (s[0], square[0]), fontsize=8, xytext=(-3, -3), ha="right",
                    textcoords="offset points")  # fmt: skip


def _ideal(ax: Axes, rows: list[Row]) -> None:
    """The line of an ideal speed-up: as many times as fast as there are threads."""
    threads = np.unique(parameter(rows, "threads"))
    if len(threads):
        ax.plot(threads[[0, -1]], threads[[0, -1]], "--", color=style.INK, lw=1, label="ideal",
                zorder=3)  # fmt: skip
        ax.set_xticks(threads)
    ax.set_ylim(0, None)


def _over_threads(ax: Axes, rows: list[Row], **look: Any) -> None:
    """Speed-up by launches of the same round, with its interval."""
    one = next((r for r in rows if r["params"]["threads"] == 1), None)
    if not one:
        return
    threads = parameter(rows, "threads")
    pairs = [_speedups(one, row) for row in rows]
    middle = np.array([np.median(p) for p in pairs])
    spans = np.array([median_interval(p) for p in pairs], dtype=float).T
    spans = np.where(np.isfinite(spans), spans, middle)
    ax.errorbar(threads, middle, abs(spans - middle), capsize=2, **look)


def _speedups(one: Row, row: Row) -> np.ndarray:
    """One thread's time over this row's, round by round."""
    pairs = zip(one["values"]["launch_medians_s"], row["values"]["launch_medians_s"], strict=False)
    return np.array([a / b for a, b in pairs])


def _over_batch(ax: Axes, rows: list[Row], **look: Any) -> None:
    batch = parameter(rows, "batch")
    middle, arms = _bars(rows, batch)
    ax.errorbar(batch, middle, arms, capsize=2, **look)

"""The figure of the experiment linear: layouts of weights, and what they begin with."""

import numpy as np
from attntools.base.statistics import median_interval
from attntools.base.units import counted, digits, length, trimmed
from attntools.experiments.experiment_rows import column, doubling, line, parameter, rows_of, series
from attntools.plot import style
from attntools.plot.figures import origin
from attntools.results.cells import Results, Row
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

WAYS = {
    "gemm": "library: sgemm",
    "dot": "loop: dot products",
    "axpy": "loop: added rows",
}
INITS = {"linear": ("Linear, ±1/√d", 0.8), "rand": ("torch.rand, [0, 1)", 0.2)}  # text, height
TOKENS = 64  # of the part init

Product = tuple[int, int, int]  # d_in, d_out, tokens


def speedups(rows: list[Row], way: str) -> dict[Product, np.ndarray]:
    """How many times as fast Linear's layout was, launch by launch."""
    found: dict[Product, list[float]] = {}
    for row in rows:
        p = row["params"]
        if way in row["values"]:
            parameter_s, linear_s = row["values"][way]
            product = (p["d_in"], p["d_out"], p["tokens"])
            found.setdefault(product, []).append(parameter_s / linear_s)
    return {product: np.array(ratios) for product, ratios in found.items()}


def _over_width(ax: Axes, ratios: dict[Product, np.ndarray]) -> None:
    """Square weights: a line for each number of tokens."""
    for tokens, look in style.looks(tokens for _, _, tokens in ratios).items():
        square = {i: r for (i, o, t), r in ratios.items() if i == o and t == tokens}
        middle = np.array([np.median(r) for r in square.values()])
        ends = np.array([median_interval(r) for r in square.values()], dtype=float).T
        ends = np.where(np.isfinite(ends), ends, middle)
        ax.errorbar(list(square), middle, abs(ends - middle), capsize=2, ms=4,
                    label=counted(tokens, "token"), **look.drawn)  # fmt: skip
    ax.axhline(1, color=style.INK, lw=1)
    doubling(ax, (i for i, o, _ in ratios if i == o))
    ax.set_yscale("log", base=2)
    ax.tick_params(axis="x", labelsize=7)
    ax.set_xlabel("width d of square weights")


def _times(axes: list[Axes], rows: list[Row]) -> None:
    """A panel for each way, on one scale."""
    for ax, (way, title) in zip(axes, WAYS.items(), strict=True):
        _over_width(ax, speedups(rows, way))
        ax.set_title(title, fontsize=9)
    ends = np.array([ax.get_ylim() for ax in axes])
    ticks = 2.0 ** np.arange(np.floor(np.log2(ends.min())), np.ceil(np.log2(ends.max())) + 1)
    for ax in axes:
        ax.set_ylim(ends.min(), ends.max())
        ax.yaxis.set_major_locator(FixedLocator(ticks))
        ax.yaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_major_formatter(FuncFormatter(lambda x, _: length(x)))
    axes[0].set_ylabel("times as fast with\nLinear's layout")


def _maps(axes: list[Axes], ratios: dict[Product, np.ndarray]) -> None:
    """Every d_in by d_out, of the fewest tokens and of the most, in the same colours."""
    ins, outs, tokens = (sorted({product[i] for product in ratios}) for i in range(3))
    shown = dict.fromkeys((tokens[0], tokens[-1]))
    logs = {t: np.log2([[np.median(ratios[i, o, t]) for o in outs] for i in ins]) for t in shown}
    far = max(0.1, *(abs(share).max() for share in logs.values()))
    for ax in axes[len(logs) :]:
        ax.set_visible(False)
    for ax, (count, share) in zip(axes, logs.items(), strict=False):
        ax.imshow(share, cmap="PuOr", vmin=-far, vmax=far, aspect="auto")
        for i, o in np.ndindex(share.shape):
            light = abs(share[i, o]) < 0.6 * far
            ax.text(o, i, f"{2 ** share[i, o]:.2f}", ha="center", va="center", fontsize=7,
                    color="k" if light else "w")  # fmt: skip
        ax.set_xticks(range(len(outs)), map(length, outs), fontsize=7)
        ax.set_yticks(range(len(ins)), map(length, ins), fontsize=7)
        ax.set_xlabel("width of the output")
        ax.set_ylabel("width of the input")
        ax.grid(visible=False)
        ax.set_title(f"sgemm, {counted(count, 'token')}", fontsize=8.5)


def _init(ax: Axes, rows: list[Row]) -> None:
    """Keys in use over d, by what the weights begin with."""
    looks = style.looks(INITS)
    for init, begun in series(rows, "init").items():
        for given, of in series(begun, "input").items():
            look = looks[init]
            face, dash = (look.colour, "-") if given == "normal" else ("white", ":")
            line(ax, look, of, "d", "effective_keys", mfc=face, ls=dash, ms=4)
        text, height = INITS[init]
        ax.text(0.98, height, text, fontsize=8, ha="right", va="center", color=looks[init].colour,
                transform=ax.transAxes)  # fmt: skip
    doubling(ax, parameter(rows, "d"))
    ax.tick_params(axis="x", labelsize=7)
    ax.set_ylim(0, TOKENS * 1.05)
    ax.set_xlabel("width d")
    ax.set_ylabel("keys that a row uses")
    ax.set_title(f"fresh weights, {TOKENS} keys", fontsize=8.5)


def linear(results: Results) -> Figure | None:
    """Speed-up by way, tokens and width; keys in use behind what each layer begins with."""
    timed, init = (rows_of(results, "linear", part=part) for part in ("time", "init"))
    if not timed and not init:
        return None
    if not timed:
        fig, (ax,) = style.figure(height=3)
        _init(ax, init)
    else:
        fig, axes = style.figure(2, 3, height=4.9)
        _times(axes[:3], timed)
        _maps(axes[3:5], speedups(timed, "gemm"))
        if init:
            _init(axes[5], init)
        else:
            axes[5].set_visible(False)
        style.legend(fig, axes[:1])
    note = ("nn.Linear keeps weights as (out, in), a Parameter as (in, out). One thread; above 1 "
            "Linear's layout is the faster one, in the maps, too." if timed else "")  # fmt: skip
    note += " Fresh weights: normal tokens; dotted: uniform ones." if init else ""
    style.heading(fig, title(timed, init), note.strip(), origin(results))
    return fig


def title(timed: list[Row], init: list[Row]) -> str:
    """What Linear's layout changes most in each way, and what fresh weights leave of the keys."""
    said = [
        f"{name.split(': ')[1]} up to {_extreme(ratios)}"
        for way, name in WAYS.items()
        if (ratios := [float(np.median(r)) for r in speedups(timed, way).values()])
    ]
    text = f"Weights stored as nn.Linear's make {', '.join(said)}" if said else ""
    at = max((r["params"]["d"] for r in init), default=0)
    keys = [
        f"{_two(min(column(of, 'effective_keys')))} with {name.split(',')[0]}'s"
        for begin, (name, _) in INITS.items()
        if (of := [r for r in init if (r["params"]["init"], r["params"]["d"]) == (begin, at)])
    ]
    fresh = f"of {TOKENS} keys a row uses {', '.join(keys)} fresh weights" if keys else ""
    text = "; ".join(filter(None, (text, fresh)))
    return text[0].upper() + text[1:]


def _extreme(ratios: list[float]) -> str:
    """The farthest from 1 of how many times as fast."""
    low, high = min(ratios), max(ratios)
    if low * high < 1:
        return f"{_two(1 / low)} times as slow"
    return f"{_two(high)} times as fast"


def _two(x: float) -> str:
    """Two digits are enough in a title."""
    return trimmed(digits(float(f"{x:.1e}")))

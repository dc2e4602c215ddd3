"""Figures of experiments on logits and softmax: variance, softmax, saturation."""

import numpy as np
from attntools.base.units import digits, length
from attntools.experiments.experiment_rows import column, doubling, line, parameter, rows_of, series
from attntools.experiments.fits import power
from attntools.plot import style
from attntools.plot.figures import by, origin, plain_log
from attntools.results.cells import Results, Row
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# How scales are written on paper.
SCALES = {"1": "1", "d^-1/4": "$d^{-1/4}$", "d^-1/2": "$1/\\sqrt{d}$", "1/d": "$1/d$"}


# ---- variance ------------------------------------------------------------------------------------


def variance(results: Results) -> Figure | None:
    """var(q.k) and var(q.k)/d over d, with the exact values and the published ones."""
    rows = rows_of(results, "variance", part="sweep")
    if not rows:
        return None
    real = rows_of(results, "variance", part="real")
    fig, axes = style.figure(1, 3 if real else 2, height=3.8)
    groups = series(rows, "input")
    looks = style.looks(groups)
    for name, group in groups.items():
        look, d = looks[name], parameter(group, "d")
        for ax, value, exact in zip(
            axes[:2], ("variance", "scaled"), ("theory", "scaled_theory"), strict=True
        ):
            interval = np.array(
                [r["values"]["ci95" if value == "variance" else "scaled_ci95"] for r in group]
            ).T
            middle = column(group, value)
            ax.plot(d, column(group, exact), color=look.colour, lw=1, alpha=0.6)
            ax.errorbar(d, middle, abs(interval - middle), fmt=look.marker, color=look.colour,
                        capsize=2, label=name, ms=4)  # fmt: skip
    published = rows_of(results, "variance", part="published")
    for ax, key in zip(axes[:2], ("before", "after"), strict=True):
        if published:
            ax.plot(parameter(published, "d"), column(published, key), "x", color=style.INK,
                    ms=8, mew=1.6, label="published")  # fmt: skip
        doubling(ax, parameter(rows, "d"), 4 if real else 8)
        ax.set_xlabel("dimension d")
    plain_log(axes[0], "y")
    axes[0].set_title("var(q·k)")
    axes[1].set_title("var(q·k / √d)")
    axes[1].set_ylim(0, None)
    if real:
        _real_heads(axes[2], real)
    style.legend(fig, axes, columns=4)
    style.heading(fig, variance_title(groups), "Lines: exact; marks: drawn vectors, with 95 % "
                  "intervals; crosses: as published.", origin(results))  # fmt: skip
    return fig


def variance_title(groups: dict[str, list[Row]]) -> str:
    """How variances of the first input grow, and what scaling leaves of that."""
    rows = next(iter(groups.values()))
    fit, scaled = power(parameter(rows, "d"), column(rows, "variance")), column(rows, "scaled")
    grows = f"grows as d^{fit.value:.2f}" if fit else "grows with d"
    span = " to ".join(dict.fromkeys(f"{end(scaled):.2f}" for end in (min, max)))
    return f"The variance of q·k {grows}; divided by √d it stays at {span}"


def _real_heads(ax: Axes, rows: list[Row]) -> None:
    """Scaled variances of a transformer's heads, and what independent dimensions would give."""
    y = np.arange(len(rows))
    middle = column(rows, "scaled")
    spans = np.array([r["values"]["scaled_ci95"] for r in rows], dtype=float).T
    ax.errorbar(middle, y, xerr=abs(spans - middle), fmt="o", color=style.INK, capsize=2, ms=4,
                label="a head of MiniLM")  # fmt: skip
    ax.plot(column(rows, "scaled_independent"), y, "|", color=style.INK, ms=8,
            label="if dimensions were independent")  # fmt: skip
    ax.axvline(1, color=style.FAINT, lw=1)
    names = [f"{r['params']['prefix']}{r['params']['head']}" for r in rows]
    names = [name.replace("layer", "layer ").replace(".", ", head ") for name in names]
    style.names_down(ax, names, fontsize=7)
    plain_log(ax, "x")
    ax.set_title("var(q·k / √d), trained")
    ax.grid(visible=False, axis="y")


# ---- softmax -------------------------------------------------------------------------------------


def _logits(row: Row) -> str:
    keys = row["params"].get("keys")
    return f"{keys} {row['params']['input']} logits" if keys else "the published 5 logits"


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
    groups = by(rows, _logits)
    looks = style.looks(groups)
    for ax, (value, title) in zip(axes, panels, strict=True):
        for name, group in groups.items():
            line(ax, looks[name], group, "multiplier", value, label=name)
        doubling(ax, parameter(rows, "multiplier"), 5)
        ax.set_xlabel("multiplier of the logits")
        ax.set_title(title, fontsize=9)
    axes[0].set_ylim(0, 1.02)
    axes[1].set_ylim(0, None)
    plain_log(axes[2], "y")
    style.legend(fig, axes[:1], columns=3)
    peaks = [max(group, key=lambda r: r["values"]["jacobian"]) for group in groups.values()]
    at = [length(x) for x in sorted({r["params"]["multiplier"] for r in peaks})]
    span = " to ".join(dict.fromkeys((at[0], at[-1])))
    style.heading(
        fig, f"Softmax follows its logits most at a multiplier of {span}; beyond, one key has all "
        "the weight and nothing moves it", "Logits times a multiplier: the largest weight, how "
        "much weights follow logits, and what reaches the logits of a loss.", origin(results),
    )  # fmt: skip
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
            shown = (100 if value == "dead" else 1) * column(group, value)
            line(ax, looks[name], group, "d", shown, label=f"scale {SCALES.get(name, name)}")
        doubling(ax, parameter(rows, "d"), 5)
        ax.set_xlabel("dimension d")
        ax.set_title(title, fontsize=9)
    plain_log(axes[0], "y")
    plain_log(axes[1], "y")
    axes[2].set_ylim(0, 100)
    params = rows[0]["params"]
    style.legend(fig, axes[:1])
    style.heading(fig, saturation_title(groups), f"{params['keys']} {params['input']} keys; "
                  "gradient: what reaches a query of a loss.", origin(results))  # fmt: skip
    return fig


def saturation_title(groups: dict[str, list[Row]]) -> str:
    """What becomes of the keys in use at the largest d, without a scale and with the usual one."""
    said = []
    for scale, how in (("1", "Unscaled"), ("d^-1/2", "with 1/√d")):
        if rows := groups.get(scale):
            keys = column(rows, "effective_keys")
            said.append(f"{how} a row uses {digits(keys[-1])} keys")
    at = length(max(r["params"]["d"] for rows in groups.values() for r in rows))
    return f"At d = {at}: " + ", ".join(said or ["keys in use by scale"])

"""The figure of the experiment layouts: where the time of each layout of a kernel lies."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from attntools.experiments.experiment_rows import rows_of
from attntools.plot import style
from attntools.plot.figures import origin
from attntools.results.cells import Results, Row
from matplotlib.figure import Figure

# KERNEL_FACTOR_NUMBER, as suites/plugins/layouts.c has it.  Older files have layouts in which the
# environment was longer, which moves the whole stack.
NAME = re.compile(r"(\w+)_(again|stack|environment|code)_(\d+)$")
FACTORS = {
    "again": "nothing",
    "stack": "stack",
    "environment": "environment",
    "code": "code",
}
DRAWS = 2000

# Chance below which layouts are more than repeats: of three factors that do nothing one is
# called so 5 times in 100 (Bonferroni).
BEYOND = 0.05 / 3


class Finding(NamedTuple):
    """How far apart the farthest two layouts of a factor lie, as a ratio less 1."""

    spread: float
    lo: float  # the ends of a 95 % interval
    hi: float
    chance: float  # NaN of repeats of one layout


def _level(logs: np.ndarray) -> np.ndarray:
    """Takes each round's median off its times, which takes off what the round did to all."""
    return logs - np.median(logs, axis=-2, keepdims=True)


def _apart(logs: np.ndarray) -> np.ndarray:
    """Between the farthest medians over rounds of (..., layouts, rounds)."""
    return np.ptp(np.median(_level(logs), axis=-1), axis=-1)


def judge(logs: np.ndarray, again: np.ndarray | None) -> Finding:
    """The spread of layouts, logarithms of (layouts, rounds), beside that of repeats of one.

    The interval is a bootstrap over rounds.  `chance` is the p-value of a permutation test: if
    layouts did nothing, which launch of a round is which were as good as drawn, for launches are
    shuffled; so it draws, and is the share of draws in which the layouts spread by as much more
    than the repeats as they did, or more.  Exact for any noise.
    """
    random = np.random.default_rng(1)  # a file's figure is the same each time
    rounds = logs.shape[1]
    drawn = _level(logs)[:, random.integers(rounds, size=(DRAWS, rounds))]
    lo, hi = np.quantile(np.expm1(np.ptp(np.median(drawn, axis=-1), axis=0)), [0.025, 0.975])
    chance = np.nan
    if again is not None:
        both = np.concatenate([logs, again])
        shuffled = random.permuted(np.broadcast_to(both, (DRAWS, *both.shape)), axis=1)
        excess = _apart(shuffled[:, : len(logs)]) - _apart(shuffled[:, len(logs) :])
        as_much = np.sum(excess >= _apart(logs) - _apart(again))
        chance = (1 + as_much) / (DRAWS + 1)
    return Finding(float(np.expm1(_apart(logs))), float(lo), float(hi), float(chance))


def groups(rows: list[Row]) -> dict[str, dict[str, np.ndarray]]:
    """Logarithms of the times of (layouts, rounds) by kernel and factor."""
    kernels: dict[str, list[tuple[str, list[float]]]] = {}
    for row in rows:
        match = NAME.match(row["params"]["kernel"])
        if match and row["values"]["launch_medians_s"]:
            moved = kernels.setdefault(f"{match[1]}/{row['params']['isa']}", [])
            moved.append((match[2], row["values"]["launch_medians_s"]))
    found: dict[str, dict[str, np.ndarray]] = {}
    for kernel, layouts in kernels.items():
        rounds = min(len(times) for _, times in layouts)
        for factor in FACTORS:
            logs = [np.log(times[:rounds]) for name, times in layouts if name == factor]
            if logs:
                found.setdefault(kernel, {})[factor] = np.array(logs)
    return found


def layouts(results: Results) -> Figure | None:
    """A point a layout, a line what is moved, a panel a kernel."""
    kernels = groups(rows_of(results, "layouts"))
    if not kernels:
        return None
    fig, axes = style.figure(1, len(kernels), height=1.7)
    farthest = 0.0
    for ax, (kernel, factors) in zip(axes, kernels.items(), strict=True):
        for y, logs in enumerate(factors.values()):
            at = 100 * np.expm1(np.median(_level(logs), axis=1))
            farthest = max(farthest, *abs(at))
            ax.plot(at, np.full(len(at), -y), "o", color=style.NEUTRAL[y], ms=4, alpha=0.8)
        ax.axvline(0, color=style.INK, lw=1)
        ax.set_ylim(0.5 - len(factors), 0.5)
        ax.set_yticks([-y for y in range(len(factors))], [FACTORS[name] for name in factors])
        ax.set_title(kernel)
    for ax in axes:
        ax.set_xlim(-1.1 * farthest, 1.1 * farthest)
    axes[0].set_ylabel("moved")
    axes[len(axes) // 2].set_xlabel("time over the median layout's, %", fontsize=8)
    style.heading(fig, title(kernels), "A mark is a layout: the same code with its stack, "
                  "environment or code elsewhere; nothing: the same layout again.",
                  origin(results))  # fmt: skip
    return fig


def title(kernels: dict[str, dict[str, np.ndarray]]) -> str:
    """Which kernels a layout moves beyond chance, and how far."""
    moved = [
        f"{FACTORS[factor]} moves {kernel} by {100 * found.spread:.1f} %"
        for kernel, factors in kernels.items()
        for factor, logs in factors.items()
        if factor != "again" and len(logs) > 1
        if (found := judge(logs, factors.get("again"))).chance <= BEYOND
    ]
    text = ", ".join(moved) or "no layout moves the time of a kernel beyond chance"
    return text[0].upper() + text[1:]


def findings(results: Results) -> Iterator[str]:
    """How far each factor moves a kernel, beside repeats of one layout, and whether by chance."""
    for kernel, factors in groups(rows_of(results, "layouts")).items():
        again = factors.get("again")
        moved = []
        for factor, logs in factors.items():
            if len(logs) < 2:
                continue
            found = judge(logs, None if factor == "again" else again)
            text = (
                f"{kernel}, {FACTORS[factor]}: the farthest two of {len(logs)} layouts are "
                f"{100 * found.spread:.2f} % apart (95 % interval {100 * found.lo:.2f} .. "
                f"{100 * found.hi:.2f})"
            )
            yield text + ("." if np.isnan(found.chance) else f", by chance {found.chance:.3f}.")
            if found.chance <= BEYOND:
                moved.append(FACTORS[factor])
        if again is not None and len(factors) > 1:
            yield (
                f"{kernel}: its time moves with {', '.join(moved)}; a gain of less may be an "
                "accident of the layout."
                if moved
                else f"{kernel}: no layout moves its time beyond chance."
            )

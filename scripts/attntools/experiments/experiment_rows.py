"""Rows of experiments, and the axis that most of their figures have."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from attntools.results.cells import Results
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

Row = dict[str, Any]


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

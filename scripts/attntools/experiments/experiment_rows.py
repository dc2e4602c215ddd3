"""Rows of experiments, and the axis that most of their figures have."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from attntools.base.units import length
from attntools.plot.style import Look
from attntools.results.cells import Cell, Results, Row, problem_fields
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

# The fields of a cell's row that become parameters of an experiment's row, and values.
IDENTITY = ("kernel", "isa", "threads", "problem", "input", "case", "plugin")
OUTCOME = ("state", "why", "gflops", "gbytes_per_s", "fraction_of_fma", "fraction_of_machine",
           "flags", "repro", "workspace_bytes", "peak_rss_bytes", "extra")  # fmt: skip
TIME = ("median_s", "ci95_s", "launches", "launch_medians_s", "stop")


def _row_of(cell: Cell, name: str) -> Row:
    """A cell of an experiment's session as older programs wrote its row."""
    row, problem = cell.row, problem_fields(cell.problem)
    sizes = {"batch": "b", "heads": "hq", "s": "skv", "sq": "sq", "skv": "skv", "d": "d"}
    params = {key: row.get(key) for key in IDENTITY}
    params |= {key: int(problem[short]) for key, short in sizes.items()}
    params["outputs"] = problem.get("outputs", "o")
    values = {key: row.get(key) for key in OUTCOME}
    values |= {key: (row.get("time") or {}).get(key) for key in TIME}
    values["error_over_bound"] = (row.get("check") or {}).get("error_over_bound")
    return {"name": name, "params": params, "values": values}


def answers(results: Results) -> list[Row]:
    """The rows of experiments: those that they computed, and the cells of their sessions."""
    cells = ((c, c.session.header.get("experiment")) for c in results.cells.values())
    return results.experiments + [_row_of(cell, name) for cell, name in cells if name]


def rows_of(results: Results, name: str, **params: object) -> list[Row]:
    """Rows of an experiment whose parameters have these values."""
    return [
        row
        for row in answers(results)
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


def line(
    ax: Axes, look: Look, rows: Iterable[Row], x: str, y: str | np.ndarray, **more: object
) -> None:
    """A series over a parameter: a value of its rows, or numbers made of several."""
    values = column(rows, y) if isinstance(y, str) else y
    ax.plot(parameter(rows, x), values, **look.drawn | more)


def doubling(ax: Axes, values: Iterable[float], most: int = 8) -> None:
    """A logarithmic x axis whose ticks are the values that were measured, `most` of them."""
    ticks = sorted(set(values))
    ax.set_xscale("log", base=2)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticks(ticks[:: max(1, -(-len(ticks) // most))])
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: length(x)))
    ax.xaxis.set_minor_formatter(NullFormatter())

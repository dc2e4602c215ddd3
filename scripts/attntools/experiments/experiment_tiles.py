"""The figure of the experiment tiles: how fast flash is by the size of its blocks."""

import re
from collections.abc import Iterator

import numpy as np
from attntools.experiments.experiment_rows import Row, column, rows_of, series
from attntools.plot import style
from attntools.plot.figures import origin
from attntools.results.cells import Results
from matplotlib.figure import Figure

# As suites/plugins/tiles.c names them; flash itself stands beside them.
TILE = re.compile(r"flash(?:_k(\d+)_q(\d+))?$")


def tiles(results: Results) -> Figure | None:
    """Share of the multiply-add rate by queries and keys of flash's blocks, a map per dimension."""
    rows = _timed(results)
    sizes = {size for r in rows if (size := _size(r))}
    if not sizes:
        return None
    keys, queries = (sorted({size[i] for size in sizes}) for i in (0, 1))
    dims = series(rows, "d")
    shares = 100 * column([r for r in rows if _size(r)], "fraction_of_fma")
    fig, axes = style.figure(1, len(dims), height=1.5 + 0.45 * len(keys))
    for ax, (d, group) in zip(axes, dims.items(), strict=True):
        share = np.full((len(keys), len(queries)), np.nan)
        tied = ties([r for r in group if _size(r)])
        for row in group:
            if size := _size(row):
                at = keys.index(size[0]), queries.index(size[1])
                share[at], half = _share(row)
                text = f"{share[at]:.1f}\n±{half:.1f}" if half else f"{share[at]:.1f}\n"
                light = share[at] > (shares.min() + shares.max()) / 2
                ax.text(at[1], at[0], text, ha="center", va="center", fontsize=7,
                        color="k" if light else "w",
                        weight="bold" if size in tied else "normal")  # fmt: skip
        image = ax.imshow(share, cmap=style.SEQUENTIAL, vmin=shares.min(), vmax=shares.max(),
                          aspect="auto")  # fmt: skip
        itself = [r for r in group if not _size(r)]
        known = f" (flash: {_share(itself[0])[0]:.1f})" if itself else ""
        ax.set_title(f"d = {d}{known}")
        ax.set_xticks(range(len(queries)), queries)
        ax.set_yticks(range(len(keys)), keys)
        ax.set_xlabel("queries of a block")
        ax.grid(visible=False)
    axes[0].set_ylabel("keys of a block")
    fig.colorbar(image, ax=axes, pad=0.01, label="% of the multiply-add rate")
    style.source(fig, f"bold: interval overlaps the fastest's · {origin(results)}")
    return fig


def findings(results: Results) -> Iterator[str]:
    """The fastest size at each dimension, and how many tie with it."""
    for d, group in series(_timed(results), "d").items():
        sizes = [row for row in group if _size(row)]
        if not sizes:
            continue
        best = max(sizes, key=lambda row: row["values"]["fraction_of_fma"])
        keys, queries = _size(best) or (0, 0)
        yield (
            f"At d = {d} the fastest of {len(sizes)} sizes is {queries} queries by {keys} keys, "
            f"{_share(best)[0]:.1f} % of the multiply-add rate; the intervals of "
            f"{len(ties(sizes))} (itself included) overlap its own."
        )
        for row in group:
            if not _size(row):
                yield f"At d = {d} flash itself reaches {_share(row)[0]:.1f} %."


def _timed(results: Results) -> list[Row]:
    """The rows with a time."""
    rows = rows_of(results, "tiles")
    return [row for row in rows if row["values"]["fraction_of_fma"] is not None]


def ties(rows: list[Row]) -> set[tuple[int, int] | None]:
    """The sizes whose interval overlaps that of the fastest, which is one of them."""
    shares = {_size(row): _share(row) for row in rows}
    best, half = max(shares.values(), default=(0.0, 0.0))
    return {size for size, (share, arm) in shares.items() if share + arm >= best - half}


def _size(row: Row) -> tuple[int, int] | None:
    """Keys and queries of a block by the kernel's name; None of flash itself."""
    match = TILE.match(row["params"]["kernel"])
    return (int(match[1]), int(match[2])) if match and match[1] else None


def _share(row: Row) -> tuple[float, float]:
    """Percent of the multiply-add rate, and half of its interval: 0 where there is none."""
    values = row["values"]
    lo, hi = values["ci95_s"] or (0.0, 0.0)
    percent = 100 * values["fraction_of_fma"]
    return percent, percent * (hi - lo) / 2 / values["median_s"]

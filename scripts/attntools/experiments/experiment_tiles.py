"""The figure of the experiment tiles: how fast flash is by the size of its blocks."""

import re
from collections.abc import Iterator

import numpy as np
from attntools.experiments.experiment_rows import rows_of, series
from attntools.plot import style
from attntools.plot.figures import origin
from attntools.results.cells import Results, Row
from matplotlib.figure import Figure

# As suites/plugins/tiles.c names them; flash itself stands beside them.
LEAST_SCALE = 10.0  # percent that the colours span at least: less is noise on most hosts
TILE = re.compile(r"flash(?:_k(\d+)_q(\d+))?$")


def tiles(results: Results) -> Figure | None:
    """How much slower each size of flash's blocks is than the fastest, a map per dimension."""
    rows = _timed(results)
    sizes = {size for r in rows if (size := _size(r))}
    if not sizes:
        return None
    keys, queries = (sorted({size[i] for size in sizes}) for i in (0, 1))
    dims = series(rows, "d")
    slower = {d: slowdowns(group) for d, group in dims.items()}
    most = max(LEAST_SCALE, *(x for found in slower.values() for x in found.values()))
    fig, axes = style.figure(1, len(dims), height=0.8 + 0.4 * len(keys))
    for ax, (d, group) in zip(axes, dims.items(), strict=True):
        image = np.full((len(keys), len(queries)), np.nan)
        for row in group:
            if size := _size(row):
                y, x = keys.index(size[0]), queries.index(size[1])
                image[y, x] = slower[d][size]
                share, half = _share(row)
                text = f"{share:.1f}\n±{half:.1f}" if half else f"{share:.1f}\n"
                ax.text(x, y, text, ha="center", va="center", fontsize=7,
                        color="w" if image[y, x] > most / 2 else "k",
                        weight="normal" if image[y, x] else "bold")  # fmt: skip
        shown = ax.imshow(image, cmap="Oranges", vmin=0, vmax=most, aspect="auto")
        itself = [r for r in group if not _size(r)]
        known = f" (flash: {_share(itself[0])[0]:.1f})" if itself else ""
        ax.set_title(f"d = {d}{known}")
        ax.set_xticks(range(len(queries)), queries)
        ax.set_yticks(range(len(keys)), keys)
        ax.set_xlabel("queries of a block")
        ax.grid(visible=False)
    axes[0].set_ylabel("keys of a block")
    fig.colorbar(shown, ax=axes, pad=0.01, label="% slower than the fastest")
    style.heading(fig, title(slower), "Numbers: % of the multiply-add rate, with half of the 95 % "
                  "interval. White and bold: a tie, the interval overlaps the fastest's.",
                  origin(results))  # fmt: skip
    return fig


def slowdowns(rows: list[Row]) -> dict[tuple[int, int], float]:
    """Percent by which each size is slower than the fastest; 0 where their intervals overlap."""
    shares = {size: _share(r)[0] for r in rows if (size := _size(r))}
    tied, best = ties([r for r in rows if _size(r)]), max(shares.values(), default=0)
    return {size: 0.0 if size in tied else 100 * (best / x - 1) for size, x in shares.items()}


def title(slower: dict[int, dict[tuple[int, int], float]]) -> str:
    """How many sizes tie with the fastest, and how slow the others are."""
    said = []
    for d, found in slower.items():
        rest = [x for x in found.values() if x]
        said.append(f"{len(found) - len(rest)} of {len(found)} sizes tie at d = {d}"
                    + (f", others are up to {max(rest):.0f} % slower" if rest else ""))  # fmt: skip
    return "; ".join(said)


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

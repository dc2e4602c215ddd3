"""The kernels of one file against each other: a ranking with ties."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from attntools.base.units import named
from attntools.compare.comparison import Group, column_of, ratios, same_rounds
from attntools.results.cells import Cell, Results, row_order

# How many of the variants that tie with one are named.
NAMED = 3


@dataclass(slots=True)
class Ranked:
    """A cell among those that differ only in kernel, isa and plugin.

    The ratio is to the first of them; the note says what the rank alone does not.  Without a rank
    are those that have too few launches to be told from any other.
    """

    rank: int | None
    note: str
    cell: Cell
    ratio: float
    lo: float
    hi: float


def rank_cells(cells: Sequence[Cell]) -> list[Ranked]:
    """The variants of one group, fastest first, those without a rank last."""
    cells = sorted(cells, key=lambda c: c.median_s)
    medians = [c.launch_medians_s for c in cells]
    pairs = [
        (medians[i], medians[j], same_rounds(cells[i], cells[j]))
        for i in range(len(cells))
        for j in range(len(cells))
    ]
    table = ratios(pairs).reshape(len(cells), len(cells), 3)
    for j in range(len(cells)):
        table[j, j] = 1
    names = [cell.identity.label for cell in cells]
    known = [not np.isnan(np.delete(table[:, j, 1], j)).all() for j in range(len(cells))]
    if len(cells) == 1:
        known = [cells[0].interval_s is not None]
    first = known.index(True) if any(known) else 0
    ranked = []
    for j, cell in enumerate(cells):
        lo, hi = table[:, j, 1], table[:, j, 2]
        others = np.arange(len(cells)) != j
        tied = [names[i] for i in np.flatnonzero((lo <= 1) & (hi >= 1) & others)]
        note = _tie_text(tied, int(np.isnan(lo).sum()), len(medians[j]))
        standing = 1 + int((lo > 1).sum()) if known[j] else None
        ranked.append(Ranked(standing, note, cell, *table[first, j].tolist()))
    return sorted(ranked, key=lambda r: (r.rank is None, r.rank or 0, r.cell.median_s))


def _tie_text(tied: Sequence[str], unknown: int, launches: int) -> str:
    """With which variants a rank is shared, or why that cannot be said."""
    notes = [f"tie with {named(tied, NAMED)}"] if tied else []
    if unknown:
        notes.append(f"too few launches ({launches}) to tell from {unknown} of the others")
    return "; ".join(notes)


def rank(results: Results) -> list[list[Ranked]]:
    """The variants of each group, fastest first; groups by case and threads.

    A variant's rank is 1 where no other is certainly faster (their ratio's interval excludes
    1), 2 where one is, and so on.  Ties are not transitive: where a ties with b and b with c, but
    not a with c, the ranks are 1, 1, 2.  So the notes name the ties.
    """
    groups: dict[Group, list[Cell]] = defaultdict(list)
    for cell in results.timed:
        groups[column_of(cell, "kernel")[0]].append(cell)
    order = row_order(results.timed)
    by_case = sorted(groups.values(), key=lambda cells: (order(cells[0])[0], cells[0].threads))
    return [rank_cells(cells) for cells in by_case]

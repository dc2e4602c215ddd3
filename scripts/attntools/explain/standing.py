"""How a row stands among the others of its case, on its number of threads and on any other."""

from collections.abc import Sequence

from attntools.base.units import counted, seconds
from attntools.compare.answer import LIMITS, answer_of, sentence, share, winner
from attntools.compare.comparison import ratio_of
from attntools.compare.ranking import Ranked
from attntools.explain.causes import causes
from attntools.results.cells import Cell, Identity, Results


def _alike(cell: Cell) -> Identity:
    """What the rows of a case have in common, by whatever kernel on how many threads."""
    return cell.identity._replace(kernel=None, isa=None, plugin=None, threads=None)


def of_case(results: Results, cell: Cell) -> list[Cell]:
    """The timed rows of its case, itself among them, by whatever kernel on how many threads."""
    return [c for c in results.timed if _alike(c) == _alike(cell)]


def fastest(results: Results, cell: Cell) -> Cell:
    """The row of the lowest median of its case."""
    return min(of_case(results, cell), key=lambda c: c.median_s)


def standing(cell: Cell, group: Sequence[Ranked]) -> list[str]:
    """How it stands among the variants of its case and threads."""
    mine = next(r for r in group if r.cell is cell)
    best = winner(group)
    found = [sentence(answer_of(group))]
    if mine is not best and mine.lo <= mine.hi:
        lo, hi = f"{mine.lo:.2f}", f"{mine.hi:.2f}"
        found.append(f"this row takes {mine.ratio:.2f} x as long, round by round [{lo} to {hi}]")
        if mine.lo > 1 and (why := causes(cell, best.cell)):
            found.append(f"what differs: {why}")
    behind = [r for r in group if r.lo > 1]
    if mine is best and behind:
        second = min(behind, key=lambda r: r.cell.median_s).cell
        if why := causes(second, cell):
            found.append(f"{second.identity.label} differs: {why}")
    if mine.note:
        found.append(f"this row: {mine.note}")
    if cell.chosen:
        found.append("this is the variant that the library chooses")
    return found


def why_not_faster(results: Results, cell: Cell, group: Sequence[Ranked]) -> list[str]:
    """The fastest row of the case by any kernel on any number of threads, and the library's.

    Without what standing() has said.
    """
    case, best = of_case(results, cell), fastest(results, cell)
    if best is cell:
        return ["no other row of this case has a lower median"] if len(case) > 1 else []
    mine = next(r for r in group if r.cell is cell)
    said = winner(group).cell if mine.lo <= mine.hi else None  # with how this row compares
    found = []
    if best is not said:
        text = f"the lowest median of this case: {_row_text(cell, best)}"
        if share(best) >= 0:
            text += f"; {100 * share(best):.0f} % of what {LIMITS[best.bound_by or '']}"
        if best.chosen and best.threads != cell.threads:
            text += "; the library's choice for as many threads"
        found.append(text)
    for r in group:
        if r.cell.chosen and r.cell is not cell and not answer_of(group).choice:
            known = r.cell in (said, best)
            name = r.cell.identity.label if known else _row_text(cell, r.cell)
            found.append(f"the library chooses {name}")
    return found


def _row_text(cell: Cell, other: Cell) -> str:
    """Another row by name and time, against this one."""
    return (
        f"{other.identity.label} on {counted(other.threads, 'thread')}, "
        f"{seconds(other.median_s)}, {ratio_of(other, cell)[0]:.2f} x as fast as this row"
    )

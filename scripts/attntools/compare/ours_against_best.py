"""The fastest kernel of ours against the fastest rival, a row a case and thread count.

The fastest are those of the lowest median, of all instruction sets.  Picked so out of many, a rival
looks a little faster than it is, which is to the disadvantage of ours.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from attntools.base import tables
from attntools.base.cli import Exit, ToolError
from attntools.base.units import change, seconds
from attntools.compare.comparison import Group, best, column_of, ratios_of
from attntools.compare.comparison_tables import (
    case_text,
    interval_text,
    known,
    on_threads,
    varying_fields,
)
from attntools.results.cells import OURS, RIVALS, Cell, Identity, Results, row_order

HEAD = ("case", "threads", "best rival", "ours", "ours against it", "95 %", "less time")
NUMERIC = (False, True, False, False, True, True, False)
# On terminals where those are too wide: what is left beside a title.
NARROW_HEAD = ("", "best rival", "ours", "against it", "95 %", "")
NARROW_NUMERIC = (False, False, False, True, True, False)
CSV_HEAD = (
    *(name for name in Identity._fields if name not in ("kernel", "isa", "plugin")),
    *("case", "ours", "ours_s", "rival", "rival_s", "ratio", "ratio_lo", "ratio_hi", "less_time"),
)

NEITHER = "tie"

LEGEND = """\
ours against it: change of the time of a call; 95 %: its interval, from
launches side by side; less time: who needs it, where the interval excludes 0.
"""


@dataclass(slots=True)
class Best:
    """Both sides of a row; NaN where a side has no time or there are too few launches."""

    ours: Cell
    rival: Cell
    ratio: float
    lo: float
    hi: float

    @property
    def less_time(self) -> str:
        """The kernel that certainly needs less time; empty where they have no interval."""
        if not self.lo <= self.hi:
            return ""
        if self.hi < 1:
            return self.ours.identity.kernel
        return self.rival.identity.kernel if self.lo > 1 else NEITHER


def _sides(results: Results) -> list[dict[str, list[Cell]]]:
    """Cells of ours and of rivals with the same case and threads; in the order of the cases."""
    groups: dict[Group, dict[str, list[Cell]]] = defaultdict(lambda: {OURS: [], RIVALS: []})
    order = row_order(results.cells.values())
    for cell in sorted(results.cells.values(), key=lambda c: (order(c)[0], c.threads)):
        if cell.group in (OURS, RIVALS):
            groups[column_of(cell, "group")[0]][cell.group].append(cell)
    return list(groups.values())


def _missing(sides: dict[str, list[Cell]], kernels: Iterable[str]) -> list[str]:
    """The kernels without a row, be it one that says why they have no time."""
    here = {cell.identity.kernel for cells in sides.values() for cell in cells}
    return [kernel for kernel in kernels if kernel not in here]


def ours_against_best(results: Results) -> tuple[list[Best], list[str]]:
    """The rows, and in words what is left out: cases that do not have all kernels of the file."""
    found = _sides(results)
    kernels = dict.fromkeys(c.identity.kernel for s in found for cs in s.values() for c in cs)
    pairs, left_out = [], []
    for sides in found:
        missing = _missing(sides, kernels)
        if missing:
            cell = (sides[OURS] + sides[RIVALS])[0]
            left_out.append(f"{cell.case} on {cell.threads}, without {', '.join(missing)}")
        elif sides[OURS] and sides[RIVALS]:
            pairs.append((best(sides[OURS]), best(sides[RIVALS])))
    ratio = iter(ratios_of((b, a) for a, b in pairs if a.timed and b.timed))
    nothing = (float("nan"),) * 3
    rows = [Best(a, b, *(next(ratio) if a.timed and b.timed else nothing)) for a, b in pairs]
    return rows, left_out


def _side_text(cell: Cell) -> str:
    """Kernel and median, or why it has none."""
    return f"{cell.identity.kernel} {seconds(cell.median_s) if cell.timed else cell.state}"


def table_rows(rows: Sequence[Best], markdown: bool) -> list[tuple[str, ...]]:
    """HEAD's columns; Markdown has what ours loses in bold."""
    varying = varying_fields(row.ours for row in rows)
    code = "`" if markdown else ""
    return [
        (
            f"{code}{case_text(row.ours, varying)}{code}",
            str(row.ours.threads),
            _side_text(row.rival),
            _side_text(row.ours),
            f"**{change(row.ratio)}**" if markdown and row.ratio > 1 else change(row.ratio),
            interval_text(row.lo, row.hi),
            row.less_time,
        )
        for row in rows
    ]


def _text(rows: Sequence[Best], width: int | None) -> str:
    """A line a row, or two where a terminal is too narrow for one: who wins stands in its title."""
    cells = table_rows(rows, False)
    whole = tables.text(HEAD, cells, NUMERIC, colours=False)
    if width is None or max(map(len, whole.splitlines())) <= width:
        return whole
    says = {"": "", NEITHER: f": {NEITHER}"}
    narrow = [
        (on_threads(case, n) + says.get(winner, f": {winner} needs less time"), *rest, "")
        for case, n, *rest, winner in cells
    ]
    return tables.titled(NARROW_HEAD, narrow, NARROW_NUMERIC, width, colours=False)


def summary(rows: Sequence[Best], left_out: Sequence[str]) -> list[str]:
    """How many rows each side wins, the median and the ends of the ratios; what is left out."""
    ours = sum(row.hi < 1 for row in rows)
    rivals = sum(row.lo > 1 for row in rows)
    apart = sum(row.lo <= 1 <= row.hi for row in rows)
    parts = [f"ours needs less time in {ours}, a rival in {rivals}, {NEITHER} {apart}"]
    unknown = len(rows) - ours - rivals - apart
    if unknown:
        parts.append(f"{unknown} without an interval")
    timed = sorted((row for row in rows if row.ratio > 0), key=lambda row: row.ratio)
    if timed:
        first, last = timed[0], timed[-1]
        middle = change(median(row.ratio for row in timed))
        ends = " to ".join(
            f"{change(row.ratio)} ({row.ours.case} on {row.ours.threads})" for row in (first, last)
        )
        parts.append(f"{middle} in the median row, {ends}")
    return [f"{len(rows)} rows: {'; '.join(parts)}", *(f"left out: {words}" for words in left_out)]


def comma_separated(rows: Sequence[Best]) -> str:
    """Whole identities and unrounded numbers; the ratio is ours over the rival's."""
    return tables.comma_separated(
        CSV_HEAD,
        [
            (
                *(getattr(row.ours.identity, name) for name in CSV_HEAD[: CSV_HEAD.index("case")]),
                row.ours.case,
                row.ours.identity.label,
                row.ours.median_s if row.ours.timed else "",
                row.rival.identity.label,
                row.rival.median_s if row.rival.timed else "",
                *known(row.ratio, row.lo, row.hi),
                row.less_time,
            )
            for row in rows
        ],
    )


def render(results: Results, form: str, width: int | None = None) -> str:
    """The table as text, for a terminal of that width, as Markdown or CSV.

    Refused where no case has both.
    """
    rows, left_out = ours_against_best(results)
    if not rows:
        why = f": {left_out[0]}" if left_out else ""
        raise ToolError(f"{results.path}: no case has both ours and rivals{why}", Exit.INCOMPARABLE)
    if form == "csv":
        return comma_separated(rows)
    if form == "markdown":
        table, width = tables.markdown(HEAD, table_rows(rows, True), NUMERIC), None
    else:
        table = _text(rows, width)
    lines = (tables.wrapped(line, width) for line in summary(rows, left_out))
    return f"{table}\n{''.join(lines)}{LEGEND}"

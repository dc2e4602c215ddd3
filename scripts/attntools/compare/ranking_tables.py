"""Rankings as text, Markdown and CSV."""

from collections.abc import Iterable, Sequence

from attntools.base import tables
from attntools.base.cli import ToolError
from attntools.base.units import change, digits, seconds
from attntools.compare import answer
from attntools.compare.comparison_tables import (
    case_text,
    interval_text,
    known,
    on_threads,
    varying_fields,
)
from attntools.compare.ranking import Ranked
from attntools.results.cells import Identity

RANK_HEAD = ("case", "threads", "rank", "kernel/isa", "median", "GFLOP/s", "bound by", "slower by",
             "95 %", "note")  # fmt: skip
RANK_NUMERIC = (False, True, True, False, True, True, False, True, True, False)
BOUND = RANK_HEAD.index("bound by")
WIDE = 100  # columns of a terminal that has room for what bounds a row

RANK_CSV_HEAD = (
    *Identity._fields,
    *("case", "rank", "median_s", "gflops", "ratio", "ratio_lo", "ratio_hi", "note"),
    *("bound_by", "share", "chosen"),
)

RANK_LEGEND = """\
rank: 1 where no variant is certainly faster (95 % interval), 2 where one is,
and so on; tie: the interval of the ratio holds 1, whatever the ranks; slower
by: than the first, the median of the ratios round by round, with its interval;
the ratio of the two medians may be another.
"""


def rank_note(r: Ranked) -> str:
    """What a rank alone does not say."""
    notes = ["the library's choice" if r.cell.chosen else "", "" if r.rank is None else r.note]
    return "; ".join(filter(None, notes))


def rank_rows(ranking: Sequence[Sequence[Ranked]]) -> list[tuple[str, ...]]:
    """RANK_HEAD's columns."""
    varying = varying_fields(r.cell for group in ranking for r in group)
    return [
        (
            case_text(r.cell, varying),
            str(r.cell.identity.threads),
            "-" if r.rank is None else str(r.rank),
            r.cell.identity.label,
            seconds(r.cell.median_s),
            digits(r.cell.number("gflops")),
            r.cell.bound_by or "",
            change(r.ratio) if r.ratio != 1 else "",
            interval_text(r.lo, r.hi) if r.ratio != 1 else "",
            rank_note(r),
        )
        for group in ranking
        for r in group
    ]


def answers(ranking: Sequence[Sequence[Ranked]]) -> dict[str, str]:
    """The sentence on each group, by its title."""
    varying = varying_fields(r.cell for group in ranking for r in group)
    return {
        on_threads(case_text(group[0].cell, varying), str(group[0].cell.threads)): answer.sentence(
            answer.answer_of(group)
        )
        for group in ranking
    }


def unranked(ranking: Sequence[Sequence[Ranked]]) -> str:
    """The line that says how many cells have no rank; empty where all have one."""
    ranks = [r.rank for group in ranking for r in group]
    few = "-: no rank for {} of {} cells: too few launches for an interval\n\n"
    return few.format(ranks.count(None), len(ranks)) if None in ranks else ""


def ranking_csv(ranking: Iterable[Sequence[Ranked]]) -> str:
    """A ranking with whole identities and unrounded numbers; the ratio is to the first."""
    rows = [
        (
            *(*r.cell.identity, r.cell.case, r.rank),
            *known(r.cell.median_s, r.cell.number("gflops"), r.ratio, r.lo, r.hi),
            r.note,
            r.cell.bound_by or "",
            *known(answer.share(r.cell)),
            r.cell.chosen,
        )
        for group in ranking
        for r in group
    ]
    return tables.comma_separated(RANK_CSV_HEAD, rows)


def render_ranking(ranking: Sequence[Sequence[Ranked]], form: str, width: int | None = None) -> str:
    """A ranking as text, Markdown or CSV."""
    if form == "csv":
        return ranking_csv(ranking)
    rows = rank_rows(ranking)
    closing = [*answer.passes(ranking), answer.choices(ranking)]
    legend = "".join(tables.wrapped(text, width) + "\n" for text in closing if text)
    legend += unranked(ranking)
    legend += RANK_LEGEND
    says = answers(ranking)
    if form == "markdown":
        table = tables.markdown(RANK_HEAD, rows, RANK_NUMERIC)
        said = "".join(f"- {title.rsplit(',', 1)[0]}: {text}\n" for title, text in says.items())
        return f"{table}\n{said}\n{legend}"
    if form == "junit":
        raise ToolError("a ranking passes or fails nothing; --format text, markdown or csv")
    if width is None:
        said = "".join(f"{title.rsplit(',', 1)[0]}: {text}\n" for title, text in says.items())
        table = tables.text(RANK_HEAD, rows, RANK_NUMERIC, colours=False)
        return f"{table}\n{said}\n{legend}"
    # A ranking is of one case and thread count, which is its title.
    shown = [i for i in range(len(RANK_HEAD)) if i != 1 and (i != BOUND or width >= WIDE)]
    titled = [(on_threads(row[0], row[1]), *(row[i] for i in shown[1:])) for row in rows]
    head, numeric = [RANK_HEAD[i] for i in shown], [RANK_NUMERIC[i] for i in shown]
    return tables.titled(head, titled, numeric, width, colours=False, says=says) + f"\n{legend}"

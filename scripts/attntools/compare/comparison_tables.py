"""Comparisons and rankings as text, Markdown, CSV and JUnit XML."""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Sequence

from attntools.base import tables
from attntools.base.cli import ToolError
from attntools.base.junit import Case, document
from attntools.base.units import change, digits, seconds
from attntools.compare import answer
from attntools.compare.apart import found_equal
from attntools.compare.comparison import Comparison, Verdict, decided, geometric_mean
from attntools.compare.ranking import Ranked
from attntools.results.cells import Cell, Identity

HEAD = ("case", "kernel/isa", "threads", "base", "new", "change", "95 % interval", "", "reason")
NUMERIC = (False, False, True, True, True, True, True, False, False)
RANK_HEAD = ("case", "threads", "rank", "kernel/isa", "median", "GFLOP/s", "bound by", "slower by",
             "95 %", "")  # fmt: skip
RANK_NUMERIC = (False, True, True, False, True, True, False, True, True, False)
BOUND = RANK_HEAD.index("bound by")
WIDE = 100  # columns of a terminal that has room for what bounds a row
# Stands below every comparison of two files that people read.
APART = (
    "Different sessions: these changes contain what changed on the machine in between. "
    f"{found_equal()} scripts/gate runs two builds side by side."
)

RANK_LEGEND = """\
rank: 1 where no variant is certainly faster (95 % interval), 2 where one is,
and so on; tie: the interval of the ratio holds 1, whatever the ranks; slower
by: than the first, with that interval.
"""

# Fields of a cell's identity that are shown only where the cells of a case differ in them.
NAMED = ("kernel", "isa", "problem", "threads")
VARYING = tuple(name for name in Identity._fields if name not in NAMED)


# ---- rows ----------------------------------------------------------------------------------------


def interval_text(lo: float, hi: float) -> str:
    """An interval of a ratio as a change."""
    return f"{100 * (lo - 1):+.1f} .. {100 * (hi - 1):+.1f} %" if lo <= hi else "-"


def varying_fields(cells: Iterable[Cell]) -> list[str]:
    """Which of VARYING differ within a case, so that two rows are never the same to the reader."""
    values: dict[tuple[str, str, str], set[str | None]] = defaultdict(set)
    for cell in cells:
        for name in VARYING:  # a label has the beginning of its plug-in's digest
            label = cell.identity.label if name == "plugin" else ""
            values[cell.case, name, label].add(getattr(cell.identity, name))
    several = {name for (_, name, _), found in values.items() if len(found) > 1}
    return [name for name in VARYING if name in several]


def case_text(cell: Cell, varying: Sequence[str]) -> str:
    """The case, with what else tells its cells apart."""
    return " ".join([cell.case, *map(cell.identity.text, varying)])


def on_threads(case: str, threads: str) -> str:
    """A title: the case, and on how many threads."""
    return f"{case}, {threads} thread{'s'[: threads != '1']}"


def variant_text(comparison: Comparison) -> str:
    """Kernel and instruction set; both sides' where they differ."""
    names = [c.identity.label for c in (comparison.base, comparison.new) if c]
    return names[0] if len(set(names)) == 1 else " -> ".join(names)


def threads_text(comparison: Comparison) -> str:
    """Thread count; both sides' where they differ."""
    counts = [str(c.identity.threads) for c in (comparison.base, comparison.new) if c]
    return counts[0] if len(set(counts)) == 1 else " -> ".join(counts)


def median_text(cell: Cell | None) -> str:
    """A time, or why there is none."""
    if cell is None:
        return "missing"
    return seconds(cell.median_s) if cell.timed else cell.state


def comparison_rows(comparisons: Sequence[Comparison]) -> list[tuple[str, ...]]:
    """HEAD's columns."""
    varying = varying_fields(c.cell for c in comparisons)
    return [
        (
            case_text(c.cell, varying),
            variant_text(c),
            threads_text(c),
            median_text(c.base),
            median_text(c.new),
            change(c.ratio),
            interval_text(c.lo, c.hi),
            c.verdict.value,
            c.reason,
        )
        for c in comparisons
    ]


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
            "" if r.rank is None else r.note,
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
    """The line that says how many rows have no rank; empty where all have one."""
    ranks = [r.rank for group in ranking for r in group]
    few = "-: no rank in {} of {} rows, too few launches for a 95 % interval\n\n"
    return few.format(ranks.count(None), len(ranks)) if None in ranks else ""


# ---- summaries -----------------------------------------------------------------------------------


def summary(comparisons: Sequence[Comparison]) -> str:
    """One line: how many of each verdict, what is missing, the mean change."""
    counts = Counter(c.verdict for c in comparisons)
    known = [c for c in comparisons if c.ratio == c.ratio]
    parts = [f"{counts[v]} {v.value}" for v in Verdict if counts[v] or v is not Verdict.WRONG]
    wrong = sum(c.wrong for c in comparisons)
    missing = sum(c.base is None or c.new is None for c in comparisons)
    line = f"{len(comparisons)} cells: {', '.join(parts)}"
    if wrong:
        line += f"; {wrong} with a wrong result only in the new file"
    if missing:
        line += f"; {missing} in one file only"
    if decided(comparisons):
        line += f"; geometric mean {change(geometric_mean(c.ratio for c in known))}"
    if len(known) >= 20:
        line += f"; by chance alone {0.05 * len(known):.0f} intervals would exclude 0"
    return line


# ---- formats -------------------------------------------------------------------------------------

CSV_HEAD = (
    *Identity._fields,
    *("case", "base", "new", "base_s", "new_s", "ratio", "ratio_lo", "ratio_hi"),
    *("verdict", "reason"),
)


RANK_CSV_HEAD = (
    *Identity._fields,
    *("case", "rank", "median_s", "gflops", "ratio", "ratio_lo", "ratio_hi", "note"),
    *("bound_by", "share", "chosen"),
)


def known(*numbers: float) -> list[float | str]:
    """Numbers as CSV has them: nothing where there is none."""
    return [x if x == x else "" for x in numbers]


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


def comparison_csv(comparisons: Iterable[Comparison]) -> str:
    """Every comparison with its whole identity and unrounded numbers."""
    rows = [
        (
            *c.cell.identity,
            c.cell.case,
            c.base_name,
            c.new_name,
            c.base.median_s if c.base and c.base.timed else "",
            c.new.median_s if c.new and c.new.timed else "",
            *known(c.ratio, c.lo, c.hi),
            c.verdict.value,
            c.reason,
        )
        for c in comparisons
    ]
    return tables.comma_separated(CSV_HEAD, rows)


def junit(sections: Sequence[tuple[str, Sequence[Comparison]]]) -> str:
    """JUnit XML: SLOWER fails, WRONG is an error unless the base was, too; others are skipped."""
    suites = []
    for title, comparisons in sections:
        varying = varying_fields(c.cell for c in comparisons)
        suites.append((title, [_case(c, varying) for c in comparisons]))
    return document("attnbench compare", suites)


def _case(c: Comparison, varying: Sequence[str]) -> Case:
    """One comparison as a test."""
    return Case(
        case_text(c.cell, varying),
        f"{variant_text(c)} {threads_text(c)} threads",
        c.new.median_s if c.new and c.new.timed else None,
        "error" if c.wrong else OUTCOMES.get(c.verdict),
        f"{c.verdict.value} {change(c.ratio)}: {c.reason}",
    )


OUTCOMES = {Verdict.SLOWER: "failure", Verdict.UNCLEAR: "skipped", Verdict.WRONG: "skipped"}


def _table(
    head: Sequence[str],
    rows: tables.Cells,
    numeric: Sequence[bool],
    width: int | None,
    colours: bool,
) -> str:
    """For a terminal of that width; without one each row is a complete line, as for grep."""
    if width is None:
        return tables.text(head, rows, numeric, colours=colours)
    return tables.titled(head, rows, numeric, width, colours=colours)


def render(
    sections: Sequence[tuple[str, Sequence[Comparison]]],
    form: str,
    colours: bool,
    note: str = "",
    width: int | None = None,
    only: Container[Verdict] = Verdict,
) -> str:
    """All sections in one format; where people read it, with a note at the end.

    Of `only` some verdicts the rows are shown; headlines are of all.
    """
    whole = [comparisons for _, comparisons in sections]
    sections = [(title, [c for c in cs if c.verdict in only]) for title, cs in sections]
    if form == "csv":
        return comparison_csv(c for _, comparisons in sections for c in comparisons)
    if form == "junit":
        return junit(sections)
    parts = []
    for (title, comparisons), every in zip(sections, whole, strict=True):
        rows = comparison_rows(comparisons)
        if form == "markdown":
            parts.append(f"### {title}\n\n{summary(every)}\n")
            parts.append(tables.markdown(HEAD, rows, NUMERIC))
        else:
            parts.append(_table(HEAD, rows, NUMERIC, width, colours))
            parts.append(tables.wrapped(f"{title}: {summary(every)}", width))
    if note:
        parts.append(f"{note}\n" if form == "markdown" else tables.wrapped(note, width))
    return "\n".join(parts)


def render_ranking(ranking: Sequence[Sequence[Ranked]], form: str, width: int | None = None) -> str:
    """A ranking as text, Markdown or CSV."""
    if form == "csv":
        return ranking_csv(ranking)
    rows = rank_rows(ranking)
    choices = answer.choices(ranking)
    legend = (tables.wrapped(choices, width) + "\n" if choices else "") + unranked(ranking)
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

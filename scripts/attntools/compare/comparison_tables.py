"""Comparisons as text, Markdown, CSV and JUnit XML."""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Sequence

from attntools.base import tables
from attntools.base.junit import Case, document
from attntools.base.units import change, counted, seconds
from attntools.compare.apart import found_equal
from attntools.compare.comparison import Comparison, Verdict, decided, geometric_mean
from attntools.results.cells import Cell, Identity

HEAD = ("case", "kernel/isa", "threads", "base", "new", "change", "95 % interval", "", "reason")
NUMERIC = (False, False, True, True, True, True, True, False, False)
# Stands below every comparison of two files that people read.
APART = (
    "Different sessions: these changes contain what changed on the machine in between. "
    f"{found_equal()} scripts/gate runs two builds side by side."
)

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


# ---- summaries -----------------------------------------------------------------------------------


def summary(comparisons: Sequence[Comparison]) -> str:
    """One line: how many of each verdict, what is missing, the mean change."""
    counts = Counter(c.verdict for c in comparisons)
    known = [c for c in comparisons if c.ratio == c.ratio]
    parts = [f"{counts[v]} {v.value}" for v in Verdict if counts[v] or v is not Verdict.WRONG]
    wrong = sum(c.wrong for c in comparisons)
    missing = sum(c.base is None or c.new is None for c in comparisons)
    line = f"{counted(len(comparisons), 'cell')}: {', '.join(parts)}"
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


def known(*numbers: float) -> list[float | str]:
    """Numbers as CSV has them: nothing where there is none."""
    return [x if x == x else "" for x in numbers]


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

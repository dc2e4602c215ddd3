"""Compares results files, or columns within one.

    scripts/compare BASE.jsonl NEW.jsonl [...]     every file against the first
    scripts/compare FILE.jsonl                     the kernels of a file: a ranking with ties
    scripts/compare FILE.jsonl --by isa --base avx2
                                                   a column's values against one of them: kernel,
                                                   isa, threads, placement, cache, input, or a key
                                                   of the problem (dtype, mask, d, ...)

A change is that of the time per call: +3 % is slower.  Verdicts, at a threshold of 2 %:

    SLOWER, FASTER   the 95 % interval excludes 0 and the change is above the threshold
    SAME             the interval lies within the threshold
    UNCLEAR          neither: the reason says why

Launches of two files are independent samples (Hodges-Lehmann, interval of Moses); within a file
they are compared round by round (sign-test interval).  An interval speaks of the noise between
launches of these sessions: another day's session may differ by more.

Exit codes: 0 compared, 4 usage, input or output, 5 the files must not be compared.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

from attntools import tables
from attntools.cli import Exit, ToolError, guard, parser, say
from attntools.comparable import incomparable
from attntools.comparison import (
    COLUMNS,
    THRESHOLD,
    Comparison,
    Ranked,
    Verdict,
    column_values,
    compare_columns,
    compare_files,
    geometric_mean,
    rank,
)
from attntools.files import colours_wanted, write_text
from attntools.results import Cell, Identity, Results, read_all, without_collector
from attntools.units import change, digits, seconds

TOOL = "compare"
FORMATS = ("text", "markdown", "csv", "junit")

HEAD = ("case", "kernel/isa", "threads", "base", "new", "change", "95 % interval", "", "reason")
NUMERIC = (False, False, True, True, True, True, True, False, False)
RANK_HEAD = ("case", "threads", "rank", "kernel/isa", "median", "GFLOP/s", "slower by", "95 %", "")
RANK_NUMERIC = (False, True, True, False, True, True, True, True, False)

# Fields of a cell's identity that are shown only where a table's cells differ in them.
VARYING = ("input", "placement", "cache", "plugin")


# ---- rows ----------------------------------------------------------------------------------------


def interval_text(lo: float, hi: float) -> str:
    """An interval of a ratio as a change."""
    return f"{100 * (lo - 1):+.1f} .. {100 * (hi - 1):+.1f} %" if lo <= hi else "-"


def varying_fields(identities: Iterable[Identity]) -> list[str]:
    """Which of VARYING differ, so that two rows are never the same to the reader."""
    columns = list(zip(*identities, strict=True))
    return [
        name for name in VARYING if columns and len(set(columns[Identity._fields.index(name)])) > 1
    ]


def case_text(cell: Cell, varying: Sequence[str]) -> str:
    """The case, with what else tells its cells apart."""
    return " ".join([cell.case, *(str(getattr(cell.identity, name) or "-") for name in varying)])


def variant_text(comparison: Comparison) -> str:
    """Kernel and instruction set; both sides' where they differ."""
    names = [c.identity.variant for c in (comparison.base, comparison.new) if c]
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
    varying = varying_fields(c.cell.identity for c in comparisons)
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
    varying = varying_fields(r.cell.identity for group in ranking for r in group)
    return [
        (
            case_text(r.cell, varying),
            str(r.cell.identity.threads),
            str(r.rank),
            r.cell.identity.variant,
            seconds(r.cell.median_s),
            digits(r.cell.number("gflops")),
            change(r.ratio) if r.ratio != 1 else "",
            interval_text(r.lo, r.hi) if r.ratio != 1 else "",
            r.note,
        )
        for group in ranking
        for r in group
    ]


# ---- summaries -----------------------------------------------------------------------------------


def summary(comparisons: Sequence[Comparison]) -> str:
    """One line: how many of each verdict, what is missing, the mean change."""
    counts = Counter(c.verdict for c in comparisons)
    known = [c for c in comparisons if c.ratio == c.ratio]
    parts = [f"{counts[v]} {v.value}" for v in Verdict]
    wrong = sum(c.wrong for c in comparisons)
    missing = sum(c.base is None or c.new is None for c in comparisons)
    line = f"{len(comparisons)} cells: {', '.join(parts)}"
    if wrong:
        line += f"; {wrong} with a wrong result only in the new file"
    if missing:
        line += f"; {missing} in one file only"
    if known:
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
            *(x if x == x else "" for x in (c.ratio, c.lo, c.hi)),
            c.verdict.value,
            c.reason,
        )
        for c in comparisons
    ]
    return tables.comma_separated(CSV_HEAD, rows)


def junit(sections: Sequence[tuple[str, Sequence[Comparison]]]) -> str:
    """JUnit XML: SLOWER fails, a wrong result is an error, UNCLEAR and missing are skipped."""
    root = ElementTree.Element("testsuites", name="attnbench compare")
    for title, comparisons in sections:
        suite = ElementTree.SubElement(root, "testsuite", name=title, tests=str(len(comparisons)))
        varying = varying_fields(c.cell.identity for c in comparisons)
        counts: Counter[str] = Counter()
        for c in comparisons:
            name = f"{variant_text(c)} {threads_text(c)} threads"
            case = ElementTree.SubElement(
                suite, "testcase", classname=case_text(c.cell, varying), name=name
            )
            if c.new and c.new.timed:
                case.set("time", f"{c.new.median_s:.9g}")
            outcome = "error" if c.wrong else OUTCOMES.get(c.verdict)
            if outcome:
                counts[outcome] += 1
                message = f"{c.verdict.value} {change(c.ratio)}: {c.reason}"
                ElementTree.SubElement(case, outcome, message=message)
        for outcome, key in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            suite.set(key, str(counts[outcome]))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


OUTCOMES = {Verdict.SLOWER: "failure", Verdict.UNCLEAR: "skipped"}


def render(sections: Sequence[tuple[str, Sequence[Comparison]]], form: str, colours: bool) -> str:
    """All sections in one format."""
    if form == "csv":
        return comparison_csv(c for _, comparisons in sections for c in comparisons)
    if form == "junit":
        return junit(sections)
    parts = []
    for title, comparisons in sections:
        rows = comparison_rows(comparisons)
        if form == "markdown":
            parts.append(f"### {title}\n\n{summary(comparisons)}\n")
            parts.append(tables.markdown(HEAD, rows, NUMERIC))
        else:
            parts.append(tables.text(HEAD, rows, NUMERIC, colours=colours))
            parts.append(f"{title}: {summary(comparisons)}\n")
    return "\n".join(parts)


def render_ranking(ranking: Sequence[Sequence[Ranked]], form: str) -> str:
    """A ranking as text, Markdown or CSV."""
    rows = rank_rows(ranking)
    if form == "markdown":
        return tables.markdown(RANK_HEAD, rows, RANK_NUMERIC)
    if form == "csv":
        return tables.comma_separated((*RANK_HEAD[:-1], "note"), rows)
    if form == "junit":
        raise ToolError("a ranking passes or fails nothing; --format text, markdown or csv")
    return tables.text(RANK_HEAD, rows, RANK_NUMERIC, colours=False)


# ---- command line --------------------------------------------------------------------------------


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parses the command line."""
    p = parser(TOOL, __doc__)
    p.add_argument("files", nargs="+", metavar="FILE", help="results files; the first is the base")
    p.add_argument("--by", metavar="COLUMN", help="compare the values of a column of one file")
    p.add_argument("--base", metavar="VALUE", help="the value that the others are compared to")
    p.add_argument(
        "--threshold", type=percentage, default=THRESHOLD, metavar="P", help="in percent; 2"
    )
    p.add_argument(
        "--allow",
        action="append",
        default=[],
        choices=("machine", "build", "mixed"),
        help="compare in spite of different machines, of different compilers or flags, or of "
        "several builds in one file",
    )
    p.add_argument("--only", type=verdicts, metavar="VERDICTS", help="show these; comma separated")
    p.add_argument("--format", choices=FORMATS, default="text")
    p.add_argument("--output", default="-", metavar="FILE", help="- for standard output")
    return p.parse_args(argv)


def percentage(text: str) -> float:
    """A percentage as a fraction."""
    value = float(text.removesuffix("%")) / 100
    if not 0 <= value < 10:
        raise argparse.ArgumentTypeError(f"{text} is no percentage from 0 to 1000")
    return value


def verdicts(text: str) -> frozenset[Verdict]:
    """A comma list of verdicts, in any case."""
    return frozenset(Verdict(word.strip().upper()) for word in text.split(","))


def column_sections(
    results: Results, column: str, base: str | None, threshold: float
) -> list[tuple[str, list[Comparison]]]:
    """The other values of a column against one, one section for each of them."""
    values = column_values(results, column)
    if values == ["-"]:
        raise ToolError(
            f"{results.path}: no column {column}; there are {', '.join(COLUMNS)}, and the keys "
            "of its problems"
        )
    if base is None:
        raise ToolError(f"--base is missing; the values of {column} are {', '.join(values)}")
    try:
        comparisons = compare_columns(results, column, base, threshold)
    except KeyError:
        raise ToolError(
            f"{results.path}: no cell has {column} {base}; there are {', '.join(values)}"
        ) from None
    sections: dict[str, list[Comparison]] = {}
    for c in comparisons:
        sections.setdefault(f"{c.new_name} against {c.base_name}", []).append(c)
    return list(sections.items())


@without_collector()
def run(argv: Sequence[str] | None = None) -> int:
    """The tool."""
    options = arguments(argv)
    results = read_all(options.files)
    for r in results:
        for note in r.notes:
            say(TOOL, note)
    reasons = incomparable(results, options.allow)
    if reasons:
        raise ToolError(f"\n{TOOL}: ".join(reasons), Exit.INCOMPARABLE)
    if options.by or len(results) == 1:
        if len(results) > 1:
            raise ToolError("--by compares within one file")
        if not options.by:
            write_text(options.output, render_ranking(rank(results[0]), options.format))
            return Exit.OK
        sections = column_sections(results[0], options.by, options.base, options.threshold)
    else:
        sections = [
            (f"{r.path} against {results[0].path}", compare_files(results[0], r, options.threshold))
            for r in results[1:]
        ]
    if options.only:
        sections = [(t, [c for c in cs if c.verdict in options.only]) for t, cs in sections]
    colours = options.output == "-" and colours_wanted(sys.stdout)
    write_text(options.output, render(sections, options.format, colours))
    return Exit.OK


if __name__ == "__main__":
    guard(TOOL, run)

"""Compares results files, or columns within one.

    scripts/compare BASE.jsonl NEW.jsonl [...]     every file against the first
    scripts/compare FILE.jsonl                     the kernels of a file: a ranking with ties
    scripts/compare FILE.jsonl --by isa --base avx2
                                                   a column's values against one of them: kernel,
                                                   isa, threads, input, placement, memory,
                                                   huge_pages, cache, environment, group, or a
                                                   key of the problem (dtype, mask, d, ...)
    scripts/compare FILE.jsonl --by setting --base base
                                                   the settings of attnbench run --base-options
                                                   ... --new-options ..., as it says it itself
    scripts/compare FILE.jsonl --by group --base rivals
                                                   the best kernel of ours against the best rival,
                                                   with verdicts and reasons
    scripts/compare FILE.jsonl --rivals            the same with one row per case and thread count:
                                                   which needs less time, and by how much;
                                                   docs/rivals.md

A change is that of the time per call: +3 % is slower.  Verdicts, at a threshold of 2 %:

    SLOWER, FASTER   the 95 % interval excludes 0 and the change is above the threshold
    SAME             the interval lies within the threshold
    WRONG            the new cell computed something wrong, crashed or timed out
    UNCLEAR          none of these: the reason says why

Cells of two files are UNCLEAR too if something else on the machine disturbed either, or if they
differ by no more than a build differed from itself in these sessions (their noise lines); so are
cells of one file that were not launched in the same rounds.

Launches of two files are independent samples (Hodges-Lehmann, interval of Moses); within a file
they are compared round by round (sign-test interval; with three to five rounds Student's t).  An
interval covers the noise between launches of these sessions: another day's session may differ by
more.  Below a comparison of files stands how often two sessions of one build, run one after the
other, seemed to differ.

For CI: --fail-on slower exits with 1 where a cell is SLOWER, --fail-on wrong where one is WRONG
that was not in the base, --fail-on unclear where one is UNCLEAR, and with 0 where none is, whether
or not --only shows them.

Exit codes: 0 compared, 1 --fail-on found something, 3 output, 4 usage or input, 5 the files must
not be compared, or have no cell in common.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence

from attntools.base.cli import Exit, ToolError, parser, refuse_over, say, told
from attntools.base.files import colours_wanted, write_text
from attntools.base.tables import width_of
from attntools.compare import ours_against_best
from attntools.compare.comparable import incomparable
from attntools.compare.comparison import (
    COLUMNS,
    THRESHOLD,
    Comparison,
    Verdict,
    column_values,
    compare_columns,
    compare_files,
    in_common,
)
from attntools.compare.comparison_tables import APART, render
from attntools.compare.ranking import rank
from attntools.compare.ranking_tables import render_ranking
from attntools.results.cells import RIVALS, Results
from attntools.results.results import read_all, without_collector

TOOL = "compare"
FORMATS = ("text", "markdown", "csv", "junit")
# What --fail-on can name.
CAUSES = {
    "slower": lambda c: c.verdict is Verdict.SLOWER,
    "wrong": lambda c: c.wrong,
    "unclear": lambda c: c.verdict is Verdict.UNCLEAR,
}


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parses the command line."""
    p = parser(TOOL, __doc__)
    p.add_argument("files", nargs="+", metavar="FILE", help="results files; the first is the base")
    p.add_argument("--by", metavar="COLUMN", help="compare the values of a column of one file")
    p.add_argument("--rivals", action="store_true", help="the best of ours against the best rival")
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
    p.add_argument(
        "--fail-on", type=causes, action="extend", default=[], metavar="WHAT",
        help="slower, wrong, unclear: exit with 1 where there is such a cell; comma separated",
    )  # fmt: skip
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


def causes(text: str) -> list[str]:
    """A comma list of what to fail on."""
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word not in CAUSES:
            raise argparse.ArgumentTypeError(f"{word} is none of {', '.join(CAUSES)}")
    return words


def found(comparisons: Iterable[Comparison], wanted: Sequence[str]) -> str:
    """How many cells there are of each cause that is wanted; empty where there are none."""
    comparisons = list(comparisons)
    counts = {cause: sum(map(CAUSES[cause], comparisons)) for cause in CAUSES if cause in wanted}
    return ", ".join(f"{count} {cause}" for cause, count in counts.items() if count)


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


def rivals_table(results: Results, options: argparse.Namespace, width: int | None) -> str:
    """What --rivals prints."""
    if options.by or options.base or options.only or options.fail_on:
        raise ToolError("--rivals goes with --format, --allow and --output alone")
    if options.format == "junit":
        raise ToolError("--rivals passes or fails nothing; --format text, markdown or csv")
    if not results.timed:
        raise ToolError(f"{results.path}: no cell has a time", Exit.INCOMPARABLE)
    if not any(cell.group == RIVALS for cell in results.cells.values()):
        raise ToolError(f"{results.path}: no rivals")
    return ours_against_best.render(results, options.format, width)


@without_collector()
def run(argv: Sequence[str] | None = None) -> int:
    """The tool."""
    options = arguments(argv)
    refuse_over(options.output, options.files)
    results = [told(TOOL, r) for r in read_all(options.files)]
    reasons = incomparable(results, options.allow)
    if reasons:
        raise ToolError(f"\n{TOOL}: ".join(reasons), Exit.INCOMPARABLE)
    width = width_of(sys.stdout) if options.output == "-" else None
    if options.by or options.rivals or len(results) == 1:
        if len(results) > 1:
            raise ToolError("--by and --rivals compare within one file")
        if options.rivals:
            write_text(options.output, rivals_table(results[0], options, width))
            return Exit.OK
        if not options.by and options.fail_on:
            raise ToolError("a ranking finds nothing slower or wrong; --fail-on needs two files")
        if not options.by and not results[0].timed:
            raise ToolError(f"{results[0].path}: no cell has a time", Exit.INCOMPARABLE)
        if not options.by:
            write_text(options.output, render_ranking(rank(results[0]), options.format, width))
            return Exit.OK
        sections = column_sections(results[0], options.by, options.base, options.threshold)
        note = ""
    else:
        sections = [
            (f"{r.path} against {results[0].path}", compare_files(results[0], r, options.threshold))
            for r in results[1:]
        ]
        note = APART
    wanted = found((c for _, cs in sections for c in cs), options.fail_on)
    only = options.only or Verdict
    colours = options.output == "-" and colours_wanted(sys.stdout)
    write_text(options.output, render(sections, options.format, colours, note, width, only))
    apart = [title for title, cs in sections if not in_common(cs)]
    for title in apart:
        say(TOOL, f"{title}: they have no cell in common")
    if wanted:
        say(TOOL, f"found: {wanted}")
        return Exit.REGRESSION
    return Exit.INCOMPARABLE if apart else Exit.OK

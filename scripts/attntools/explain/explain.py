"""Explains a row of a results file: what binds it, what disturbed it, how it stands, what to try.

    scripts/explain run.jsonl                 the rows, by number, in the order of the file
    scripts/explain run.jsonl --row 3         one of them

    limit      which ceiling binds the row by the roofline model, and how much of each it reached
    time       how sure the median is
    threads    what the threads did, and the same variant on other numbers of threads
    disturbed  the flags of disturbances, in words
    others     the other variants on the same case and threads, the library's choice, and the
               fastest of the case on any number of threads
    model      its share of a model's pass or token, and what the other layers of that take
    try        what the numbers of this file suggest

Numbers of the row alone and of the rows beside it; what was not measured is not said.  A suggestion
is no promise: measure it in one session with the row, as both lie in the same minutes there.

Exit codes: 0 explained, 3 output, 4 usage or input.
"""

import argparse
import json
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from attntools.base import tables
from attntools.base.cli import Exit, ToolError, parser, refuse_over, told
from attntools.base.files import write_text
from attntools.base.units import counted, digits, seconds
from attntools.compare.answer import share
from attntools.compare.comparison import ratio_of
from attntools.compare.ranking import rank
from attntools.explain.advice import advice, beside
from attntools.explain.standing import standing, why_not_faster
from attntools.results import flags
from attntools.results.cells import Cell, Results
from attntools.results.results import read
from attntools.results.schema import DISTURBANCES

TOOL = "explain"
LABEL = 11  # columns
HEAD = ("row", "case", "kernel/isa", "threads", "median", "state")
NUMERIC = (True, False, False, True, True, False)


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parses the command line."""
    p = parser(TOOL, __doc__)
    p.add_argument("file", type=Path, help="a results file")
    p.add_argument(
        "--row", type=row_number, metavar="N",
        help="its Nth row, from 1; without: a list, in the order of the file",
    )  # fmt: skip
    p.add_argument("--output", default="-", metavar="FILE", help="- for standard output")
    return p.parse_args(argv)


def row_number(text: str) -> int:
    """What --row takes."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text} is no number; the first column of scripts/explain FILE has them"
        ) from None


# ---- rows by number ------------------------------------------------------------------------------


def numbered(results: Results) -> list[Cell | None]:
    """The rows in the order of the file; None where a later one is of the same cell."""
    cells = {cell.line: cell for cell in results.cells.values()}
    found = []
    for number, line in enumerate(Path(results.path).read_bytes().splitlines(), 1):
        if line.endswith(b"}") and json.loads(line).get("type") == "cell":
            found.append(cells.get(number))
    return found


def listing(rows: Sequence[Cell | None], width: int | None) -> str:
    """All rows that count, with their numbers; below the names of cases where they are too wide."""
    lines = [
        (
            *(str(i), cell.case, cell.identity.series, str(cell.threads)),
            *(seconds(cell.median_s) if cell.timed else "", cell.state),
        )
        for i, cell in enumerate(rows, 1)
        if cell
    ]
    text = tables.text(HEAD, lines, NUMERIC, colours=False)
    if width is None or max(map(len, text.splitlines())) <= width:
        return text
    head, numeric = (HEAD[1], HEAD[0], *HEAD[2:]), (NUMERIC[1], NUMERIC[0], *NUMERIC[2:])
    titled = [(case, row, *rest) for row, case, *rest in lines]
    return tables.titled(head, titled, numeric, width, colours=False)


def row_of(results: Results, number: int) -> Cell:
    """The row with that number."""
    rows = numbered(results)
    if not 1 <= number <= len(rows):
        raise ToolError(f"{results.path}: no row {number}, it has {len(rows)}")
    cell = rows[number - 1]
    if cell is None:
        raise ToolError(f"{results.path}: a later row of the same cell replaces row {number}")
    return cell


# ---- what a row says -----------------------------------------------------------------------------


def limit(cell: Cell) -> list[str]:
    """Which ceiling binds, how much of each was reached."""
    intensity = cell.number("intensity_flop_per_byte")
    fma, read_rate = cell.number("ceiling.fma_gflops"), cell.number("ceiling.read_gbytes_per_s")
    if not cell.bound_by or not share(cell) >= 0:
        return ["no ceiling was measured beside it"]
    ridge = fma / read_rate
    found = [f"{cell.bound_by} bound"]
    if intensity >= 0 and ridge >= 0:
        found[0] += (
            f": {digits(intensity)} flops for each byte that must be moved, and here the "
            f"multiply-adds bind from {digits(ridge)} flops a byte on"
        )
    for key, rate, ceiling, of in (
        ("fraction_of_fma", "gflops", "fma_gflops", "GFLOP/s of the multiply-adds"),
        ("from_l1", "gflops", "fma_from_l1_gflops",
         "GFLOP/s of multiply-adds from the first-level cache, what a GEMM can reach"),
        ("fraction_of_bandwidth_in_place", "gbytes_per_s", "read_in_place_gbytes_per_s",
         "GB/s of reads of K and V where they lie"),
        ("fraction_of_bandwidth", "gbytes_per_s", "read_gbytes_per_s",
         "GB/s of reads of other memory, on huge pages if there are"),
    ):  # fmt: skip
        most, got = cell.number(f"ceiling.{ceiling}"), cell.number(rate)
        part = got / most if key == "from_l1" else cell.number(key)
        if part >= 0 and most > 0:
            found.append(_share_text(part, got, most, of))
    return found


def _share_text(part: float, got: float, most: float, of: str) -> str:
    """A share, which is the median over launches, beside two medians that may divide otherwise."""
    text = f"{100 * part:.0f} %: {digits(got)} of {digits(most)} {of}"
    apart = f"{100 * got / most:.0f} %"
    if text.startswith(f"{apart}:"):
        return text
    return (
        f"{100 * part:.0f} % of the {of}, launch by launch; the medians of both, {digits(got)} and "
        f"{digits(most)}, divide to {apart}"
    )


def how_sure(cell: Cell) -> list[str]:
    """Interval, spreads, how the launches ended."""
    count = len(cell.launch_medians_s)
    text = f"{seconds(cell.median_s)} in {count} launch{'es' if count != 1 else ''}"
    if cell.interval_s:
        lo, hi = map(seconds, cell.interval_s)
        text += f", 95 % interval {lo} to {hi}"
    else:
        text += ", too few for a 95 % interval"
    within, between = cell.number("time.spread_within"), cell.number("time.spread_between")
    found = [text]
    if within >= 0 and between >= 0:
        found.append(
            f"samples spread {100 * within:.1f} % within a launch, and launches "
            f"{100 * between:.1f} % beyond what that explains"
        )
    prepare = cell.number("prepare_s")
    if prepare > 0:
        found.append(f"prepared once in {seconds(prepare)}, which no call pays")
    return found


def team(results: Results, cell: Cell) -> list[str]:
    """Work and waiting of the threads; the variant on other numbers of threads."""
    busy, barrier = cell.number("busy_s"), cell.number("barrier_s")
    each = cell.row.get("thread_busy_s") or []
    found = []
    if busy > 0 and barrier >= 0 and cell.threads > 1:
        worked = 100 * busy / (busy + barrier)
        text = (
            f"in an extra sample of each launch, apart from those of the time, they work "
            f"{worked:.0f} % and wait {100 - worked:.0f} % for each other"
        )
        if len(each) > 1 and min(each) > 0:
            text += f"; the busiest works {max(each) / min(each):.2f} x as long as the idlest"
        found.append(text)
    for other in beside(results, cell, "threads"):
        found.append(
            f"on {counted(other.threads, 'thread')} it takes "
            f"{seconds(other.median_s)}: {ratio_of(other, cell)[0]:.2f} x as fast as on "
            f"{cell.threads}, round by round"
        )
    return found


def disturbed(cell: Cell) -> list[str]:
    """The flags, those of disturbances first."""
    ordered = sorted(cell.flags, key=lambda flag: flag not in DISTURBANCES)
    return [f"{flag}: {flags.MEANING.get(flag, '')}" for flag in ordered] or ["nothing was seen"]


def layers_in(cell: Cell, name: str) -> int:
    """How many layers of that pass a row stands for."""
    return next((one.layers for one in cell.passes if one.name == name), 0)


def other_layers(results: Results, cell: Cell, name: str) -> tuple[list[str], float]:
    """What each other case of a pass takes by its fastest variant on as many threads; in all."""
    rows = [c for c in results.cells.values() if layers_in(c, name) and c.case != cell.case]
    told, total = [], 0.0
    for case in dict.fromkeys(c.case for c in rows):
        of_case = [c for c in rows if c.case == case]
        timed = [c for c in of_case if c.timed and c.threads == cell.threads]
        best = min(timed, key=lambda c: c.median_s, default=None)
        count = layers_in(of_case[0], name)
        if best:
            total += count * best.median_s
            told.append(f"{count} x {seconds(best.median_s)} of {case} by {best.identity.label}")
        else:
            told.append(f"{count} layers of {case}, without a time here")
    return told, total


def model(results: Results, cell: Cell) -> list[str]:
    """Each pass that the row's layers are part of, with what the others take."""
    found = []
    for name in (one.name for one in cell.passes):
        count = layers_in(cell, name)
        mine = count * cell.median_s
        told, others = other_layers(results, cell, name)
        text = f"{name}: {count} layers x {seconds(cell.median_s)} are {seconds(mine)}"
        if others:
            text += f", {100 * mine / (mine + others):.0f} % of {seconds(mine + others)}"
        text += f" beside {' + '.join(told)}" if told else ", all of its layers here"
        found.append(text)
    return found


def sections(results: Results, cell: Cell) -> list[tuple[str, list[str]]]:
    """Labels, and what is said of each."""
    if not cell.timed:
        why = [f"{cell.state}: {cell.why}" if cell.why else f"{cell.state}, without a time"]
        return [("state", why), ("repeat", [cell.repro or ""])]
    group = next(g for g in rank(results) if any(r.cell is cell for r in g))
    found = [
        ("limit", limit(cell)),
        ("time", how_sure(cell)),
        ("threads", team(results, cell)),
        ("disturbed", disturbed(cell)),
        ("others", [*standing(cell, group), *why_not_faster(results, cell, group)]),
        ("model", model(results, cell)),
        ("try", advice(results, cell, group) or ["nothing that these numbers support"]),
        ("repeat", [cell.repro or ""]),
    ]
    return [(label, lines) for label, lines in found if any(lines)]


def explained(results: Results, cell: Cell, width: int | None) -> str:
    """The whole page."""
    title = f"{cell.case}: {cell.identity.label} on {counted(cell.threads, 'thread')}"
    out = [title, cell.problem]
    for label, lines in sections(results, cell):
        for i, line in enumerate(lines):
            head = f"  {label if i == 0 else '':{LABEL}}"
            if width is None or label == "repeat":  # to be copied
                out.append(head + line)
            else:
                out += textwrap.wrap(
                    line, width, initial_indent=head, subsequent_indent=" " * (LABEL + 4),
                    break_on_hyphens=False, break_long_words=False,
                )  # fmt: skip
    return "\n".join(out) + "\n"


def run(argv: Sequence[str] | None = None) -> int:
    """The tool."""
    options = arguments(argv)
    refuse_over(options.output, [options.file])
    results = told(TOOL, read(options.file))
    width = tables.width_of(sys.stdout) if options.output == "-" else None
    if options.row is None:
        write_text(options.output, listing(numbered(results), width))
    else:
        text = explained(results, row_of(results, options.row), width)
        write_text(options.output, text)
    return Exit.OK

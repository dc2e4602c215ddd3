"""Draws figures from a results file.

    scripts/plot FILE.jsonl                        the session in at most eight figures
    scripts/plot FILE.jsonl --kind roofline,bars   figures of these kinds; --all draws every kind
    scripts/plot FILE.jsonl --case decode,s512     of the cases with one of these texts in their
                                                   names: their bars, and the kinds asked for

The session in eight figures, each where the file has data for it:
    ceiling   percent of the ceiling by shape, on the largest number of threads
    speedup   our fastest kernel against gemm or the fastest rival, sorted
    roofline  cells under the ceilings measured beside them; --name TEXT,TEXT names cases
    times     time over S, per query and key
    decode    decode over the keys, against the read bandwidth
    threads   speed-up over one thread
    accuracy  error over bound against time
    noise     which difference would have been detected, and what disturbed cells

More kinds:
    bars      time of every variant with its interval, one figure per case
    length    time and GFLOP/s over the sequence length, one figure per family of cases
    heat      share of the multiply-add ceiling, cases by variants, also those without a time
    overview  prefill and decode over the length, as shares of the machine's ceilings
    rivals    every rival against ours, by case
    costs     masks and other options, as shares of the plain case's rate
    experiments  a figure of each experiment, and what is fitted to its rows, in sentences
    weights   attention weights, one panel per head, of what `attnbench eval` wrote with
              outputs=o+weights: scripts/plot OUT.safetensors --kind weights [--tokens FILE],
              with a word for each key, one per line

Writes SVG and PNG to --output (a folder, made if need be; default: figures/NAME for a file called
NAME.jsonl, here) and prints their names.  No side of a PNG has more than 2000 pixels.  Exit codes:
0 drawn, 3 output, 4 usage or input.
"""

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from attntools.base.cli import Exit, ToolError, parser, say, told
from attntools.base.files import make_directory, write_text
from attntools.experiments import plot_experiments
from attntools.experiments.experiment_rows import answers
from attntools.plot import (
    accuracy,
    ceilings,
    costs,
    figures,
    lengths,
    noise,
    overview,
    rivals,
    roofline,
    scaling,
    speedup,
    style,
    weights,
)
from attntools.results.cells import Results
from attntools.results.results import read
from matplotlib.figure import Figure

TOOL = "plot"

Named = Iterator[tuple[str, Figure | None]]


def _bars(results: Results) -> Named:
    for case in dict.fromkeys(c.case for c in results.timed):
        yield f"bars-{case}", figures.bars(results, case)


def _length(results: Results) -> Named:
    for family in figures.families(results):
        yield f"length-{family}", figures.over_length(results, family)


def _heat(results: Results) -> Named:
    for threads in figures.threads_of(results.timed):
        for number, cases in enumerate(figures.heat_pages(results, threads), 1):
            page = "" if number == 1 else f"-{number}"
            yield f"heat-{threads}{page}", figures.heat(results, threads, cases)


# The figures of a session, in the order in which they tell it.
SESSION: dict[str, Callable[[Results], Figure | None]] = {
    "ceiling": ceilings.figure,
    "speedup": speedup.figure,
    "roofline": roofline.figure,
    "times": lengths.times,
    "decode": lengths.decode,
    "threads": scaling.figure,
    "accuracy": accuracy.figure,
    "noise": noise.figure,
}
SINGLE = SESSION | {"overview": overview.overview, "rivals": rivals.rivals, "costs": costs.figure}
SEVERAL: dict[str, Callable[[Results], Named]] = {
    "bars": _bars,
    "length": _length,
    "heat": _heat,
    "experiments": plot_experiments.every,
}
KINDS = (*SINGLE, *SEVERAL)
WEIGHTS = "weights"  # of another kind of file


def draw(
    results: Results, kinds: Sequence[str], names: Sequence[str] = ()
) -> Iterator[tuple[str, Figure]]:
    """Name and figure of each that there is data for.

    Args:
        results: the file.
        kinds: of KINDS.
        names: texts of the cases that the roofline names.
    """
    for kind in kinds:
        if kind == "roofline":
            found: Named = iter([(kind, roofline.figure(results, names))])
        else:
            found = SEVERAL[kind](results) if kind in SEVERAL else iter(
                [(kind, SINGLE[kind](results))])  # fmt: skip
        for name, fig in found:
            if fig:
                yield re.sub(r"[^\w.-]+", "-", name).strip("-"), fig


def only(results: Results, cases: Sequence[str]) -> Results:
    """The part of a file about the cases whose names have one of these texts."""
    cells = {i: c for i, c in results.cells.items() if any(text in c.case for text in cases)}
    if not cells:
        raise ToolError(f"{results.path}: no case has {' or '.join(cases)} in its name")
    names = {c.case for c in cells.values()}
    noise_lines = [line for line in results.noise if line.get("case") in names]
    return replace(results, cells=cells, noise=noise_lines)


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parses the command line."""
    p = parser(TOOL, __doc__)
    p.add_argument("file", metavar="FILE", help="a results file")
    which = p.add_mutually_exclusive_group()
    which.add_argument("--kind", help=f"comma list of {', '.join(KINDS)}; or {WEIGHTS}")
    which.add_argument("--all", action="store_true", help="every kind")
    p.add_argument("--case", metavar="TEXT,TEXT", help="only cases with one of these in their name")
    p.add_argument("--name", metavar="TEXT,TEXT", help="the cases that the roofline names")
    p.add_argument("--tokens", metavar="FILE", help="words of the keys, one a line (weights)")
    p.add_argument("--format", default=",".join(style.FORMATS), help="comma list of svg, png, pdf")
    p.add_argument("--output", type=Path, metavar="DIR")
    return p.parse_args(argv)


def choices(text: str, known: Sequence[str], what: str) -> list[str]:
    """A comma list of known words."""
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word not in known:
            raise ToolError(f"no {what} '{word}'; there are {', '.join(known)}")
    return words


def chosen(options: argparse.Namespace, results: Results) -> list[str]:
    """The kinds to draw: those asked for, or what tells the file."""
    if options.all:
        return list(KINDS)
    if options.kind:
        return choices(options.kind, KINDS, "kind")
    if options.case:
        return ["bars"]
    return ["experiments"] if answers(results) or not results.cells else list(SESSION)


def from_results(options: argparse.Namespace) -> Iterator[tuple[str, Figure]]:
    """Figures of a results file; raises ToolError where it has no data for any."""
    if options.kind:
        choices(options.kind, (*KINDS, WEIGHTS), "kind")
        if WEIGHTS in options.kind:
            raise ToolError(f"{WEIGHTS} is drawn alone, of a file of attnbench eval")
    if options.tokens:
        raise ToolError(f"--tokens goes with --kind {WEIGHTS}")
    results = told(TOOL, read(options.file))
    if options.case:
        results = only(results, options.case.split(","))
    kinds = chosen(options, results)
    drawn = False
    for found in draw(results, kinds, options.name.split(",") if options.name else ()):
        drawn = True
        yield found
    if not drawn:
        raise ToolError(f"{options.file}: no data for {', '.join(kinds)}")
    for name in plot_experiments.FINDINGS if "experiments" in kinds else ():
        for sentence in plot_experiments.findings(results, name):
            say(TOOL, sentence)


def run(argv: Sequence[str] | None = None) -> int:
    """The tool."""
    options = arguments(argv)
    formats = choices(options.format, ["svg", "png", "pdf"], "format")
    if options.kind != WEIGHTS and Path(options.file).suffix == ".safetensors":
        raise ToolError(f"{options.file}: has tensors, of which --kind {WEIGHTS} draws the weights")
    if options.kind == WEIGHTS:
        found = weights.figures(options.file, options.tokens)
    else:
        found = from_results(options)
    output = options.output or Path("figures", Path(options.file).stem)
    boxes = False
    for name, fig in found:
        make_directory(output)
        boxes = boxes or (formats != ["svg"] and style.lacks_font(fig))
        for path in style.save(fig, output / name, formats):
            write_text("-", f"{path}\n")
    if boxes:
        say(TOOL, f"no font here has these letters: only SVG shows them; {style.EAST[0]} has them")
    return Exit.OK

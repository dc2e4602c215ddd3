"""Draws figures from a results file.

    scripts/plot FILE.jsonl                        every figure that the file has data for
    scripts/plot FILE.jsonl --kind roofline,heat   some

Kinds:
    bars      time of every variant with its interval, one figure a case
    roofline  cells under the ceilings measured beside them
    length    time and GFLOP/s over the sequence length
    threads   speed-up over one thread
    heat      share of the multiply-add ceiling, cases by variants
    overview  prefill and decode over the length, as shares of the machine's ceilings
    rivals    other people's kernels against ours, by case
    costs     masks and other options, as shares of the plain case's rate
    experiments  a figure of each experiment

Writes SVG and PNG to --output (a folder, made if need be; default: the file's name without its
ending) and prints their names.  Exit codes: 0 drawn, 3 output, 4 usage or input.
"""

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from attntools import costs, figures, overview, plot_experiments, rivals, style
from attntools.cells import Results
from attntools.cli import Exit, ToolError, guard, parser, say
from attntools.files import make_directory
from attntools.results import read

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
        yield f"heat-{threads}", figures.heat(results, threads)


def _roofline(results: Results) -> Named:
    yield "roofline", figures.roofline(results)


def _threads(results: Results) -> Named:
    yield "threads", figures.thread_scaling(results)


def _rivals(results: Results) -> Named:
    yield "rivals", rivals.rivals(results)


def _costs(results: Results) -> Named:
    yield "costs", costs.figure(results)


def _overview(results: Results) -> Named:
    yield "overview", overview.overview(results)


KINDS: dict[str, Callable[[Results], Named]] = {
    "roofline": _roofline,
    "heat": _heat,
    "length": _length,
    "threads": _threads,
    "bars": _bars,
    "overview": _overview,
    "rivals": _rivals,
    "costs": _costs,
    "experiments": plot_experiments.every,
}


def draw(results: Results, kinds: Sequence[str]) -> Iterator[tuple[str, Figure]]:
    """Name and figure of each that there is data for."""
    for kind in kinds:
        for name, fig in KINDS[kind](results):
            if fig:
                yield re.sub(r"[^\w.-]+", "-", name).strip("-"), fig


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parses the command line."""
    p = parser(TOOL, __doc__)
    p.add_argument("file", metavar="FILE", help="a results file")
    p.add_argument("--kind", default=",".join(KINDS), help=f"comma list of {', '.join(KINDS)}")
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


def run(argv: Sequence[str] | None = None) -> int:
    """The tool."""
    options = arguments(argv)
    kinds = choices(options.kind, list(KINDS), "kind")
    formats = choices(options.format, ["svg", "png", "pdf"], "format")
    results = read(options.file)
    for note in results.notes:
        say(TOOL, note)
    output = options.output or Path(options.file).with_suffix("")
    drawn = 0
    for name, fig in draw(results, kinds):
        make_directory(output)
        for path in style.save(fig, output / name, formats):
            print(path)
        drawn += 1
    if not drawn:
        raise ToolError(f"{options.file}: no data for {options.kind}")
    return Exit.OK


if __name__ == "__main__":
    guard(TOOL, run)

"""How long a gate takes: said beforehand, and while it runs."""

import argparse
import sys
import time
from collections.abc import Callable, Sequence

from attntools.base.cli import say
from attntools.gate.gate_builds import TOOL
from attntools.gate.gate_instructions import count_pairs
from attntools.gate.gate_pairs import Plan, run_pairs
from attntools.results.cells import Identity

EVERY_S = 60.0  # between two lines about progress in a log

Progress = Callable[[int, int], None]


def progress(what: str, start: float, clock: Callable[[], float] = time.monotonic) -> Progress:
    """Says how far something is: in a log each minute, and after its first part how long it takes.

    Args:
        what: is done.
        start: when the whole began, of which this may be a part.
        clock: in seconds.
    """
    begun = told = clock()

    def tell(done: int, total: int) -> None:
        nonlocal told
        now = clock()
        left = (now - begun) / done * (total - done)
        long = done == 1 and left >= EVERY_S / 2
        if done == total or long or now - told >= EVERY_S or sys.stderr.isatty():
            told = now
            more = f", about {left:.0f} s more" if done < total else ""
            say(TOOL, f"{what}: {done} of {total}, {now - start:.0f} s{more}")

    return tell


def estimate(plan: Plan, cells: Sequence[Identity], options: argparse.Namespace) -> str:
    """How long a gate of these cells takes, by launching a block of each or counting one."""
    start = time.monotonic()
    if options.metric == "instructions":
        count_pairs(plan.builds, cells[:1], options.threshold, plan.folder)
        whole = (time.monotonic() - start) * len(cells)
        return f"{len(cells)} cells; to count them takes about {whole:.0f} s"
    run_pairs(plan, cells, 2)
    session = (time.monotonic() - start) * options.pairs / 2
    return (
        f"{len(cells)} cells; {options.pairs} pairs of launches of each take about {session:.0f} s."
        f" Cells that stay open get as many again, at most {max(1, options.sessions)} times, and "
        f"not after {options.patience:.0f} s; those that look slower are then launched afresh"
    )

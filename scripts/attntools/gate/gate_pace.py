"""How long a gate takes: said beforehand, and while it runs."""

import argparse
import sys
import time
from collections.abc import Callable, Sequence

from attntools.base.cli import REACHED, say
from attntools.base.units import counted
from attntools.gate.gate_builds import TOOL
from attntools.gate.gate_instructions import count_pairs
from attntools.gate.gate_launch import EVERY_S
from attntools.gate.gate_pairs import Plan, run_pairs
from attntools.results.cells import Identity

Progress = Callable[[int, int], None]


def progress(
    what: str,
    start: float,
    clock: Callable[[], float] = time.monotonic,
    first: Callable[[float], str] | None = None,
) -> Progress:
    """Says how far something is: in a log each minute, and after its first part how long it takes.

    Args:
        what: is done.
        start: when the whole began, of which this may be a part.
        clock: in seconds.
        first: what to say after the first part instead, of the seconds that all parts take.
    """
    begun = told = clock()

    def tell(done: int, total: int) -> None:
        nonlocal told
        now = clock()
        REACHED.text = f"{what}: {done} of {total}"
        part = (now - begun) / done
        left = part * (total - done)
        if done == 1 and first:
            told = now
            say(TOOL, first(part * total))
            return
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
        return f"{counted(len(cells), 'cell')}; to count them takes about {whole:.0f} s"
    run_pairs(plan, cells, 2)
    return length((time.monotonic() - start) * options.pairs / 2, len(cells), options)


def length(session_s: float, cells: int, options: argparse.Namespace) -> str:
    """How long a gate may take.

    Args:
        session_s: what the pairs of all cells take once, in seconds.
        cells: their number.
        options: of the gate.
    """
    most = min(max(1, options.sessions) * session_s, options.patience + session_s)
    return (
        f"{counted(cells, 'cell')}; {options.pairs} pairs of launches of each take about "
        f"{session_s:.0f} s, with more pairs of cells that stay open up to {most:.0f} s, and up to "
        f"{2 * most:.0f} s where some look slower and are launched afresh"
    )

"""Why times that were measured apart may differ although the code does not.

Cells that were not launched side by side ran while the machine was in different states.  A
session's file tells about its states: by the flags of rows, and by `noise` lines, of cells that
were launched twice a round and thus compared with themselves.
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from math import expm1, inf, log
from pathlib import Path
from statistics import median

from attntools.results.cells import Cell, Row
from attntools.results.schema import DISTURBANCES

# What was found when equal sessions were compared, by scripts/dev/studies/coverage.py --write.
FOUND = Path(__file__).with_name("apart.json")


def found_equal() -> str:
    """How often equal sessions were called different, in a sentence."""
    found = json.loads(FOUND.read_text(encoding="utf-8"))
    share = 1000 * found["slower"] / found["compared"]
    return (
        f"Of 1000 cells of equal sessions apart in time {share:.0f} were called SLOWER "
        f"({found['slower']} of {found['compared']}, {found['sessions']} sessions)."
    )


def self_difference(line: Row) -> float | None:
    """How much a cell and its twin differed, as a logarithm: the farther end of the interval.

    The ratio itself where there were too few rounds for an interval; None where it has none.
    """
    ratios = line.get("ci95") or [line.get("ratio")]
    known = [r for r in ratios if isinstance(r, int | float) and 0 < r < inf]
    return max((abs(log(r)) for r in known), default=None)


class Noise:
    """How much one build differed from itself, case by case, in one or several sessions."""

    def __init__(self, lines: Iterable[Row]) -> None:
        """Takes the noise lines of these sessions."""
        self.by_problem: dict[str, list[float]] = defaultdict(list)
        for line in lines:
            found = self_difference(line)
            if found is not None:
                self.by_problem[str(line.get("problem"))].append(found)
        every = [found for group in self.by_problem.values() for found in group]
        self.usual = median(every) if every else 0.0

    def of(self, base: Cell, new: Cell) -> float:
        """The noise in two cells' cases; the sessions' median where these have no noise line."""
        here = {base.problem, new.problem}
        own = [found for problem in here for found in self.by_problem.get(problem, ())]
        return max(own, default=self.usual)


def disturbance(base: Cell, new: Cell) -> str:
    """What disturbed the measurement of either from outside; empty where nothing did."""
    sides = (("base", base), ("new", new))
    told = [(name, sorted(DISTURBANCES.intersection(cell.flags))) for name, cell in sides]
    return "; ".join(f"{name}: {', '.join(flags)}" for name, flags in told if flags)


def doubt(base: Cell, new: Cell, ratio: float, differ: bool, noise: Noise) -> str:
    """Why a verdict on cells that were measured apart cannot be trusted; empty where it can.

    Args:
        base: one cell.
        new: the other.
        ratio: new over base.
        differ: whether the verdict is that they do.
        noise: of their sessions.
    """
    flags = disturbance(base, new)
    if flags:
        return f"measured apart, and disturbed ({flags})"
    least = noise.of(base, new)
    if differ and abs(log(ratio)) <= least:
        by = f"{100 * expm1(least):.1f} %"
        return f"measured apart, and one build differed from itself by up to {by} there"
    return ""

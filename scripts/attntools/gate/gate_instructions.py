"""The gate's other metric: instructions of both builds, counted exactly."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from attntools.base import tables
from attntools.base.cli import ToolError
from attntools.base.units import change
from attntools.compare.comparison import Verdict
from attntools.gate.callgrind import ISAS, Count, available, count
from attntools.gate.gate_builds import Build
from attntools.results.cells import Identity

HEAD = ("problem", "kernel/isa", "base", "new", "change", "where", "")
NUMERIC = (False, False, True, True, True, False, False)

# The most changed functions that are named, and the smallest share of change.
FUNCTIONS = 3
LEAST = 0.001


@dataclass(frozen=True)
class Counted:
    """One cell's instructions in both builds."""

    identity: Identity
    base: Count
    new: Count
    threshold: float  # least change that counts, as a fraction

    @property
    def ratio(self) -> float:
        """New over base."""
        return self.new.instructions / self.base.instructions

    @property
    def verdict(self) -> Verdict:
        """Never UNCLEAR: a count has no noise."""
        if self.ratio > 1 + self.threshold:
            return Verdict.SLOWER
        return Verdict.FASTER if self.ratio < 1 / (1 + self.threshold) else Verdict.SAME

    def where(self) -> str:
        """The functions whose instructions changed most, with the changes."""
        names = {*self.base.functions, *self.new.functions}
        by = {n: self.new.functions.get(n, 0) - self.base.functions.get(n, 0) for n in names}
        told = (n for n in by if abs(by[n]) > LEAST * self.base.instructions)
        largest = sorted(told, key=lambda n: (-abs(by[n]), n))[:FUNCTIONS]
        return ", ".join(f"{n} {by[n]:+,}" for n in largest)


def count_pairs(
    builds: Sequence[Build],
    cells: Sequence[Identity],
    threshold: float,
    folder: Path,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> list[Counted]:
    """Counts every cell in both builds."""
    counted = []
    for number, identity in enumerate(cells, 1):
        base, new = (count(build, identity, folder) for build in builds)
        counted.append(Counted(identity, base, new, threshold))
        progress(number, len(cells))
    return counted


def table(counted: Iterable[Counted]) -> str:
    """All cells in Markdown, the largest growth first."""
    rows = [
        (
            c.identity.problem,
            c.identity.label,
            f"{c.base.instructions:,}",
            f"{c.new.instructions:,}",
            f"{100 * (c.ratio - 1):+.3f} %",
            c.where(),
            f"**{c.verdict.value}**" if c.verdict is Verdict.SLOWER else c.verdict.value,
        )
        for c in sorted(counted, key=lambda c: -c.ratio)
    ]
    return tables.markdown(HEAD, rows, NUMERIC)


# ---- beside the other metric ---------------------------------------------------------------------


def instead_of_counters(builds: Sequence[Build], identity: Identity, folder: Path) -> str:
    """Callgrind's counts for a cell that became slower on a machine without counters."""
    if not available():
        return "valgrind, which would count instructions instead, is not installed"
    countable = identity._replace(isa=identity.isa if identity.isa in ISAS else ISAS[0])
    try:
        (found,) = count_pairs(builds, [countable], 0.0, folder)
    except ToolError as wrong:
        return f"callgrind could not count instructions either ({wrong})"
    which = "" if countable.isa == identity.isa else f" of the {countable.isa} variant"
    where = f" ({found.where()})" if found.where() else ""
    return f"instructions{which} under callgrind {change(found.ratio)}{where}"

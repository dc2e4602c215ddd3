"""Which hosts of a machine type are off, in what, and by how much.

A host's value of a quantity is the median over its cells of log(its rate / the median rate of the
type's hosts in that cell).  It is called off where it is farther from the median host than hosts of
one type lie by chance: in units of their median absolute deviation, against the largest such
distance among as many values of a normal distribution.  That distribution is simulated, so that it
is exact however few hosts there are, and it is corrected for the number of quantities and types:
with probability 0.95 a whole fleet without such a host has none called.  With few hosts the limit
is far out, and below FEWEST nobody could tell.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np
from attntools.base import statistics
from attntools.base.units import counted
from attntools.compare.comparison import THRESHOLD
from attntools.fleet.fleet import Host, MachineType
from attntools.results.cells import Cell
from attntools.results.schema import DISTURBANCES

FEWEST = 5  # hosts of a type; among four the limit is some fourteen deviations away
LEVEL = 0.05  # probability that a fleet without such a host has one called
CLOCK = 1e-3  # hosts do not differ by less: what two clocks and a warm-up leave
SIMULATED = 200  # hosts up to which the limit is simulated
DRAWS = 4_000_000

MULTIPLY_ADDS, CACHE, MEMORY = "multiply-adds", "reads from cache", "reads from memory"
COMPUTE, BANDWIDTH = "kernels bound by compute", "kernels bound by reads"

Quantity = tuple[str, int]  # what, and on how many threads


def _last_level_bytes(cell: Cell) -> float:
    """All caches of the last level together."""
    caches = cell.session.machine.get("caches") or []
    last = max((c.get("level") or 0 for c in caches), default=0)
    return sum((c.get("bytes") or 0) * (c.get("count") or 1) for c in caches
               if c.get("level") == last)  # fmt: skip


def rates(cell: Cell) -> dict[str, float]:
    """What a cell with a time tells of its host: rates, more is better."""
    found = {MULTIPLY_ADDS: cell.number("ceiling.fma_gflops")}
    footprint = 1e9 * cell.number("gbytes_per_s") * cell.median_s
    read = MEMORY if footprint > _last_level_bytes(cell) else CACHE
    found[read] = cell.number("ceiling.read_gbytes_per_s")
    bound = cell.row.get("bound_by")
    if bound in ("compute", "bandwidth"):
        found[COMPUTE if bound == "compute" else BANDWIDTH] = 1 / cell.median_s
    return {name: rate for name, rate in found.items() if rate > 0}


@cache
def limit(hosts: int, level: float) -> float:
    """How many deviations the farthest of so many alike hosts exceeds with probability `level`."""
    if hosts > SIMULATED:
        return NormalDist().inv_cdf(1 - level / (2 * hosts))
    x = np.random.default_rng(1).standard_normal((DRAWS // hosts, hosts))
    distance, deviation = _distances(x)
    return float(np.quantile(distance.max(axis=-1) / deviation, 1 - level))


def _distances(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distance of each value from the median; and their median, as a normal standard deviation."""
    distance = np.abs(x - np.median(x, axis=-1, keepdims=True))
    return distance, 1.4826 * np.median(distance, axis=-1)


@dataclass(eq=False)
class Deviation:
    """A host's value of a quantity, as a ratio to the median host; below 1 is slow."""

    host: Host
    ratio: float
    lo: float  # 95 % interval of the median over cells; NaN where they are too few
    hi: float
    cells: int
    disturbed: int  # of these cells
    off: bool


@dataclass(eq=False)
class Spread:
    """A quantity over the hosts of a type."""

    kind: MachineType
    what: str
    threads: int
    level: float  # the type's median over hosts and cells, in the quantity's unit
    deviation: float  # of the hosts' logarithms, robust
    called: float  # smallest |log ratio| that is called; infinite where no host could be
    hosts: list[Deviation]

    @property
    def on_threads(self) -> str:
        """The quantity in words."""
        return f"{self.what}, {counted(self.threads, 'thread')}"


def _by_host(kind: MachineType) -> dict[Quantity, dict[Host, dict[object, tuple[float, bool]]]]:
    """Rates by quantity, host and cell, and whether the cell was disturbed."""
    found: dict[Quantity, dict[Host, dict[object, tuple[float, bool]]]]
    found = defaultdict(lambda: defaultdict(dict))
    for host in kind.hosts:
        for cell in host.timed:
            disturbed = not DISTURBANCES.isdisjoint(cell.flags)
            for what, rate in rates(cell).items():
                found[what, cell.threads][host][cell.identity] = rate, disturbed
    return found


def _spread(
    kind: MachineType, quantity: Quantity, hosts: dict[Host, dict[object, tuple[float, bool]]]
) -> Spread:
    """Deviations of the hosts, none called off yet."""
    cells: dict[object, list[float]] = defaultdict(list)
    for known in hosts.values():
        for identity, (rate, _) in known.items():
            cells[identity].append(rate)
    # A cell that few hosts have says little of what is usual.
    middle = {i: float(np.median(x)) for i, x in cells.items() if 2 * len(x) >= len(hosts)}
    found = []
    for host, known in hosts.items():
        kept = {i: v for i, v in known.items() if i in middle}
        if not kept:
            continue
        logs = np.log([rate / middle[i] for i, (rate, _) in kept.items()])
        lo, hi = statistics.paired_interval(logs) if len(logs) > 2 else (np.nan, np.nan)
        values = [float(np.exp(v)) for v in (np.median(logs), lo, hi)]
        found.append(Deviation(host, *values, len(kept), sum(d for _, d in kept.values()), False))
    level = float(np.median(list(middle.values())))
    logs = np.log([d.ratio for d in found])
    deviation = max(float(_distances(logs)[1]), CLOCK) if len(found) > 1 else float("nan")
    return Spread(kind, *quantity, level, deviation, float("inf"), found)


def _call(spread: Spread, level: float) -> None:
    """Says which hosts are off."""
    if len(spread.hosts) < FEWEST:
        return
    far = limit(len(spread.hosts), level) * spread.deviation
    spread.called = max(far, float(np.log1p(THRESHOLD)))
    middle = float(np.median(np.log([d.ratio for d in spread.hosts])))
    for d in spread.hosts:
        at = np.log(d.ratio) - middle
        beyond = np.log(d.hi) < middle if at < 0 else np.log(d.lo) > middle
        d.off = abs(at) > spread.called and bool(beyond)


def spreads(types: Iterable[MachineType]) -> list[Spread]:
    """Every quantity of every type, with the hosts that are off in it."""
    found = [
        _spread(kind, quantity, hosts)
        for kind in types
        for quantity, hosts in sorted(_by_host(kind).items(), key=lambda q: _order(q[0]))
    ]
    tested = sum(len(s.hosts) >= FEWEST for s in found)
    for spread in found:
        _call(spread, LEVEL / max(tested, 1))
    return found


def _order(quantity: Quantity) -> tuple[int, int]:
    names = (MULTIPLY_ADDS, CACHE, MEMORY, COMPUTE, BANDWIDTH)
    return names.index(quantity[0]), quantity[1]


def by_how_much(deviation: Deviation) -> str:
    """8.1 % slow."""
    ratio = deviation.ratio
    return f"{100 * abs(1 - ratio):.1f} % {'slow' if ratio < 1 else 'fast'}"


def called(found: Sequence[Spread]) -> list[tuple[Spread, Deviation]]:
    """The hosts that are off, what the machine itself does before kernels, the farthest first."""
    pairs = [(s, d) for s in found for d in s.hosts if d.off]
    return sorted(
        pairs, key=lambda p: (p[0].what in (COMPUTE, BANDWIDTH), -abs(np.log(p[1].ratio)))
    )


def could_tell(found: Sequence[Spread]) -> list[str]:
    """For each type, in words: what would have been called, or why nothing could be."""
    said = []
    for kind in dict.fromkeys(s.kind for s in found):
        own = [s for s in found if s.kind is kind]
        most = max(len(s.hosts) for s in own)
        if most == 1:
            said.append(f"{kind.letter}: one host, which nothing can be compared with.")
        elif most < FEWEST:
            said.append(
                f"{kind.letter}: {most} hosts are too few to say that one of them is off;"
                f" that takes {FEWEST}."
            )
        else:
            known = [s for s in own if s.called < float("inf")]
            limits = sorted(float(np.expm1(s.called)) for s in known)
            least, largest = (f"{100 * limit:.1f}" for limit in (limits[0], limits[-1]))
            one = least == largest
            said.append(
                f"{kind.letter}: of {most} hosts one that is"
                f" {least if one else f'{least} to {largest}'} % off would have been called"
                f"{'' if one else ', depending on the quantity'}."
            )
    return said

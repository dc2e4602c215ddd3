"""Kernels on machine types: who is ahead, by how much, and at which share of the ceiling.

Times do not travel from machine to machine; ranks and shares of the ceiling do.  Each type is
measured on the largest number of threads that it has cells of, each kernel by its fastest variant,
and what several hosts measured is their median.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from attntools.base import statistics
from attntools.compare.ranking import rank_cells
from attntools.fleet.fleet import Host, MachineType
from attntools.plot import shapes
from attntools.results.cells import Cell, Identity

# The parts of an identity that a case has in common with that of another machine.
ELSEWHERE = ("kernel", "isa", "plugin", "threads")

CaseKey = tuple[object, ...]


@dataclass(eq=False)
class KernelCase:
    """A kernel in a case on a type."""

    cells: dict[Host, Cell]
    median_s: float
    share: float  # percent of the ceiling; NaN where unknown


@dataclass(eq=False)
class TypeCase:
    """A case on a type, kernels fastest first."""

    kernels: dict[str, KernelCase]
    sure: int  # hosts on which the fastest is certainly first
    hosts: int

    @property
    def fastest(self) -> str:
        """Its name."""
        return next(iter(self.kernels))


@dataclass(eq=False)
class Case:
    """A case on all types that have it, by letter."""

    name: str
    on: dict[str, TypeCase]


@dataclass
class Standing:
    """A kernel among those of a type, over the cases that it has."""

    kernel: str
    rank: int | None  # None where nothing tells it from any other kernel
    ratio: float  # time over the fastest kernel's, geometric mean
    share: float  # percent of the ceiling, median
    wins: int
    cases: int


def case_key(cell: Cell) -> CaseKey:
    """What the same case has on another machine."""
    return tuple(
        value for name, value in zip(Identity._fields, cell.identity, strict=True)
        if name not in ELSEWHERE
    )  # fmt: skip


def _type_case(cells: Sequence[tuple[Host, Cell]]) -> TypeCase:
    """One case of one type."""
    best: dict[str, dict[Host, Cell]] = defaultdict(dict)
    by_host: dict[Host, dict[str, Cell]] = defaultdict(dict)
    for host, cell in cells:
        kernel = cell.identity.kernel
        known = best[kernel].get(host)
        if known is None or cell.median_s < known.median_s:
            best[kernel][host] = by_host[host][kernel] = cell
    kernels = {
        kernel: KernelCase(
            on,
            float(np.median([c.median_s for c in on.values()])),
            float(np.median([shapes.share(c) for c in on.values()])),
        )
        for kernel, on in best.items()
    }
    kernels = dict(sorted(kernels.items(), key=lambda item: item[1].median_s))
    winner = next(iter(kernels))
    sure = 0
    for known in by_host.values():
        first = [r.cell.identity.kernel for r in rank_cells(list(known.values())) if r.rank == 1]
        sure += len(known) > 1 and first == [winner]
    return TypeCase(kernels, sure, len(by_host))


def cases_of(types: Sequence[MachineType]) -> list[Case]:
    """Every case that was timed, in order of appearance."""
    found: dict[CaseKey, dict[str, list[tuple[Host, Cell]]]] = defaultdict(dict)
    names: dict[CaseKey, str] = {}
    for kind in types:
        for host in kind.hosts:
            for cell in host.timed:
                if cell.threads == kind.threads:
                    key = case_key(cell)
                    names.setdefault(key, cell.case)
                    found[key].setdefault(kind.letter, []).append((host, cell))
    return [
        Case(names[key], {letter: _type_case(cells) for letter, cells in on.items()})
        for key, on in found.items()
    ]


def _behind(one: dict[tuple[int, Host], Cell], other: dict[tuple[int, Host], Cell]) -> bool | None:
    """Whether `one` certainly takes longer, in the median of the cases and hosts of both.

    Few cases have no such interval, or a wide one: then if it does in each by its launches.  None
    where there are too few of both.
    """
    pairs = [(one[at], other[at]) for at in one.keys() & other.keys()]
    logs = [np.log(a.median_s / b.median_s) for a, b in pairs]
    if len(logs) > 2 and statistics.paired_interval(logs)[0] > 0:
        return True
    slower = [_slower(a, b) for a, b in pairs]
    return None if len(logs) <= 2 and set(slower) <= {None} else all(slower)


def _slower(cell: Cell, other: Cell) -> bool | None:
    """Whether a cell takes longer than another of its session; None with too few launches."""
    standing = next(r.rank for r in rank_cells([cell, other]) if r.cell is cell)
    return None if standing is None else standing > 1


def _standing(kernel: str, times: dict[str, dict[tuple[int, Host], Cell]]) -> int | None:
    """One more than the number of kernels that this one is behind."""
    behind = [_behind(times[kernel], times[other]) for other in times if other != kernel]
    return None if behind and set(behind) == {None} else 1 + behind.count(True)


def standings(cases: Sequence[Case], letter: str) -> list[Standing]:
    """The kernels of a type, the first ranked first.

    A kernel's rank is 1 where no other is certainly faster, 2 where one is, ..., in the median
    of the cases and hosts that both have, so that kernels which cannot be told apart share one.
    """
    own = [case.on[letter] for case in cases if letter in case.on]
    times: dict[str, dict[tuple[int, Host], Cell]] = defaultdict(dict)
    ratios: dict[str, list[float]] = defaultdict(list)
    shares: dict[str, list[float]] = defaultdict(list)
    for i, case in enumerate(own):
        least = case.kernels[case.fastest].median_s
        for kernel, known in case.kernels.items():
            times[kernel] |= {(i, host): cell for host, cell in known.cells.items()}
            ratios[kernel].append(known.median_s / least)
            shares[kernel].append(known.share)
    found = [
        Standing(
            kernel,
            _standing(kernel, times),
            float(np.exp(np.mean(np.log(ratios[kernel])))),
            float(np.median(shares[kernel])),
            sum(case.fastest == kernel for case in own),
            len(ratios[kernel]),
        )
        for kernel in times
    ]
    return sorted(found, key=lambda s: (s.rank is None, s.rank or 0, s.ratio))

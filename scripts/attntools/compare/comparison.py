"""Cells against cells: ratios with intervals, verdicts with reasons, rankings with ties."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from math import log

import numpy as np
from attntools.base import statistics
from attntools.compare.apart import Noise, doubt
from attntools.results.cells import (
    MEASURED,
    WRONG_STATES,
    Cell,
    Identity,
    Results,
    problem_fields,
    row_order,
)

# A smaller difference is of no practical use, and two builds of the same source differ by about
# this much through code placement alone (Mytkowicz et al. 2009).
THRESHOLD = 0.02

# The most pairwise differences at a time: 32 MB.
CHUNK = 4_000_000

Group = tuple[object, ...]


class Verdict(str, Enum):
    """The verdict on a ratio, in order of a reader's interest."""

    WRONG = "WRONG"
    SLOWER = "SLOWER"
    UNCLEAR = "UNCLEAR"
    FASTER = "FASTER"
    SAME = "SAME"


@dataclass(slots=True)
class Comparison:
    """One cell of `new` against its base; ratio is time over time, above 1 is slower."""

    base: Cell | None
    new: Cell | None
    base_name: str
    new_name: str
    ratio: float
    lo: float
    hi: float
    verdict: Verdict
    reason: str

    @property
    def cell(self) -> Cell:
        """The new cell, or the base one where there is no new one."""
        cell = self.new or self.base
        assert cell is not None
        return cell

    @property
    def wrong(self) -> bool:
        """Whether the new side computed something wrong where the base did not."""
        return (
            self.new is not None
            and self.new.state in WRONG_STATES
            and not (self.base and self.base.state in WRONG_STATES)
        )


# ---- ratios --------------------------------------------------------------------------------------

# Logarithms of the launch medians of the two sides, and whether launch i of one side ran beside
# launch i of the other.
Pair = tuple[Sequence[float], Sequence[float], bool]


def ratios(pairs: Sequence[Pair]) -> np.ndarray:
    """Ratio b / a, lo and hi of each pair, as rows of three; NaN where there is no interval.

    Launches side by side are compared in pairs, by statistics.paired_interval(); others as two
    samples, by the interval of Moses, which assumes that both sides' noise has the same shape.
    """
    shapes: dict[tuple[int, int, bool], list[int]] = defaultdict(list)
    for i, (a, b, paired) in enumerate(pairs):
        n = min(len(a), len(b))
        shapes[(n, n, True) if paired else (len(a), len(b), False)].append(i)
    out = np.full((len(pairs), 3), np.nan)
    for (n, m, paired), which in shapes.items():
        step = max(1, CHUNK // (n * m))
        for start in range(0, len(which), step):
            part = which[start : start + step]
            a = np.log(np.array([pairs[i][0][:n] for i in part], dtype=np.float64))
            b = np.log(np.array([pairs[i][1][:m] for i in part], dtype=np.float64))
            if paired:
                lo, hi = statistics.paired_interval(b - a)
                out[part] = np.stack((np.median(b - a, axis=-1), lo, hi), axis=-1)
            else:
                out[part] = np.stack(statistics.shift_interval(a, b), axis=-1)
    return np.exp(out)


def ratios_of(pairs: Iterable[tuple[Cell, Cell]]) -> list[list[float]]:
    """Time of each second cell over that of the first, with its interval: as ratios()."""
    found = [(a.launch_medians_s, b.launch_medians_s, same_rounds(a, b)) for a, b in pairs]
    return ratios(found).tolist()


def ratio_of(base: Cell, cell: Cell) -> list[float]:
    """The same of one pair."""
    return ratios_of([(base, cell)])[0]


def judge(ratio: float, lo: float, hi: float, threshold: float) -> tuple[Verdict, str]:
    """The verdict on a ratio and its interval, and why."""
    limit = 1 + threshold
    if not lo <= hi:
        return Verdict.UNCLEAR, "too few launches for an interval"
    if lo > 1 and ratio > limit:
        return Verdict.SLOWER, f"at least {100 * (lo - 1):.1f} % more time"
    if hi < 1 and ratio < 1 / limit:
        return Verdict.FASTER, f"at least {100 * (1 - hi):.1f} % less time"
    if lo >= 1 / limit and hi <= limit:
        return Verdict.SAME, f"no difference of {100 * threshold:.3g} %"
    if lo > 1 or hi < 1:
        return Verdict.UNCLEAR, f"differs, but may be less than {100 * threshold:.3g} %"
    return Verdict.UNCLEAR, "the interval holds both no change and a change that counts"


def _disturbed(base: Cell, new: Cell) -> str:
    """What disturbed the launches, as the end of a reason."""
    flags = sorted({*base.flags, *new.flags} - {"no-interval"})
    return f"; {', '.join(flags)}" if flags else ""


def _without_times(base: Cell | None, new: Cell | None, names: tuple[str, str]) -> str:
    """Why two cells have no ratio; empty where they have one."""
    for cell, name in ((base, names[0]), (new, names[1])):
        if cell is None:
            return f"not in {name}"
        if not cell.timed:
            state = "not timed" if cell.state == "ok" else cell.state
            return f"{state} in {name}" + (f": {cell.why}" if cell.why else "")
    return ""


@dataclass(slots=True)
class _Match:
    base: Cell | None
    new: Cell | None
    names: tuple[str, str]
    paired: bool


def _verdict(
    match: _Match, ratio: tuple[float, float, float], threshold: float, noise: Noise
) -> tuple[Verdict, str]:
    """As judge(), with what may explain a difference; UNCLEAR where apart.doubt() says so."""
    assert match.base
    assert match.new
    verdict, reason = judge(*ratio, threshold)
    if verdict is not Verdict.UNCLEAR and not match.paired:
        differ = verdict is not Verdict.SAME
        why = doubt(match.base, match.new, ratio[0], differ, noise)
        if why:
            return Verdict.UNCLEAR, why
    if ratio[1] != ratio[1]:
        reason += f" ({len(match.base.launch_medians_s)} and {len(match.new.launch_medians_s)})"
    if verdict is not Verdict.SAME:
        reason += _disturbed(match.base, match.new)
    return verdict, reason


def _compare(matches: Sequence[_Match], threshold: float, noise: Noise) -> list[Comparison]:
    """Ratios and verdicts of matched cells, in the order for readers."""
    sides = [(m.new or m.base, m) for m in matches]
    order = row_order(cell for cell, _ in sides)
    matches = [m for _, m in sorted(sides, key=lambda side: order(side[0]))]
    reasons = [_without_times(m.base, m.new, m.names) for m in matches]
    both = [
        (m.base.launch_medians_s, m.new.launch_medians_s, m.paired)
        for m, reason in zip(matches, reasons, strict=True)
        if not reason and m.base and m.new
    ]
    found = iter(ratios(both).tolist())
    comparisons = []
    for match, reason in zip(matches, reasons, strict=True):
        ratio = (float("nan"),) * 3
        wrong = match.new is not None and match.new.state in WRONG_STATES
        verdict = Verdict.WRONG if wrong else Verdict.UNCLEAR
        if not reason:
            ratio = next(found)
            verdict, reason = _verdict(match, ratio, threshold, noise)
        comparisons.append(Comparison(match.base, match.new, *match.names, *ratio, verdict, reason))
    return comparisons


# ---- file against file ---------------------------------------------------------------------------


def compare_files(base: Results, new: Results, threshold: float = THRESHOLD) -> list[Comparison]:
    """Every cell of either file; cases that only the base has come last."""
    names = (base.path, new.path)
    matches = [_Match(base.cells.get(i), cell, names, False) for i, cell in new.cells.items()]
    matches += [
        _Match(cell, None, names, False) for i, cell in base.cells.items() if i not in new.cells
    ]
    return _compare(matches, threshold, Noise([*base.noise, *new.noise]))


def in_common(comparisons: Iterable[Comparison]) -> bool:
    """Whether there is a cell that both sides have."""
    return any(c.base is not None and c.new is not None for c in comparisons)


def decided(comparisons: Iterable[Comparison]) -> bool:
    """Whether the change of any cell is known: if not, their mean says nothing either."""
    return any(c.ratio == c.ratio and c.verdict is not Verdict.UNCLEAR for c in comparisons)


# ---- column against column -----------------------------------------------------------------------

# No part of a cell's identity: `group` (ours, textbook, rivals, plug-ins), which its kernel says,
# and `setting` (base, new), which the fields of MEASURED say.
BESIDE = ("group", "setting")
COLUMNS = (*(name for name in Identity._fields if name != "problem"), *BESIDE)

# What is no longer equal where cells are matched by another column's values.
FOLLOWS = {
    "kernel": {"kernel", "isa", "plugin"},
    "group": {"kernel", "isa", "plugin"},
    "setting": set(MEASURED),
}


def _split_problem(problem: str, key: str) -> tuple[str, str]:
    """A problem without one of its keys, and that key's value."""
    fields = problem_fields(problem)
    value = fields.pop(key, "-")
    return ",".join(f"{k}={v}" for k, v in sorted(fields.items())), value


def column_of(cell: Cell, column: str) -> tuple[Group, str]:
    """What a cell is matched by when a column's values are compared, and its value there.

    A kernel matches whatever its instruction set, a group whatever its kernel; for a key of the
    problem (dtype, mask, s, ...) the rest of the problem must be the same.
    """
    identity = cell.identity
    if column in COLUMNS:
        drop = FOLLOWS.get(column, {column})
        group = tuple(v for k, v in zip(Identity._fields, identity, strict=True) if k not in drop)
        return group, (getattr(cell, column) or "-") if column in BESIDE else identity.text(column)
    rest, value = _split_problem(identity.problem, column)
    return tuple(identity._replace(problem=rest)), value


def best(cells: Iterable[Cell]) -> Cell:
    """The fastest; a cell without a time only where no cell has one."""
    return min(cells, key=lambda c: c.median_s if c.timed else float("inf"))


def column_values(results: Results, column: str) -> list[str]:
    """The values that a column takes, in order of appearance."""
    return list(dict.fromkeys(column_of(c, column)[1] for c in results.cells.values()))


def same_rounds(a: Cell, b: Cell) -> bool:
    """Whether launch i of both was part of the same round."""
    return a.session is b.session and a.identity.problem == b.identity.problem


def compare_columns(
    results: Results, column: str, base: str, threshold: float = THRESHOLD
) -> list[Comparison]:
    """Each other value of a column against one of them, cell by cell.

    Raises:
        KeyError: no cell has this value.
    """
    groups: dict[Group, dict[str, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for cell in results.cells.values():
        group, value = column_of(cell, column)
        groups[group][value].append(cell)
    if not any(base in values for values in groups.values()):
        raise KeyError(base)
    matches = []
    for values in groups.values():
        if base not in values:
            continue
        first = best(values[base])
        for value, cells in values.items():
            if value != base:
                other = best(cells)
                names = (f"{column} {base}", f"{column} {value}")
                matches.append(_Match(first, other, names, same_rounds(first, other)))
    return _compare(matches, threshold, Noise(results.noise))


def geometric_mean(ratio: Iterable[float]) -> float:
    """Geometric mean of ratios; NaN of none."""
    logs = [log(r) for r in ratio if r > 0]
    return float(np.exp(np.mean(logs))) if logs else float("nan")

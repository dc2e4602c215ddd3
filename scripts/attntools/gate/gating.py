"""From pairs of launches to verdicts: pure functions, no processes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from attntools.base import statistics
from attntools.base.units import size
from attntools.compare.comparison import Verdict
from attntools.gate.gate_pairs import Samples, launch_time
from attntools.results.cells import Identity

ALPHA = 0.05


@dataclass
class Judged:
    """One cell; all figures are natural logarithms of time ratios, above 0 is slower."""

    identity: Identity
    verdict: Verdict
    reason: str
    log_ratios: list[float]  # of the pairs
    median: float
    lo: float
    hi: float
    p: float  # adjusted by Holm over the cells
    floor: float  # of the A/A pairs of this session
    threshold: float  # max(what was asked for, floor)
    level: float  # that Holm's method requires of the first cell
    base_s: float  # median over its launches
    new_s: float  # base_s with the median change of the pairs

    @property
    def pairs(self) -> int:
        """How many pairs there were."""
        return len(self.log_ratios)

    @cached_property
    def detectable(self) -> float:
        """The smallest effect that would have been found, power 0.8.

        A bootstrap, which takes longer than all else here: only where it is shown.
        """
        return statistics.detectable(self.log_ratios, self.pairs, self.threshold, level=self.level)


def noise_floor(same: list[float]) -> float:
    """What launches of one build differ by: the farther end of their median's 95 % interval."""
    lo, hi = statistics.median_interval(same)
    return float(max(abs(lo), abs(hi)))


def _judge_one(
    identity: Identity, samples: Samples, p: float, threshold: float, level: float
) -> Judged:
    x = samples.log_ratios()
    lo, hi = (float(end) for end in statistics.median_interval(x))
    median = float(np.median(x))
    floor = noise_floor(samples.same_side())
    limit = max(threshold, floor) if floor == floor else threshold
    percent = f"{100 * np.expm1(limit):.1f} %"
    verdict, reason = Verdict.SAME, f"nothing above {percent}"
    if not lo <= hi:
        verdict, reason = Verdict.UNCLEAR, f"{len(x)} pairs give no interval"
    elif (lo > 0 or hi < 0) and p < ALPHA and abs(median) > limit:
        verdict = Verdict.SLOWER if lo > 0 else Verdict.FASTER
        reason = f"beyond {percent}, p = {p:.2g} with all cells considered"
    elif median > limit:
        verdict, reason = Verdict.UNCLEAR, f"median above {percent}, but chance explains it"
    elif hi > threshold:
        verdict = Verdict.UNCLEAR
        reason = f"nothing above {percent} shown; up to {100 * np.expm1(hi):.1f} % possible"
    base = float(np.median([launch_time(b) for b, _ in samples.pairs]))
    # Not the median of the new launches: where the machine drifts it would show another change.
    new = base * float(np.exp(median))
    return Judged(identity, verdict, reason, x, median, lo, hi, p, floor, limit, level, base, new)


def judge(collected: Mapping[Identity, Samples], threshold: float) -> list[Judged]:
    """Verdicts of all cells, with Holm's correction over them.

    Args:
        collected: pairs of each cell.
        threshold: least change that counts, as a fraction; the noise floor may raise it.
    """
    cells = [(i, s) for i, s in collected.items() if s.pairs]
    adjusted = statistics.holm([statistics.sign_test(s.log_ratios()) for _, s in cells])
    # The level that Holm's method requires of the first cell: the strictest, so a cautious figure.
    level = 1 - ALPHA / max(1, len(cells))
    limit = float(np.log1p(threshold))
    return [
        _judge_one(i, s, float(p), limit, level) for (i, s), p in zip(cells, adjusted, strict=True)
    ]


def standing(judged: Iterable[Judged], again: Iterable[Judged]) -> list[Judged]:
    """What is known of each cell in the end: of those that were judged again, the second time."""
    return list(({j.identity: j for j in judged} | {j.identity: j for j in again}).values())


def too_noisy(judged: Judged, limit: float) -> bool:
    """Whether a cell is so noisy that it may have become slower by `limit` (a fraction)."""
    return judged.verdict is not Verdict.SLOWER and not judged.hi < np.log1p(limit)


def huge_pages(collected: Mapping[Identity, Samples]) -> str:
    """How much memory lay on huge pages; empty where neither side asked for them."""
    sides = zip(*(pair for s in collected.values() for pair in s.pairs), strict=True)
    found = [[n for c in cells if not np.isnan(n := c.number("huge_bytes"))] for cells in sides]
    said = [size(float(np.median(side))) if side else "not asked for" for side in found]
    if not any(found):
        return ""
    return f"Memory on huge pages: base {said[0]}, new {said[1]} (median of all launches)"


# ---- what changed --------------------------------------------------------------------------------


def _median_ratio(samples: Samples, key: str) -> float:
    """Median over pairs of new / base of a number of the rows; NaN where it is not measured."""
    found = [
        new.number(key) / base.number(key)
        for base, new in samples.pairs
        if base.number(key) > 0 and new.number(key) > 0
    ]
    return float(np.median(found)) if found else float("nan")


def counts_instructions(samples: Samples) -> bool:
    """Whether the machine's counters counted."""
    return _median_ratio(samples, "counters.instructions") > 0


def explain(samples: Samples) -> list[str]:
    """What changed with the time, from the counters and probes of the launches."""
    instructions = _median_ratio(samples, "counters.instructions")
    cycles = _median_ratio(samples, "counters.cycles")
    parts = [
        ("instructions", instructions),
        ("cycles per instruction", cycles / instructions),
        ("frequency (multiply-add rate beside the samples)", _median_ratio(samples, FREQUENCY)),
        ("busy time per thread", _median_ratio(samples, "busy_s")),
        ("time at barriers (imbalance)", _median_ratio(samples, "barrier_s")),
    ]
    known = [f"{name} {100 * (ratio - 1):+.1f} %" for name, ratio in parts if ratio == ratio]
    unknown = [name for name, ratio in parts if ratio != ratio]
    if unknown:
        known.append(f"not measured on this machine: {', '.join(unknown)}")
    return known


FREQUENCY = "ceiling.fma_gflops"

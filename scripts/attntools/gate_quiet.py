"""Measures again what was disturbed: of each cell, the quietest of a few sessions counts.

A session is the n pairs of a cell.  How noisy it was is what launches of the same build differed by
in it, and how wide the interval of the builds' ratio is; where that interval lies plays no part, so
that choosing by it favours neither build.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attntools import statistics
from attntools.cells import Identity
from attntools.gate_pairs import Collected, Plan, Samples, run_pairs
from attntools.gating import noise_floor

# A session is quiet enough if its noise is half the threshold at most: what is above the threshold
# then stands clear of it.
QUIET = 0.5

# Seeds of further sessions, apart from those of the pairs of one.
STRIDE = 10**5


@dataclass(frozen=True)
class Patience:
    """When to stop measuring a cell again."""

    sessions: int  # of each cell, at most
    seconds: float  # no session begins later


def noise(samples: Samples) -> float:
    """The noise of a session, as a logarithm of a ratio; infinite where too few launches tell."""
    lo, hi = statistics.median_interval(samples.log_ratios())
    found = [noise_floor(samples.same_side()), float(hi - lo) / 2]
    return float(np.max(found)) if np.all(np.isfinite(found)) else float("inf")


def run_until_quiet(
    plan: Plan,
    cells: Sequence[Identity],
    pairs: int,
    threshold: float,
    patience: Patience,
    progress: Callable[[int], Callable[[int, int], None]],
    run: Callable[..., Collected] = run_pairs,
) -> Collected:
    """Runs pairs of launches, and again those of noisy cells.

    Args:
        plan: what to launch.
        cells: which cells.
        pairs: of each cell and session.
        threshold: the least change that counts, as a fraction.
        patience: how often and how long to try.
        progress: gives, for a number of cells, what to call with blocks done and all of them.
        run: what runs the pairs of a session.
    """
    out = Collected({}, [])
    todo = list(cells)
    limit = QUIET * float(np.log1p(threshold))
    start = time.monotonic()
    for session in range(patience.sessions):
        again = replace(plan, seed=plan.seed + STRIDE * session)
        collected = run(again, todo, pairs, progress(len(todo)))
        out.failures += collected.failures
        for identity, samples in collected.samples.items():
            known = out.samples.get(identity)
            if known is None or noise(samples) < noise(known):
                out.samples[identity] = samples
        wrong = {failure.identity for failure in collected.failures}
        todo = [i for i in todo if i not in wrong and noise(out.samples[i]) > limit]
        if not todo or time.monotonic() - start > patience.seconds:
            break
    return out

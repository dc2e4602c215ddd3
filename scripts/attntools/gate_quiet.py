"""Measures again what was disturbed: of each cell, the quietest of a few sessions counts.

A session is the n pairs of a cell.  How noisy it was is what launches of the same build differed by
in it; how the builds differ plays no part, so that choosing by it favours neither.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from attntools.gate_pairs import Collected, Plan, Samples, run_pairs
from attntools.gating import noise_floor
from attntools.results import Identity

# A session is quiet enough if launches of one build differ by half the threshold at most: what is
# above the threshold then stands clear of the noise.
QUIET = 0.5

# Seeds of further sessions, apart from those of the pairs of one.
STRIDE = 10**5


def noise(samples: Samples) -> float:
    """The noise floor of a session; infinite where too few launches tell."""
    floor = noise_floor(samples.same_side())
    return floor if floor == floor else float("inf")


def run_until_quiet(
    plan: Plan,
    cells: Sequence[Identity],
    pairs: int,
    threshold: float,
    sessions: int,
    progress: Callable[[int], Callable[[int, int], None]],
) -> Collected:
    """Runs pairs of launches, and again those of noisy cells.

    Args:
        plan: what to launch.
        cells: which cells.
        pairs: of each cell and session.
        threshold: the least change that counts, as a fraction.
        sessions: of each cell at most.
        progress: gives, for a number of cells, what to call with blocks done and all of them.
    """
    out = Collected({}, [])
    todo = list(cells)
    limit = QUIET * float(np.log1p(threshold))
    for session in range(sessions):
        again = replace(plan, seed=plan.seed + STRIDE * session)
        collected = run_pairs(again, todo, pairs, progress(len(todo)))
        out.failures += collected.failures
        for identity, samples in collected.samples.items():
            known = out.samples.get(identity)
            if known is None or noise(samples) < noise(known):
                out.samples[identity] = samples
        wrong = {failure.identity for failure in collected.failures}
        todo = [i for i in todo if i not in wrong and noise(out.samples[i]) > limit]
        if not todo:
            break
    return out

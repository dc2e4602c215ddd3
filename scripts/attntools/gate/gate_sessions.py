"""Goes on with a cell until its answer is clear: session after session of n pairs.

After each session the interval of all pairs so far is looked at.  A cell is done once that interval
(99 %, as there are several looks) lies wholly below the threshold, or wholly above both threshold
and noise.  Quiet cells are done after one session; where something else on the machine disturbs
every other launch it takes a few more, for it disturbs both builds alike.  Nothing is dropped and
no session is preferred, so that the answer does not influence which pairs count.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from attntools.base import statistics
from attntools.gate.gate_pairs import Collected, Plan, Samples, run_pairs
from attntools.gate.gating import ALPHA, noise_floor
from attntools.results.cells import Identity

# How sure a look must be: at each, one in 200 is wrong on either side.  What that makes of a whole
# gate is simulated in tests/scripts/gate/test_gate_sessions.py.
LEVEL = 0.99

# Seeds of further sessions, apart from those of the pairs of one.
STRIDE = 10**5


@dataclass(frozen=True)
class Patience:
    """When to stop measuring."""

    sessions: int  # of each cell, at most
    seconds: float  # no session begins later


def is_clear(samples: Samples, threshold: float, cells: int) -> bool:
    """Whether more pairs would hardly change the verdict.

    Args:
        samples: the pairs so far.
        threshold: the least change that counts, as a fraction.
        cells: how many are judged together, as the verdict has to hold with all considered.
    """
    least = float(np.log1p(threshold))
    log_ratios = samples.log_ratios()
    lo, hi = statistics.median_interval(log_ratios, LEVEL)
    if hi < least:
        return True
    sure = cells * statistics.sign_test(log_ratios) < ALPHA
    return bool(sure and lo > least and lo > noise_floor(samples.same_side()))


def run_until_clear(
    plan: Plan,
    cells: Sequence[Identity],
    pairs: int,
    threshold: float,
    patience: Patience,
    progress: Callable[[int], Callable[[int, int], None]],
    run: Callable[..., Collected] = run_pairs,
) -> Collected:
    """Runs pairs of launches, and more of the cells whose answer is open.

    Args:
        plan: what to launch.
        cells: which cells.
        pairs: of each cell and session.
        threshold: the least change that counts, as a fraction.
        patience: how often and how long to go on.
        progress: gives, for a number of cells, what to call with blocks done and all of them.
        run: what runs the pairs of a session.
    """
    out = Collected({}, [])
    todo = list(cells)
    start = time.monotonic()
    for session in range(patience.sessions):
        again = replace(plan, seed=plan.seed + STRIDE * session)
        collected = run(again, todo, pairs, progress(len(todo)))
        out.failures += collected.failures
        for identity, samples in collected.samples.items():
            out.samples.setdefault(identity, Samples()).pairs.extend(samples.pairs)
        wrong = {failure.identity for failure in collected.failures}
        todo = [
            i
            for i in todo
            if i not in wrong and not is_clear(out.samples[i], threshold, len(cells))
        ]
        if not todo or time.monotonic() - start > patience.seconds:
            break
    return out

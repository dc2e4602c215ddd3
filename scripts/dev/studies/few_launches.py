#!/usr/bin/env python3
"""Coverage of the interval of a ratio of two kernels with three, four and five launches of each.

    .venv/bin/python scripts/dev/studies/few_launches.py results/trust/equal-sessions.jsonl

Prints how many of 1000 intervals hold the true median ratio (attntools/base/statistics.py,
paired_interval): in simulated sessions, with noise that is independent, or drifts for both kernels
together, or for each by itself, with an autocorrelation of 0.3 and 0.6; and in the equal sessions
of FILE, where the first launches of two kernels are compared with all launches in the file.
"""

import sys
from collections import defaultdict
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2]))
from attntools.base.cli import parser
from attntools.base.statistics import paired_interval
from attntools.compare.comparison import ratios
from coverage import holds, sessions

LAUNCHES = (3, 4, 5)
DRIFTS = (0.3, 0.6)
TRIALS = 100_000

Array = np.ndarray
Draw = Callable[[np.random.Generator, tuple[int, int]], Array]

# Noise of a launch.  In the last two, one launch in ten takes much longer, or half of them do.
NOISE: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "heavy tails (t, 2 degrees)": lambda rng, shape: rng.standard_t(2, size=shape),
    "skewed (exponential)": lambda rng, shape: rng.exponential(size=shape),
    "disturbed": lambda rng, shape: rng.standard_normal(shape) + 30 * (rng.random(shape) < 0.1),
    "two states": lambda rng, shape: rng.standard_normal(shape) + 10 * (rng.random(shape) < 0.5),
}


def drifting(noise: Array, correlation: float) -> Array:
    """A first-order autoregression along the last axis, as wide as the noise it is made of."""
    out = noise.copy()
    for i in range(1, noise.shape[-1]):
        fresh = (1 - correlation**2) ** 0.5 * noise[..., i]
        out[..., i] = correlation * out[..., i - 1] + fresh
    return out


def covered(differences: Array, truth: float = 0.0) -> float:
    """How many of 1000 intervals of paired differences hold the truth."""
    lo, hi = paired_interval(differences)
    return 1000 * float(((lo <= truth) & (truth <= hi)).mean())


def simulated(draw: Draw, launches: int, trials: int = TRIALS) -> dict[str, float]:
    """Coverage for one kind of noise; `uneven`: one kernel has a fifth of the other's noise."""
    rng = np.random.default_rng(launches)
    shape = (trials, launches)

    def pair() -> tuple[Array, Array]:
        return draw(rng, shape), draw(rng, shape)

    a, b = pair()
    found = {"independent": covered(a - b)}
    uneven = draw(rng, (1, 10 * trials)) - draw(rng, (1, 10 * trials)) / 5
    found["uneven"] = covered(a - b / 5, float(np.median(uneven)))
    for correlation in DRIFTS:
        a, b = pair()
        drift = 3 * drifting(draw(rng, shape), correlation)
        # Cancels round by round: what stays is that pairing is worth it.
        found[f"common {correlation}"] = covered((a + drift) - (b + drift))
        own = [drifting(noise, correlation) for noise in pair()]
        found[f"own {correlation}"] = covered(own[0] - own[1])
    return found


def recorded(path: Path, launches: int) -> str:
    """Coverage by the first launches of recorded sessions, of all pairs of kernels in a cell."""
    medians: dict[tuple[str, int], dict[str, list[list[float]]]] = defaultdict(dict)
    for results in sessions(path):
        for cell in results.timed:
            kernels = medians[cell.problem, cell.threads]
            kernels.setdefault(cell.identity.kernel, []).append(list(cell.launch_medians_s))
    held_all = held_session = compared = 0
    for kernels in medians.values():
        for a, b in combinations(kernels.values(), 2):
            every = [np.log(y / x) for xs, ys in zip(a, b, strict=True)
                     for x, y in zip(xs, ys, strict=False)]  # fmt: skip
            truth = float(np.exp(np.median(every)))
            for xs, ys in zip(a, b, strict=True):
                few = (xs[:launches], ys[:launches], True)
                interval, session = ratios([few, (xs, ys, True)]).tolist()
                held_all += holds((interval[1], interval[2]), truth)
                held_session += holds((interval[1], interval[2]), session[0])
                compared += 1
    return (
        f"{launches} launches: of {compared} intervals {held_session} hold the ratio of their "
        f"whole session ({100 * held_session / compared:.1f} %), {held_all} that of all sessions "
        f"({100 * held_all / compared:.1f} %)"
    )


def main() -> int:
    """Prints the figures."""
    p = parser("dev/studies/few_launches.py", __doc__)
    p.add_argument("file", type=Path, help="results of equal sessions")
    options = p.parse_args()
    for name, draw in NOISE.items():
        for launches in LAUNCHES:
            shares = simulated(draw, launches)
            told = ", ".join(f"{where} {share:.0f}" for where, share in shares.items())
            print(f"{name}, {launches} launches: {told}")
    for launches in LAUNCHES:
        print(recorded(options.file, launches))
    return 0


if __name__ == "__main__":
    sys.exit(main())

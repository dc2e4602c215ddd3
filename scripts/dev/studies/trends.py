#!/usr/bin/env python3
"""How often does `scripts/history trend` report a false change, and find a step of 5 % in time?

    .venv/bin/python scripts/dev/studies/trends.py results/trust/equal-sessions.jsonl [FILE ...]

Simulated histories of one cell, a session a day: 50 sessions without a change, and 30 with 5 that
take 5 % more time.  Sessions differ by noise of several kinds, or by the differences of the equal
sessions of FILE, drawn anew for every day.  For known distributions the result of a rule that is
given everything but the day is printed, too.
"""

import sys
from collections import defaultdict
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2]))
from attntools.base.cli import parser
from attntools.history.trend import Change, changes
from attntools.results.cells import Identity
from coverage import sessions

DAYS, BEFORE, WITHIN = 50, 30, 5
STEP = np.log(1.05)
FALSE = 1e-3  # changes that are none, for each session

# Relative deviations of so many sessions.
Draw = Callable[[int], np.ndarray]
# The logarithm of a deviation's density, but for a constant.
Density = Callable[[np.ndarray], np.ndarray]


def recorded(path: Path, rng: np.random.Generator) -> Draw:
    """The deviations of a file's sessions from their cell's median, of a cell drawn each time."""
    medians: dict[Identity, list[float]] = defaultdict(list)
    for session in sessions(path):
        for cell in sorted(session.timed, key=attrgetter("line")):  # the seed draws in this order
            medians[cell.identity].append(np.log(cell.median_s))
    cells = [np.array(of) - np.median(of) for of in medians.values()]
    return lambda n: rng.choice(cells[rng.integers(len(cells))], n)


def correlated(x: np.ndarray, by: float) -> np.ndarray:
    """Independent deviations as ones that resemble those before them."""
    for i in range(1, len(x)):
        x[i] = by * x[i - 1] + np.sqrt(1 - by**2) * x[i]
    return x


def found_in(deviations: np.ndarray) -> list[Change]:
    """The changes of a history."""
    return changes(list(np.exp(deviations)))


def step_found(deviations: np.ndarray) -> bool:
    """Whether a slow-down near the step shows in one of the sessions after it."""
    stepped = deviations + STEP * (np.arange(len(deviations)) >= BEFORE)
    return any(
        abs(change.index - BEFORE) <= 2 and change.ratio > 1
        for known in range(BEFORE + 1, BEFORE + WITHIN + 1)
        for change in found_in(stepped[:known])
    )


def evidence(ratios: np.ndarray, limit: float) -> np.ndarray:
    """Page's cumulative sum (CUSUM) of log likelihood ratios, after each session of each row.

    It begins anew beyond the limit.
    """
    sums, total = np.empty_like(ratios), np.zeros(len(ratios))
    for day in range(ratios.shape[1]):
        total = np.where(total > limit, 0, np.maximum(total, 0)) + ratios[:, day]
        sums[:, day] = total
    return sums


def most(draw: Draw, density: Density) -> float:
    """The share of steps that CUSUM finds in time, told the noise, the level before and the step.

    No rule with as few false changes is quicker in the worst case (Moustakides 1986): one that is
    told nothing is not expected to find more.
    """

    def ratios(deviations: np.ndarray) -> np.ndarray:
        return density(deviations - STEP) - density(deviations)

    quiet = ratios(draw(2_000_000).reshape(4000, 500))
    low, high = 0.0, 30.0
    while high - low > 1e-3:
        limit = (low + high) / 2
        false = np.count_nonzero(evidence(quiet, limit) > limit) > FALSE * quiet.size
        low, high = (limit, high) if false else (low, limit)
    days = BEFORE + WITHIN
    stepped = draw(20_000 * days).reshape(-1, days) + STEP * (np.arange(days) >= BEFORE)
    beyond = evidence(ratios(stepped), high) > high
    return float(beyond[~beyond[:, :BEFORE].any(1), BEFORE:].any(1).mean())


def figures(name: str, draw: Draw, histories: int) -> str:
    """One line."""
    none = sum(len(found_in(draw(DAYS))) for _ in range(histories))
    found = sum(step_found(draw(BEFORE + WITHIN)) for _ in range(histories))
    days = DAYS * histories
    return (
        f"{name}: {none} changes in {days} cell-days without one, {1000 * none / days:.2f} in 1000;"
        f" {found} of {histories} steps found, {100 * found / histories:.1f} %"
    )


def main() -> int:
    """Prints the figures."""
    p = parser("dev/studies/trends.py", __doc__)
    p.add_argument("files", type=Path, nargs="+", help="results of equal sessions")
    p.add_argument("--histories", type=int, default=200)
    p.add_argument("--seed", type=int, default=1)
    options = p.parse_args()
    rng = np.random.default_rng(options.seed)

    draws: dict[str, Draw] = {
        f"normal, {spread:g} %": lambda n, spread=spread: spread / 100 * rng.standard_normal(n)
        for spread in (0.5, 1, 1.5, 2)
    }
    draws["heavy tails (t, 2 degrees), 1 %"] = lambda n: 0.01 * rng.standard_t(2, n)
    draws["normal, 1 %, correlated by 0.5"] = lambda n: (
        0.01 * correlated(rng.standard_normal(n), 0.5)
    )
    for path in options.files:
        draws[f"recorded, {path.stem}"] = recorded(path, rng)
    for name, draw in draws.items():
        print(figures(name, draw, options.histories), flush=True)
    rng = np.random.default_rng(options.seed)
    known: dict[str, tuple[Draw, Density]] = {
        f"normal, {spread:g} %": (
            lambda n, spread=spread: spread / 100 * rng.standard_normal(n),
            lambda x, spread=spread: -((100 / spread * x) ** 2) / 2,
        )
        for spread in (1.5, 2, 2.5, 3, 4)
    }
    known["heavy tails (t, 2 degrees), 1 %"] = (
        lambda n: 0.01 * rng.standard_t(2, n),
        lambda x: -1.5 * np.log1p((100 * x) ** 2 / 2),
    )
    for name, (draw, density) in known.items():
        print(f"{name}: a rule that is told the noise finds {100 * most(draw, density):.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())

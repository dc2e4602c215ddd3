"""How often a history without a change shows one, and whether a step of 5 % is found in time."""

import numpy as np
from attntools.trend import changes

SESSIONS, STEP_AT, WITHIN = 50, 30, 5


def history(rng: np.random.Generator, sessions: int, spread: float) -> list[float]:
    """Times of sessions that differ by a relative spread."""
    return list(1e-3 * np.exp(spread * rng.standard_normal(sessions)))


def found_in_time(times: list[float]) -> bool:
    """Whether a slow-down near the step shows in one of the first sessions after it."""
    return any(
        abs(change.index - STEP_AT) <= 2 and change.ratio > 1
        for known in range(STEP_AT + 1, STEP_AT + WITHIN + 1)
        for change in changes(times[:known])
    )


def test_no_change_is_found_where_there_is_none() -> None:
    """At most one in 1000 cell-days, a session a day."""
    rng = np.random.default_rng(1)
    found = sum(len(changes(history(rng, SESSIONS, 0.01))) for _ in range(40))
    assert found <= 2


def test_a_step_of_5_percent_is_found_within_five_commits() -> None:
    rng = np.random.default_rng(2)
    found = 0
    for _ in range(40):
        times = history(rng, STEP_AT + WITHIN, 0.01)
        found += found_in_time(times[:STEP_AT] + [1.05 * t for t in times[STEP_AT:]])
    assert found >= 38

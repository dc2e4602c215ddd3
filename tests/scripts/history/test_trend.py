"""How often a history without a change shows one, and whether a step of 5 % is found in time."""

import numpy as np
from attntools.history.trend import changes

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


def test_days_that_resemble_the_day_before_are_no_change() -> None:
    """Correlated by 0.5: as independent, 10 changes are found, 2 in 1000 cell-days."""
    rng = np.random.default_rng(6)
    found = 0
    for _ in range(100):
        noise = rng.standard_normal(SESSIONS)
        for i in range(1, SESSIONS):
            noise[i] = 0.5 * noise[i - 1] + 0.75**0.5 * noise[i]
        found += len(changes(list(1e-3 * np.exp(0.01 * noise))))
    assert found <= 5


def test_slow_sessions_among_others_are_no_change() -> None:
    """One in seven sessions is slower by up to 20 %, as on a shared machine."""
    rng = np.random.default_rng(3)

    def disturbed() -> list[float]:
        slow = 1 + 0.2 * rng.random(SESSIONS) * (rng.random(SESSIONS) < 1 / 7)
        return [a * b for a, b in zip(history(rng, SESSIONS, 0.01), slow, strict=True)]

    assert sum(len(changes(disturbed())) for _ in range(100)) <= 5  # 1 in 1000 cell-days
    found = 0
    for _ in range(40):
        times = disturbed()[: STEP_AT + WITHIN]
        found += found_in_time(times[:STEP_AT] + [1.05 * t for t in times[STEP_AT:]])
    assert found >= 28  # four in five; among such sessions not every one can be told


def test_a_slow_session_before_a_step_does_not_move_it() -> None:
    times = history(np.random.default_rng(4), 40, 0.003)
    times[16] *= 1.2
    (found,) = changes(times[:20] + [1.05 * t for t in times[20:]])
    assert found.index == 20
    assert abs(found.ratio - 1.05) < 0.005


def test_few_sessions_tell_of_no_change() -> None:
    """Three of each level may be chance; six are not."""
    times = history(np.random.default_rng(5), 12, 0.003)
    assert changes(times[:3] + [1.1 * t for t in times[3:6]]) == []
    assert [c.index for c in changes(times[:6] + [1.1 * t for t in times[6:]])] == [6]


def test_a_drift_is_one_thing() -> None:
    """Ten per cent over thirty sessions, which were four steps; two real steps stay two."""
    rng = np.random.default_rng(7)
    for flat in (10, 20):
        slope = np.concatenate([np.zeros(flat), np.linspace(0, 0.1, 30), np.full(flat, 0.1)])
        times = list(1e-3 * np.exp(0.002 * rng.standard_normal(len(slope)) + slope))
        (drift,) = changes(times)
        assert flat <= drift.index < drift.last < flat + 30
        assert 0.05 < drift.ratio - 1 < 0.11
    for noise in (0.002, 0.01):
        times = 1e-3 * np.exp(noise * rng.standard_normal(36) + np.repeat([0.0, 0.05, 0.1], 12))
        first, second = changes(list(times))
        assert (first.last, second.last) == (first.index, second.index)
        assert max(abs(first.index - 12), abs(second.index - 24)) <= 1

"""When the gate has seen enough, and how often it is wrong because it stops there."""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from attntools.base.cli import Exit
from attntools.gate.gate_pairs import Collected, Plan, Samples
from attntools.gate.gate_sessions import Patience, is_clear, run_until_clear
from attntools.gate.gate_summary import Outcome, markdown
from attntools.gate.gating import judge
from dev.gate_replay import CELL, one_gate, row


def samples(*percents: float, noise: float = 0.0) -> Samples:
    """Pairs that differ by so many per cent; launches of one build by `noise` between pairs."""
    base = [1e-3 * (1 + noise * (i % 2)) for i in range(len(percents))]
    return Samples([(row(b), row(b * (1 + p / 100))) for b, p in zip(base, percents, strict=True)])


@pytest.mark.parametrize(
    ("percents", "cells", "clear"),
    [
        ([0.0] * 8, 1, True),
        ([0.0] * 7, 1, False),  # no 99 % interval of 7
        ([1.9] * 20, 1, True),
        ([2.1] * 20, 1, True),
        ([-30.0] * 20, 1, True),  # faster is no regression
        ([1.0, 3.0] * 10, 1, False),
        ([1.0] * 16 + [3.0] * 4, 1, False),  # the interval ends at the 4th largest of 20
        ([1.0] * 17 + [3.0] * 3, 1, True),
        ([5.0] * 20, 5000, True),  # p of 20 equal signs is 2e-6
        ([5.0] * 20, 50000, False),
    ],
)
def test_clear_is_what_lies_on_one_side_of_the_threshold(
    percents: list[float], cells: int, clear: bool
) -> None:
    assert is_clear(samples(*percents), 0.02, cells) is clear


def test_slower_is_clear_only_above_the_noise_too() -> None:
    assert is_clear(samples(*[5.0] * 20, noise=0.04), 0.02, 1)
    assert not is_clear(samples(*[5.0] * 20, noise=0.06), 0.02, 1)
    assert is_clear(samples(*[1.0] * 20, noise=0.06), 0.02, 1)


def test_open_cells_get_more_pairs_and_all_count(tmp_path: Path) -> None:
    quick, slow = CELL, CELL._replace(problem="open")
    ran: list[tuple[int, list[str]]] = []

    def run_pairs(plan: Plan, cells: list, pairs: int, _progress: object) -> Collected:
        ran.append((plan.seed, [cell.problem for cell in cells]))
        wide = samples(*[-9.0, 9.0] * (pairs // 2))
        narrow = samples(*[0.0] * pairs)
        return Collected({i: narrow if i == quick else wide for i in cells}, [])

    def tried(sessions: int, seconds: float = 1e9) -> dict:
        ran.clear()
        plan, patience = Plan((), tmp_path, 0.05, 7), Patience(sessions, seconds)
        cells = [quick, slow]
        done = run_until_clear(plan, cells, 20, 0.02, patience, lambda _: None, run_pairs)
        return {identity.problem: len(s.pairs) for identity, s in done.samples.items()}

    assert tried(3) == {"-": 20, "open": 60}
    assert [cells for _, cells in ran] == [["-", "open"], ["open"], ["open"]]
    assert len({seed for seed, _ in ran}) == 3
    assert tried(9, 0) == {"-": 20, "open": 20}  # no patience


def test_summary_tells_how_many_pairs_there_were() -> None:
    cells = {CELL: samples(*[0.0] * 20), CELL._replace(problem="open"): samples(*[-9.0, 9.0] * 30)}
    text = markdown(Outcome("a", "b", 20, 0.02, judged=judge(cells, 0.02)))
    assert "`b` against `a`, 20 to 60 pairs of launches a cell" in text
    assert "| - | recorded/- | 1 | 20 | 1.00 ms |" in text
    assert "| open | recorded/- | 1 | 60 | 1.00 ms |" in text
    assert "-9.0 % .. +9.0 % | +31.1 % | UNCLEAR |" in text


# ---- how often whole gates are wrong, simulated --------------------------------------------------


def quiet(rng: np.random.Generator) -> Iterator[float]:
    """Launches that differ by 0.5 %."""
    while True:
        yield 1e-3 * math.exp(0.005 * rng.standard_normal())


def beside_others(rng: np.random.Generator) -> Iterator[float]:
    """What the machine of results/gate does: half of the time another's work costs 15 to 35 %.

    Its launches fall into stretches of ten on average, 0.5 % apart in the quiet ones.
    """
    slowed = 0.0
    while True:
        if rng.random() < 0.1:
            slowed = rng.uniform(0.15, 0.35) if rng.random() < 0.5 else 0.0
        spread = 0.03 if slowed else 0.005
        yield 1e-3 * math.exp(slowed + spread * rng.standard_normal())


def heavy(rng: np.random.Generator) -> Iterator[float]:
    """Outliers of every size (Student's t with 2 degrees of freedom)."""
    while True:
        yield 1e-3 * math.exp(0.005 * rng.standard_t(2))


def loud(rng: np.random.Generator) -> Iterator[float]:
    """Launches that differ by 20 %."""
    while True:
        yield 1e-3 * math.exp(0.2 * rng.standard_normal())


def answers(kind, slower: float, gates: int) -> list[Exit]:  # noqa: ANN001
    """What so many gates answer."""
    launches = kind(np.random.default_rng(1))
    return [one_gate(launches, slower) for _ in range(gates)]


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "gates"), [(quiet, 300), (beside_others, 300), (heavy, 300), (loud, 100)]
)
def test_equal_builds_are_no_regression(kind, gates: int) -> None:  # noqa: ANN001
    """None of 300: with 95 % confidence fewer than one in 100."""
    assert answers(kind, 0.0, gates).count(Exit.REGRESSION) == 0


@pytest.mark.long
@pytest.mark.parametrize("kind", [quiet, beside_others, heavy])
@pytest.mark.parametrize(("slower", "share"), [(0.03, 0.95), (0.05, 0.99)])
def test_slower_builds_are_found(kind, slower: float, share: float) -> None:  # noqa: ANN001
    assert answers(kind, slower, 200).count(Exit.REGRESSION) >= 200 * share


@pytest.mark.long
def test_what_is_ruled_out_is_not_there() -> None:
    """At most 5 % of the gates that may be wrong about 10 % say that there is no regression."""
    found = answers(loud, 0.1, 100)
    assert found.count(Exit.OK) <= 5
    assert found.count(Exit.TOO_NOISY) > 0

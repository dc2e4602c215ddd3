"""Known samples with known answers, and coverage by simulation from a seed."""

import csv
from fractions import Fraction
from math import comb
from pathlib import Path

import numpy as np
import pytest
from attntools.base import statistics as st
from scipy import stats as reference

DATA = Path(__file__).parents[2] / "data"


@pytest.mark.parametrize(
    ("n", "ranks"),
    [(5, None), (6, (0, 5)), (8, (0, 7)), (9, (1, 7)), (20, (5, 14)), (25, (7, 17))],
)
def test_median_ranks(n: int, ranks: tuple[int, int] | None) -> None:
    # The tables of any text book on the sign test (Conover, table A3).
    assert st.median_ranks(n) == ranks


def test_median_ranks_are_those_of_the_table() -> None:
    """The table that tests/base/test_stats.c holds the program to; in whole numbers here."""
    with (DATA / "interval-ranks.csv").open(newline="") as lines:
        table = list(csv.DictReader(lines))
    assert [int(row["n"]) for row in table] == list(range(6, 201))
    for row in table:
        n, lo, hi = (int(row[key]) for key in ("n", "lo", "hi"))
        assert st.median_ranks(n) == (lo, hi)
        outside = [2 * sum(comb(n, k) for k in range(end)) for end in (lo + 1, lo + 2)]
        assert float(row["coverage"]) == float(1 - Fraction(outside[0], 2**n))
        # The narrowest: the next pair inside covers less than 95 %.
        assert 20 * outside[0] <= 2**n < 20 * outside[1]


def test_shares_below_are_binomial() -> None:
    for n in (0, 1, 20, 300):
        found = list(st.shares_below(n))
        assert found == pytest.approx(reference.binom.cdf(np.arange(n + 1), n, 0.5), rel=1e-12)


def test_median_interval_takes_those_ranks() -> None:
    lo, hi = st.median_interval(np.arange(20.0)[::-1])
    assert (lo, hi) == (5, 14)
    lo, hi = st.median_interval(np.arange(5.0))
    assert np.isnan(lo)
    assert np.isnan(hi)


@pytest.mark.parametrize(("above", "below"), [(20, 0), (15, 5), (10, 10), (3, 1)])
def test_sign_test_is_the_binomial_test(above: int, below: int) -> None:
    d = [1.0] * above + [-1.0] * below + [0.0] * 3
    assert st.sign_test(d) == pytest.approx(reference.binomtest(above, above + below).pvalue)


def test_sign_test_of_nothing_but_zeros() -> None:
    assert st.sign_test([0.0, 0.0]) == 1


def test_holm() -> None:
    # 0.01*4, max(., 0.02*3), max(., 0.03*2), max(., 0.6*1)
    assert st.holm([0.02, 0.6, 0.01, 0.03]) == pytest.approx([0.06, 0.6, 0.04, 0.06])
    assert st.holm([0.9, 0.9]) == pytest.approx([1, 1])
    assert st.holm([]).size == 0


@pytest.mark.parametrize(
    ("n", "m", "cut"),
    # w(0.025) - n(n+1)/2 of Conover, table A7, less one: ranks from 0; 3 and 3 values never do.
    [(3, 3, None), (4, 4, 0), (5, 5, 2), (8, 8, 13), (10, 10, 23), (6, 12, 14)],
)
def test_shift_rank(n: int, m: int, cut: int | None) -> None:
    assert st.shift_rank(n, m) == cut
    assert st.shift_rank(m, n) == cut


def test_shift_rank_by_approximation_joins_the_exact_one() -> None:
    exact = st.shift_rank(50, 50)
    st.shift_rank.cache_clear()
    limit = st.EXACT_PAIRS
    try:
        st.EXACT_PAIRS = 0
        assert abs(st.shift_rank(50, 50) - exact) <= 1
    finally:
        st.EXACT_PAIRS = limit
        st.shift_rank.cache_clear()


def test_shift_interval_of_known_values() -> None:
    a = np.array([[1.0, 2.0, 3.0, 4.0]])
    estimate, lo, hi = st.shift_interval(a, a + 10)
    assert (estimate[0], lo[0], hi[0]) == (10, 7, 13)


def test_shift_interval_agrees_with_the_rank_sum_test() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal(8), rng.standard_normal(9)
    _, lo, hi = st.shift_interval(a, b)
    for shift, rejected in ((lo - 1e-9, True), (lo + 1e-9, False), (hi + 1e-9, True)):
        p = reference.mannwhitneyu(a + shift, b, method="exact").pvalue
        assert (p < 0.05) == rejected


NOISE = {
    "skewed": lambda rng, shape: rng.exponential(size=shape),
    "bimodal": lambda rng, shape: rng.normal(size=shape) * 0.1 + rng.integers(0, 2, shape),
    "heavy": lambda rng, shape: rng.standard_t(2, size=shape),
}


@pytest.mark.parametrize("kind", NOISE)
def test_coverage(kind: str) -> None:
    """Both intervals hold the truth at least 95 % of the time (8,000 trials: +-0.25 %)."""
    rng = np.random.default_rng(11)
    noise = NOISE[kind](rng, (8000, 20)) - np.median(NOISE[kind](rng, 10**6))
    lo, hi = st.median_interval(noise)
    assert ((lo <= 0) & (hi >= 0)).mean() >= 0.945
    a, b = NOISE[kind](rng, (8000, 8)), NOISE[kind](rng, (8000, 8))
    _, lo, hi = st.shift_interval(a, b)
    covered = ((lo <= 0) & (hi >= 0)).mean()
    assert 0.945 <= covered <= 0.975


@pytest.mark.parametrize("n", [3, 4, 5])
def test_students_points(n: int) -> None:
    assert st.STUDENT[n] == pytest.approx(reference.t.ppf(0.975, n - 1), rel=1e-6)


def test_interval_of_few_pairs() -> None:
    # Mean 2, deviation 1: 2 +- 4.302653 / sqrt(3).
    lo, hi = st.paired_interval([[3.0, 1.0, 2.0]])
    assert (lo[0], hi[0]) == pytest.approx((-0.484138, 4.484138))
    # From six on, the ranks; below three, nothing.
    assert [float(end) for end in st.paired_interval(np.arange(9.0))] == [1, 7]
    assert np.isnan(st.paired_interval([1.0, 2.0])).all()


@pytest.mark.parametrize("n", [3, 4, 5])
@pytest.mark.parametrize("kind", NOISE)
def test_coverage_of_few_pairs(kind: str, n: int) -> None:
    """Both sides have noise of one shape, however far from normal: at least 94.5 %."""
    a, b = NOISE[kind](np.random.default_rng(13), (2, 20000, n))
    lo, hi = st.paired_interval(a - b)
    assert ((lo <= 0) & (hi >= 0)).mean() >= 0.945


def test_detectable_is_found_with_the_promised_power() -> None:
    rng = np.random.default_rng(5)
    same = rng.normal(size=4000) * 0.02
    effect = st.detectable(same, 20, 0.02)
    x = rng.normal(size=(4000, 20)) * 0.02 + effect
    lo, _ = st.median_interval(x)
    found = ((lo > 0) & (np.median(x, axis=-1) > 0.02)).mean()
    assert found == pytest.approx(0.8, abs=0.03)
    assert effect > 0.02


def test_detectable_is_never_below_the_threshold() -> None:
    assert st.detectable(np.zeros(19), 20, 0.02) == pytest.approx(0.02)
    assert np.isnan(st.detectable([0.0], 20, 0.02))

"""The statistics behind every verdict: exact and rank-based, but for three to five launches.

Times are compared as logarithms, so that a ratio and its inverse are treated alike.
"""

from functools import cache
from itertools import islice
from math import comb
from statistics import NormalDist

import numpy as np
from attntools.base.ranks import LEVEL, median_ranks, shares_below
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def median_interval(values: ArrayLike, level: float = LEVEL) -> tuple[Array, Array]:
    """Order-statistic interval of the median, along the last axis; NaN below the needed n.

    For logarithms of paired ratios this is the sign-test interval: the ratios that a two-sided
    sign test at 1 - level does not reject.
    """
    x = np.sort(np.asarray(values, dtype=np.float64), axis=-1)
    ranks = median_ranks(x.shape[-1], level)
    if ranks is None:
        nothing = np.full(x.shape[:-1], np.nan)
        return nothing, nothing.copy()
    return x[..., ranks[0]], x[..., ranks[1]]


# 97.5 % points of Student's t by the number of values, with one degree of freedom less.
STUDENT = {3: 4.302653, 4: 3.182446, 5: 2.776445}


def paired_interval(differences: ArrayLike) -> tuple[Array, Array]:
    """95 % interval of the median difference of pairs, along the last axis; NaN below three.

    That of median_interval() from six pairs on.  For fewer no ranks reach 95 %, so Student's t
    stands in, wide as it is.  What that is worth, and where it is worth less:
    scripts/dev/studies/few_launches.py.
    """
    d = np.asarray(differences, dtype=np.float64)
    n = d.shape[-1]
    if n not in STUDENT:
        return median_interval(d)
    middle = d.mean(axis=-1)
    half = STUDENT[n] * d.std(axis=-1, ddof=1) / n**0.5
    return middle - half, middle + half


def sign_test(differences: ArrayLike) -> float:
    """Two-sided p-value of "the median difference is 0"; zeros count for neither side."""
    d = np.asarray(differences, dtype=np.float64)
    above, below = int((d > 0).sum()), int((d < 0).sum())
    n = above + below
    return min(1.0, 2 * next(islice(shares_below(n), min(above, below), None)))


def holm(p_values: ArrayLike) -> Array:
    """Adjusted p-values (Holm 1979): below alpha means rejected with all of them considered."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(stepped))
    return adjusted


# ---- two independent samples ---------------------------------------------------------------------

# Above this many pairs the normal approximation of the rank sum is within 1e-3 of the exact value.
EXACT_PAIRS = 2500


@cache
def shift_rank(n: int, m: int, level: float = LEVEL) -> int | None:
    """How many of the n*m sorted differences to cut at each end (Moses); None: too few values.

    From the exact null distribution of the Mann-Whitney statistic: its generating function is
    the Gaussian binomial coefficient (n+m choose n).
    """
    alpha = (1 - level) / 2
    if n * m > EXACT_PAIRS:
        spread = (n * m * (n + m + 1) / 12) ** 0.5
        return int(n * m / 2 - 0.5 + NormalDist().inv_cdf(alpha) * spread)
    counts = [0] * (n * m + 1)
    counts[0] = 1
    for i in range(1, n + 1):
        for u in range(n * m, m + i - 1, -1):  # times (1 - x^(m+i))
            counts[u] -= counts[u - m - i]
        for u in range(i, n * m + 1):  # over (1 - x^i)
            counts[u] += counts[u - i]
    below, total = 0, comb(n + m, n)
    for u, count in enumerate(counts):
        below += count
        if below > alpha * total:
            return u - 1 if u else None
    return None


def shift_interval(a: Array, b: Array, level: float = LEVEL) -> tuple[Array, Array, Array]:
    """By how much b lies above a: Hodges-Lehmann estimate and its exact interval (Moses 1965).

    Args:
        a: (..., n) values of independent launches, logarithms of times.
        b: (..., m) the same of the other side.
        level: probability that the interval holds the shift.

    Returns:
        estimate, lo, hi of shape (...); lo and hi are NaN where n and m are too few.
    """
    n, m = a.shape[-1], b.shape[-1]
    differences = (b[..., None, :] - a[..., :, None]).reshape(*a.shape[:-1], n * m)
    cut = shift_rank(n, m, level)
    middle = ((n * m - 1) // 2, n * m // 2)
    kth = {*middle} | ({cut, n * m - 1 - cut} if cut is not None else set())
    differences.partition(sorted(kth), axis=-1)
    estimate = (differences[..., middle[0]] + differences[..., middle[1]]) / 2
    if cut is None:
        nothing = np.full(estimate.shape, np.nan)
        return estimate, nothing, nothing.copy()
    return estimate, differences[..., cut], differences[..., n * m - 1 - cut]


# ---- how small a difference would have shown ----------------------------------------------------


def detectable(
    ratios: ArrayLike, pairs: int, threshold: float, *, level: float = LEVEL, seed: int = 1
) -> float:
    """The smallest shift found with a probability of 0.8, given the noise of pairs.

    Found means: the sign-test interval of `pairs` values lies above 0 and their median above the
    threshold.  Both are order statistics, so a shift d is found exactly where d exceeds
    max(-lo, threshold - median) of the noise alone, whose quantile a bootstrap gives.

    Args:
        ratios: log ratios of pairs; their noise is what they differ by from their median.
        pairs: n of the comparison.
        threshold: the least median that counts.
        level: of the interval.
        seed: of the bootstrap.
    """
    noise = np.asarray(ratios, dtype=np.float64)
    ranks = median_ranks(pairs, level)
    if len(noise) < 2 or ranks is None:
        return float("nan")
    noise = noise - np.median(noise)
    drawn = np.random.default_rng(seed).choice(noise, size=(2000, pairs))
    drawn.sort(axis=-1)
    needed = np.maximum(-drawn[:, ranks[0]], threshold - np.median(drawn, axis=-1))
    return float(np.quantile(needed, 0.8))

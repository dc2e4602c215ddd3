"""The ranks of the exact interval of a median, from the binomial distribution.

Standard library only, for scripts that run without the tools' environment.
"""

from collections.abc import Iterator
from functools import cache
from itertools import takewhile

LEVEL = 0.95


def shares_below(n: int) -> Iterator[float]:
    """P(at most k of n values lie below their median), k = 0, 1, ..., n; exact.

    As scipy.special.bdtr(k, n, 0.5), whose import costs every tool a quarter of a second.
    """
    ways = below = 1
    for k in range(n + 1):
        yield below / 2**n
        ways = ways * (n - k) // (k + 1)
        below += ways


@cache
def median_ranks(n: int, level: float = LEVEL) -> tuple[int, int] | None:
    """Ranks lo <= hi (from 0) of n sorted values between which the median lies.

    They are the narrowest symmetric pair whose probability is at least `level`, exactly, whatever
    the continuous distribution; None where even [min, max] does not reach it (n < 6 at 95 %).
    Symmetric, so that the median lies beyond either end with a probability of 2.5 % at most: one
    end can be used alone.  David and Nagaraja, Order Statistics, section 7.1; Hahn and
    Meeker, Statistical Intervals, section 5.2.  The C program has the same rule
    (harness/base/stats.c); both are tested against tests/data/interval-ranks.csv.
    """
    outside = (2 * share for share in shares_below(n))
    enough = sum(1 for _ in takewhile(lambda p: 1 - p >= level, outside))
    return (enough - 1, n - enough) if enough else None

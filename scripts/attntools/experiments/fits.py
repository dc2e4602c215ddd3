"""Laws fitted by least squares, each number with its 95 % interval from Student's t."""

from dataclasses import dataclass

import numpy as np

# Quantile 0.975 of Student's t for 1 to 16 degrees of freedom; beyond them that of 16.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
           2.160, 2.145, 2.131, 2.120)  # fmt: skip


@dataclass(frozen=True)
class Fit:
    """A number and its interval."""

    value: float
    lo: float
    hi: float

    def text(self, form: str) -> str:
        """As in "1.93 (95 % interval 1.90 .. 1.96)"."""
        return f"{self.value:{form}} (95 % interval {self.lo:{form}} .. {self.hi:{form}})"


def least_squares(columns: list[np.ndarray], y: np.ndarray) -> list[Fit]:
    """The coefficient of each column; there must be more numbers than columns."""
    a = np.stack(columns, axis=1)
    inverse = np.linalg.inv(a.T @ a)
    found = inverse @ a.T @ y
    degrees = len(y) - len(columns)
    rest = y - a @ found
    half = STUDENT[min(degrees, len(STUDENT)) - 1] * np.sqrt(
        rest @ rest / degrees * np.diag(inverse)
    )
    return [Fit(float(x), float(x - h), float(x + h)) for x, h in zip(found, half, strict=True)]


def power(x: np.ndarray, y: np.ndarray) -> Fit | None:
    """The exponent b of y = a x^b; None below 3 points, or where one is not positive."""
    if len(x) < 3 or not (np.all(x > 0) and np.all(y > 0)):
        return None
    return least_squares([np.log(x), np.ones(len(x))], np.log(y))[0]


def amdahl(threads: np.ndarray, speedups: np.ndarray) -> Fit:
    """The serial share a of the speed-up 1 / (a + (1 - a) / n).

    Its reciprocal is linear in a: 1/S - 1/n = a (1 - 1/n).  One thread adds nothing.
    """
    n, s = threads[threads > 1], speedups[threads > 1]
    return least_squares([1 - 1 / n], 1 / s - 1 / n)[0]


def scalability(threads: np.ndarray, speedups: np.ndarray) -> tuple[Fit, Fit]:
    """Contention a and coherency b of the speed-up n / (1 + a (n - 1) + b n (n - 1))."""
    n, s = threads[threads > 1], speedups[threads > 1]
    contention, coherency = least_squares([n - 1, n * (n - 1)], n / s - 1)
    return contention, coherency

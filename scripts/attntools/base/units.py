"""Numbers as people read them: three significant digits and a unit.

Prefixes and units are those of the program (harness/base/units.c); tests/data/units.csv holds both.
"""

import math


def scaled(value: float, unit: str, factors: tuple[tuple[float, str], ...]) -> str:
    """A value in the largest prefix that leaves at least 1, to three digits."""
    if not math.isfinite(value):
        return "-"
    for factor, prefix in factors:
        if abs(value) >= factor * 0.9995:
            return f"{digits(value / factor)} {prefix}{unit}"
    factor, prefix = factors[-1]
    return f"{digits(value / factor)} {prefix}{unit}"


def digits(value: float) -> str:
    """Three significant digits, without an exponent."""
    if not math.isfinite(value):
        return "-"
    if value == 0:
        return "0"
    places = max(0, 2 - math.floor(math.log10(abs(value) * 1.0005)))
    return f"{value:.{places}f}"


def seconds(value: float) -> str:
    """A time: 12.3 ms."""
    return scaled(value, "s", ((1, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n")))


def size(value: float) -> str:
    """A size in bytes, decimal prefixes: 65.5 KB."""
    return scaled(value, "B", ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K"), (1, "")))


def change(ratio: float) -> str:
    """A ratio as a change: +3.1 %."""
    return f"{100 * (ratio - 1):+.1f} %" if math.isfinite(ratio) else "-"

"""Numbers as people read them: three significant digits and a unit.

Prefixes and units are those of the program (harness/base/units.c); tests/data/units.csv holds both.
"""

import math
from collections.abc import Sequence


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


def short(value: float) -> str:
    """A number at an axis: digits() without zeros at its end; as a power of ten far from 1."""
    if value and not 1e-3 <= abs(value) < 1e5:
        return power(value)
    return trimmed(digits(value))


def trimmed(text: str) -> str:
    """A number, with a unit or without, less the zeros behind its decimals: 1.50 s is 1.5 s."""
    number, space, unit = text.partition(" ")
    return (number.rstrip("0").rstrip(".") if "." in number else number) + space + unit


def power(value: float) -> str:
    """A number of one digit: 2·10⁻⁷, 10⁵."""
    mantissa, exponent = f"{value:.0e}".split("e")
    return ("" if mantissa == "1" else f"{mantissa}·") + "10" + raised(int(exponent))


def short_seconds(value: float) -> str:
    """A time at an axis: 20 ms."""
    return trimmed(seconds(value)) if value else "0"


def raised(exponent: float) -> str:
    """An exponent as it stands behind a number: ⁻⁷."""
    return f"{exponent:g}".translate(str.maketrans("-.0123456789", "⁻·⁰¹²³⁴⁵⁶⁷⁸⁹"))


def length(value: float) -> str:
    """A length in tokens as people write it: 512, 1k, 64k; below 1 as a fraction."""
    if 0 < value < 1:
        return f"1/{1 / value:g}"
    return f"{value / 1024:g}k" if value >= 1024 and value % 256 == 0 else f"{value:g}"


def seconds(value: float) -> str:
    """A time: 12.3 ms."""
    return scaled(value, "s", ((1, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n")))


def size(value: float) -> str:
    """A size in bytes, decimal prefixes: 65.5 KB."""
    return scaled(value, "B", ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K"), (1, "")))


def counted(n: int, noun: str) -> str:
    """1 cell, 2 cells."""
    return f"{n} {noun}{'s'[: n != 1]}"


def named(names: Sequence[str], most: int) -> str:
    """Some names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def change(ratio: float) -> str:
    """A ratio as a change: +3.1 %."""
    return f"{100 * (ratio - 1):+.1f} %" if math.isfinite(ratio) else "-"

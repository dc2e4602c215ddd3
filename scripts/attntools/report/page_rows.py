"""Comparisons as the tables of pages show them."""

from collections.abc import Sequence

from attntools.base.units import change
from attntools.compare.comparison import Comparison
from attntools.compare.comparison_tables import (
    case_text,
    interval_text,
    median_text,
    threads_text,
    variant_text,
    varying_fields,
)
from attntools.plot import shapes
from attntools.report.page import Texts, without_folders


def _row(c: Comparison, varying: Sequence[str]) -> Texts:
    return Texts(
        comparison=c,
        case=case_text(c.cell, varying),
        variant=variant_text(c),
        threads=threads_text(c),
        kind=shapes.kind(c.cell),
        dtype=shapes.dtype(c.cell),
        base=median_text(c.base),
        new=median_text(c.new),
        change=change(c.ratio),
        interval=interval_text(c.lo, c.hi),
        reason=without_folders(c.reason),
    )


def rows(comparisons: Sequence[Comparison]) -> list[Texts]:
    """All of them, in order."""
    varying = varying_fields(c.cell for c in comparisons)
    return [_row(c, varying) for c in comparisons]

"""The page of several sessions: what changed against the first."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from attntools.base.units import change
from attntools.compare.comparable import incomparable
from attntools.compare.comparison import (
    Comparison,
    Verdict,
    compare_files,
    decided,
    geometric_mean,
    in_common,
)
from attntools.compare.comparison_tables import APART, interval_text, threads_text
from attntools.plot import changes
from attntools.report import headline
from attntools.report.page import Texts, image, render, without_folders
from attntools.report.page_rows import rows
from attntools.report.page_session import Picture, about
from attntools.results.cells import Results


@dataclass
class Against:
    """A file against the first: why not, or what changed."""

    name: str
    reasons: list[str]
    sentences: list[str]
    picture: Picture | None
    rows: list[Texts]


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n else ""


def sentences(comparisons: Sequence[Comparison], base: str, new: str) -> list[str]:
    """The headline: how many cells changed, by how much, and the one that changed most."""
    found = [c for c in comparisons if c.ratio == c.ratio]
    counts = Counter(c.verdict for c in found)
    said = [f"{counts[v]} {word}" for v, word in (
        (Verdict.SLOWER, "slower"), (Verdict.FASTER, "faster"), (Verdict.SAME, "the same"),
        (Verdict.UNCLEAR, "unclear"))]  # fmt: skip
    text = f"{new} against {base}: of {len(found)} cells {', '.join(said)}"
    if decided(found):
        text += f"; {change(geometric_mean(c.ratio for c in found))} in the mean"
    texts = [f"{text}."]
    for verdict, word in ((Verdict.SLOWER, "Slowest"), (Verdict.FASTER, "Fastest")):
        of = [c for c in found if c.verdict is verdict]
        if of:
            most = (max if verdict is Verdict.SLOWER else min)(of, key=lambda c: c.ratio)
            texts.append(f"{word}: {changes.name(most)}, {threads_text(most)} threads, "
                         f"{change(most.ratio)} ({interval_text(most.lo, most.hi)}).")  # fmt: skip
    wrong = sum(c.wrong for c in comparisons)
    only = len(comparisons) - sum(c.base is not None and c.new is not None for c in comparisons)
    rest = [_count(wrong, "cells have a wrong result only in the new file"),
            _count(only, "cells are in one file only")]  # fmt: skip
    if any(rest):
        texts.append("; ".join(filter(None, rest)) + ".")
    return texts


def against(base: Results, new: Results) -> Against:
    """A file against the first."""
    reasons = [without_folders(text) for text in incomparable([base, new])]
    if reasons:
        return Against(new.name, reasons, [], None, [])
    comparisons = compare_files(base, new)
    if not in_common(comparisons):
        why = f"{new.name} and {base.name} have no cell in common"
        return Against(new.name, [why], [], None, [])
    title = f"Change of the time, {new.name} against {base.name}"
    fig = changes.figure(comparisons, title)
    drawn = Picture("changes", "Sorted dot plot: change of every cell's time.", image(fig)) \
        if fig else None  # fmt: skip
    said = sentences(comparisons, base.name, new.name)
    return Against(new.name, [], said, drawn, rows(comparisons))


def page(files: Sequence[Results]) -> str:
    """The whole page."""
    return render(
        "comparison.html",
        title=f"{files[-1].name} against {files[0].name}: attnbench",
        base=files[0].name,
        found=[against(files[0], new) for new in files[1:]],
        apart=APART,
        files=[(r.name, about(r), headline.sentences(r), headline.wrong(r)) for r in files],
        notes=[without_folders(note) for r in files for note in r.notes],
    )

"""The page of one session: headline, two figures, every cell, noise."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from attntools.base.units import digits, seconds, size
from attntools.compare.answer import answer_of, sentence, winner
from attntools.compare.comparison_tables import case_text, interval_text, varying_fields
from attntools.compare.ranking import rank
from attntools.plot import shapes
from attntools.plot.plot import SESSION
from attntools.plot.rivals import against_the_best
from attntools.report import headline
from attntools.report.page import Texts, image, render, without_folders
from attntools.report.page_rows import rows
from attntools.results import flags
from attntools.results.cells import WRONG_STATES, Cell, Results, Session

FIRST = ("ceiling", "speedup")  # above the table; the rest below it, as far as there is room
LAST = "noise"
ROOM = 1_400_000  # characters of a page that figures may fill up to

STRIP = 150  # width of a strip of launches, pixels

ALT = {
    "ceiling": "Dot plot: percent of the ceiling that each kernel reaches, by shape.",
    "speedup": "How many times as fast our fastest kernel is: case by case, or their distribution.",
    "roofline": "Roofline: useful GFLOP/s of each cell over its flops per byte.",
    "times": "Lines: time per query and key over the sequence length.",
    "decode": "Lines: GB/s of decode over the keys, below the read bandwidth.",
    "threads": "Strip plot: speed-up of more threads over one, by kind of case.",
    "accuracy": "Scatter plot: error over its bound against time.",
    "noise": "Left: how often differences of a size occur by chance. Right: cells by flag.",
}


def _value(x: float) -> str:
    """A number to sort by."""
    return f"{x:.4g}" if x == x else ""


def strip(cell: Cell) -> str:
    """The medians of the launches as the path of a drawing: a stroke each, from left to right."""
    times = cell.launch_medians_s
    lo, hi = min(times), max(times)
    width = (hi - lo) or 1
    return "".join(f"M{2 + (STRIP - 4) * (t - lo) / width:.0f} 1v10" for t in times)


def _timed(cell: Cell) -> dict[str, str]:
    """The texts that only a cell with a time has, and numbers to sort by."""
    if not cell.timed:
        return dict.fromkeys(
            ("median", "median_value", "interval", "interval_value", "strip", "ends"), ""
        )
    times = cell.launch_medians_s
    found = {
        "median": seconds(cell.median_s),
        "median_value": _value(cell.median_s),
        "interval": "",
        "interval_value": "",
        "strip": strip(cell),
        "ends": f"{len(times)} launches, {seconds(min(times))} to {seconds(max(times))}",
    }
    if cell.interval_s:
        lo, hi = (end / cell.median_s for end in cell.interval_s)
        found |= {"interval": interval_text(lo, hi), "interval_value": _value(hi - lo)}
        ends = " to ".join(map(seconds, cell.interval_s))
        found["ends"] += f"; 95 % interval {ends}"
    return found


def line(cell: Cell, varying: Sequence[str], answer: str) -> Texts:
    """All texts of a cell; `answer`, the sentence on its case, is in the row of the fastest."""
    workspace, share = cell.number("workspace_bytes"), shapes.share(cell)
    return Texts(
        cell=cell,
        case=case_text(cell, varying),
        kind=shapes.kind(cell),
        dtype=shapes.dtype(cell),
        answer=answer,
        bound=cell.bound_by or "",
        gflops=digits(cell.number("gflops")).replace("-", ""),
        share=digits(share).replace("-", ""),
        error=f"{cell.number('check.error_over_bound'):.2g}".replace("nan", ""),
        workspace=size(workspace) if workspace == workspace else "",
        wrong=cell.state in WRONG_STATES,
        flags=[(word, flags.MEANING.get(word, "")) for word in cell.flags],
        repro=without_folders(str(cell.row.get("repro") or "")),
        why=without_folders(cell.why or ""),
        **_timed(cell),
    )


def lines(results: Results) -> list[Texts]:
    """Every cell."""
    varying = varying_fields(results.cells.values())
    says = {winner(group).cell.identity: sentence(answer_of(group)) for group in rank(results)}
    return [line(cell, varying, says.get(identity, "")) for identity, cell in results.cells.items()]


@dataclass
class Picture:
    """A figure of the page."""

    name: str
    alt: str
    address: str


def picture(results: Results, name: str) -> Picture | None:
    """A figure of the session, if there is data for it."""
    fig = SESSION[name](results)
    return Picture(name, ALT[name], image(fig)) if fig else None


def about(results: Results) -> list[tuple[str, str]]:
    """Machine and trust, in three lines."""
    return [
        ("measured on", f"{headline.machine(results)}; {headline.build(results)}"),
        ("cells", headline.counts(results)),
        ("noise", headline.trust(results)),
    ]


def commands(sessions: Iterable[Session]) -> list[str]:
    """The command of each session, once."""
    found = [s.header.get("command") or [] for s in sessions]
    # Those of experiments begin with the program's name.
    named = [shlex.join(c if c[:1] == ["attnbench"] else ["attnbench", *c]) for c in found]
    return list(dict.fromkeys(map(without_folders, named)))


def page(results: Results) -> str:
    """The whole page; the figures below the table are those that leave it under ROOM."""
    first = [p for name in FIRST if (p := picture(results, name))]
    last = picture(results, LAST)
    values = {
        "title": f"{results.name}: attnbench",
        "name": results.name,
        "sentences": headline.sentences(results),
        "wrong": headline.wrong(results),
        "about": about(results),
        "commands": commands(results.sessions),
        "first": first,
        "lines": lines(results),
        "rivals": rows(against_the_best(results)),
        "noise": last,
        "notes": [without_folders(note) for note in results.notes],
    }
    text = render("session.html", more=[], **values)
    room, more = ROOM - len(text), []
    for name in SESSION:
        found = None if name in (*FIRST, LAST) else picture(results, name)
        if found and len(found.address) < room:
            more.append(found)
            room -= len(found.address)
    return render("session.html", more=more, **values) if more else text

"""What a ranking comes to: sentences on cases and models, and how good the library's choices are.

The program says the same below its tables (harness/results/report_answer.c), by the same ratios
round by round.  Its words and these are held to tests/data/answers.txt, numbers and ties to
tests/data/rounds.jsonl.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from attntools.base.units import counted, named, seconds
from attntools.compare.ranking import NAMED, Ranked
from attntools.results.cells import Cell, Share
from attntools.results.schema import DISTURBANCES

LIMITS = {"compute": "the multiply-adds allow", "bandwidth": "reading K and V allows"}
NAN = math.nan


@dataclass(slots=True)
class Answer:
    """What is known of the fastest variant of a case; empty and NaN are not known."""

    variant: str
    threads: int
    time: str
    half: float = NAN  # of the interval, over the time
    launches: int = 0
    ranked: bool = True
    bound: str = ""
    share: float = NAN  # of what bounds it
    others: int = 0  # that have a time
    ties: str = ""
    next: str = ""  # the fastest of those that do not tie
    ratio: float = NAN
    uncompared: int = 0  # others with too few launches in the same rounds
    choice: str = ""  # the library's, where it is another
    regret: float = NAN
    choice_ties: bool = False
    doubts: str = ""


# ---- the sentence --------------------------------------------------------------------------------


def _percent(x: float) -> str:
    """Two digits."""
    return f"{x:.{2 if x < 0.995 else 1 if x < 9.95 else 0}f} %"


def _others(a: Answer) -> list[str]:
    """Who is next and who ties."""
    if not a.ranked:
        return [f"{a.launches} launch{'es' if a.launches != 1 else ''}, too few to rank it"]
    parts = []
    if a.next:
        parts.append(f"{a.ratio:.{2 if a.ratio < 9.995 else 0}f} x {a.next}, the next")
    if a.ties:
        parts.append(f"tie with {a.ties}")
    elif a.uncompared < a.others:
        parts.append("no tie")
    if a.uncompared:
        parts.append(f"{a.uncompared} more with too few launches in the same rounds to tell")
    return parts


def _choice(a: Answer) -> list[str]:
    """What the library chooses, if it is another, and how far behind it is."""
    if not a.choice:
        return []
    note = ", without an interval" if not a.ranked else ", a tie" if a.choice_ties else ""
    return [f"the library chooses {a.choice}, {a.regret:.2f} x as long{note}"]


def sentence(a: Answer) -> str:
    """flash/avx512 on 1 thread, 2.05 ms +-0.4 %: 85 % of what the multiply-adds allow, ..."""
    text = f"{a.variant} on {counted(a.threads, 'thread')}, {a.time}"
    if a.half == a.half:
        text += f" +-{_percent(100 * a.half)}"
    if a.bound and a.share == a.share:
        text += f": {100 * a.share:.0f} % of what {LIMITS[a.bound]}, {a.bound} bound"
    uncertain = [f"uncertain: {a.doubts}"] if a.doubts else []
    return "; ".join([text, *_others(a), *_choice(a), *uncertain])


# ---- from a ranking ------------------------------------------------------------------------------


def share(cell: Cell) -> float:
    """The share of the ceiling that bounds a cell, of reads in place where that was measured."""
    shares = {
        "compute": (cell.fraction_of_fma,),
        "bandwidth": (cell.fraction_of_bandwidth_in_place, cell.fraction_of_bandwidth),
    }
    known = (x for x in shares.get(cell.bound_by or "", ()) if x is not None)
    return next(known, NAN)


def winner(group: Sequence[Ranked]) -> Ranked:
    """What the others are compared with: of those with a rank the one of the lowest median."""
    ranked = [r for r in group if r.rank is not None]
    return min(ranked or group, key=lambda r: r.cell.median_s)


def regret(chosen: Ranked) -> float:
    """Time of the library's choice over that of the kernel with the lowest median, at least 1."""
    return 1.0 if chosen.ratio < 1 else chosen.ratio


def ties(r: Ranked) -> bool:
    """Whether the interval of the ratio to the winner holds 1."""
    return r.lo <= 1 <= r.hi


def _half_s(cell: Cell) -> float:
    """Half the interval of the median; NaN if there were too few launches for one."""
    lo, hi = cell.interval_s or (NAN, NAN)
    return (hi - lo) / 2


def answer_of(group: Sequence[Ranked]) -> Answer:
    """What a ranking of one case and thread count comes to."""
    best = winner(group)
    cell = best.cell
    others = sorted((r for r in group if r is not best), key=lambda r: r.cell.median_s)
    answer = Answer(
        variant=cell.identity.label,
        threads=cell.identity.threads,
        time=seconds(cell.median_s),
        launches=len(cell.launch_medians_s),
        ranked=best.rank is not None,
        bound=cell.bound_by or "",
        share=share(cell),
        others=len(others),
        ties=named([r.cell.identity.label for r in others if ties(r)], NAMED),
        uncompared=sum(r.lo != r.lo for r in others),
        doubts=", ".join(flag for flag in cell.flags if flag in DISTURBANCES),
    )
    answer.half = _half_s(cell) / cell.median_s
    for r in others:
        if r.lo == r.lo and not ties(r) and not answer.next:
            answer.next, answer.ratio = r.cell.identity.label, r.ratio
        if r.cell.chosen and (r.lo == r.lo or not answer.ranked):
            answer.choice, answer.regret = r.cell.identity.label, regret(r)
            answer.choice_ties = ties(r)
    return answer


def choices(ranking: Sequence[Sequence[Ranked]]) -> str:
    """How far what the library chose is from the fastest; empty where no choice was measured."""
    found: list[tuple[float, Ranked, Ranked]] = []
    for group in ranking:
        best = winner(group)
        chosen = [r for r in group if r.cell.chosen and (r is best or r.lo == r.lo)]
        if best.rank is not None and chosen and len(group) > 1:
            found.append((1.0 if chosen[0] is best else regret(chosen[0]), chosen[0], best))
    if not found:
        return ""
    good = sum(r is best or ties(r) for _, r, best in found)
    text = (
        f"the library's choice is the fastest, or tied with it, in {good} of {len(found)}; time "
        f"over the fastest's: median {median(over for over, *_ in found):.2f}"
    )
    worst, chosen, best = max(found, key=lambda item: item[0])
    if worst > 1:
        text += (
            f", worst {chosen.cell.identity.label}, {worst:.2f} x as long as "
            f"{best.cell.identity.label} in {best.cell.case} on "
            f"{counted(best.cell.threads, 'thread')}"
        )
    return text


# ---- models --------------------------------------------------------------------------------------


def _pass(name: str, parts: Sequence[tuple[Share, Cell]]) -> str:
    """The sum over a pass's cases of layers times the fastest kernel's median."""
    first = parts[0][0]
    layers = sum(share.layers for share, _ in parts)
    total = sum(share.layers * cell.median_s for share, cell in parts)
    half = sum(share.layers * _half_s(cell) for share, cell in parts) / total
    named = [f"{share.layers} x {cell.case} by {cell.identity.label}" for share, cell in parts]
    text = f"{name} on {counted(parts[0][1].threads, 'thread')}: attention takes "
    text += f"{'more than ' if layers < first.of else ''}{seconds(total)}"
    if half == half:
        text += f" +-{_percent(100 * half)}"
    text += f" in {layers} layers ({' + '.join(named)})"
    if layers < first.of:
        text += f"; {first.of - layers} more of {first.of} layers have no time"
    if first.without:
        text += f"; without {first.without}, which compute no softmax over keys"
    return text


def passes(ranking: Sequence[Sequence[Ranked]]) -> list[str]:
    """A sentence on each pass of a model: the time of all its attention, by the fastest kernels.

    The program says the same in its own words (harness/results/report_pass.c).
    """
    found: dict[tuple[str, int], dict[str, tuple[Share, Cell]]] = {}
    for group in ranking:
        cell = winner(group).cell
        for share in cell.passes:
            cases = found.setdefault((share.name, cell.threads), {})
            if cell.case not in cases or cell.median_s < cases[cell.case][1].median_s:
                cases[cell.case] = share, cell
    return [_pass(name, list(cases.values())) for (name, _), cases in found.items()]

"""What to try for a row: a rule for each setting, and the numbers that must support it."""

from collections.abc import Callable, Sequence

from attntools.base.units import digits
from attntools.compare.answer import share, winner
from attntools.compare.comparison import ratio_of
from attntools.compare.ranking import Ranked
from attntools.explain.causes import WAITING, waiting
from attntools.explain.standing import fastest, of_case
from attntools.results.cells import Cell, Results

# A difference that is worth a try: twice what a build differs from itself (compare's THRESHOLD).
WORTH = 1.05
NEAR = 0.9  # of a ceiling: what is left is less than most sessions' noise
BUSY = frozenset(("preempted", "migrated", "oversubscribed", "halted"))
OUTSIDE = frozenset(("steal", "throttled", "frequency", "paged"))


def beside(results: Results, cell: Cell, field: str) -> list[Cell]:
    """The timed rows that differ from a row in one field of their identity alone."""
    same = cell.identity._replace(**{field: None})
    return [
        c for c in results.timed if c is not cell and c.identity._replace(**{field: None}) == same
    ]


def _variant(results: Results, cell: Cell, group: Sequence[Ranked]) -> str:
    if {c.kernel for c in of_case(results, cell)} == {cell.kernel}:
        return f"--kernel best,ours: of this case the file has {cell.kernel} alone"
    mine, best = next(r for r in group if r.cell is cell), winner(group)
    if mine is best or not mine.lo > 1:
        return ""
    return f"--kernel {best.cell.identity.label}: {mine.ratio:.2f} x as fast in this file"


def _faster_beside(results: Results, cell: Cell, field: str) -> Cell | None:
    """The fastest of the rows beside it, if it is certainly faster, and worth a try."""
    best = min(beside(results, cell, field), key=lambda c: c.median_s, default=None)
    return best if best and _certainly_faster(best, cell) else None


def _certainly_faster(other: Cell, cell: Cell) -> bool:
    """Whether the interval of their ratio says so, by as much as is worth a try."""
    ratio, lo, _ = ratio_of(other, cell)
    return lo > 1 and ratio > WORTH


def _gain(cell: Cell, other: Cell) -> str:
    return f"{ratio_of(other, cell)[0]:.2f} x as fast in this file"


def _threads(results: Results, cell: Cell, _group: Sequence[Ranked]) -> str:
    other = _faster_beside(results, cell, "threads")
    if other:
        return f"--threads {other.threads}: {_gain(cell, other)}"
    cores = cell.session.machine.get("cores", 0)
    if not beside(results, cell, "threads") and cores > cell.threads:
        return f"--threads {cores}: the machine has {cores} cores, and no other number was measured"
    return ""


def _both(results: Results, cell: Cell, _group: Sequence[Ranked]) -> str:
    """Another variant on another number of threads, where it is certainly faster."""
    best = fastest(results, cell)
    same = best.threads == cell.threads or best.identity.label == cell.identity.label
    if same or not _certainly_faster(best, cell):
        return ""
    return f"--kernel {best.identity.label} --threads {best.threads}: {_gain(cell, best)}"


def _waiting(results: Results, cell: Cell, _group: Sequence[Ranked]) -> str:
    """Only what the file has not measured: of the rest it says itself what is faster."""
    if not waiting(cell) > WAITING:
        return ""
    ways = []
    if all(c.threads >= cell.threads for c in beside(results, cell, "threads")):
        ways.append("fewer threads")
    if all(c.kernel != "split_kv" for c in of_case(results, cell)):
        ways.append("split_kv, which splits keys")
    if not ways:
        return ""
    waited = f"the threads wait for each other {100 * waiting(cell):.0f} % of the time"
    return f"{', or '.join(ways)}: {waited}"


def _placement(results: Results, cell: Cell, _group: Sequence[Ranked]) -> str:
    other = _faster_beside(results, cell, "placement")
    if other:
        return f"--placement {other.placement}: {_gain(cell, other)}"
    found = [flag for flag in cell.flags if flag in BUSY]
    if not found:
        return ""
    cores = "--placement cores, " if cell.placement != "cores" else ""
    fewer = ", or fewer threads than it has" if cell.threads > 1 else ""
    return f"{cores}an idle machine{fewer}: the row is {', '.join(found)}"


def _outside(_results: Results, cell: Cell, _group: Sequence[Ranked]) -> str:
    found = [flag for flag in cell.flags if flag in OUTSIDE]
    return f"another hour: {', '.join(found)} is beyond what a setting changes" if found else ""


def _huge_pages(results: Results, cell: Cell, _group: Sequence[Ranked]) -> str:
    other = _faster_beside(results, cell, "huge_pages")
    if other:
        word = "--huge-pages" if other.huge_pages else "without --huge-pages"
        return f"{word}: {_gain(cell, other)}"
    in_place = cell.number("ceiling.read_in_place_gbytes_per_s")
    gain = cell.number("ceiling.read_gbytes_per_s") / in_place
    measured = beside(results, cell, "huge_pages")  # and found no faster
    if measured or cell.huge_pages or cell.bound_by != "bandwidth" or not gain > WORTH:
        return ""
    text = "other memory, on huge pages if there are, was read"
    if share(cell) >= NEAR:
        text = f"at {100 * share(cell):.0f} % of what K and V allow where they lie, but {text}"
    return f"--huge-pages: {text} {gain:.2f} x as fast as K and V where they lie"


def _memory(_results: Results, cell: Cell, _group: Sequence[Ranked]) -> str:
    if "elsewhere" not in cell.flags:
        return ""
    return "--memory bind, or a free node: memory lies elsewhere than was asked for"


def _instructions(_results: Results, cell: Cell, _group: Sequence[Ranked]) -> str:
    gain = cell.number("fraction_of_fma") / cell.number("fraction_of_machine")
    if cell.bound_by != "compute" or not gain > WORTH:
        return ""
    return f"another instruction set: this host multiplies {gain:.2f} x as fast as {cell.isa}"


def _launches(_results: Results, cell: Cell, _group: Sequence[Ranked]) -> str:
    if cell.interval_s is None:
        return "--launches 6 or more: for a 95 % interval of its time"
    lo, hi = cell.interval_s
    half = (hi - lo) / 2 / cell.median_s
    if half <= WORTH - 1:
        return ""
    return f"more --seconds: the interval is +-{digits(100 * half)} % wide"


def _less_work(results: Results, cell: Cell, group: Sequence[Ranked]) -> str:
    if not share(cell) >= NEAR or _huge_pages(results, cell, group):
        return ""
    less = {
        "compute": "fewer multiply-adds (a mask, a window) or a type that multiplies faster",
        "bandwidth": "fewer bytes of K and V (16 bits, int8, fewer KV heads)",
    }[cell.bound_by or ""]
    text = f"{less}: at {100 * share(cell):.0f} % of its limit"
    faster = (_threads, _placement, _instructions)
    if any(rule(results, cell, group) for rule in faster) or fastest(results, cell) is not cell:
        return text
    return f"{text} no setting makes this much faster"


Rule = Callable[[Results, Cell, Sequence[Ranked]], str]
RULES: tuple[Rule, ...] = (
    *(_variant, _threads, _both, _waiting, _placement, _huge_pages, _memory, _instructions),
    *(_less_work, _outside, _launches),
)


def advice(results: Results, cell: Cell, group: Sequence[Ranked]) -> list[str]:
    """What the numbers of a row and of those beside it support."""
    return [text for rule in RULES if (text := rule(results, cell, group))]

"""Why one variant of a case takes longer than another: only what the numbers of both rows show."""

from attntools.base.units import size
from attntools.results.cells import Cell
from attntools.results.schema import DISTURBANCES

MORE = 1.1  # times as many of what a call needs: twice the noise of most sessions
WAITING = 0.1  # of the threads' time


def waiting(cell: Cell) -> float:
    """The share of their time that the threads wait for each other; NaN where unknown."""
    busy, barrier = cell.number("busy_s"), cell.number("barrier_s")
    return barrier / (busy + barrier) if cell.threads > 1 and busy > 0 else float("nan")


def _instructions(slow: Cell, fast: Cell) -> str:
    more = slow.number("counters.instructions") / fast.number("counters.instructions")
    return f"it executes {more:.2f} x as many instructions" if more > MORE else ""


def _multiplies(slow: Cell, fast: Cell) -> str:
    less = fast.number("ceiling.fma_gflops") / slow.number("ceiling.fma_gflops")
    if slow.bound_by != "compute" or slow.isa == fast.isa or not less > MORE:
        return ""
    return f"{fast.isa} multiplies {less:.2f} x as fast as its {slow.isa}"


def _waits(slow: Cell, fast: Cell) -> str:
    mine, other = waiting(slow), waiting(fast)
    if not mine > other + WAITING:
        return ""
    return (
        f"its threads wait {100 * mine:.0f} % of the time, those of the other {100 * other:.0f} %"
    )


def _workspace(slow: Cell, fast: Cell) -> str:
    caches = slow.session.machine.get("caches") or []
    last = max((cache.get("bytes", 0) for cache in caches), default=0)
    mine, other = slow.number("workspace_bytes"), fast.number("workspace_bytes")
    if not (last and mine > last >= other):
        return ""
    return f"its workspace of {size(mine)} exceeds the last-level cache, {size(last)}"


def _disturbed(slow: Cell, fast: Cell) -> str:
    flags = [f for f in slow.flags if f in DISTURBANCES and f not in fast.flags]
    return f"it alone was disturbed: {', '.join(flags)}" if flags else ""


def causes(slow: Cell, fast: Cell) -> str:
    """What may make a variant slower than another of its case and threads; empty: unknown."""
    rules = (_instructions, _multiplies, _waits, _workspace, _disturbed)
    return "; ".join(text for rule in rules if (text := rule(slow, fast)))

"""Pairs of launches: runs both builds in ABBA order and collects what each launch measured."""

import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from attntools.base.cli import Exit, ToolError
from attntools.gate.gate_builds import Build
from attntools.gate.gate_launch import begin, launch_believably
from attntools.gate.selection import memory_words
from attntools.results.cells import MEASURED, WRONG_STATES, Cell, Identity, Results, ResultsError

# attnbench samples for a twentieth of a cell's share of --seconds in each launch.
SHARE = 20

BASE, NEW = 0, 1


@dataclass
class Plan:
    """What to run: cells by case, how long a launch samples, from which seed the order comes."""

    builds: tuple[Build, Build]
    folder: Path
    sample_s: float
    seed: int

    def begun(self, side: int) -> Path:
        """The session of one build that its launches go on with."""
        return self.folder / f"begun-{side}.jsonl"


def launch_time(cell: Cell) -> float:
    """Seconds per call of a row that holds one launch: the 5th percentile of its samples.

    What disturbs a launch only ever adds to its samples, so its fast end says more about the code
    (Chen and Revels 2016, arXiv:1608.04295).  Pairs of launches of one build of flash (S=128, 42 us
    a call, 64 samples of 1 ms) differed by 1.7 % at most in 95 of 100 by their low percentiles, by
    20 % by their medians (2 cores of a shared EPYC, 2026-11-21).
    """
    fast = cell.time.p05_s if cell.timed and cell.time else None
    return math.nan if fast is None else fast


@dataclass
class Samples:
    """Launches of one cell, by pair: [pair][side], as rows of the results files."""

    pairs: list[tuple[Cell, Cell]] = field(default_factory=list)

    def log_ratios(self) -> list[float]:
        """ln(new / base) of each pair."""
        return [math.log(launch_time(new) / launch_time(base)) for base, new in self.pairs]

    def same_side(self) -> list[float]:
        """Ln of launches of the same build, from the two pairs of each ABBA block.

        The comparison's own A/A: what the ratio does where nothing changed but the launch.
        """
        blocks = zip(self.pairs[::2], self.pairs[1::2], strict=False)
        return [
            math.log(launch_time(second[side]) / launch_time(first[side]))
            for first, second in blocks
            for side in (BASE, NEW)
        ]


@dataclass
class Failure:
    """A cell that computed something wrong in one of the builds."""

    identity: Identity
    side: int
    why: str


@dataclass
class Collected:
    """Everything that came out of the launches."""

    samples: dict[Identity, Samples]
    failures: list[Failure]


# ---- pilot ---------------------------------------------------------------------------------------


def pilot(plan: Plan, commands: Sequence[Sequence[str]]) -> tuple[Results, Results]:
    """Runs and checks every selected cell once on both sides, which shows which cells there are.

    Args:
        plan: the builds.
        commands: of each side; an empty one where the selection names nothing that it has.

    Raises:
        ToolError: with INCOMPARABLE if the base alone cannot run the selection.  What the new build
            cannot run either is no fault of the base: a misspelt problem, say.
    """
    found, refused = {}, {}
    for side, (build, command) in enumerate(zip(plan.builds, commands, strict=True)):
        if not command:
            found[side] = Results(build.label, [], {})
            continue
        try:
            arguments, output = [*command, "--seed", str(plan.seed)], plan.folder / "pilot.jsonl"
            found[side] = launch_believably(build, arguments, output)
            begin(output, plan.begun(side))
        except (ToolError, ResultsError) as wrong:
            refused[side] = str(wrong)
    if NEW in refused:
        who = "neither build can" if BASE in refused else "the new cannot"
        raise ToolError(f"{who} run this selection: {refused[NEW]}", Exit.USAGE)
    if BASE in refused:
        why = f"the base cannot run this selection: {refused[BASE]}"
        raise ToolError(why, Exit.INCOMPARABLE)
    return found[BASE], found[NEW]


# ---- pairs ---------------------------------------------------------------------------------------


def _case_key(identity: Identity) -> tuple[object, ...]:
    """What the cells of one launch have in common: all but kernel and threads."""
    measured = (getattr(identity, name) for name in MEASURED)
    return (identity.problem, identity.input, *measured)


def _arguments(cells: Sequence[Identity], sample_s: float, seed: int) -> list[str]:
    """The command line that launches these cells of one case once."""
    first = cells[0]
    variants = dict.fromkeys(i.variant for i in cells)
    threads = dict.fromkeys(str(i.threads) for i in cells)
    arguments = ["run", "--problem", f"{first.problem} input={first.input}"]
    arguments += ["--kernel", ",".join(variants), "--threads", ",".join(threads)]
    arguments += ["--placement", first.placement, "--launches", "1"]
    arguments += memory_words(first.memory, huge_pages=first.huge_pages)
    arguments += ["--seconds", f"{SHARE * sample_s * len(variants) * len(threads):g}"]
    return arguments + ["--seed", str(seed)] + (["--cold"] if first.cache == "cold" else [])


def _take(
    cells: Iterable[Identity], sides: tuple[Results, Results], out: Collected
) -> set[Identity]:
    """Adds one pair of launches of each cell; returns those that failed."""
    failed = set()
    for identity in cells:
        rows = [side.cells.get(identity) for side in sides]
        for side, row in enumerate(rows):
            if row is None or not row.timed:
                why = f"{row.state}: {row.why or 'no reason given'}" if row else "no row"
                out.failures.append(Failure(identity, side, why))
                failed.add(identity)
        base, new = rows
        if identity not in failed and base and new:
            out.samples[identity].pairs.append((base, new))
    return failed


def run_pairs(
    plan: Plan,
    cells: Iterable[Identity],
    pairs: int,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> Collected:
    """Runs `pairs` pairs of launches of every cell.

    Blocks of two pairs, base new new base, so that a machine that drifts evenly favours neither;
    the cases of a round in shuffled order; both launches of a pair from the same seed.
    """
    cases: dict[tuple[object, ...], list[Identity]] = defaultdict(list)
    for identity in cells:
        cases[_case_key(identity)].append(identity)
    out = Collected(defaultdict(Samples), [])
    order = random.Random(plan.seed)
    blocks = (pairs + 1) // 2
    for block in range(blocks):
        keys = [key for key in cases if cases[key]]
        order.shuffle(keys)
        for key in keys:
            for half in range(min(2, pairs - 2 * block)):
                live = cases[key]
                if not live:
                    break
                arguments = _arguments(live, plan.sample_s, plan.seed + 2 * block + half + 1)
                ran: dict[int, Results] = {}
                for side in (BASE, NEW) if half == 0 else (NEW, BASE):
                    build = plan.builds[side]
                    output = plan.folder / "launch.jsonl"
                    ran[side] = launch_believably(build, arguments, output, plan.begun(side))
                failed = _take(live, (ran[BASE], ran[NEW]), out)
                cases[key] = [i for i in live if i not in failed]
        progress(block + 1, blocks)
    return out


def wrong_in(results: Results) -> dict[Identity, str]:
    """Cells that computed something wrong, and why."""
    return {
        identity: f"{cell.state}: {cell.why or 'no reason given'}"
        for identity, cell in results.cells.items()
        if cell.state in WRONG_STATES
    }

"""Replays the gate on recorded launches: how often is it right, in the noise of that record?

    scripts/dev/gate-replay results/gate/launches.csv --slower 0 3 5 --gates 500

The record has the times of launches of one build, in the order in which they ran.  A gate takes
its launches from there, from a random place on, and everything else is the gate's own: blocks of
base new new base, more sessions until the answer is clear, the verdict, its confirmation.  The
launches taken for the new build are made slower by so many per cent.  No program is run: this is a
simulation with real noise, and says nothing about other machines than the recorded one.

Exit codes: 0 done, 4 usage, input or output.
"""

import argparse
import csv
import random
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from attntools.base.cli import Exit, ToolError, parser
from attntools.compare.comparison import THRESHOLD, Verdict
from attntools.gate.gate import PAIRS, SESSIONS
from attntools.gate.gate_pairs import Collected, Plan, Samples
from attntools.gate.gate_sessions import Patience, run_until_clear
from attntools.gate.gating import judge, too_noisy
from attntools.results.cells import Cell, Identity, Time

from dev.gate_trials import shares

TOOL = "gate-replay"
CELL = Identity.of({"kernel": "recorded", "isa": "-", "problem": "-", "threads": 1})


def recorded(path: Path) -> list[float]:
    """The times of a record: the column p05_s of a CSV file."""
    with path.open(newline="") as lines:
        rows = csv.DictReader(lines)
        if "p05_s" not in (rows.fieldnames or ()):
            raise ToolError(f"{path}:1: is no record of launches: there is no column p05_s")
        found = []
        for row in rows:
            try:
                found.append(float(row["p05_s"]))
            except (TypeError, ValueError):
                found.append(0.0)
            if not 0 < found[-1] < float("inf"):
                raise ToolError(f"{path}:{rows.line_num}: p05_s is no positive number")
    if len(found) < 4 * PAIRS:
        raise ToolError(f"{path}: {len(found)} launches; {4 * PAIRS} are the fewest to replay")
    return found


def from_place(times: Sequence[float], place: int) -> Iterator[float]:
    """The launches from a place on, round and round."""
    while True:
        yield times[place % len(times)]
        place += 1


def row(seconds: float) -> Cell:
    """A row that holds one launch."""
    time = Time(seconds, seconds, [seconds], p05_s=seconds)
    return Cell(**CELL._asdict(), state="ok", time=time)


def one_gate(launches: Iterator[float], slower: float) -> Exit:
    """What the gate answers if the new build takes `slower` (a fraction) longer."""

    def run(_plan: Plan, _cells: Sequence[Identity], pairs: int, _progress: object) -> Collected:
        samples = Samples()
        for pair in range(pairs):
            first, second = (next(launches), next(launches))
            base, new = (first, second) if pair % 2 == 0 else (second, first)
            samples.pairs.append((row(base), row(new * (1 + slower))))
        return Collected({CELL: samples}, [])

    def session() -> Collected:
        plan = Plan((), Path(), 0, 0)
        patience = Patience(SESSIONS, float("inf"))
        return run_until_clear(plan, [CELL], PAIRS, THRESHOLD, patience, lambda _: None, run)

    (judged,) = judge(session().samples, THRESHOLD)
    if judged.verdict is Verdict.SLOWER:
        (judged,) = judge(session().samples, THRESHOLD)
        if judged.verdict is Verdict.SLOWER:
            return Exit.REGRESSION
    return Exit.TOO_NOISY if too_noisy(judged, THRESHOLD) else Exit.OK


def replay(times: Sequence[float], slower: float, gates: int, seed: int) -> list[Exit]:
    """The answers of many gates."""
    places = random.Random(seed)
    starts = (places.randrange(len(times)) for _ in range(gates))
    return [one_gate(from_place(times, start), slower) for start in islice(starts, gates)]


def run(argv: Sequence[str] | None = None) -> int:
    """The tool."""
    p: argparse.ArgumentParser = parser(f"dev/{TOOL}", __doc__)
    p.add_argument("record", type=Path, metavar="FILE")
    p.add_argument("--slower", type=float, nargs="+", default=[0, 3, 5], metavar="P")
    p.add_argument("--gates", type=int, default=500, metavar="N")
    p.add_argument("--seed", type=int, default=1)
    options = p.parse_args(argv)
    times = recorded(options.record)
    for percent in options.slower:
        answers = replay(times, percent / 100, options.gates, options.seed)
        print(f"{percent:g} % slower: {shares(answers)}", flush=True)
    return Exit.OK

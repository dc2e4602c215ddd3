r"""Runs the gate again and again and records what it answered: how often is it right?

    scripts/dev/gate-trials --label a/a --trials 100 --output results/gate-trials.jsonl -- \
        --base build/release --new build/release --problem h=1,s=128,d=64 --kernel flash

What follows -- are the gate's own options; trial i runs with seed i.  Every trial is one line of
the output, written when it ends; started again, the script goes on after the label's last trial.
--most stops after so many trials in one go, --seconds begins no trial after so many seconds.  Ends
with the share of each exit code and its exact 95 % interval (Clopper and Pearson), and how noisy it
was: what launches of one build differed by.  Without --label it only prints that, for every label.

Exit codes: 0 done (or this go's trials are), 3 output, 4 usage or input.
"""

import argparse
import json
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import msgspec
from attntools.base.cli import Exit, ToolError, parser, scratch_folder
from attntools.base.files import naming
from attntools.gate import gate
from attntools.gate.gate_summary import Outcome
from attntools.results.cells import Row
from attntools.results.soundness import object_of, wrong_fields
from scipy.stats import binomtest

TOOL = "gate-trials"


class Trial(msgspec.Struct):
    """What is read of a recorded trial."""

    label: str
    code: int
    floors: list[float]
    seconds: float


def all_recorded(path: Path) -> dict[str, list[Row]]:
    """The trials that the file has, by label; a line that a kill cut short is an error."""
    found: dict[str, list[Row]] = defaultdict(list)
    if not path.exists():
        return found
    if not path.is_file():  # a device may never end
        raise ToolError(f"{path}: is no regular file")
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        row = object_of(line)
        wrong = row if isinstance(row, str) else wrong_fields(row, Trial)
        if wrong:
            raise ToolError(f"{path}:{number}: {wrong}; remove the line to go on")
        found[row["label"]].append(row)
    return found


def line_of(label: str, trial: int, options: Sequence[str], outcome: Outcome, took: float) -> str:
    """One trial as a line."""
    row = {
        "type": "gate-trial",
        "label": label,
        "trial": trial,
        "code": int(outcome.code),
        "suspects": len(outcome.again),
        "confirmed": len(outcome.confirmed),
        "cells": len(outcome.judged),
        "pairs": [j.pairs for j in outcome.judged],
        "medians": [round(j.median, 6) for j in outcome.judged],
        "floors": [round(j.floor, 6) for j in outcome.judged],
        "intervals": [[round(j.lo, 6), round(j.hi, 6)] for j in outcome.judged],
        "again": [
            [j.pairs, *(round(x, 6) for x in (j.median, j.lo, j.hi, j.floor))]
            for j in outcome.again
        ],
        "smallest": round(outcome.smallest(), 6),
        "seconds": round(took, 2),
        "fingerprint": outcome.machine.get("fingerprint"),
        "cpu": outcome.machine.get("cpu"),
        "cores": outcome.machine.get("cores"),
        "build": outcome.build,
        "options": list(options),
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    return json.dumps(row, separators=(",", ":")) + "\n"


def shares(codes: Sequence[int]) -> str:
    """How often each exit code came, of how many, with exact 95 % intervals."""
    parts = []
    for code, count in sorted(Counter(map(int, codes)).items()):
        share = binomtest(count, len(codes)).proportion_ci(0.95, "exact")
        parts.append(
            f"exit {code}: {count} of {len(codes)} "
            f"({100 * share.low:.1f} .. {100 * share.high:.1f} %)"
        )
    return "; ".join(parts)


def summary(label: str, rows: Sequence[Row]) -> str:
    """The answers, and the noise in which they were given."""
    if not rows:
        return f"{label}: no trials"
    floors = [100 * floor for row in rows for floor in row["floors"]]
    took = median(row["seconds"] for row in rows)
    return (
        f"{label}: {shares([row['code'] for row in rows])}; noise {median(floors):.2g} % (median), "
        f"{max(floors):.2g} % (worst); {took:.1f} s each"
    )


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parses the command line."""
    p = parser(f"dev/{TOOL}", __doc__)
    p.add_argument("--label")
    p.add_argument("--trials", type=int, default=100)
    p.add_argument("--most", type=int, default=10**6, metavar="N", help="trials in this go")
    p.add_argument("--seconds", type=float, default=1e9, metavar="T", help="of this go")
    p.add_argument("--output", type=Path, required=True, metavar="FILE")
    p.add_argument("gate", nargs="*", metavar="-- GATE OPTIONS")
    return p.parse_args(argv)


def run(argv: Sequence[str] | None = None) -> int:
    """The tool."""
    options = arguments(argv)
    if options.label is None:
        for label, rows in all_recorded(options.output).items():
            print(summary(label, rows))
        return Exit.OK
    rows = all_recorded(options.output).get(options.label, [])
    began = time.monotonic()
    for trial in range(len(rows) + 1, min(options.trials, len(rows) + options.most) + 1):
        if time.monotonic() - began >= options.seconds:
            break
        chosen = gate.arguments([*options.gate, "--equal", "--seed", str(trial)])
        start = time.monotonic()
        with scratch_folder("attnbench-gate-") as folder:
            outcome = gate.gate(chosen, folder)
        # Only the last part of absolute paths: the rest differs between machines.
        told = [Path(word).name if word.startswith("/") else word for word in options.gate]
        line = line_of(options.label, trial, told, outcome, time.monotonic() - start)
        with naming(options.output), options.output.open("a") as out:
            out.write(line)
        rows.append(json.loads(line))
    print(summary(options.label, rows))
    return Exit.OK

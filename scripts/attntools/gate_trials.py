r"""Runs the gate again and again and records what it answered: how often is it right?

    scripts/gate-trials --label a/a --trials 100 --output results/gate-trials.jsonl -- \
        --base build/release --new build/release --problem h=1,s=128,d=64 --kernel flash

What follows -- are the gate's own options; trial i runs with seed i.  Every trial is one line of
the output, written when it ends; started again, the script goes on after the label's last trial.
--most stops after so many trials in one go.  Ends with the share of each exit code and its exact
95 % interval (Clopper and Pearson).

Exit codes: 0 done (or this go's trials are), 4 usage, input or output.
"""

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from scipy.stats import binomtest

from attntools import gate
from attntools.cli import Exit, ToolError, guard, parser
from attntools.gate_summary import Outcome

TOOL = "gate-trials"


def recorded(path: Path, label: str) -> list[dict[str, object]]:
    """The trials of a label that the file has; a line that a kill cut short is an error."""
    if not path.exists():
        return []
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            row = json.loads(line)
        except ValueError:
            raise ToolError(f"{path}:{number}: is no JSON; remove the line to go on") from None
        if row.get("label") == label:
            found.append(row)
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
        "medians": [round(j.median, 6) for j in outcome.judged],
        "floors": [round(j.floor, 6) for j in outcome.judged],
        "intervals": [[round(j.lo, 6), round(j.hi, 6)] for j in outcome.judged],
        "again": [[round(x, 6) for x in (j.median, j.lo, j.hi, j.floor)] for j in outcome.again],
        "smallest": round(outcome.smallest(), 6),
        "seconds": round(took, 2),
        "fingerprint": outcome.machine.get("fingerprint"),
        "options": list(options),
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    return json.dumps(row, separators=(",", ":")) + "\n"


def summary(label: str, rows: Sequence[dict[str, object]]) -> str:
    """How often each exit code came, of how many."""
    parts = []
    for code, count in sorted(Counter(row["code"] for row in rows).items(), key=str):
        share = binomtest(count, len(rows)).proportion_ci(0.95, "exact")
        parts.append(
            f"exit {code}: {count} of {len(rows)} "
            f"({100 * share.low:.1f} .. {100 * share.high:.1f} %)"
        )
    return f"{label}: {'; '.join(parts) or 'no trials'}"


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parses the command line."""
    p = parser(TOOL, __doc__)
    p.add_argument("--label", required=True)
    p.add_argument("--trials", type=int, default=100)
    p.add_argument("--most", type=int, default=10**6, metavar="N", help="trials in this go")
    p.add_argument("--output", type=Path, required=True, metavar="FILE")
    p.add_argument("gate", nargs="*", metavar="-- GATE OPTIONS")
    return p.parse_args(argv)


def run(argv: Sequence[str] | None = None) -> int:
    """The tool."""
    options = arguments(argv)
    rows = recorded(options.output, options.label)
    for trial in range(len(rows) + 1, min(options.trials, len(rows) + options.most) + 1):
        chosen = gate.arguments([*options.gate, "--seed", str(trial)])
        start = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="attnbench-gate-") as folder:
            outcome = gate.gate(chosen, Path(folder))
        # Of absolute paths only the last part: where a machine keeps its builds is its own.
        told = [Path(word).name if word.startswith("/") else word for word in options.gate]
        line = line_of(options.label, trial, told, outcome, time.monotonic() - start)
        with options.output.open("a") as out:
            out.write(line)
        rows.append(json.loads(line))
    print(summary(options.label, rows))
    return Exit.OK


if __name__ == "__main__":
    guard(TOOL, run)

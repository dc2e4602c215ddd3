#!/usr/bin/env python3
"""How often are two equal kernels ranked differently, and a kernel slowed by 3 % detected?

    scripts/build --tests release --target attnbench_equals
    scripts/dev/studies/pairs.py build/release/tests/attnbench_equals OUTPUT --sessions 40

Runs sessions of attnbench_equals (tests/commands/equals.c: a kernel under two names, and once more
slowed by 3 %) and appends one line of results for each to OUTPUT: the launch medians by round,
from which everything else follows.  May be killed and started again: finished sessions are kept, an
unfinished one is resumed.  --budget limits the time, for machines that others use, too.
Ends with the figures of all sessions so far, as JSON.

Exit codes: 0 all sessions are there, 3 some are missing.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from attntools.base.ranks import LEVEL, median_ranks

KERNELS = EQUAL_A, EQUAL_B, SLOWER = "equal_a", "equal_b", "slower"

Row = dict[str, Any]
Medians = list["float | None"]  # by round

# ---- sessions ------------------------------------------------------------------------------------


def whole_lines(path: Path) -> list[Row]:
    """The lines of a results file; one that a kill cut short is cut off."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        os.truncate(path, len(whole.encode()))
    return [json.loads(line) for line in whole.splitlines()]


def condense(rows: list[Row], number: int) -> Row:
    """One session as one line: its launch medians by cell, kernel and round."""
    cells: dict[tuple[str, int], dict[str, dict[int, float]]] = defaultdict(
        lambda: {kernel: {} for kernel in KERNELS}
    )
    launches = [row for row in rows if row["type"] == "launch"]
    for row in launches:
        if not row.get("superseded") and not row.get("twin"):
            cells[row["case"], row["threads"]][row["kernel"]][row["round"]] = row["median_s"]
    rounds = {cell: 1 + max(map(max, filter(None, of.values()))) for cell, of in cells.items()}
    first, end = rows[0], rows[-1]
    flags = Counter(flag for row in rows if row["type"] == "cell" for flag in row["flags"])
    return {
        "type": "experiment",
        "name": "pairs",
        "params": {
            "session": number,
            "started": first["started"],
            "command": first["command"],
            "build": first["build"],
            "settings": first["settings"],
            "cpu": first["machine"]["cpu"],
            "fingerprint": first["machine"]["fingerprint"],
        },
        "values": {
            "wall_s": end["wall_s"],
            "overhead_s": end["overhead_s"],
            "launches": len(launches),
            "repeated": sum(bool(row.get("superseded")) for row in launches),
            "flags": dict(sorted(flags.items())),
            "detectable": [row["detectable"] for row in rows if row["type"] == "noise"],
            "cells": [
                {
                    "case": case,
                    "threads": threads,
                    **{k: [of[k].get(r) for r in range(rounds[case, threads])] for k in KERNELS},
                }
                for (case, threads), of in sorted(cells.items())
            ],
        },
    }


def run_session(options: argparse.Namespace, number: int) -> None:
    """One session, begun or gone on with, to its line in the output."""
    path = options.output.with_name(f"{options.output.name}.session-{number:03d}")
    command = [str(options.program.resolve()), "run"]
    if whole_lines(path):
        command += ["--resume", str(path)]
    else:
        command += ["--suite", options.suite, "--kernel", ",".join(KERNELS)]
        command += ["--threads", options.threads, "--seed", str(number)]
        command += ["--seconds", str(options.seconds), "--output", str(path)]
    command += ["--if-busy", options.if_busy]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    line = json.dumps(condense(whole_lines(path), number), separators=(",", ":"))
    with options.output.open("a", encoding="utf-8") as output:
        output.write(line + "\n")
        output.flush()
        os.fsync(output.fileno())
    path.unlink()


def run_missing(options: argparse.Namespace) -> None:
    """Sessions that the output lacks, as far as the time goes."""
    done = {line["params"]["session"] for line in whole_lines(options.output)}
    start, longest = time.monotonic(), 0.0
    for number in range(1, options.sessions + 1):
        began = time.monotonic()
        if number in done:
            continue
        if options.budget is not None and began - start + longest > options.budget:
            break
        print(f"session {number} of {options.sessions}", file=sys.stderr)
        run_session(options, number)
        longest = max(longest, time.monotonic() - began)


# ---- figures -------------------------------------------------------------------------------------


def compare(a: Medians, b: Medians) -> Row:
    """The ratio b / a, paired by round: median and interval, from logarithms."""
    logs = sorted(math.log(y / x) for x, y in zip(a, b, strict=True) if x and y)
    ranks = median_ranks(len(logs))
    return {
        "rounds": len(logs),
        "ratio": math.exp(statistics.median(logs)) if logs else None,
        "ci95": [math.exp(logs[rank]) for rank in ranks] if ranks else None,
    }


def binomial_tail(successes: int, n: int, p: float) -> float:
    """P(Binomial(n, p) >= successes)."""
    return sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(successes, n + 1))


def equal_figures(pairs: list[Row]) -> Row:
    """How often two names of one kernel were ranked differently."""
    judged = [pair for pair in pairs if pair["ci95"]]
    outside = sum(not pair["ci95"][0] <= 1 <= pair["ci95"][1] for pair in judged)
    n = len(judged)
    return {
        "n": n,
        "excluding_1": outside,
        "share": outside / n if n else None,
        "p_value_above_5_percent": binomial_tail(outside, n, 1 - LEVEL) if n else None,
        "ratio_median": statistics.median(pair["ratio"] for pair in judged) if n else None,
    }


def slower_figures(pairs: list[Row]) -> Row:
    """How often the slow one came out slower, and how often beyond doubt."""
    judged = [pair for pair in pairs if pair["ratio"]]
    n = len(judged)
    return {
        "n": n,
        "ranked_slower": sum(pair["ratio"] > 1 for pair in judged),
        "share": sum(pair["ratio"] > 1 for pair in judged) / n if n else None,
        "interval_above_1": sum(bool(pair["ci95"]) and pair["ci95"][0] > 1 for pair in judged),
        "ratio_median": statistics.median(pair["ratio"] for pair in judged) if n else None,
    }


def session_ratios(line: Row, other: str) -> list[float]:
    """The ratios of one session's cells to the same cells of EQUAL_A."""
    ratios = [compare(cell[EQUAL_A], cell[other])["ratio"] for cell in line["values"]["cells"]]
    return [ratio for ratio in ratios if ratio]


def summarise(lines: list[Row]) -> Row:
    """The figures of all sessions, together and by cell."""
    equal: dict[str, list[Row]] = defaultdict(list)
    slower: dict[str, list[Row]] = defaultdict(list)
    for line in lines:
        for cell in line["values"]["cells"]:
            name = f"{cell['case']} {cell['threads']} thr"
            equal[name].append(compare(cell[EQUAL_A], cell[EQUAL_B]))
            slower[name].append(compare(cell[EQUAL_A], cell[SLOWER]))
    values = [line["values"] for line in lines]
    detectable = sorted(x for of in values for x in of["detectable"] if x is not None)
    rounds = [pair["rounds"] for pairs in equal.values() for pair in pairs]
    launches = sum(of["launches"] for of in values)
    return {
        "sessions": len(lines),
        "rounds_median": statistics.median(rounds) if rounds else None,
        "detectable_median": statistics.median(detectable) if detectable else None,
        "detectable_p90": detectable[int(0.9 * (len(detectable) - 1))] if detectable else None,
        "repeated_share": sum(of["repeated"] for of in values) / launches if launches else None,
        "overhead_share": sum(of["overhead_s"] for of in values)
        / sum(of["wall_s"] for of in values)
        if values
        else None,
        "flags": dict(sum((Counter(of["flags"]) for of in values), Counter())),
        "equal": equal_figures([pair for pairs in equal.values() for pair in pairs]),
        "slower": slower_figures([pair for pairs in slower.values() for pair in pairs]),
        "sessions_ranking_slower": sum(
            statistics.median(session_ratios(line, SLOWER)) > 1 for line in lines
        ),
        "equal_by_cell": {name: equal_figures(pairs) for name, pairs in sorted(equal.items())},
        "slower_by_cell": {name: slower_figures(pairs) for name, pairs in sorted(slower.items())},
    }


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", type=Path, help="attnbench_equals")
    parser.add_argument("output", type=Path, help="results, one line a session; appended to")
    parser.add_argument("--sessions", type=int, default=40, help="0: only the figures")
    parser.add_argument("--budget", type=float, help="begin no session that ends after so many s")
    parser.add_argument("--suite", default="quick")
    parser.add_argument("--threads", default="1,all")
    parser.add_argument("--seconds", type=float, default=20, help="of a session")
    parser.add_argument("--if-busy", choices=["wait", "go-on"], default="wait")
    return parser.parse_args()


def main() -> int:
    """Runs what is missing, prints the figures."""
    options = arguments()
    run_missing(options)
    lines = whole_lines(options.output)
    print(json.dumps(summarise(lines), indent=1))
    return 0 if len(lines) >= options.sessions else 3


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Coverage of intervals, and false verdicts, when equal sessions run one after the other.

    for seed in $(seq 28); do
        attnbench run --problem h=2,s=256,d=64 --kernel flash,gemm,split_kv --isa avx2 \
            --threads 1,2 --seconds 8 --seed $seed --output equal-$seed.jsonl
    done
    cat equal-*.jsonl | grep -v '"type":"launch"' > FILE
    .venv/bin/python scripts/dev/studies/coverage.py FILE

Prints how many intervals of cells hold the median over the cell's launches in all sessions, and
of all ordered pairs of sessions how many cells `scripts/compare` calls slower and faster.  --write
puts the latter where `scripts/compare` quotes it from, scripts/attntools/compare/apart.json.
"""

import json
import sys
from collections import Counter, defaultdict
from itertools import permutations
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from attntools.base.cli import parser
from attntools.base.ranks import median_ranks
from attntools.compare.apart import FOUND
from attntools.compare.comparison import compare_files
from attntools.results.cells import Cell, Identity, Results
from attntools.results.results import of_lines

Row = dict[str, Any]


def sessions(path: Path) -> list[Results]:
    """The sessions of a file, each as if it had a file of its own."""
    found: list[list[str]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if json.loads(line)["type"] == "session":
            found.append([])
        found[-1].append(line)
    return [of_lines(str(path), lines) for lines in found]


def holds(interval: tuple[float, float], truth: float) -> bool:
    """Whether a value lies in an interval."""
    return interval[0] <= truth <= interval[1]


def independent(medians: list[float]) -> tuple[float, float]:
    """The interval that takes launches as independent."""
    ranks = median_ranks(len(medians))
    assert ranks, "too few launches"
    return sorted(medians)[ranks[0]], sorted(medians)[ranks[1]]


def coverage(found: list[Results]) -> Row:
    """How many intervals hold their cell's median over all sessions."""
    of: dict[Identity, list[Cell]] = defaultdict(list)
    for results in found:
        for cell in results.cells.values():
            if cell.timed:
                of[cell.identity].append(cell)
    stated = covered = plain = flagged = 0
    for cells in of.values():
        truth = median(x for cell in cells for x in cell.launch_medians_s)
        for cell in cells:
            if cell.interval_s is None:
                continue
            stated += 1
            covered += holds(cell.interval_s, truth)
            plain += holds(independent(list(cell.launch_medians_s)), truth)
            flagged += "correlated" in cell.flags
    return {"sessions": len(found), "intervals": stated, "hold_the_median": covered,
            "as_independent": plain, "flagged": flagged}  # fmt: skip


def verdicts(found: list[Results]) -> Row:
    """What compare says of all ordered pairs of sessions."""
    counts = Counter(
        comparison.verdict.value
        for base, new in permutations(found, 2)
        for comparison in compare_files(base, new)
    )
    return {"sessions": len(found), "compared": counts.total(), "slower": counts["SLOWER"],
            "faster": counts["FASTER"]}  # fmt: skip


def main() -> int:
    """Prints the figures."""
    p = parser("dev/studies/coverage.py", __doc__)
    p.add_argument("file", type=Path, help="results of equal sessions")
    p.add_argument("--write", action="store_true", help=f"the verdicts to {FOUND.name}")
    options = p.parse_args()
    found = sessions(options.file)
    told = verdicts(found)
    print(json.dumps({"coverage": coverage(found), "apart": told}, indent=1))
    if options.write:
        FOUND.write_text(json.dumps(told) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

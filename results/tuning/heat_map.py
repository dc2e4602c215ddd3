#!/usr/bin/env python3
"""Print a session of flash's block sizes as heat maps: keys down, queries across.

Usage: heat_map.py FILE.jsonl

Reads the kernels that a build with ATTNBENCH_TUNING has, flash_kKEYS_qQUERIES; prints for each
problem the percentage of the multiply-add ceiling, in Markdown.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

NAME = re.compile(r"flash_k(\d+)_q(\d+)$")


def maps(path: Path) -> dict[str, dict[tuple[int, int], dict]]:
    """Return the finished cells of a results file by problem, keys and queries."""
    found: dict[str, dict[tuple[int, int], dict]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["type"] != "cell" or row["state"] != "ok":
            continue
        if match := NAME.match(row["kernel"]):
            keys, queries = (int(group) for group in match.groups())
            found.setdefault(row["problem"], {})[keys, queries] = row
    return found


def text(row: dict) -> str:
    """Return a cell: percent of the ceiling, and half its interval."""
    time = row["time"]
    percent = 100 * row["fraction_of_fma"]
    if not time["ci95_s"]:
        return f"{percent:.1f}"
    low, high = time["ci95_s"]
    return f"{percent:.1f} ±{percent * (high - low) / 2 / time['median_s']:.1f}"


def heat_map(cells: dict[tuple[int, int], dict]) -> str:
    """Return one problem's table."""
    columns = sorted({queries for _, queries in cells})
    lines = ["| keys | " + " | ".join(f"{queries} queries" for queries in columns) + " |"]
    lines.append("|---" * (len(columns) + 1) + "|")
    for keys in sorted({keys for keys, _ in cells}):
        row = [text(cells[keys, q]) if (keys, q) in cells else "" for q in columns]
        lines.append(f"| {keys} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def main() -> None:
    """Print the tables."""
    for problem, cells in maps(Path(sys.argv[1])).items():
        print(f"`{problem}`\n\n{heat_map(cells)}\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What sessions of the suites reached, as Markdown: by target, against the rival, by case.

    .venv/bin/python scripts/dev/studies/suites.py FILE...

FILEs are results of `attnbench run --suite prefill,gqa,decode,short,tiny --threads 1,2
--kernel flash,split_kv,gemm`, or parts of them.  A share is that of a ceiling measured in the same
processes: multiply-adds, or for `decode` the lower of multiply-adds and reading K and V where they
lie.  [] is the 95 % interval of the median over launches, ? means too few launches for one.
"""

import math
import statistics
import sys
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from attntools.base.cli import parser
from attntools.results.cells import Cell, Results
from attntools.results.results import read_all

OURS, RIVAL = ("flash", "split_kv"), "gemm"
THREADS = 1, 2

# Name; target in percent by D, on 1 thread and on all; what names of its cases contain, and lack.
CACHED, SHORT = ["-s1024-", "-s4096-"], ["-s512-", "-s1024-", "-s2048-"]
TARGETS: list[tuple[str, dict[int, tuple[float, float]], list[str], list[str]]] = [
    ("bf16 prefill", {64: (87, 86), 128: (90, 89)}, ["prefill-bf16"], ["causal", "-s512-"]),
    ("bf16 causal", {64: (84, 84), 128: (88, 88)}, ["prefill-bf16", "causal"], ["-s512-"]),
    ("f32 prefill", {64: (94, 94), 128: (95.5, 95.5)}, ["prefill-f32"], ["causal", "-s512-"]),
    ("f32 causal, S=1024", {64: (91, 91)}, ["prefill-f32-s1024", "causal"], []),
    ("f32 causal from S=4096 on", {64: (93.5, 93.5)}, ["prefill-f32", "causal"], SHORT),
    ("f32 short, B32 H12 S128", {64: (90, 89)}, ["short-f32-b32-h12-s128"], ["causal"]),
    ("f32 tiny, S=64", {64: (86, 75)}, ["tiny-f32-s64"], []),
    *(
        (
            f"{dtype} decode from memory, group {group}",
            {64: target, 128: target},
            [f"decode-{dtype}", f"-g{group}-"],
            CACHED,
        )
        for dtype, targets in (
            ("f32", {1: (95, 97), 4: (93, 96), 8: (88, 93)}),
            ("bf16", {1: (92, 95), 4: (90, 94), 8: (80, 90)}),
        )
        for group, target in targets.items()
    ),
    *(
        (
            f"{dtype} decode in caches, groups 4 and 8",
            {64: (75, 75), 128: (75, 75)},
            [f"decode-{dtype}"],
            ["-g1-", "-s16384-", "-s65536-"],
        )
        for dtype in ("f32", "bf16")
    ),
]


# Kind of case; target, in times as fast as the rival; what names of its cases contain, and lack.
RATIOS: list[tuple[str, float, list[str], list[str]]] = [
    ("dense prefill", 1.25, ["prefill"], ["causal"]),
    ("causal prefill", 1.3, ["prefill", "causal"], []),
    ("gqa", 1, ["gqa"], []),
    ("short", 1.5, ["short"], []),
    ("decode", 1.5, ["decode"], []),
    ("tiny", 1, ["tiny"], []),
]


def share(cell: Cell) -> float:
    """Percent of the ceiling by which the case is judged; NaN where it was not measured."""
    fraction = cell.number("fraction_of_fma")
    if cell.case.startswith("decode"):  # files of before have no bandwidth in place
        in_place = cell.number("fraction_of_bandwidth_in_place")
        read = cell.number("fraction_of_bandwidth") if math.isnan(in_place) else in_place
        fraction = math.nan if math.isnan(read) else max(fraction, read)
    return 100 * fraction


def share_text(cell: Cell | None) -> str:
    """Percent and its interval; "-" where the cell was not measured."""
    if cell is None:
        return "-"
    percent = share(cell)
    interval = cell.interval_of(percent)
    return f"{percent:.0f} [{interval[0]:.0f} {interval[1]:.0f}]" if interval else f"{percent:.0f}?"


class Session:
    """The measured cells of results files: the variants of one name by their fastest."""

    def __init__(self, files: Sequence[Results]) -> None:
        """Take the cells that were measured."""
        cells = [cell for results in files for cell in results.timed]
        self.cases = list(dict.fromkeys(cell.case for cell in cells))
        self.fastest: dict[tuple[str, str, int], Cell] = {}
        for cell in sorted(cells, key=attrgetter("median_s")):
            self.fastest.setdefault((cell.case, cell.kernel, cell.threads), cell)

    def best(self, case: str, threads: int) -> Cell | None:
        """Return the faster of our kernels."""
        cells = [self.fastest.get((case, kernel, threads)) for kernel in OURS]
        return min(filter(None, cells), key=attrgetter("median_s"), default=None)

    def times_rival(self, case: str, threads: int) -> float | None:
        """How many times as fast as gemm ours is; None where one of them is missing."""
        ours, rival = self.best(case, threads), self.fastest.get((case, RIVAL, threads))
        return rival.median_s / ours.median_s if ours and rival else None


def spread(values: list[float], digits: int) -> str:
    """Return the least, the median and the largest, or the one there is."""
    one = len(values) == 1
    of = values if one else (min(values), statistics.median(values), max(values))
    return ", ".join(f"{value:.{digits}f}" for value in of)


def named(session: Session, has: list[str], lacks: list[str]) -> list[str]:
    """Return the cases whose names hold all of `has` and none of `lacks`."""
    return [
        case
        for case in session.cases
        if all(part in case for part in has) and not any(part in case for part in lacks)
    ]


def target_text(session: Session, cases: list[str], targets: tuple[float, float] | None) -> str:
    """Of the shares on each thread count the spread, and how many reach the target, if any."""
    texts = []
    for threads, target in zip(THREADS, targets or (0, 0), strict=True):
        cells = [session.best(case, threads) for case in cases]
        shares = [share(cell) for cell in cells if cell]
        if not shares or not target:
            continue
        reached = sum(percent >= target for percent in shares)
        texts.append(f"{spread(shares, 1)} ({target:g}: {reached} of {len(shares)})")
    return "; ".join(texts)


def print_targets(session: Session) -> None:
    """One line for each target: what its cases reached."""
    print("| figure | D=64: 1 thread; 2 threads | D=128: 1 thread; 2 threads |\n|---|---|---|")
    for name, targets, has, lacks in TARGETS:
        texts = [
            target_text(session, named(session, [*has, f"-d{dim}"], lacks), targets.get(dim))
            for dim in (64, 128)
        ]
        print(f"| {name} | {' | '.join(texts)} |")


def print_rival(session: Session) -> None:
    """One line for each kind of case: how many times as fast as gemm, on either thread count."""
    print(f"| kind | times as fast as {RIVAL} |\n|---|---|")
    for name, target, has, lacks in RATIOS:
        cases = [(case, threads) for case in named(session, has, lacks) for threads in THREADS]
        ratios = [ratio for pair in cases if (ratio := session.times_rival(*pair)) is not None]
        if not ratios:
            continue
        reached = sum(ratio >= target for ratio in ratios)
        print(f"| {name} | {spread(ratios, 2)} ({target:g}: {reached} of {len(ratios)}) |")


def print_cases(session: Session) -> None:
    """One line for each case."""
    print("| case | kernel | 1 thread, % | 2 threads, % | x gemm |\n|---|---|---|---|---|")
    for case in session.cases:
        cells = [session.best(case, threads) for threads in THREADS]
        kernels = dict.fromkeys(cell.kernel for cell in cells if cell)
        ratios = [session.times_rival(case, threads) for threads in THREADS]
        texts = [share_text(cell) for cell in cells]
        times = " / ".join("-" if ratio is None else f"{ratio:.2f}" for ratio in ratios)
        print(f"| `{case}` | {', '.join(kernels)} | {texts[0]} | {texts[1]} | {times} |")


def main() -> None:
    """Print the three tables of the files named on the command line."""
    p = parser("dev/studies/suites.py", __doc__)
    p.add_argument("files", type=Path, nargs="+", metavar="FILE")
    session = Session(read_all(p.parse_args().files))
    print_targets(session)
    print()
    print_rival(session)
    print()
    print_cases(session)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""nn.Linear against a bare parameter matrix in PyTorch, call for call, on one thread.

    PYTHON scripts/dev/studies/linear_torch.py --output results/experiments/linear-torch.csv
    PYTHON scripts/dev/studies/linear_torch.py --read results/experiments/linear-torch.csv

PYTHON is one that has PyTorch, such as that of scripts/rivals/setup torch.  Times y = x @ w (a
Parameter of torch.rand), y = linear(x) (nn.Linear without a bias) and y = F.linear(x, w), which
the latter calls, each as a notebook writes it, gradients recorded; and the construction of either.
A launch is a process of its own, which times them in turns and keeps their medians.  Prints
the speed-up of Linear, with the 95 % interval of the median over launches.
"""

import argparse
import csv
import platform
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

WIDTHS = (3, 16, 128, 1024, 4096)
TOKENS = (1, 16, 256)
LAUNCHES = 6  # the least and greatest ratio of six enclose the median with a probability of 0.97
SAMPLES, SAMPLE_S = 7, 1e-3
WHAT = ("parameter", "linear", "functional")

Row = dict[str, str]


def medians(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Seconds of each call, all in turns; a turn is as many calls as last SAMPLE_S."""

    def taken(call: Callable[[], object], count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            call()
        return time.perf_counter() - start

    counts = {}
    for name, call in calls.items():
        counts[name] = 1
        while taken(call, counts[name]) < SAMPLE_S:
            counts[name] *= 2
    samples = defaultdict(list)
    for _ in range(SAMPLES):
        for name, call in calls.items():
            samples[name].append(taken(call, counts[name]) / counts[name])
    return {name: statistics.median(x) for name, x in samples.items()}


def launch(number: int) -> Iterable[Row]:
    """The rows of this process."""
    import torch
    from torch.nn import Linear, Parameter
    from torch.nn.functional import linear as functional

    torch.set_num_threads(1)
    torch.manual_seed(number)
    for d in WIDTHS:
        module, w = Linear(d, d, bias=False), Parameter(torch.rand(d, d))
        made = {
            "parameter": lambda d=d: Parameter(torch.rand(d, d)),
            "linear": lambda d=d: Linear(d, d, bias=False),
        }
        for tokens in TOKENS:
            x = torch.rand(tokens, d)
            calls = {
                "parameter": lambda x=x, w=w: x @ w,
                "linear": lambda x=x, module=module: module(x),
                "functional": lambda x=x, w=module.weight: functional(x, w),
            }
            yield row(number, "call", d, tokens, medians(calls))
        yield row(number, "make", d, 0, medians(made))


def row(number: int, what: str, d: int, tokens: int, seconds: dict[str, float]) -> Row:
    """A line of the file."""
    found = {f"{name}_s": f"{seconds[name]:.4g}" if name in seconds else "" for name in WHAT}
    return {"launch": str(number), "what": what, "d": str(d), "tokens": str(tokens), **found}


def measure(output: Path) -> None:
    """Writes the file: how it came about as comments, then the rows of all launches."""
    try:
        import torch
    except ImportError as wrong:
        raise SystemExit(f"linear_torch: {wrong}; scripts/rivals/setup torch has it") from wrong

    cpu = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
         if line.startswith("model name")),
        platform.machine(),
    )  # fmt: skip
    lines = [
        f"# {cpu}, one thread; Python {platform.python_version()}, PyTorch {torch.__version__}; "
        f"{time.strftime('%Y-%m-%d', time.gmtime())}",
        "# scripts/dev/studies/linear_torch.py --output linear-torch.csv",
    ]
    for number in range(1, LAUNCHES + 1):
        done = subprocess.run([sys.executable, __file__, "--launch", str(number)],
                              check=True, stdout=subprocess.PIPE, text=True)  # fmt: skip
        lines += done.stdout.splitlines()[0 if number == 1 else 1 :]
    output.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read(path: Path) -> list[Row]:
    """The rows of a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as wrong:
        raise SystemExit(f"{path}: {getattr(wrong, 'strerror', None) or wrong}") from wrong
    lines = [x for x in text.splitlines() if not x.startswith("#")]
    rows = list(csv.DictReader(lines))
    if not rows or {"launch", "what", "d", "tokens", *(f"{w}_s" for w in WHAT)} - set(rows[0]):
        raise SystemExit(f"{path}: is not what --output writes")
    return rows


def ratios(rows: Iterable[Row], over: str) -> dict[tuple[str, int, int], list[float]]:
    """How many times as fast as the bare matrix, launch by launch, by what, d and tokens."""
    found = defaultdict(list)
    for r in rows:
        if r[f"{over}_s"]:
            key = (r["what"], int(r["d"]), int(r["tokens"]))
            found[key].append(float(r["parameter_s"]) / float(r[f"{over}_s"]))
    return dict(found)


def table(rows: list[Row]) -> str:
    """The table as Markdown."""
    modules, functions = ratios(rows, "linear"), ratios(rows, "functional")
    lines = [
        "| | d | tokens | x @ w, us | Linear, us | Linear as fast | F.linear as fast |",
        "|---|---|---|---|---|---|---|",
    ]
    for (what, d, tokens), found in modules.items():
        mine = [r for r in rows if (r["what"], int(r["d"]), int(r["tokens"])) == (what, d, tokens)]
        us = [1e6 * statistics.median(float(r[f"{w}_s"]) for r in mine) for w in WHAT[:2]]
        lines.append(
            f"| {what} | {d} | {tokens or ''} | {us[0]:.3g} | {us[1]:.3g} | {interval(found)} | "
            f"{interval(functions.get((what, d, tokens), []))} |"
        )
    return "\n".join(lines)


def interval(found: list[float]) -> str:
    """Median, least and greatest."""
    if not found:
        return ""
    return f"{statistics.median(found):.2f} [{min(found):.2f}, {max(found):.2f}]"


def main() -> None:
    """Measures, or reads what was measured, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, metavar="CSV")
    parser.add_argument("--read", type=Path, metavar="CSV")
    parser.add_argument("--launch", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.launch:
        writer = csv.DictWriter(sys.stdout, ["launch", "what", "d", "tokens",
                                             *(f"{w}_s" for w in WHAT)])  # fmt: skip
        writer.writeheader()
        writer.writerows(launch(options.launch))
        return
    if bool(options.output) == bool(options.read):
        parser.error("takes --output or --read")
    if options.output:
        measure(options.output)
    print(table(read(options.output or options.read)))


if __name__ == "__main__":
    main()

"""Counts the instructions of kernels: a second opinion where time is too noisy to tell.

    scripts/icount build/release --problem h=2,s=256,d=64 --kernel flash,gemm
    scripts/icount build/release --suite quick --kernel ours --format csv

PROGRAM is a program, a build folder or a commit (built in a git worktree).  Every selected cell is
checked by `attnbench check`, then launched once under valgrind's callgrind, which counts the
instructions of one call of the kernel.  The call uses one thread, because instructions of threads
that wait are no work.  The count is exact: the same build gives the same count again, on any
machine whose libraries choose the same code.  It is not a time: it ignores caches and how many
instructions run at once.

valgrind does not support AVX-512.  Without --isa the avx2 variants are counted (baseline where
there are none); other instruction sets are refused, and so are problems with operands beside Q, K
and V (masks in memory, lengths, pages, int8).  `scripts/gate --metric instructions` compares
builds.

Exit codes: 0 counted, 2 a kernel computes something wrong, 3 output, 4 usage, input, no valgrind.
"""

import argparse
import json
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from attntools.base import tables
from attntools.base.cli import Exit, ToolError, parser, say, scratch_folder
from attntools.base.files import refuse_unwritable, write_text
from attntools.gate import selection
from attntools.gate.callgrind import ISAS, Count, count, require_valgrind
from attntools.gate.gate_builds import build, resolve
from attntools.gate.gate_launch import launch
from attntools.gate.gate_pairs import wrong_in
from attntools.results.cells import Cell

TOOL = "icount"
FORMATS = ("text", "markdown", "csv")
HEAD = ("problem", "kernel/isa", "instructions", "most of them in")
NUMERIC = (False, False, True, False)
CSV_HEAD = ("problem", "kernel", "isa", "instructions", "function", "in_function")


def countable_isa(program: Path) -> str:
    """The best instruction set that this program, this host and valgrind have."""
    try:
        listed = subprocess.run(
            [str(program), "list", "--json"], capture_output=True, check=True, text=True
        )
        kernels = json.loads(listed.stdout)["kernels"]
    except (OSError, ValueError, KeyError, subprocess.CalledProcessError) as wrong:
        raise ToolError(f"{program}: is no attnbench: `list --json` failed ({wrong})") from None
    there = {k["isa"] for k in kernels if k["available"]}
    return next((isa for isa in ISAS if isa in there), ISAS[-1])


def defaults(options: argparse.Namespace, program: Path) -> dict[str, str]:
    """What is counted where the options leave it open; refuses what cannot be counted.

    Raises:
        ToolError: valgrind is missing, or an instruction set or thread count is beyond it.
    """
    require_valgrind()
    if options.threads not in (None, "1"):
        raise ToolError("instructions are counted with one thread; leave --threads out")
    wanted = options.isa.split(",") if options.isa else []
    beyond = [isa for isa in wanted if isa not in ISAS]
    if beyond:
        raise ToolError(
            f"--isa {','.join(beyond)}: valgrind does not know these instructions; "
            f"it can count {' and '.join(ISAS)}"
        )
    return {"isa": countable_isa(program), "threads": "1"}


def largest(found: Count) -> tuple[str, int]:
    """The function with most instructions."""
    return max(found.functions.items(), key=lambda item: item[1])


def _row(cell: Cell, found: Count) -> tuple[str, ...]:
    name, inside = largest(found)
    return (
        cell.problem,
        cell.identity.label,
        f"{found.instructions:,}",
        f"{name} {100 * inside / found.instructions:.0f} %",
    )


def _csv_row(cell: Cell, found: Count) -> tuple[object, ...]:
    return (cell.problem, cell.kernel, cell.isa, found.instructions, *largest(found))


def render(counted: Iterable[tuple[Cell, Count]], form: str) -> str:
    """The table."""
    if form == "csv":
        return tables.comma_separated(CSV_HEAD, [_csv_row(*pair) for pair in counted])
    rows = [_row(*pair) for pair in counted]
    if form == "markdown":
        return tables.markdown(HEAD, rows, NUMERIC)
    return tables.text(HEAD, rows, NUMERIC, colours=False)


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parses the command line."""
    p = parser(TOOL, __doc__)
    p.add_argument("program", metavar="PROGRAM", help="a program, a build folder or a commit")
    selection.add_to(p)
    p.add_argument("--format", choices=FORMATS, default="text")
    p.add_argument("--output", default="-", metavar="FILE", help="- for standard output")
    return p.parse_args(argv)


def run(argv: Sequence[str] | None = None) -> int:
    """The tool."""
    options = arguments(argv)
    refuse_unwritable(options.output)
    with scratch_folder("attnbench-icount-") as folder:
        chosen = resolve("program", options.program, folder)
        built = replace(build("program", chosen, folder), plugins=tuple(options.plugin))
        words = ["check", *selection.words(options, **defaults(options, built.program))]
        results = launch(built, words, folder / "checked.jsonl")
        counted = []
        for number, cell in enumerate(results.right, 1):
            what = f"{cell.problem} {cell.identity.label}"
            say(TOOL, f"{number} of {len(results.right)}: {what}")
            counted.append((cell, count(built, cell.identity, folder)))
    write_text(options.output, render(counted, options.format))
    for identity, why in wrong_in(results).items():
        say(TOOL, f"{identity.label} on {identity.problem}: {why}")
    if wrong_in(results):
        return Exit.WRONG_RESULT
    if not counted:
        raise ToolError("no cell of this selection can be counted")
    return Exit.OK

"""Breaks kernels and statistics in one place at a time and asks who notices it.

    scripts/dev/mutate --output mutants.jsonl --seconds 170     repeat it until it says: done
    scripts/dev/mutate --report mutants.jsonl --excused results/trust/mutants-excused.jsonl
    scripts/dev/mutate --list                                   the sample, nothing tried

The mutants are found in clang's syntax tree, by libclang; mutants_find.py says
which kinds there are.  Existing tools do not fit: Mull changes LLVM's code, where one edit of a
header that is compiled for each instruction set, inlined and unrolled, becomes hundreds;
universalmutator and others change lines of text.  The sample is drawn by --seed, each file in
proportion; the first mutants of it are a fair sample, too.

The file of --output is the journal: a line for each mutant that is done, and lines that say how
far others were when time ran out.  The same command continues where it stopped, also after Ctrl-C.
The files of --commit are mutated, in a worktree below $XDG_CACHE_HOME/attnbench/mutants.

A mutant is killed by `build`, by `check`, or by `ctest`.  `check` is the suite conformance on all
cores: for each kernel the strongest variant whose code changes, and for one kernel also those for
bf16 and for no instruction set; four cases come first, on one core.  ctest is the tests of these
kernels, or of the statistics.  Mutants are compiled at -O1; one with the machine code of the
unbroken source in a release build does not count.

The first pass takes one step with each mutant, which kills most; the second runs the rest of the
suite on the others, the third the tests on those that are left.

--part 1/2 and 2/2 divide the sample between two cores, each with an --output and an XDG_CACHE_HOME
of its own; to join the journals, leave out the first line of the second.
--excused names mutants that compute the same, one line of JSON each: `id` and `reason`; a trial
takes them last.

Exit codes: 0 done, 1 the time of --seconds is over, 4 usage, input or output.
"""

import argparse
import hashlib
import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from attntools.base.cli import Exit, ToolError, parser, say
from attntools.base.files import write_text
from attntools.gate.bisect import commit_of
from dev.mutants import mutants_find, mutants_sample
from dev.mutants.mutants_find import Mutant
from dev.mutants.mutants_grounds import BUILD, CHECK, CTEST, SAME, SURVIVED, Grounds
from dev.mutants.mutants_try import REBUILD, Attempt, Passed
from dev.mutants.mutants_units import STATISTICS

TOOL = "mutants"

# What is mutated, and the kernels that show it.
FILES = ("kernels/flash/*", "kernels/split_kv/*", "kernels/shared/*", "kernels/attention.h",
         "kernels/dispatch.c", *(f"harness/{name}.c" for name in STATISTICS))  # fmt: skip
KERNELS = ("flash", "split_kv", "online", "tiled", "dispatch",
           *(name.partition("/")[2] for name in STATISTICS))  # fmt: skip

Row = dict[str, Any]


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parses the command line."""
    p = parser("dev/mutate", __doc__)
    p.add_argument("--count", type=int, default=320, help="size of the sample (default: 320)")
    p.add_argument("--seed", type=int, default=1, help="which sample (default: 1)")
    p.add_argument("--commit", default="HEAD", metavar="REF", help="whose files (default: HEAD)")
    p.add_argument("--files", default=",".join(FILES), help="patterns, comma separated")
    p.add_argument("--output", type=Path, help="the journal")
    p.add_argument("--seconds", type=float, default=1e9, help="stop after these; go on next time")
    p.add_argument("--first", type=int, help="stop after so many of the sample")
    p.add_argument("--part", default="1/1", metavar="K/N", help="every Nth of it, from the Kth")
    p.add_argument("--list", action="store_true", help="print the sample, try nothing")
    p.add_argument("--report", type=Path, help="count the fates of a journal")
    p.add_argument("--excused", type=Path, help="mutants that compute the same, with reasons")
    options = p.parse_args(argv)
    part = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", options.part)
    if not part or int(part[1]) > int(part[2]):
        p.error(f"--part {options.part}: not K/N with K from 1 to N")
    options.part = slice(int(part[1]) - 1, options.first, int(part[2]))
    if bool(options.output) + bool(options.report) + options.list != 1:
        p.error("one of --output, --report and --list is needed")
    return options


def lines(path: Path) -> list[Row]:
    """The lines of a file of JSON lines; a last one that was cut off is dropped."""
    text = path.read_text()
    try:
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
    except ValueError:
        raise ToolError(f"{path}: not a journal of mutants") from None


class Journal:
    """The file that says which mutants are done, and how far the one under way is."""

    def __init__(self, path: Path, head: Row) -> None:
        """Goes on with a file of the same sample; begins one where none is."""
        self.path = path
        self.done: dict[str, Row] = {}
        self.passed: dict[str, Passed] = {}
        if not path.exists():
            self.write(head)
        rows = lines(path)
        cut_off = path.read_bytes().rpartition(b"\n")[2]
        if cut_off:
            os.truncate(path, path.stat().st_size - len(cut_off))
        if not rows or rows[0] != head:
            raise ToolError(f"{path} is a journal of another sample: choose another --output")
        for row in rows[1:]:
            if "fate" in row:
                self.done[row["id"]] = row
            else:
                self.passed[row["id"]] = Passed(row["passed"], row["same"])
        self.seconds = Counter({r["id"]: r["seconds"] for r in rows[1:] if "fate" not in r})

    def write(self, row: Row) -> None:
        """Adds a line."""
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")


def sample(options: argparse.Namespace, grounds: Grounds, commit: str) -> tuple[list[Mutant], int]:
    """The sample, and how many there are to choose from; kept, since finding them takes a while."""
    drawn = [commit, options.count, options.seed, options.files, KERNELS]
    drawn += [Path(module.__file__ or "").read_text() for module in (mutants_find, mutants_sample)]
    name = hashlib.sha256(repr(drawn).encode()).hexdigest()[:16]
    kept = grounds.place / f"sample-{name}.json"
    if kept.exists():
        count, *rows = json.loads(kept.read_text())
        return [Mutant(**(row | {"units": tuple(row["units"])})) for row in rows], count
    files = {str(path.relative_to(grounds.tree))
             for each in options.files.split(",") for path in grounds.tree.glob(each)}  # fmt: skip
    units = [unit for unit in grounds.units.values() if unit.kernel in KERNELS]
    found = mutants_find.find(units, grounds.tree, files)
    if not found:
        raise ToolError(f"no mutants in {options.files}")
    mutants = mutants_sample.chosen(found, options.count, options.seed)
    write_text(str(kept), json.dumps([len(found), *map(asdict, mutants)]))
    return mutants, len(found)


def one(
    grounds: Grounds, mutant: Mutant, journal: Journal, late: Callable[[], bool], before: str = ""
) -> bool:
    """Tries a mutant and writes down its fate; False where it has none yet."""
    passed = journal.passed.setdefault(mutant.id, Passed())
    start, fate, behind = time.monotonic(), None, len(passed.steps)
    try:
        fate = Attempt(grounds, mutant, passed).go_on(late, before)
    finally:  # after Ctrl-C, too: the steps behind it are not lost
        seconds = round(journal.seconds[mutant.id] + time.monotonic() - start, 1)
        journal.seconds[mutant.id] = seconds
        if not fate and len(passed.steps) > behind:
            journal.write({"id": mutant.id, "passed": passed.steps, "same": passed.same,
                           "seconds": seconds})  # fmt: skip
    if not fate:
        return False
    row = {"id": mutant.id} | asdict(mutant)
    del row["offset"], row["units"]
    journal.done[mutant.id] = row | {"fate": fate.fate, "by": fate.by, "seconds": seconds}
    journal.write(journal.done[mutant.id])
    say(TOOL, f"{mutant.id}: {fate.fate} {fate.by}")
    return True


def tried(
    grounds: Grounds,
    mutants: Iterable[Mutant],
    journal: Journal,
    until: float,
    last: Container[str] = (),
) -> bool:
    """Tries those that are not done, those in `last` after the others; False if some are left.

    Those whose code this machine cannot run are left.

    A first pass takes one step with each, which ends most; a second one asks the others the rest of
    the suite, a third one the tests.
    """

    def late() -> bool:
        return time.monotonic() >= until

    undone = [mutant for mutant in mutants if mutant.id not in journal.done]
    left = [mutant for mutant in undone if grounds.runnable(mutant.units)]
    left.sort(key=lambda mutant: mutant.id in last)
    for mutant in left:
        if mutant.id in journal.passed:
            continue
        if late():
            return False
        one(grounds, mutant, journal, lambda: True)
    for before in (REBUILD, ""):
        for mutant in left:
            if late():
                return False
            if mutant.id not in journal.done:
                one(grounds, mutant, journal, late, before)
    return all(mutant.id in journal.done for mutant in undone)


def excuses(path: Path | None) -> dict[str, str]:
    """Why mutants compute the same, by their names."""
    return {row["id"]: row["reason"] for row in lines(path)} if path else {}


def share(part: int, whole: int) -> str:
    """A percentage of counts."""
    return f"{part} of {whole} ({100 * part / whole:.1f} %)" if whole else "none"


def report(rows: Sequence[Row], excused: dict[str, str]) -> str:
    """Fates counted, and the survivors."""
    ended = {row["id"]: row for row in rows if "fate" in row}
    under_way = {row["id"] for row in rows[1:]} - set(ended)
    fates = Counter(row["fate"] for row in ended.values())
    none = {i for i, row in ended.items()
            if row["fate"] == SAME or (row["fate"] == SURVIVED and i in excused)}  # fmt: skip
    count = len(ended) - len(none) + len(under_way)
    dead = fates[BUILD] + fates[CHECK] + fates[CTEST]
    ran = count - fates[BUILD]
    said = [
        f"mutants            {len(ended)}",
        f"same machine code  {fates[SAME]}",
        f"compute the same   {len(none) - fates[SAME]}, by the reasons given",
        f"die                {share(dead, count)}",
        f"  by build         {fates[BUILD]}",
        f"  by check         {fates[CHECK]}, {share(fates[CHECK], ran)} of those that compile",
        f"  by ctest alone   {fates[CTEST]}",
        f"survive            {count - dead - len(under_way)}",
        f"not done yet       {len(under_way)}, which passed some steps and count as alive",
    ]
    wrong = {CTEST: "passed check, died by", SURVIVED: "survived"}
    for i, row in ended.items():
        if row["fate"] in wrong and i not in none:
            change = f"`{row['before']}` became `{row['after']}`"
            said.append(f"{wrong[row['fate']]} {row['by']}: {i.rsplit(':', 2)[0]} {change}")
    return "\n".join(said)


def run(argv: Sequence[str] | None = None) -> int:
    """The tool."""
    options = arguments(argv)
    if options.report:
        print(report(lines(options.report), excuses(options.excused)))
        return Exit.OK
    commit = commit_of(options.commit, Exit.USAGE)
    grounds = Grounds(commit)
    mutants, candidates = sample(options, grounds, commit)
    if options.list:
        print("\n".join(f"{m.id}  {m.function}: {m.before}" for m in mutants))
        return Exit.OK
    head = {"type": "mutants", "commit": commit, "candidates": candidates, "sample": len(mutants),
            "count": options.count, "seed": options.seed, "files": options.files}  # fmt: skip
    journal = Journal(options.output, head)
    until = time.monotonic() + options.seconds
    part = mutants[options.part]
    whole = tried(grounds, part, journal, until, excuses(options.excused))
    elsewhere = sum(not grounds.runnable(m.units) for m in part if m.id not in journal.done)
    if elsewhere:
        say(TOOL, f"{elsewhere} are in code for instruction sets that this machine does not have")
    say(TOOL, f"{len(lines(options.output)) - 1} lines in {options.output}"
        + ("; done" if whole else "; the same command goes on"))  # fmt: skip
    return Exit.OK if whole else Exit.REGRESSION

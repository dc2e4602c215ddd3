"""Says whether one build is slower than another, on this machine, now.

    scripts/gate --base origin/main --new HEAD
    scripts/gate --base OLD/attnbench --new NEW/attnbench --suite quick --kernel flash
    scripts/gate --base origin/main --new HEAD --model llama-3.1-8b --decode 4k --batch 8

BASE and NEW are commits (built in a git worktree; the programs of the last 20 are kept in
$XDG_CACHE_HOME/attnbench/gate), programs or build folders; or shared objects, OLD/mine.so and
NEW/mine.so: then this tree's build is run with each as its --plugin.  Both are
launched in pairs, base new new base, and each pair gives ln(new / base) of every cell, from the 5th
percentile of each launch's samples, since what disturbs a launch only adds time.  A cell is
SLOWER if the sign-test interval of the pairs' median lies above 0 (by Holm's method for the number
of cells), the median is above the threshold, and fresh pairs agree.  The threshold is --threshold
or, where that is more, what launches of one build differ by in this session.  A cell whose 99 %
interval contains the threshold is undecided: it gets more pairs, for up to --sessions rounds or
--patience seconds, and all of them count.  If one is still undecided then, the answer is 3, unless
a slow-down by --noise-limit is ruled out.

    scripts/gate --base-options '--placement threads' --new-options '--placement cores --huge-pages'
    scripts/gate --base-options OMP_WAIT_POLICY=passive --new-options OMP_WAIT_POLICY=active

compares two settings of one build, this tree's unless --base or --new names another: with the same
pairs and verdicts.  A side's options stand in place of the selection's own.

    scripts/gate --base origin/main --new HEAD --metric instructions

compares the instructions of a call instead, counted under valgrind (see scripts/icount).  They are
exact: no pairs, no noise; for machines that are too noisy for time.

Rivals (other people's libraries, gemm among them) are left out: no commit makes those slower.
Two sides that are the same program to the byte are not measured: the answer is 0.  A launch waits
half an hour for another session on this machine.

Exit codes: 0 no regression, 1 confirmed regression, 2 the new build computes something wrong,
3 too noisy to tell, 4 usage, input, output, or another session took too long, 5 the base is
missing, does not build, is wrong or incomparable, 6 the new commit does not build, 7 as --fail-on
asks for.  A summary goes to --output FILE in each case.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from attntools.base.cli import REACHED, Exit, ToolError, parser, refuse_over, say, scratch_folder
from attntools.base.files import OutputError, refuse_unwritable, write_text
from attntools.base.units import counted
from attntools.compare.compare import percentage
from attntools.compare.comparison import THRESHOLD, Verdict
from attntools.gate import gate_junit, gate_settings, selection
from attntools.gate.gate_builds import ROOT
from attntools.gate.gate_instructions import count_pairs, instead_of_counters
from attntools.gate.gate_pace import Progress, estimate, length, progress
from attntools.gate.gate_pairs import NEW, Collected, Plan, Samples
from attntools.gate.gate_prepare import prepare
from attntools.gate.gate_sessions import Patience, run_until_clear
from attntools.gate.gate_summary import Outcome, cell_text, markdown, no_answer
from attntools.gate.gating import (
    counts_instructions,
    explain,
    huge_pages,
    judge,
    standing,
    too_noisy,
)
from attntools.results.cells import Identity

TOOL = "gate"
PAIRS = 20
SESSIONS = 15
PATIENCE_S = 150.0
METRICS = ("time", "instructions")


def add_to(p: argparse.ArgumentParser) -> None:
    """Adds the options that say what is gated, and how."""
    selection.add_to(p)
    selection.add_memory_to(p)
    p.set_defaults(base_options="", new_options="")  # which scripts/bisect does not take
    p.add_argument("--metric", choices=METRICS, default="time", help="what is compared (time)")
    p.add_argument(
        "-n", "--pairs", type=pair_count, default=PAIRS, metavar="N",
        help="pairs of launches of each cell in a round (20)",
    )  # fmt: skip
    p.add_argument("--sessions", type=int, default=SESSIONS, metavar="N", help="rounds (15)")
    p.add_argument(
        "--patience", type=float, default=PATIENCE_S, metavar="S",
        help="seconds after which no round begins (150)",
    )  # fmt: skip
    p.add_argument(
        "--threshold", type=percentage, default=THRESHOLD, metavar="P",
        help="the least slow-down that counts (2 %%)",
    )  # fmt: skip
    p.add_argument(
        "--noise-limit", type=percentage, metavar="P",
        help="a slow-down of this size must be ruled out, else the answer is 3 (the threshold)",
    )  # fmt: skip
    p.add_argument("--sample-s", type=float, default=0.02, help="sampling time of a launch (0.02)")
    p.add_argument(
        "--fail-on", choices=("removed",),
        help="exit with 7 where a cell of the base, such as a renamed kernel's, is not in NEW",
    )  # fmt: skip
    p.add_argument("--equal", action="store_true",
                   help="measure also where both are the same program to the byte")  # fmt: skip
    p.add_argument("--seed", type=int, default=1, help="of the order of launches (1)")
    p.add_argument("--allow", action="append", default=[], choices=("build",),
                   help="compare builds of different compilers or flags")  # fmt: skip
    p.add_argument("--output", default="-", metavar="FILE", help="the summary, Markdown")


def parse(p: argparse.ArgumentParser, argv: Sequence[str] | None) -> argparse.Namespace:
    """Parses a command line that has the options of add_to()."""
    options = p.parse_args(argv)
    if options.metric == "instructions" and (options.memory or options.huge_pages):
        p.error("instructions do not depend on --memory and --huge-pages")
    if options.noise_limit is None:
        options.noise_limit = options.threshold
    return options


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parses the gate's own."""
    p = parser(TOOL, __doc__)
    what = "a commit, a program, a build folder or a plug-in"
    p.add_argument("--base", metavar="REF|BUILD", help=what)
    p.add_argument("--new", metavar="REF|BUILD", help="likewise")
    gate_settings.add_to(p)
    p.add_argument("--junit", metavar="FILE", help="the same as JUnit XML, one test per cell")
    p.add_argument(
        "--dry-run", action="store_true", help="build, check, say how long it takes, and end"
    )
    add_to(p)
    options = parse(p, gate_settings.joined(sys.argv[1:] if argv is None else argv))
    if options.base_options or options.new_options:  # of one build, if no other is named
        options.base = options.base or options.new or str(ROOT)
        options.new = options.new or options.base
    missing = [f"--{side}" for side in ("base", "new") if getattr(options, side) is None]
    if missing:
        p.error(f"the following arguments are required: {', '.join(missing)}")
    return options


def pair_count(text: str) -> int:
    """Whole blocks of two pairs, and at least 6 pairs, which is what an interval needs."""
    count = int(text)
    if count < 6 or count % 2:
        raise argparse.ArgumentTypeError(
            "pairs come by two (base new, new base), and 6 are the fewest that give an interval"
        )
    return count


def take_failures(collected: Collected, outcome: Outcome) -> None:
    """Launches that went wrong while pairs were run."""
    for failure in collected.failures:
        side = outcome.wrong if failure.side == NEW else outcome.base_wrong
        side.setdefault(failure.identity, failure.why)


def measure(
    plan: Plan, cells: Sequence[Identity], what: str, options: argparse.Namespace, *, first: bool
) -> Collected:
    """Pairs of launches of each cell, more where they leave the answer open."""
    start = time.monotonic()
    patience = Patience(max(1, options.sessions), options.patience)
    # Told once, when the first block has shown what one takes.
    lengths = [lambda session_s: length(session_s, len(cells), options)] if first else []

    def tell(count: int) -> Progress:
        told = lengths.pop() if lengths else None
        return progress(f"{what}, blocks of {counted(count, 'cell')}", start, first=told)

    return run_until_clear(plan, cells, options.pairs, options.threshold, patience, tell)


def confirm(plan: Plan, outcome: Outcome, options: argparse.Namespace) -> None:
    """Judges the suspects again, on fresh pairs; the others' verdict stands."""
    suspects = [j.identity for j in outcome.judged if j.verdict is Verdict.SLOWER]
    if not suspects:
        return
    say(TOOL, f"confirming on fresh pairs: {counted(len(suspects), 'cell')} that may be slower")
    fresh = Plan(plan.builds, plan.folder, plan.sample_s, plan.seed + 10**6)
    again = measure(fresh, suspects, "confirming", options, first=False)
    take_failures(again, outcome)
    outcome.again = judge(again.samples, options.threshold)
    outcome.confirmed = [j for j in outcome.again if j.verdict is Verdict.SLOWER]
    outcome.causes = {
        j.identity: causes(plan, j.identity, again.samples[j.identity]) for j in outcome.confirmed
    }


def causes(plan: Plan, identity: Identity, samples: Samples) -> list[str]:
    """What changed in a cell that became slower, by the counters of its fresh pairs."""
    said = explain(samples)
    settings = [str(build.settings) for build in plan.builds]
    if settings[0] == settings[1] and not counts_instructions(samples):
        say(TOOL, "no counters on this machine; counting instructions under callgrind")
        said.append(instead_of_counters(plan.builds, identity, plan.folder))
    return said


def decide(outcome: Outcome, noise_limit: float, fail_on: str | None = None) -> Exit:
    """The exit code: that of the first condition that holds."""
    if outcome.wrong:
        return Exit.WRONG_RESULT
    if outcome.slower():
        return Exit.REGRESSION
    if outcome.base_only and fail_on:
        return Exit.REMOVED
    if not outcome.cells() or outcome.base_wrong:
        return Exit.INCOMPARABLE
    if any(too_noisy(j, noise_limit) for j in standing(outcome.judged, outcome.again)):
        return Exit.TOO_NOISY
    return Exit.OK


def compare_times(
    plan: Plan, cells: Sequence[Identity], outcome: Outcome, options: argparse.Namespace
) -> None:
    """Runs pairs of launches, judges, confirms."""
    if not cells:  # all of them are wrong, or on one side alone
        return
    collected = measure(plan, cells, "pairs", options, first=True)
    take_failures(collected, outcome)
    outcome.judged = judge(collected.samples, options.threshold)
    outcome.memory = huge_pages(collected.samples)
    confirm(plan, outcome, options)


def compare_instructions(
    plan: Plan, cells: Sequence[Identity], outcome: Outcome, options: argparse.Namespace
) -> None:
    """Counts both builds."""
    say(TOOL, f"{counted(len(cells), 'cell')}, counted under callgrind")
    tell = progress("counted", time.monotonic())
    outcome.counted = count_pairs(plan.builds, cells, options.threshold, plan.folder, tell)


def gate(options: argparse.Namespace, folder: Path) -> Outcome:
    """Builds, runs, judges, confirms."""
    start = time.monotonic()
    p = prepare(options, folder)
    if p.outcome.equal:
        return p.outcome
    compare = compare_instructions if options.metric == "instructions" else compare_times
    compare(p.plan, p.cells, p.outcome, options)
    p.outcome.code = decide(p.outcome, options.noise_limit, options.fail_on)
    p.outcome.noise_limit = options.noise_limit
    p.outcome.seconds = time.monotonic() - start
    return p.outcome


def dry_run(options: argparse.Namespace) -> int:
    """Says how long the gate would take; the code is of what is known before it."""
    with scratch_folder("attnbench-gate-") as folder:
        p = prepare(options, folder)
        told = estimate(p.plan, p.cells, options) if p.cells else "no cells to compare"
    if p.outcome.equal:
        print(p.outcome.headline())
        return Exit.OK
    for side, wrong in (("new", p.outcome.wrong), ("base", p.outcome.base_wrong)):
        for identity, why in wrong.items():
            say(TOOL, f"wrong in {side}: {cell_text(identity)}: {why}")
    if p.outcome.base_only:
        say(TOOL, p.outcome.removed())
    print(told)
    if p.outcome.wrong:
        return Exit.WRONG_RESULT
    if p.outcome.base_only and options.fail_on:
        return Exit.REMOVED
    return Exit.OK if p.cells and not p.outcome.base_wrong else Exit.INCOMPARABLE


def write_no_answer(options: argparse.Namespace, why: str) -> None:
    """The summary and the tests of a gate that could not compare."""
    if options.output != "-":  # standard error has it
        write_text(options.output, no_answer(why))
    if options.junit:
        write_text(options.junit, gate_junit.no_answer(why))


def outputs(argv: Sequence[str] | None) -> argparse.Namespace:
    """Where the summary goes and what must not be written over, of a wrong command line too."""
    p = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for name, default in (("--output", "-"), ("--junit", None), ("--base", ""), ("--new", "")):
        p.add_argument(name, default=default)
    p.add_argument("--plugin", action="append", default=[])
    return p.parse_known_args(argv)[0]


def refuse_inputs(options: argparse.Namespace) -> None:
    """Ends the tool where an output is an input."""
    for path in filter(None, (options.output, options.junit)):
        refuse_over(path, [options.base, options.new, *options.plugin])


def parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """As arguments(); where they are wrong no summary of an earlier gate stays."""
    try:
        return arguments(argv)
    except SystemExit as ended:
        if ended.code == Exit.USAGE:
            with suppress(argparse.ArgumentError, OSError):
                options = outputs(argv)
                refuse_inputs(options)
                write_no_answer(options, "the command line is wrong: see the log")
        raise


def run(argv: Sequence[str] | None = None) -> int:
    """The tool."""
    options = parsed(argv)
    if options.dry_run:
        return dry_run(options)
    refuse_inputs(options)
    try:
        for path in filter(None, (options.output, options.junit)):
            refuse_unwritable(path)
        write_no_answer(options, "the gate did not end")  # unless it does
        start = time.monotonic()
        try:
            with scratch_folder("attnbench-gate-") as folder:
                outcome = gate(options, folder)
        except ToolError as wrong:
            write_no_answer(options, str(wrong))
            raise
        except (KeyboardInterrupt, SystemExit):  # SIGINT, SIGTERM
            took = time.monotonic() - start
            write_no_answer(options, f"ended by a signal after {took:.0f} s; {REACHED.text}")
            raise
        write_text(options.output, markdown(outcome))
        if options.junit:
            write_text(options.junit, gate_junit.junit(outcome))
    except OutputError as wrong:  # the tools' usual code for this means "too noisy" here
        raise ToolError(f"{wrong.filename}: {wrong.strerror}") from None
    if options.output != "-":
        say(TOOL, outcome.headline())
    return outcome.code

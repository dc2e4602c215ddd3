"""What a gate does before it measures: builds both sides, and runs and checks each cell once."""

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path

from attntools.base.cli import Exit, ToolError, say
from attntools.base.units import counted, named
from attntools.compare.comparable import incomparable
from attntools.gate import gate_settings, icount, selection
from attntools.gate.gate_builds import TOOL, Build, build, left_out, resolve
from attntools.gate.gate_pairs import Plan, pilot, wrong_in
from attntools.gate.gate_summary import Outcome
from attntools.results.cells import RIVALS, Identity, Results

# The kernels that a commit can make slower, where --kernel does not say which.
GATED = "ours,textbook"


@dataclass
class Prepared:
    """What a gate compares: both sides have run and been checked once."""

    plan: Plan
    cells: list[Identity]
    outcome: Outcome


def leave_out_rivals(base: Results, new: Results) -> None:
    """Drops the cells of other people's libraries: no commit of ours makes those slower."""
    rivals = {i for side in (base, new) for i, c in side.cells.items() if c.group == RIVALS}
    for side in (base, new):
        side.cells = {i: c for i, c in side.cells.items() if i not in rivals}
    if rivals:
        say(TOOL, f"left out: {counted(len(rivals), 'cell')} of rivals")


def matched(base: Results, new: Results, outcome: Outcome) -> list[Identity]:
    """The cells that can be compared; what cannot is written into the outcome."""
    outcome.wrong = wrong_in(new)
    outcome.base_wrong = wrong_in(base)
    outcome.wrong = {i: w for i, w in outcome.wrong.items() if i not in outcome.base_wrong}
    first, second = ({c.identity for c in side.right} for side in (base, new))
    outcome.new_only = sorted(second - first - outcome.base_wrong.keys())
    outcome.base_only = sorted(first - second - outcome.wrong.keys())
    return [c.identity for c in new.right if c.identity in first]


def build_both(options: argparse.Namespace, folder: Path) -> Prepared:
    """Builds both sides; what can be said of them before anything has run.

    A mistake in either, or in a file that is named, is found before the first is built.
    """
    start = time.monotonic()
    selection.refuse_missing(options)
    texts = {"base": options.base, "new": options.new}
    settings = gate_settings.of_both(options)
    fields = settings[0].fields | settings[1].fields
    of_one = options.base == options.new and bool(fields)
    chosen = {side: resolve(side, text, folder) for side, text in texts.items()}
    base, new = (
        replace(
            build(side, c, folder),
            plugins=tuple(options.plugin),
            label=(str(own) or "no options") if of_one else f"{c.label} {own}".rstrip(),
            settings=own,
            set_by_sides=fields,
        )
        for (side, c), own in zip(chosen.items(), settings, strict=True)
    )
    outcome = Outcome(base.label, new.label, options.pairs, options.threshold)
    outcome.shared = chosen["new"].label if of_one else ""
    outcome.building_s = time.monotonic() - start
    same = base.digests() == new.digests()
    outcome.equal = same and not options.equal
    if same and options.equal:
        outcome.doubts += ["base and new are the same program to the byte: nothing can be found"]
    changed = left_out(new)
    if changed:
        files = named(changed, 1)
        outcome.doubts.append(f"uncommitted changes are not in {chosen['new'].label}: {files}")
    return Prepared(Plan((base, new), folder, options.sample_s, options.seed), [], outcome)


def command(options: argparse.Namespace, new: Build) -> list[str]:
    """What runs and checks the selection once."""
    if options.metric == "instructions":
        counted = {"kernel": GATED} | icount.defaults(options, new.program)
        return ["check", *selection.words(options, **counted)]
    chosen = selection.words(options, kernel=GATED)
    chosen += selection.memory_words(options.memory, huge_pages=options.huge_pages)
    return ["run", "--launches", "1", "--seconds", "1", *chosen]


def commands(options: argparse.Namespace, builds: tuple[Build, Build]) -> list[list[str]]:
    """The command of each side, without kernels of --kernel that only the other side has."""
    kernels = options.kernel.split(",") if options.kernel else []
    base, new = (side.kernels() if kernels else set() for side in builds)
    out = []
    for others in (new - base, base - new):
        left = [kernel for kernel in kernels if kernel not in others]
        mine = argparse.Namespace(**vars(options) | {"kernel": ",".join(left)})
        out.append(command(mine, builds[1]) if left or not kernels else [])
    return out


def prepare(options: argparse.Namespace, folder: Path) -> Prepared:
    """Builds both sides and, unless they are equal, runs each cell once."""
    out = build_both(options, folder)
    base, new = out.plan.builds
    for doubt in out.outcome.doubts:
        say(TOOL, doubt)
    if out.outcome.equal:
        return out
    if base.compared and new.compared:
        options.kernel = options.kernel or "plugins"
    first, second = pilot(out.plan, commands(options, out.plan.builds))
    leave_out_rivals(first, second)
    ran = [side for side in (first, second) if side.sessions]
    # Both ran here, just now: if their machines differ, the builds describe this one differently.
    reasons = incomparable(ran, [*options.allow, "machine"])
    if reasons:
        raise ToolError("; ".join(reasons), Exit.INCOMPARABLE)
    out.outcome.machine = ran[0].sessions[0].machine
    out.outcome.build = ran[-1].sessions[0].build_text()
    out.cells = matched(first, second, out.outcome)
    o = out.outcome
    if not (out.cells or o.wrong or o.base_wrong or o.new_only or o.base_only):
        raise ToolError("the selection has no cell that either build can run")
    return out

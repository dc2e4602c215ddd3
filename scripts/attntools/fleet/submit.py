"""Measures every node of a Slurm cluster, each by itself, and writes a report on the fleet.

    scripts/fleet/submit FOLDER                     all nodes, the suite quick
    scripts/fleet/submit FOLDER --partition cpu -- --suite default --kernel ours
                                                    what is behind -- goes to `attnbench run`
    scripts/fleet/submit FOLDER --dry-run           how many nodes and cells, how long, how much
                                                    memory, as this host reckons; nothing else

An array job is submitted, one exclusive node an element.  FOLDER, which all nodes must see, gets
NODE.jsonl and NODE.log of each and, when all are done, report.html.  A node that dies, a job that
is cancelled or runs into its time limit is submitted again and goes on where it stopped.  So does
this command: ended by Ctrl-C or with nodes missing, the same line goes on; what is whole stays.

Nodes that are down or drained are left out.  The program is one for all nodes (it chooses by itself
what their processors have): build it first, on the oldest system among them.

Exit codes: 0 all nodes have whole results, 1 some have not, 2 all have, and some results are wrong,
3 output, 4 usage or Slurm.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from attntools.base.cli import Exit, ToolError, parser, say
from attntools.base.files import make_directory, write_text
from attntools.base.units import counted
from attntools.fleet import slurm
from attntools.fleet.fleet_nodes import name_node, state_of
from attntools.fleet.fleet_tables import fleet_of, sentences
from attntools.fleet.slurm import Element, Node, SlurmError
from attntools.gate.gate_builds import ROOT
from attntools.report import page_fleet
from attntools.results.cells import WRONG_STATES
from attntools.results.results import read_all

TOOL = "fleet/submit"

DEFAULT = ("--suite", "quick")
REPORT = "report.html"
MISSING = 1  # exit code: a node has no whole results
FAILURES = 20  # of squeue in a row, after which Slurm is taken to be gone


@dataclass
class Work:
    """The nodes that are wanted and what has become of them."""

    folder: Path
    name: str  # of the jobs
    script: list[str]
    options: argparse.Namespace
    nodes: dict[str, Node]
    tried: Counter[str] = field(default_factory=Counter)
    done: set[str] = field(default_factory=set)
    given_up: dict[str, str] = field(default_factory=dict)  # why
    unusable_since: dict[str, float] = field(default_factory=dict)

    @property
    def open(self) -> list[str]:
        """Nodes that neither are done nor have been given up."""
        return [n for n in self.nodes if n not in self.done and n not in self.given_up]


def result_of(work: Work, node: str) -> Path:
    """The file of a node."""
    return work.folder / f"{node}.jsonl"


def last_line(work: Work, node: str) -> str:
    """What a node's log says last."""
    try:
        lines = (work.folder / f"{node}.log").read_text(errors="replace").split("\n")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def look(work: Work, node: str) -> None:
    """Records what a node without a job has left: whole results, or why it is given up."""
    state = state_of(result_of(work, node), work.script[3:])
    if state.whole:
        name_node(result_of(work, node), node)
        work.done.add(node)
        say(TOOL, f"{node}: done, {len(work.done)} of {len(work.nodes)}")
    elif state.foreign:
        raise ToolError(f"{result_of(work, node)}: {state.foreign}; take another folder")
    elif work.tried[node] >= work.options.attempts:
        last = last_line(work, node)
        work.given_up[node] = (
            f"{work.tried[node]} attempts"
            + f"; {state.unreadable}" * bool(state.unreadable)
            + f", its log ends: {last}" * bool(last)
        )
        say(TOOL, f"{node}: given up after {work.given_up[node]}")


def submit(work: Work, names: Sequence[str]) -> None:
    """An array job for nodes that have none."""
    for start in range(0, len(names), slurm.LARGEST_ARRAY):
        part = names[start : start + slurm.LARGEST_ARRAY]
        options = [f"--output={work.folder}/%N.log", *work.options.sbatch]
        on = [work.nodes[name] for name in part]
        job = slurm.submit_array(work.name, on, work.script, options, work.options.at_once)
        again = [name for name in part if work.tried[name] or result_of(work, name).exists()]
        work.tried.update(part)
        said = f"job {job}: {counted(len(part), 'node')}"
        say(TOOL, said + (f", to go on: {', '.join(again)}" if again else ""))


def give_up_dead(work: Work, active: dict[str, Element]) -> None:
    """Cancels what waits for nodes that have been unusable for longer than --patience."""
    waiting = [n for n, e in active.items() if e.state == "PENDING" and n in work.nodes]
    if not waiting:
        return
    now = time.monotonic()
    states = {node.name: node for node in slurm.nodes(None, ",".join(waiting))}
    for name in waiting:
        node = states.get(name)
        if node and node.usable:
            work.unusable_since.pop(name, None)
            continue
        since = work.unusable_since.setdefault(name, now)
        state = node.state if node else "gone"
        if since == now:
            say(TOOL, f"{name}: is {state}; its job waits for it")
        if now - since > 60 * work.options.patience:
            slurm.cancel([active[name].job])
            work.given_up[name] = f"it has been {state} for {work.options.patience:g} minutes"
            say(TOOL, f"{name}: given up, {work.given_up[name]}")


def step(work: Work) -> bool:
    """Looks once at the queue and at what is missing; whether anything is left to wait for."""
    queued = slurm.elements(work.name)
    slurm.cancel([e.job for e in queued if not e.node])  # of a submission that was interrupted
    active = {e.node: e for e in queued if e.node}
    for node in work.open:
        if node not in active:
            look(work, node)
    submit(work, [node for node in work.open if node not in active])
    give_up_dead(work, active)
    return bool(work.open)


def wait(work: Work) -> None:
    """Until every node is done or given up."""
    failures = 0
    try:
        while True:
            try:
                if not step(work):
                    return
                failures = 0
            except SlurmError as wrong:
                failures += 1
                if failures > FAILURES or not work.tried:
                    raise
                if failures == 1:
                    say(TOOL, f"{wrong}; trying again")
            time.sleep(work.options.poll)
    except KeyboardInterrupt:
        say(
            TOOL,
            f"jobs go on; the same command waits for them, scancel --name={work.name} ends them",
        )
        raise


def report(work: Work) -> int:
    """Writes the report on the results so far, and says what is missing; returns the exit code."""
    wrong = False
    if work.done:
        files = read_all(result_of(work, node) for node in work.nodes if node in work.done)
        fleet = fleet_of(files)
        write_text(str(work.folder / REPORT), page_fleet.page(fleet))
        for text in sentences(fleet):
            print(text)
        print(f"The report is {work.folder / REPORT}")
        wrong = any(c.state in WRONG_STATES for r in files for c in r.cells.values())
    missing = {n: why for n, why in work.given_up.items() if n not in work.done}
    for node, why in missing.items():
        say(TOOL, f"{node}: no whole results: {why}")
    if missing:
        return MISSING
    return Exit.WRONG_RESULT if wrong else Exit.OK


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parses the command line."""
    p = parser(TOOL, __doc__)
    p.add_argument("folder", metavar="FOLDER", type=Path)
    p.add_argument("--partition", metavar="P", help="comma list (default: all nodes)")
    p.add_argument("--nodes", metavar="N", help="as sinfo takes them: node[1-16]")
    p.add_argument("--program", type=Path, default=ROOT / "build/release/attnbench",
                   help="the attnbench to run (default: build/release/attnbench)")  # fmt: skip
    p.add_argument("--at-once", type=int, default=0, metavar="N", help="nodes at a time, at most")
    p.add_argument("--attempts", type=int, default=3, metavar="N",
                   help="jobs a node may have (default: 3)")  # fmt: skip
    p.add_argument("--patience", type=float, default=60, metavar="MINUTES",
                   help="to wait for a node that has gone down (default: 60)")  # fmt: skip
    p.add_argument("--poll", type=float, default=5, metavar="SECONDS", help="(default: 5)")
    p.add_argument("--sbatch", action="append", default=[], metavar="OPTION",
                   help="one more option, as in --sbatch=--time=30; repeatable")  # fmt: skip
    p.add_argument(
        "--dry-run",
        action="store_true",
        help="say what would be measured, how long it takes and in how much memory",
    )
    given = list(sys.argv[1:] if argv is None else argv)
    # What comes behind -- is attnbench's; argparse would only take it where no option is before it.
    end = given.index("--") if "--" in given else len(given)
    options = p.parse_args(given[:end])
    options.arguments = given[end + 1 :] or list(DEFAULT)
    words = [word.split("=")[0] for word in options.arguments]
    if {"--output", "--resume"} & {*words}:
        p.error("each node's file is in FOLDER; --output and --resume are not for attnbench here")
    if min(options.attempts, options.poll) <= 0 or options.at_once < 0:
        p.error("--attempts and --poll are above 0, --at-once not below")
    return options


def begin(options: argparse.Namespace) -> Work:
    """What is to be done, checked as far as that is possible before anything is submitted."""
    program = options.program.resolve()
    if not os.access(program, os.X_OK) or program.is_dir():
        raise ToolError(
            f"{program}: no such program; scripts/build release --target attnbench makes it"
        )
    folder = options.folder.resolve()
    if not options.dry_run:
        make_directory(folder)
    name = "attnbench-" + hashlib.sha256(str(folder).encode()).hexdigest()[:8]
    script = [str(ROOT / "scripts/fleet/node"), str(program), str(folder)]
    found = slurm.nodes(options.partition, options.nodes)
    usable = {node.name: node for node in found if node.usable}
    work = Work(folder, name, [*script, *options.arguments], options, usable)
    for node in found:
        if not node.usable:
            say(TOOL, f"{node.name}: is {node.state}, left out")
    if not usable:
        raise ToolError("no node to measure; sinfo shows what there is")
    return work


def dry_run(work: Work) -> int:
    """Says what is left to do, and what of it a node does, by the program itself on this host."""
    command = [work.script[1], "run", *work.script[3:], "--dry-run"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    sys.stderr.write(done.stderr)
    if done.returncode != 0:
        raise ToolError(f"{' '.join(command)}: exit status {done.returncode}")
    whole = sum(state_of(result_of(work, n), work.script[3:]).whole for n in work.nodes)
    open_ = len(work.nodes) - whole
    print(
        f"{counted(open_, 'node')} to measure"
        + f", {work.options.at_once} at a time" * (0 < work.options.at_once < open_)
        + f"; {whole} of {len(work.nodes)} done" * (whole > 0)
    )
    print(f"each, as this host reckons: {done.stdout.strip()}")
    return Exit.OK


def run(argv: Sequence[str] | None = None) -> int:
    """The tool."""
    work = begin(arguments(argv))
    if work.options.dry_run:
        return dry_run(work)
    wait(work)
    return report(work)

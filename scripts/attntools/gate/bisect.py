"""Finds the first commit that made attnbench slower, with the gate as its test.

    scripts/bisect --good v1.0 --bad HEAD --problem h=8,s=1024,d=64 --kernel flash

GOOD and BAD are commits, GOOD an ancestor of BAD.  BAD is gated against GOOD first; then git
chooses commits between them, and each is gated against GOOD, in as many steps as halving takes.
A commit that does not build, computes something wrong, lacks the cells or leaves the gate
undecided is skipped.  At the end the commit that was found is gated against the one before it,
and that summary is printed: it says by how much this one commit made things slower.

The options of scripts/gate say what is timed and how (--metric instructions where time is too
noisy).  What is known so far lies in $XDG_CACHE_HOME/attnbench/bisect: the same command line
goes on where an interrupted one stopped.  Neither this checkout nor a `git bisect` of your own is
touched.

Exit codes: 0 found, 1 BAD is not slower than GOOD, 2 BAD computes something wrong, 3 too noisy to
tell, or only skipped commits are left (they are listed), 4 usage, input or output, 5 GOOD is
missing, does not build, is wrong or incomparable, 6 BAD does not build.
"""

import argparse
import hashlib
import re
from collections.abc import Sequence

from attntools.base.cli import Exit, ToolError, parser, say, scratch_folder
from attntools.base.files import OutputError, cache, refuse_unwritable, write_text
from attntools.gate import gate, selection
from attntools.gate.gate_builds import ROOT, git, remove_worktree
from attntools.gate.gate_summary import Outcome, markdown

TOOL = "bisect"

# What git writes into the log of a bisection that has come to its end.
FOUND = re.compile(r"^# first bad commit: \[(\w+)\]", re.MULTILINE)
POSSIBLE = re.compile(r"^# possible first bad commit: \[(\w+)\]", re.MULTILINE)
STEPS = re.compile(r"roughly (\d+) step")

# What the gate's answer makes of a commit; any other code, or no answer at all: skip it.
WORDS = {Exit.OK: "good", Exit.REGRESSION: "bad"}


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parses the command line."""
    p = parser(TOOL, __doc__)
    p.add_argument("--good", required=True, metavar="REF", help="a commit that is fast")
    p.add_argument("--bad", required=True, metavar="REF", help="a later one that is slower")
    gate.add_to(p)
    return gate.parse(p, argv)


def commit_of(text: str, code: Exit) -> str:
    """The full name of a commit."""
    done = git(ROOT, "rev-parse", "--verify", "--quiet", f"{text}^{{commit}}")
    if done.returncode:
        raise ToolError(f"{text} is no commit", code)
    return done.stdout.strip()


def titled(commit: str) -> str:
    """A commit as a person knows it."""
    return git(ROOT, "show", "--no-patch", "--format=%h %s", commit).stdout.strip()


def gated(options: argparse.Namespace, base: str, new: str) -> Outcome:
    """The gate's outcome for two commits."""
    both = argparse.Namespace(**vars(options) | {"base": base, "new": new})
    with scratch_folder("attnbench-gate-") as folder:
        return gate.gate(both, folder)


class Bisection:
    """git's bisection between two commits, in a worktree of its own that has no files."""

    def __init__(self, good: str, bad: str, options: argparse.Namespace) -> None:
        """Begins, or resumes what the same command has left."""
        asked = [str(ROOT), good, bad, selection.words(options), options.memory]
        asked += [options.huge_pages, options.metric, options.threshold]
        key = hashlib.sha256(repr(asked).encode()).hexdigest()[:40]
        self.tree = cache(TOOL) / key
        if not (self.tree / ".git").exists():
            self.begin(good, bad)
        self.known = len(re.findall(r"^git bisect (good|bad|skip) ", self.log(), re.MULTILINE))

    def run(self, *words: str) -> str:
        """A git command that must not fail."""
        done = git(self.tree, *words)
        if done.returncode:
            raise ToolError(f"git {' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def begin(self, good: str, bad: str) -> None:
        """Makes the worktree and starts git's bisection in it."""
        self.tree.parent.mkdir(parents=True, exist_ok=True)
        self.end()
        done = git(ROOT, "worktree", "add", "--quiet", "--no-checkout", "--detach",
                   str(self.tree), good)  # fmt: skip
        if done.returncode:
            raise ToolError(f"git worktree add: {done.stderr.strip()}")
        self.run("bisect", "start", "--no-checkout", bad, good)

    def log(self) -> str:
        """What git has written down: the answers so far."""
        return git(self.tree, "bisect", "log").stdout

    def ended(self) -> bool:
        """Whether no commit is left to ask about."""
        log = self.log()
        return bool(FOUND.search(log) or POSSIBLE.search(log))

    def next(self) -> str:
        """The commit that git wants to know about."""
        return self.run("rev-parse", "--verify", "BISECT_HEAD").strip()

    def tell(self, word: str, commit: str) -> None:
        """Gives git an answer; its exit code says that only skipped commits are left."""
        done = git(self.tree, "bisect", word, commit)
        if done.returncode and not self.ended():
            raise ToolError(f"git bisect {word}: {done.stderr.strip() or done.stdout.strip()}")
        steps = STEPS.search(done.stdout)
        if steps and int(steps[1]):
            say(TOOL, f"about {steps[1]} steps more")

    def found(self) -> str | None:
        """The first slow commit; None where skipped ones hide it."""
        first = FOUND.search(self.log())
        return first[1] if first else None

    def possible(self) -> list[str]:
        """The commits of which one is the first slow one."""
        return POSSIBLE.findall(self.log())

    def end(self) -> None:
        """Removes the worktree and what git knows of it."""
        remove_worktree(self.tree)


def ask(options: argparse.Namespace, good: str, commit: str) -> str:
    """What the gate makes of a commit: good, bad or skip."""
    try:
        outcome = gated(options, good, commit)
    except ToolError as wrong:
        say(TOOL, f"{titled(commit)}: skipped, {str(wrong).splitlines()[0]}")
        return "skip"
    word = WORDS.get(outcome.code, "skip")
    said = "skipped, " if word == "skip" else ""
    say(TOOL, f"{titled(commit)}: {said}{outcome.headline()}")
    return word


def must_be_slower(options: argparse.Namespace, good: str, bad: str, bisection: Bisection) -> None:
    """Ends the tool where there is nothing to look for."""
    try:
        outcome = gated(options, good, bad)
    except ToolError:
        bisection.end()
        raise
    if outcome.code is Exit.REGRESSION:
        return
    bisection.end()
    code = Exit.REGRESSION if outcome.code is Exit.OK else outcome.code
    raise ToolError(f"{options.bad} against {options.good}: {outcome.headline()}", code)


def search(options: argparse.Namespace, good: str, bisection: Bisection) -> Outcome:
    """Tests commits until git knows the first slow one; returns the gate of that one alone."""
    while not bisection.ended():
        commit = bisection.next()
        bisection.tell(ask(options, good, commit), commit)
    first = bisection.found()
    if not first:
        among = "\n  ".join(titled(commit) for commit in bisection.possible())
        bisection.end()
        raise ToolError(f"one of these, of which some were skipped:\n  {among}", Exit.TOO_NOISY)
    say(TOOL, f"the first slow commit is {titled(first)}; gating it against the one before it")
    try:
        return gated(options, f"{first}^", first)
    except ToolError as wrong:  # the one before it was skipped
        say(TOOL, f"that one cannot be compared: {str(wrong).splitlines()[0]}; against GOOD then")
        return gated(options, good, first)


def run(argv: Sequence[str] | None = None) -> int:
    """The tool."""
    options = arguments(argv)
    good, bad = commit_of(options.good, Exit.INCOMPARABLE), commit_of(options.bad, Exit.USAGE)
    if good == bad or git(ROOT, "merge-base", "--is-ancestor", good, bad).returncode:
        raise ToolError(f"{options.good} is no ancestor of {options.bad}")
    try:
        refuse_unwritable(options.output)
        bisection = Bisection(good, bad, options)
        if bisection.known:
            say(TOOL, f"going on; answers so far: {bisection.known}")
        else:
            must_be_slower(options, good, bad, bisection)
        outcome = search(options, good, bisection)
        write_text(options.output, f"first slow commit: {titled(bisection.found() or bad)}\n\n"
                   + markdown(outcome))  # fmt: skip
    except OutputError as wrong:  # the tools' usual code for this means "too noisy" here
        raise ToolError(f"{wrong.filename}: {wrong.strerror}") from None
    bisection.end()
    return Exit.OK

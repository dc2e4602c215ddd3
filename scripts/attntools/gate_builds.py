"""The two programs that a gate compares: given as programs, or built from commits."""

import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from attntools import gate_kept
from attntools.cli import Exit, ToolError, say

ROOT = Path(__file__).resolve().parents[2]
TOOL = "gate"

# Both programs have paths of the same length: where the stack begins depends on the length of
# argv and environment, and moves times by per cents (Mytkowicz et al. 2009).
FOLDERS = {"base": "base", "new": "head", "program": "prog"}

# Seconds at least between two reports of a build's progress.
EVERY_S = 5.0
STEP = re.compile(r"\[(\d+)/(\d+)\]")  # as ninja writes it


@dataclass
class Build:
    """A program to launch, and what to call it."""

    program: Path
    label: str


def _failed(what: str, arguments: list[str], lines: list[str], code: Exit) -> ToolError:
    told = [f"{what} failed ({' '.join(arguments[:3])} ...):", *lines[-12:]]
    return ToolError("\n  ".join(told), code)


def _command(arguments: list[str], what: str, code: Exit) -> str:
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise _failed(what, arguments, lines, code)
    return done.stdout.strip()


def _told(arguments: list[str], what: str, code: Exit) -> None:
    """As _command(), but says how far it is: a build takes a minute."""
    start = told = time.monotonic()
    lines: list[str] = []
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        assert process.stdout
        try:
            for line in process.stdout:
                lines.append(line.rstrip())
                step, now = STEP.match(line), time.monotonic()
                if step and (step[1] == step[2] or now - told >= EVERY_S):
                    say(TOOL, f"{what}: {step[1]} of {step[2]}, {now - start:.0f} s")
                    told = now
        except BaseException:  # interrupted: what is left of the build must not outlive its tree
            process.kill()
            raise
    if process.returncode:
        raise _failed(what, arguments, lines, code)


def _program_of(text: str) -> Path | None:
    """The program that a path means: itself, or the one in a build folder."""
    path = Path(text)
    for candidate in (path, path / "attnbench", path / "build/release/attnbench"):
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate.resolve()
    return None


def _remove(git: list[str], tree: Path) -> None:
    """Removes a worktree, also one that another repository's gate was killed in."""
    # Forced twice it also removes a tree whose checkout was interrupted, and is thus locked.
    remove = [*git, "worktree", "remove", "--force", "--force", str(tree)]
    subprocess.run(remove, capture_output=True, check=False)
    shutil.rmtree(tree, ignore_errors=True)
    subprocess.run([*git, "worktree", "prune"], capture_output=True, check=False)


def _from_commit(side: str, commit: str, tree: Path, kept: Path, code: Exit) -> None:
    """Checks a commit out, builds it and keeps the program; the tree is removed again."""
    git = ["git", "-C", str(ROOT)]
    out = str(tree / "build/release")
    configure = ["cmake", "-S", str(tree), "-B", out, "--preset", "release"]
    configure += ["-D", "BUILD_TESTING=OFF"]  # needs less, and configures sooner
    try:
        _remove(git, tree)
        _command([*git, "worktree", "add", "--detach", str(tree), commit], "git worktree add", code)
        _command(configure, f"configuring {side}", code)
        _told(["cmake", "--build", out, "--target", "attnbench"], f"building {side}", code)
        gate_kept.keep(tree / "build/release/attnbench", kept)
    finally:
        _remove(git, tree)


def build(side: str, text: str, folder: Path) -> Build:
    """A side of the comparison; a commit is built, unless its program was kept.

    Args:
        side: base, new, or program where there is but one.
        text: a program, a build folder or a commit.
        folder: of this gate; gets a copy of the program, which nobody else removes.

    Raises:
        ToolError: neither a program nor a commit, or it does not build (the base: code 5).
    """
    program = _program_of(text)
    if program:
        return Build(program, text)
    code = Exit.INCOMPARABLE if side == "base" else Exit.USAGE
    commit = _command(
        ["git", "-C", str(ROOT), "rev-parse", "--verify", "--quiet", f"{text}^{{commit}}"],
        f"the {side}, {text}, is neither a program, a build folder nor a commit: looking it up",
        code,
    )
    copy = folder / FOLDERS[side] / "attnbench"
    copy.parent.mkdir()
    with gate_kept.opened(TOOL, folder) as place:
        kept = place / gate_kept.key(commit, Path(__file__))
        if gate_kept.take(kept, copy):
            say(TOOL, f"{side} ({text}, {commit[:12]}) was built before: taken from {place}")
        else:
            say(TOOL, f"building {side} ({text}, {commit[:12]})")
            # One path for all, so that one commit gives one program: programs contain their paths.
            _from_commit(side, commit, place / "tree", kept, code)
            if not gate_kept.take(kept, copy):
                raise ToolError(f"the {side}, {text}, builds, but does not run", code)
    # The tree with its inputs is gone: both sides take those of this checkout.
    os.environ.setdefault("ATTNBENCH_DATA", str(ROOT / "tests/data"))
    return Build(copy, f"{text} ({commit[:12]})")

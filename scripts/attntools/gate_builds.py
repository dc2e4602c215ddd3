"""The two programs that a gate compares: given as programs, or built from commits."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from attntools.cli import Exit, ToolError, say

ROOT = Path(__file__).resolve().parents[2]
TOOL = "gate"

# Both worktrees have paths of the same length: where the stack begins depends on the length of
# argv and environment, and moves times by per cents (Mytkowicz et al. 2009).
FOLDERS = {"base": "base", "new": "head", "program": "prog"}


@dataclass
class Build:
    """A program to launch, and what to call it."""

    program: Path
    label: str


def _command(arguments: list[str], what: str, code: Exit) -> str:
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-12:]
        raise ToolError(
            "\n  ".join([f"{what} failed ({' '.join(arguments[:3])} ...):", *last]), code
        )
    return done.stdout.strip()


def _program_of(text: str) -> Path | None:
    """The program that a path means: itself, or the one in a build folder."""
    path = Path(text)
    for candidate in (path, path / "attnbench", path / "build/release/attnbench"):
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate.resolve()
    return None


@contextmanager
def build(side: str, text: str, folder: Path) -> Iterator[Build]:
    """A side of the comparison; a commit is checked out, built, and its worktree removed again.

    Raises:
        ToolError: neither a program nor a commit, or it does not build (the base: code 5).
    """
    program = _program_of(text)
    if program:
        yield Build(program, text)
        return
    code = Exit.INCOMPARABLE if side == "base" else Exit.USAGE
    git = ["git", "-C", str(ROOT)]
    commit = _command(
        [*git, "rev-parse", "--verify", "--quiet", f"{text}^{{commit}}"],
        f"the {side}, {text}, is neither a program, a build folder nor a commit: looking it up",
        code,
    )
    tree = folder / FOLDERS[side]
    try:
        _command([*git, "worktree", "add", "--detach", str(tree), commit], "git worktree add", code)
        say(TOOL, f"building {side} ({text}, {commit[:12]})")
        out = str(tree / "build/release")
        configure = ["cmake", "-S", str(tree), "-B", out, "--preset", "release"]
        _command(configure, f"configuring {side}", code)
        _command(["cmake", "--build", out, "--target", "attnbench"], f"building {side}", code)
        yield Build(tree / "build/release/attnbench", f"{text} ({commit[:12]})")
    finally:
        # Forced twice it also removes a tree whose checkout was interrupted, and is thus locked.
        remove = [*git, "worktree", "remove", "--force", "--force", str(tree)]
        subprocess.run(remove, capture_output=True, check=False)

"""The two sides that a gate compares: programs, commits to build, or plug-ins of this build."""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from attntools.base.cli import REACHED, Exit, ToolError, pace, say
from attntools.gate import gate_kept
from attntools.gate.gate_settings import NONE, Settings, alike
from attntools.results.cells import Identity, Results

ROOT = Path(__file__).resolve().parents[3]
TOOL = "gate"

# Both programs have paths of the same length: where the stack begins depends on the length of
# argv and environment, and moves times by per cents (Mytkowicz et al. 2009).
FOLDERS = {"base": "base", "new": "head", "program": "prog"}

# Seconds at least between two reports of a build's progress.
EVERY_S = 5.0
STEP = re.compile(r"\[(\d+)/(\d+)\]")  # as ninja writes it

# What compilers, linkers and CMake call an error; ninja goes on with other files after one, so the
# last lines may be about something else.
ERROR = re.compile(r"\berror\b ?:|undefined reference to|^CMake Error", re.IGNORECASE)
UNCOMMITTED = ("status", "--porcelain", "--untracked-files=no")
LINES = 12  # of a command's output in a message

# The path of a shared object, as in mine.so or libmine.so.1.
PLUGIN = re.compile(r"\.so(\.\d+)*$")

# Stands in place of the digests of the two plug-ins that are compared: their cells are the same.
COMPARED = "compared"


def digest_of(path: Path | str) -> str:
    """What a row's `plugin` says of a file."""
    return "sha256:" + hashlib.sha256(Path(path).read_bytes()).hexdigest()


def said_of(plugin: str) -> str:
    """What a row's `plugin` says of a value of --plugin: a file, or a program and its arguments."""
    if Path(plugin).exists():
        return digest_of(plugin)
    file, *arguments = shlex.split(plugin)
    return " ".join([digest_of(file), *map(shlex.quote, arguments)])


def _listed(command: list[str]) -> str:
    """What a program prints about itself."""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


@dataclass
class Build:
    """A program to launch, and what to call it.

    The plug-ins are those that both sides are run with; `compared` is one that only this side has.
    """

    program: Path
    label: str
    plugins: tuple[str, ...] = ()
    compared: str = ""
    commit: str = ""  # that it was built of here
    settings: Settings = NONE
    set_by_sides: frozenset[str] = frozenset()  # fields of identities: by either's settings

    def digests(self) -> tuple[str, str, str]:
        """What runs: the program, the plug-in that is compared, and its settings."""
        plugin = digest_of(self.compared) if self.compared else ""
        return digest_of(self.program), plugin, str(self.settings)

    def environment(self) -> dict[str, str]:
        """That its program runs in."""
        return self.settings.variables(os.environ)

    def kernels(self) -> set[str]:
        """Names of kernels and variants; none where the program is too old to list them."""
        command = [str(self.program), "list", "--json", *self.words()]
        try:
            kernels = json.loads(_listed(command))["kernels"]
            return {n for k in kernels for n in (k["name"], f"{k['name']}/{k['isa']}")}
        except (ValueError, KeyError, TypeError):
            return set()

    def words(self) -> list[str]:
        """The options that name the plug-ins, for attnbench."""
        files = [*self.plugins, self.compared] if self.compared else self.plugins
        return [word for file in files for word in ("--plugin", file)]

    def plain(self, results: Results) -> Results:
        """Results in which cells are named alike on both sides: what is compared names none."""
        mine = digest_of(self.compared) if self.compared else None
        usual = alike(self.set_by_sides)
        for cell in results.cells.values():
            identity = cell.identity._replace(**usual)
            if mine and identity.plugin == mine:
                identity = identity._replace(plugin=COMPARED)
            cell.identity = identity
        results.cells = {cell.identity: cell for cell in results.cells.values()}
        return results

    def file_of(self, identity: Identity) -> str:
        """The plug-in that a cell's kernel comes from; "" where that is the program itself."""
        if identity.plugin == COMPARED:
            return self.compared
        found = (file for file in self.plugins if said_of(file) == identity.plugin)
        return next(found, "") if identity.plugin else ""


def telling(lines: Sequence[str]) -> list[str]:
    """The lines of a failed command that say why: its errors or, without any, its last ones."""
    errors = [line for line in lines if ERROR.search(line)]
    more = [f"and {len(errors) - LINES} more errors"] if len(errors) > LINES else []
    return [*errors[:LINES], *more] or list(lines[-LINES:])


def _failed(what: str, arguments: list[str], lines: list[str], code: Exit) -> ToolError:
    told = [f"{what} failed ({shlex.join(arguments[:3])} ...):", *telling(lines)]
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
                if step:
                    REACHED.text = f"{what}: {step[1]} of {step[2]} steps"
                if step and (step[1] == step[2] or now - told >= EVERY_S):
                    say(TOOL, f"{what}: {pace(int(step[1]), int(step[2]), now - start)}")
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


def git(where: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A git command in a worktree; the caller looks at its exit code."""
    command = ["git", "-C", str(where), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def remove_worktree(tree: Path) -> None:
    """Removes a worktree, also one that another repository's gate was killed in."""
    # Forced twice it also removes a tree whose checkout was interrupted, and is thus locked.
    git(ROOT, "worktree", "remove", "--force", "--force", str(tree))
    shutil.rmtree(tree, ignore_errors=True)
    git(ROOT, "worktree", "prune")


def _from_commit(side: str, commit: str, tree: Path, kept: Path, code: Exit) -> None:
    """Checks a commit out, builds it and keeps the program; the tree is removed again."""
    unbuilt = code if side == "base" else Exit.NOT_BUILT
    add = ["git", "-C", str(ROOT), "worktree", "add", "--detach", str(tree), commit]
    out = str(tree / "build/release")
    configure = ["cmake", "-S", str(tree), "-B", out, "--preset", "release"]
    configure += ["-D", "BUILD_TESTING=OFF"]  # needs less, and configures sooner
    try:
        remove_worktree(tree)
        _command(add, "git worktree add", code)
        _command(configure, f"configuring {side}", unbuilt)
        _told(["cmake", "--build", out, "--target", "attnbench"], f"building {side}", unbuilt)
        gate_kept.keep(tree / "build/release/attnbench", kept)
    finally:
        remove_worktree(tree)


def _git(*words: str) -> str:
    """What a git command prints about this tree; empty where it fails."""
    done = git(ROOT, *words)
    return done.stdout.strip() if done.returncode == 0 else ""


def _how_to_deepen() -> str:
    """What to do where the clone is shallow, which is why `git merge-base` finds nothing."""
    if _git("rev-parse", "--is-shallow-repository") != "true":
        return ""
    return "; this clone is shallow: git fetch --unshallow (actions/checkout: fetch-depth: 0)"


def _commit_of(side: str, text: str, code: Exit) -> str:
    """The full name of a commit."""
    commit = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{text}^{{commit}}")
    if not commit:
        what = f"the {side}, {text}, is neither a program, a build folder nor a commit"
        raise ToolError(f"{what}{_how_to_deepen()}", code)
    return commit


def _plugin(text: str) -> Build | None:
    """This tree's program with a plug-in, where the text is the path of one."""
    if not PLUGIN.search(text):
        return None
    program = _program_of(str(ROOT))
    if not program:
        raise ToolError("plug-ins are compared by this tree's program: scripts/build release")
    if not Path(text).is_file():
        raise ToolError(f"{text}: no such plug-in")
    return Build(program, text, compared=text)


def resolve(side: str, text: str, folder: Path) -> Build:
    """A side of the comparison; the program of a commit is not there before build().

    Args:
        side: base, new, or program where there is but one.
        text: a program, a build folder, a commit, or a plug-in.
        folder: of this gate; gets a copy of a commit's program, which nobody else removes.

    Raises:
        ToolError: it is none of these.
    """
    code = _unknown(side)
    if not text.strip():  # Path("") would be the current folder, and so this tree's own build
        raise ToolError(f"the {side} is an empty text{_how_to_deepen()}", code)
    plugin = _plugin(text)
    if plugin:
        return plugin
    program = _program_of(text)
    if program:
        return Build(program, text)
    commit = _commit_of(side, text, code)
    return Build(folder / FOLDERS[side] / "attnbench", f"{text} ({commit[:12]})", commit=commit)


def _unknown(side: str) -> Exit:
    """The exit code of a side that is not there."""
    return Exit.INCOMPARABLE if side == "base" else Exit.USAGE


def build(side: str, chosen: Build, folder: Path) -> Build:
    """Builds a side that is a commit, unless its program was kept; returns that side.

    Raises:
        ToolError: it does not build (code 6; the base: 5).
    """
    if not chosen.commit:
        return chosen
    code, copy = _unknown(side), chosen.program
    copy.parent.mkdir()
    with gate_kept.opened(TOOL, folder) as place:
        kept = place / gate_kept.key(chosen.commit, Path(__file__))
        if gate_kept.take(kept, copy):
            say(TOOL, f"{side}, {chosen.label}, was built before: taken from {place}")
        else:
            say(TOOL, f"building {side}, {chosen.label}, for the first time")
            # One path for all, so that one commit gives one program: programs contain their paths.
            _from_commit(side, chosen.commit, place / "tree", kept, code)
            if not gate_kept.take(kept, copy):
                raise ToolError(f"the {side}, {chosen.label}, builds, but does not run", code)
    # The tree with its inputs is gone: both sides use the inputs of this checkout.
    os.environ.setdefault("ATTNBENCH_DATA", str(ROOT / "tests/data"))
    return chosen


def left_out(new: Build) -> list[str]:
    """Files that were changed here since the commit that is gated: it is built without them."""
    if not new.commit or new.commit != _git("rev-parse", "HEAD"):
        return []
    # Untracked files are many people's notes.
    return [line.split(maxsplit=1)[1] for line in _git(*UNCOMMITTED).splitlines()]

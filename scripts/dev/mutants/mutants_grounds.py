"""Where mutants are tried: a worktree with its build, and the unbroken program that judges."""

import fcntl
import json
import os
import re
import resource
import shutil
import signal
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from attntools.base.cli import ToolError
from attntools.base.files import cache
from attntools.gate.bisect import git
from attntools.gate.gate_builds import ROOT
from dev.mutants.mutants_units import STATISTICS, Unit, units_of

# Asked first: between them much of what kernels do, in two or three seconds.
QUICK = ("check-f32-all", "check-f32-decode-ragged-page16", "check-bf16-causal-fewer",
         "check-f32-page5-int8")  # fmt: skip

# Seconds: of one launch of a check, of a step of one, of a test of ctest, of a build.
LAUNCH_S, STEP_S, TEST_S, BUILD_S = 40, 600, 300, 900

# How mutants are compiled, in a third of the time; and as the kernels are released.
HURRY, RELEASED = "-O1", "-O3"

# Address space of tests, which have no limits of their own.
MEMORY = 16 << 30

# Tests of each variant of a kernel, and of what kernels share.
OF_KERNELS = ("relations", "plans", "bits")
SHARED = ("exp2", "softcap", "attention", "attention_plans", "dispatch", "element", "reference",
          "reference_by_hand", "reference_options", "sketches", "self_attention",
          "work", "work_operands")  # fmt: skip

PLUGIN = """\
#include "attention.h"
extern const struct attn_kernel KERNEL;
attn_plugin_entry attn_plugin;
const struct attn_kernel *const *attn_plugin(size_t *count)
{
    static struct attn_kernel mutant;
    static const struct attn_kernel *const kernels[] = {&mutant};
    mutant = KERNEL;
    mutant.name = "mutant"; /* the program has one of its own name */
    *count = 1;
    return kernels;
}
"""

# How a mutant ends.  One with the code of the unbroken source is no mutant at all.
BUILD, CHECK, CTEST, SAME, SURVIVED = "build", "check", "ctest", "same code", "survived"


@dataclass
class Fate:
    """How a mutant ended, and what found it."""

    fate: str
    by: str = ""


def ended(
    command: Sequence[str | Path], limit: float, where: Path | None = None, memory: int = 0
) -> tuple[int | None, str]:
    """Exit code, None after `limit` seconds, and what a command printed."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    with subprocess.Popen(
        [str(word) for word in command], cwd=where, start_new_session=True, text=True,
        errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        preexec_fn=limited if memory else None,
    ) as process:  # fmt: skip
        try:
            said, _ = process.communicate(timeout=limit)
            return process.returncode, said
        except subprocess.TimeoutExpired:
            return None, ""
        finally:  # also where this program is interrupted
            if process.poll() is None:
                process.terminate()  # attnbench ends its workers
                try:
                    process.wait(5)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)


def must(command: Sequence[str | Path], limit: float = BUILD_S) -> None:
    """A command that has to succeed."""
    code, said = ended(command, limit)
    if code:
        raise ToolError("\n  ".join([f"{command[0]} failed:", *said.splitlines()[-12:]]))


def failure(rows: Path) -> str:
    """The first cell of a results file that did not pass; "" where all did.

    Raises:
        ToolError: the mutant could not be loaded, which says nothing of it.
    """
    for line in rows.read_text().splitlines() if rows.exists() else ():
        row = json.loads(line)
        if row.get("type") != "cell" or row["state"] in ("ok", "unsupported"):
            continue
        if row["state"] == "unavailable":
            raise ToolError(f"a mutant cannot be tried: {row['why']}")
        return f"{row['case']}: {row['state']}, {row['why']}"
    return ""


def failed_test(said: str) -> str:
    """The first test that ctest says failed."""
    found = re.search(r"Test +#\d+: (\S+) \.*(?: |\*)*(Failed|Timeout|Exception|SEGFAULT)", said)
    return found[1] if found else "ctest"


class Grounds:
    """The tree in which mutants are tried, and the unbroken program."""

    def __init__(self, commit: str) -> None:
        """Takes the tree of a commit, which is built where it is not there yet."""
        self.place = cache("mutants")
        self.tree, self.program = self.place / "tree", self.place / "attnbench"
        self.build = self.tree / "build/mutants"
        stamp = self.place / "commit"
        self.place.mkdir(parents=True, exist_ok=True)
        self.lock = (self.place / "lock").open("a")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ToolError(f"{self.place} is used by another run of this tool") from None
        made = f"{commit} {HURRY}"
        whole = stamp.exists() and (self.tree / ".git").exists()
        if not whole or stamp.read_text() != made:
            stamp.unlink(missing_ok=True)
            self.make(commit)
            stamp.write_text(made)
        self.restore()
        self.units = {unit.name: unit for unit in units_of(self.build)}
        self.isas = {"", *self.available()}

    def runnable(self, names: Iterable[str]) -> list[Unit]:
        """The units of these names that exist and whose instruction set this machine has."""
        found = [self.units[name] for name in names if name in self.units]
        return [unit for unit in found if unit.isa in self.isas]

    def available(self) -> set[str]:
        """The instruction sets of this machine for which some kernel has a variant."""
        code, said = ended([self.program, "list", "--json"], BUILD_S)
        if code:
            raise ToolError(f"attnbench list: exit {code}")
        return {k["isa"] for k in json.loads(said)["kernels"] if k["available"]}

    def make(self, commit: str) -> None:
        """Checks the commit out and builds it: the judge as released, the tests in a hurry."""
        if not (self.tree / ".git").exists():
            git(ROOT, "worktree", "prune")
            must(["git", "-C", ROOT, "worktree", "add", "--quiet", "--detach", self.tree, commit])
        must(["git", "-C", self.tree, "checkout", "--quiet", "--force", "--detach", commit])
        released = self.tree / "build/release"
        must(["cmake", "-S", self.tree, "-B", released, "--preset", "release"])
        must(["cmake", "--build", released, "-j1", "--target", "attnbench"])
        shutil.copy2(released / "attnbench", self.program)
        must(["cmake", "-S", self.tree, "-B", self.build, "--preset", "release",
              "-D", "BUILD_TESTING=ON",
              "-D", f"CMAKE_C_FLAGS_RELEASE={HURRY} -DNDEBUG"])  # fmt: skip
        doubles = {unit.double for unit in units_of(self.build) if unit.double}
        must(["cmake", "--build", self.build, "-j1", "--target", *self.tests(), *doubles])
        for old in self.place.glob("plain*"):
            shutil.rmtree(old)
        (self.place / "plugin.c").write_text(PLUGIN)

    def tests(self) -> list[str]:
        """The test programs that ask about kernels and statistics."""
        return [f"test_kernels_{name}" for name in OF_KERNELS + SHARED] + [
            f"test_{name.replace('/', '_')}" for name in STATISTICS
        ]

    def restore(self) -> None:
        """Puts the unbroken files back."""
        must(["git", "-C", self.tree, "checkout", "--quiet", "--force", "--", "."])

    def cases(self) -> list[str]:
        """The names of the suite's cases, those of QUICK left out."""
        text = (self.tree / "suites/conformance.suite").read_text()
        return [c for c in re.findall(r"^([\w-]+):", text, re.MULTILINE) if c not in QUICK]

    def object(self, unit: Unit, *flags: str) -> Path:
        """Where the mutant's object of a unit lies; as a plug-in it is beside it."""
        return self.place / f"{unit.kernel}-{unit.isa}{''.join(flags)}.o"

    def compiled(self, unit: Unit, output: Path, *flags: str) -> str | None:
        """Compiles a unit as the build does, plus flags; what the compiler says if it refuses."""
        command = [*unit.command, *flags, "-w", "-o", str(output), "-c", unit.source]
        code, said = ended(command, BUILD_S, Path(unit.directory))
        said = said.replace(f"{self.tree}/", "")  # so that results name no place on this machine
        wrong = (line for line in said.splitlines() if "error" in line)
        return None if code == 0 else next(wrong, said[:200] or "the compiler took too long")

    def plain(self, unit: Unit, *flags: str) -> Path:
        """The object of the unbroken unit, to be asked for before the tree is broken."""
        path = self.place / "plain" / self.object(unit, *flags).name
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            wrong = self.compiled(unit, path, *flags)
            if wrong:
                raise ToolError(f"{unit.name} does not compile unbroken: {wrong}")
        return path

    def same(self, unit: Unit, *flags: str) -> bool:
        """Whether the mutant's object of a unit is the unbroken one."""
        return self.object(unit, *flags).read_bytes() == self.plain(unit, *flags).read_bytes()

    def plugin(self, unit: Unit) -> Path:
        """The unit's object as a plug-in, with the unbroken object for f64 that it may refer to."""
        made = self.object(unit).with_suffix(".so")
        symbol = f"attn_kernel_{unit.kernel}_{unit.isa}"
        folder = self.build / f"kernels/CMakeFiles/{unit.double}.dir"
        f64 = folder.rglob("*.o") if unit.double else ()
        must(["cc", "-shared", "-fPIC", "-fopenmp", f"-DKERNEL={symbol}", "-I",
              self.tree / "kernels", self.place / "plugin.c", self.object(unit), *f64, "-lm",
              "-o", made])  # fmt: skip
        return made

    def checked(self, unit: Unit, cases: Sequence[str], threads: str) -> Fate | None:
        """What `check` finds in the plug-in of a unit."""
        rows = self.place / "rows.jsonl"
        rows.unlink(missing_ok=True)
        code, said = ended(
            [self.program, "check", "--plugin", self.plugin(unit), "--kernel", "plugins",
             "--suite", "conformance", "--case", ",".join(cases), "--threads", threads,
             "--timeout", str(LAUNCH_S), "--output", rows], STEP_S)  # fmt: skip
        if code == 2:
            raise ToolError(f"attnbench check: {said.strip().splitlines()[-1]}")
        if code == 0:
            return None
        return Fate(CHECK, f"{unit.name} {failure(rows) or f'exit {code}'}")

    def tested(self, names: str) -> Fate | None:
        """What tests of ctest find in the tree."""
        code, said = ended(
            ["ctest", "--test-dir", self.build, "-R", names, "--stop-on-failure", "--timeout",
             str(TEST_S), "-j1"], 10 * TEST_S, memory=MEMORY)  # fmt: skip
        return None if code == 0 else Fate(CTEST, failed_test(said))

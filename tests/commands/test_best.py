"""--kernel best: what the library chooses for each problem and number of threads."""

import os
import pathlib
import re

from command import BASELINE, BESIDE, BRIEF, CommandTest, cells, run, safetensors

# Problems for which every host chooses the same kernel, as tests/kernels/test_dispatch.c has them.
CHOICES = {"h=1,s=64,d=64": "flash", "h=8,sq=2,skv=128,d=64,window=8:0": "row_parallel"}


class Best(CommandTest):
    def measured(self, *arguments: str, width: int = 80) -> str:
        """What a brief session prints, in which only one instruction set is available."""
        one = {**os.environ, "ATTN_ISA_MASK": BASELINE, "COLUMNS": str(width)}
        self.rows = self.cells_of("run", *arguments, env=one)
        return self.done.stdout

    def test_each_problem_gets_its_kernel(self) -> None:
        problems = [word for problem in CHOICES for word in ("--problem", problem)]
        shown = self.measured(*problems, "--kernel", "best", "--threads", "1")
        rows = self.rows
        self.assertEqual([row["kernel"] for row in rows], list(CHOICES.values()))
        self.assertEqual([row["chosen"] for row in rows], [True, True])
        self.assertNotIn("best is", shown)
        for kernel in CHOICES.values():
            self.assertRegex(shown, rf"(?m)^  {kernel}/{BASELINE} on 1 thread, \S+ .?s")

    def test_a_kernel_that_is_named_too_is_measured_once(self) -> None:
        (problem, *_) = CHOICES
        named = ["--kernel", f"best,naive,flash,flash/{BASELINE}"]
        shown = self.measured("--problem", problem, *named, "--threads", "1", width=220)
        found = [(row["kernel"], row["threads"], row["chosen"]) for row in self.rows]
        self.assertEqual(found, [("flash", 1, True), ("naive", 1, False)])
        self.assertIn("2 of 2 cells: 2 ok", shown)
        self.assertIn(f"\n  best is flash/{BASELINE} on 1 thread\n", shown)
        heading, *lines = shown[shown.index("kernel/isa") :].splitlines()[:3]
        at = heading.index("regret")
        regrets = {line.split("/")[0].strip(): line[at : at + 6].strip() for line in lines}
        self.assertGreaterEqual(float(regrets["flash"]), 1)
        self.assertEqual(regrets["naive"], "")
        self.assertRegex(heading, "regret  bound by")

    def test_a_choice_without_threads_runs_on_one(self) -> None:
        self.measured("--problem", "s=1,d=64", "--kernel", "best", "--threads", "2")
        (row,) = self.rows
        self.assertEqual((row["kernel"], row["threads"]), ("naive", 1))

    def test_check_takes_it_and_eval_does_not(self) -> None:
        done = self.ran("check", "--problem", "s=1,d=8", "--kernel", "best", "--threads", "1")
        self.assertRegex(done.stdout, r"(?m)^naive/")
        given = str(self.directory / "in.safetensors")
        safetensors(given, {name: ([1, 1, 1, 1], [1.0]) for name in "qkv"})
        words = ["--kernel", "best", "--input", given, "--output", self.output]
        self.refused(["eval", *words], 2, "eval takes a kernel by its name")


class Tune(CommandTest):
    """What was measured here is chosen afterwards; what was not, or elsewhere, is refused."""

    PROBLEM = ("--problem", "h=1,s=32,d=16", "--threads", "1")

    def test_a_choice_is_measured_and_used(self) -> None:
        wisdom = str(self.directory / "wisdom")
        tuned = self.ran("tune", *self.PROBLEM, "--launches", "6", "--output", wisdom, *BESIDE)
        self.assertRegex(tuned.stderr, rf"{wisdom}: 1 choice, [01] of them other than by the rules")
        text = pathlib.Path(wisdom).read_text(encoding="utf-8")
        (kernel, isa) = re.findall(r"(?m)^point f32 f32 1 16 16 1 32 32 (\w+) (\w+)$", text)[0]
        again = ("run", *self.PROBLEM, "--kernel", "best", *BRIEF, "--output", self.output)
        self.ran(*again, "--wisdom", wisdom)
        ((row),) = cells(self.output).values()
        self.assertEqual((row["kernel"], row["isa"], row["chosen"]), (kernel, isa, True))
        self.refused(["tune", *self.PROBLEM, "--output", wisdom], 2, "exists; --force replaces it")
        edited = text.replace("point f32 f32 1 16 16 1 32", "point f32 f32 1 16 16 1 48")
        for changed, why in ((edited, "was changed since"), ("x", "no file of attnbench tune")):
            pathlib.Path(wisdom).write_text(changed, encoding="utf-8")
            self.refused([*again, "--force", "--wisdom", wisdom], 3, why)
        self.refused([*again, "--force", "--wisdom", wisdom + "?"], 3, "No such file")

    def test_too_few_launches_write_nothing(self) -> None:
        wisdom = self.directory / "wisdom"
        words = ("tune", *self.PROBLEM, "--launches", "1", "--output", str(wisdom), *BESIDE)
        done = run(*words)
        self.assertEqual((done.returncode, wisdom.exists()), (3, False), done)
        self.assertIn("nothing to write", done.stderr)
        self.refused(["tune"], 2, "tune needs --output")
        dry = run(*words, "--dry-run")
        self.assertEqual((dry.returncode, wisdom.exists(), dry.stderr), (0, False, ""), dry)

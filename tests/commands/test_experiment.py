"""Experiments from the command line: pages of help, refusals, interrupts."""

import json
import pathlib
import signal
import subprocess
import time
import unittest

from command import BESIDE, HANGS, PROGRAM, lines, run
from experiments import Experiments


class Command(Experiments):
    def test_listed_with_question_method_and_source(self) -> None:
        listed = json.loads(run("list", "--json").stdout)["experiments"]
        text = run("list").stdout
        self.assertIn("variance", [e["name"] for e in listed])
        for experiment in listed:
            self.assertIn(f"  {experiment['name']} ", text)
            page = run("experiment", experiment["name"], "--help")
            self.assertEqual(page.returncode, 0)
            self.assertIn(experiment["question"], page.stdout)
            for word in ("Method", "Source", "Parameters", "--seed", "--quick"):
                self.assertIn(word, page.stdout)

    def test_the_python_tools_know_what_was_asked(self) -> None:
        """The page of experiments says what the program does; `list --json` writes that file."""
        known = pathlib.Path(__file__).parents[2] / "scripts/attntools/report/experiments.json"
        listed = json.loads(run("list", "--json").stdout)["experiments"]
        self.assertEqual(json.loads(known.read_text(encoding="utf-8")), listed)
        for experiment in listed:
            page = run("experiment", experiment["name"], "--help").stdout
            for line in experiment["method"].splitlines():
                self.assertIn(f"  {line}\n", page)

    def test_bad_parameters_are_refused_by_name(self) -> None:
        self.refused(["experiment", "varance"], 2, "'varance'", "'variance'")
        self.refused(["experiment"], 2, "takes a name, or all")
        self.refused(["experiment", "variance", "--dim", "4"], 2, "'--dim'", "mean --d?")
        self.refused(["experiment", "variance", "--trials", "few"], 2, "--trials", "'few'")
        self.refused(["experiment", "variance", "--inputs", "cauchy"], 2, "--inputs", "'cauchy'")
        self.refused(["experiment", "variance", "--d"], 2, "--d takes LIST")
        self.refused(["experiment", "all", "--d", "4"], 2, "'--d'")
        self.refused(["experiment", "all", "--if-busy", "go"], 2, "--if-busy", "go-on: 'go'")

    def test_output_that_exists_is_refused(self) -> None:
        pathlib.Path(self.output).write_text("mine\n")
        self.refused(["experiment", "variance", "--output", self.output], 3, "exists")

    def interrupted(self, *arguments: str, rows: int) -> str:
        """What an experiment prints that is interrupted after so many rows, which are kept."""
        with subprocess.Popen(
            [PROGRAM, "experiment", *arguments, "--output", self.output, *BESIDE],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            path = pathlib.Path(self.output)
            while not path.exists() or path.read_text().count('"type":"experiment"') < rows:
                self.assertIsNone(process.poll())
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=HANGS)
            self.assertEqual(process.returncode, 130, err)
        self.assertIn("interrupted", err)
        types = [line["type"] for line in lines(self.output)]
        self.assertEqual(types, ["session", *rows * ["experiment"], "end"])
        self.assertFalse(lines(self.output)[-1]["complete"])
        return out

    def test_interrupt_keeps_what_is_done(self) -> None:
        out = self.interrupted("variance", "--trials", "1000000000", rows=3)
        self.assertIn("var(q.k)", out)

    def test_interrupt_keeps_the_cells_that_are_measured(self) -> None:
        out = self.interrupted("scaling", "--kernels", "naive", "--launches", "1000", rows=1)
        self.assertIn("1 times over S are too few", out)


if __name__ == "__main__":
    unittest.main()

"""Experiments from the command line: rows, refusals, published numbers, interrupts."""

import json
import pathlib
import signal
import subprocess
import time
import unittest

from command import PROGRAM, SCHEMA, CommandTest, Row, lines, run
from schema import Validator

PUBLISHED = pathlib.Path(__file__).parents[1] / "data" / "worked-examples.json"


class Experiments(CommandTest):
    def rows(self, name: str, *arguments: str, code: int = 0) -> list[Row]:
        """The rows of one experiment, every line of whose file is valid."""
        path = pathlib.Path(self.output)
        path.unlink(missing_ok=True)
        done = run("experiment", name, *arguments, "--output", self.output)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        self.printed = done.stdout
        validator = Validator(SCHEMA)
        written = lines(self.output)
        for line in written:
            self.assertEqual(validator.errors(line), [], line)
        self.assertEqual(written[0]["type"], "session")
        self.assertEqual(written[-1], {**written[-1], "type": "end", "complete": True})
        rows = [line for line in written if line["type"] == "experiment"]
        self.assertEqual({row["name"] for row in rows}, {name})
        return rows


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

    def test_bad_parameters_are_refused_by_name(self) -> None:
        self.refused(["experiment", "varance"], 2, "'varance'", "'variance'")
        self.refused(["experiment"], 2, "takes a name, or all")
        self.refused(["experiment", "variance", "--dim", "4"], 2, "'--dim'", "'d'")
        self.refused(["experiment", "variance", "--trials", "few"], 2, "--trials", "'few'")
        self.refused(["experiment", "variance", "--inputs", "cauchy"], 2, "--inputs", "'cauchy'")
        self.refused(["experiment", "variance", "--d"], 2, "--d takes LIST")
        self.refused(["experiment", "all", "--d", "4"], 2, "'--d'")

    def test_output_that_exists_is_refused(self) -> None:
        pathlib.Path(self.output).write_text("mine\n")
        self.refused(["experiment", "variance", "--output", self.output], 3, "exists")

    def test_interrupt_keeps_what_is_done(self) -> None:
        with subprocess.Popen(
            [PROGRAM, "experiment", "variance", "--trials", "1000000000", "--output", self.output],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            path = pathlib.Path(self.output)
            while not path.exists() or path.read_text().count('"type":"experiment"') < 3:
                self.assertIsNone(process.poll())
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130, err)
        self.assertIn("interrupted", err)
        self.assertIn("var(q.k)", out)
        written = lines(self.output)
        self.assertEqual([w["type"] for w in written], ["session", *3 * ["experiment"], "end"])
        self.assertFalse(written[-1]["complete"])


class Variance(Experiments):
    SMALL = ("--d", "1,8", "--trials", "2000", "--kernel-d", "16")

    def test_published_numbers_lie_inside(self) -> None:
        rows = self.rows("variance", *self.SMALL)
        published = json.loads(PUBLISHED.read_text())["variance_of_dot_products"]
        mine = [row for row in rows if row["params"]["part"] == "published"]
        self.assertEqual([row["params"]["d"] for row in mine], published["dims"])
        for row, before, after in zip(mine, published["before"], published["after"], strict=True):
            self.assertEqual(row["params"]["trials"], 1000)
            for interval, printed in (("ci95", before), ("scaled_ci95", after)):
                lo, hi = row["values"][interval]
                self.assertLess(lo, printed)
                self.assertLess(printed, hi)
            self.assertEqual(row["values"]["theory"], row["params"]["d"])
        self.assertEqual(self.printed.count(" inside"), 6)

    def test_kernels_see_the_logits_of_their_scale(self) -> None:
        rows = self.rows("variance", *self.SMALL)
        kernels = [row for row in rows if row["params"]["part"] == "kernels"]
        names = {row["params"]["kernel"] for row in kernels}
        self.assertLessEqual({"naive", "flash", "gemm", "split_kv"}, names)
        self.assertEqual(len(kernels), 4 * len(names))
        for row in kernels:
            theory = {"1": 16, "d^-1/4": 4, "d^-1/2": 1, "1/d": 1 / 16}[row["params"]["scale"]]
            self.assertAlmostEqual(row["values"]["theory"] / theory, 1, places=6)
            self.assertAlmostEqual(row["values"]["variance"] / theory, 1, delta=0.1)

    def test_same_numbers_on_any_thread_count(self) -> None:
        one = self.rows("variance", *self.SMALL, "--threads", "1")
        three = self.rows("variance", *self.SMALL, "--threads", "3")
        other = self.rows("variance", *self.SMALL, "--seed", "2")
        self.assertEqual(one, three)
        self.assertNotEqual(one[-1]["values"], other[-1]["values"])


if __name__ == "__main__":
    unittest.main()

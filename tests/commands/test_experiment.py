"""Experiments from the command line: pages of help, refusals, interrupts."""

import json
import pathlib
import signal
import subprocess
import time
from typing import Any

from command import BESIDE, HANGS, HOST, PROGRAM, SCHEMA, lines, run
from experiments import Experiments
from json_schema import Validator
from sessions import hears_interrupts


class Command(Experiments):
    def test_listed_with_question_method_and_source(self) -> None:
        listed = self.listed()["experiments"]
        text = run("list").stdout
        self.assertIn("variance", [e["name"] for e in listed])
        for experiment in listed:
            self.assertIn(f"  {experiment['name']} ", text)
            page = self.ran("experiment", experiment["name"], "--help")
            self.assertIn(experiment["question"], page.stdout)
            for word in ("Method", "Source", "--quick"):
                self.assertIn(word, page.stdout)
            self.assertRegex(page.stdout, r"Parameters(.|\n)*--seed|Runs\n  attnbench run '?--")

    def test_pages_have_the_texts_of_the_file(self) -> None:
        """Those of experiments.json, which scripts/report reads, too."""
        known = pathlib.Path(__file__).parents[2] / "harness/experiments/experiments.json"
        listed = self.listed()["experiments"]
        file = json.loads(known.read_text(encoding="utf-8"))
        texts = ("name", "question", "method", "source")
        self.assertEqual([{key: e[key] for key in texts} for e in file], listed)
        for experiment in file:
            page = run("experiment", experiment["name"], "--help").stdout
            shown = " ".join(page.split())
            for text in (experiment["method"], experiment["source"]):
                self.assertIn(text, shown)
            for word in (w for key in ("run", "quick", "beside") for w in experiment.get(key, [])):
                self.assertIn(word, page)

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
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=hears_interrupts,
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


class Session(Experiments):
    """An experiment that a session of `attnbench run` answers."""

    SMALL = ("--threads", "1", "--launches", "1", "--kernel", "naive")

    def session(self, *words: str, code: int = 0, **options: str) -> dict[str, Any]:
        """The header of its file, each line of which is valid; `cells` has the rows."""
        asked = ("experiment", "scaling", *words, "--output", self.output, "--force")
        self.printed = self.ran(*asked, code=code, **options).stdout
        written = lines(self.output)
        for line in written:
            self.assertEqual(Validator(SCHEMA).errors(line), [], line)
        self.cells = [line for line in written if line["type"] == "cell"]
        return written[0]

    def test_it_is_a_session_of_run(self) -> None:
        header = self.session("--problem", "s=16,d=8", "--problem", "s=8,d=8", *self.SMALL)
        self.assertEqual(header["experiment"], "scaling")
        self.assertEqual(header["command"][0], "run")
        self.assertEqual([c["case"] for c in self.cells], ["h1-s16-d8", "h1-s8-d8"])
        self.assertEqual({c["kernel"] for c in self.cells}, {"naive"})
        for cell in self.cells:
            self.assertEqual((cell["state"], cell["time"]["launches"]), ("ok", 1))
        self.assertIn("experiment scaling: How does time grow", self.printed)
        self.assertIn("Amdahl", self.printed)
        self.assertIn(f"scripts/plot {self.output} draws", " ".join(self.printed.split()))

    def test_its_options_are_replaced(self) -> None:
        page = run("experiment", "scaling", "--help").stdout
        whole, quick = page.split("Runs with --quick\n")
        self.assertIn("--kernel=flash,gemm", whole)
        self.assertNotIn("gemm", quick)
        header = self.session("--suite", "quick", "--case", "decode*", "--quick", *self.SMALL)
        self.assertNotIn("--problem", " ".join(header["command"]))
        self.assertIn("--kernel=flash", header["command"])
        self.assertEqual({c["kernel"] for c in self.cells}, {"naive"})
        self.assertTrue(all(c["case"].startswith("decode") for c in self.cells))

    def test_memory_has_the_workspace_of_each_size(self) -> None:
        words = ("--problem", "s=64..128*2,d=8,outputs=o|o+weights", "--launches", "1")
        self.ran("experiment", "memory", *words, "--threads", "1", "--kernel", "naive,online",
                   "--output", self.output)  # fmt: skip
        found = {
            (c["case"], c["kernel"]): c["workspace_bytes"] if c["state"] == "ok" else c["state"]
            for c in lines(self.output)
            if c["type"] == "cell"
        }
        self.assertEqual(len(found), 8)
        for s in (64, 128):
            self.assertEqual(found[f"h1-s{s}-d8-o_weights", "online"], "unsupported")
            self.assertGreater(found[f"h1-s{s}-d8", "naive"], 0)

    def test_it_is_resumed(self) -> None:
        self.session("--problem", "s=16,d=8", *self.SMALL)
        before = len(lines(self.output))
        self.ran("experiment", "scaling", "--resume", self.output)
        self.assertEqual([line["type"] for line in lines(self.output)[before:]], ["session", "end"])

    def test_bad_options_are_those_of_run(self) -> None:
        self.refused(["experiment", "scaling", "--kernel", "flesh"], 2, "'flesh'", "'flash'")
        self.refused(["experiment", "scaling", "--s", "64"], 2, "scaling: run has no option '--s'")

    def test_a_wrong_kernel_gets_no_time(self) -> None:
        words = ("--problem", "s=16,d=8", "--threads", "1", "--launches", "1")
        self.session(*words, "--kernel", "broken_zero", code=1, program=HOST)
        self.assertEqual([(c["state"], c["time"]) for c in self.cells], [("failed", None)])

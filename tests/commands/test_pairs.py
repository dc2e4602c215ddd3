"""scripts/dev/studies/pairs.py: figures with known answers, and sessions that survive a kill."""

import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from command import HANGS

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "dev" / "studies" / "pairs.py"
PROGRAM = os.environ["ATTNBENCH_EQUALS"]

spec = importlib.util.spec_from_file_location("pairs", SCRIPT)
pairs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pairs)


class Figures(unittest.TestCase):
    def test_intervals_of_paired_ratios(self) -> None:
        """Of 6 rounds the extremes, of 9 all but them; rounds that one lacks are left out."""
        self.assertEqual(
            pairs.median_ranks.__module__, "attntools.base.ranks"
        )  # no rule of its own
        a = [1.0, 2.0, 1.0, 1.0, None, 4.0, 1.0]
        b = [1.1, 2.4, 0.9, 1.3, 9.0, 4.0, 1.5]
        compared = pairs.compare(a, b)
        self.assertEqual(compared["rounds"], 6)
        self.assertAlmostEqual(compared["ci95"][0], 0.9)
        self.assertAlmostEqual(compared["ci95"][1], 1.5)
        self.assertAlmostEqual(compared["ratio"], (1.1 * 1.2) ** 0.5)
        self.assertIsNone(pairs.compare(a[:3], b[:3])["ci95"])

    def test_a_share_above_5_percent_is_significant_or_not(self) -> None:
        self.assertAlmostEqual(pairs.binomial_tail(0, 20, 0.05), 1)
        self.assertAlmostEqual(pairs.binomial_tail(1, 20, 0.05), 1 - 0.95**20)
        self.assertAlmostEqual(pairs.binomial_tail(2, 2, 0.05), 0.0025)
        apart = {"ratio": 1.2, "ci95": [1.1, 1.3], "rounds": 6}
        together = {"ratio": 1.0, "ci95": [0.9, 1.0], "rounds": 6}
        unknown = {"ratio": 1.0, "ci95": None, "rounds": 5}
        figures = pairs.equal_figures([apart, together, together, unknown])
        self.assertEqual((figures["n"], figures["excluding_1"]), (3, 1))
        self.assertAlmostEqual(figures["p_value_above_5_percent"], 1 - 0.95**3)
        figures = pairs.slower_figures([apart, together, unknown])
        self.assertEqual((figures["n"], figures["ranked_slower"]), (3, 1))
        self.assertEqual(figures["interval_above_1"], 1)

    def test_a_session_ranks_by_the_median_of_its_cells(self) -> None:
        def cell(slower: float) -> dict[str, object]:
            return {
                "case": "c",
                "threads": 1,
                "equal_a": [1.0],
                "equal_b": [1.0],
                "slower": [slower],
            }

        def line(*ratios: float) -> dict[str, object]:
            values = {"launches": 3, "repeated": 1, "overhead_s": 1.0, "wall_s": 8.0}
            cells = [cell(ratio) for ratio in ratios]
            return {"values": {**values, "flags": {"drift": 2}, "detectable": [], "cells": cells}}

        figures = pairs.summarise([line(1.1, 0.9, 1.2), line(0.9, 0.8, 1.3)])
        self.assertEqual(figures["sessions_ranking_slower"], 1)
        self.assertEqual(figures["slower"]["ranked_slower"], 3)
        self.assertEqual(figures["overhead_share"], 1 / 8)
        self.assertEqual(figures["flags"], {"drift": 4})


class Sessions(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.suite = pathlib.Path(directory.name) / "one.suite"
        self.suite.write_text("one: h=1,s=32,d=16\n", encoding="utf-8")
        self.output = pathlib.Path(directory.name) / "pairs.jsonl"

    def start(self, sessions: int) -> subprocess.Popen[str]:
        command = [sys.executable, SCRIPT, PROGRAM, self.output, "--sessions", str(sessions)]
        command += ["--suite", self.suite, "--threads", "1", "--seconds", "1"]
        command += ["--if-busy", "go-on"]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip

    def finish(self, sessions: int) -> dict:
        process = self.start(sessions)
        out, err = process.communicate(timeout=HANGS)
        self.assertEqual(process.returncode, 0, err)
        return json.loads(out)

    def launched(self, session: pathlib.Path) -> bool:
        """Whether a session is under way."""
        try:
            return session.read_text(encoding="utf-8").count('"type":"launch"') > 1
        except FileNotFoundError:  # not yet, or no longer
            return False

    def test_a_kill_loses_no_session(self) -> None:
        """Whenever it comes: on a busy machine, both may be complete."""
        process = self.start(2)
        unfinished = self.output.with_name(self.output.name + ".session-001")
        while process.poll() is None and not self.launched(unfinished):
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        self.output.write_text('{"type":"exp', encoding="utf-8")  # cut short by the kill
        figures = self.finish(2)
        lines = [json.loads(line) for line in self.output.read_text().splitlines()]
        self.assertEqual([line["params"]["session"] for line in lines], [1, 2])
        self.assertFalse(unfinished.exists())
        self.assertEqual(figures["sessions"], 2)
        (cell,) = lines[0]["values"]["cells"]
        self.assertEqual((cell["case"], cell["threads"]), ("one", 1))
        self.assertTrue(all(len(cell[k]) == len(cell["slower"]) for k in pairs.KERNELS))
        before = self.output.read_text()
        self.assertEqual(self.finish(2), figures)
        self.assertEqual(self.output.read_text(), before)

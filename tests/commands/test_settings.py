"""Two settings of one build in one session, and the environment of workers."""

import json
import pathlib
import shlex
from collections.abc import Sequence

from command import TINY, CommandTest, Row, launches, lines
from plugins import PluginTest

SIX = ("--launches", "6")
ONE = ("--launches", "1")


class Settings(PluginTest):
    def measured(
        self, base: str, new: str, problem: str = TINY, more: Sequence[str] = SIX, code: int = 0
    ) -> tuple[str, dict[str, Row]]:
        """What a session of both prints, and the row of each."""
        words = ["--problem", problem, "--plugin", self.plugin("told"), "--kernel", "told"]
        words += ["--check", "case", "--seed", "5", "--base-options", base, "--new-options", new]
        self.cells_of("run", *words, *more, code=code)
        rows = [line for line in lines(self.output) if line["type"] == "cell"]
        self.assertEqual(len(rows), 2)
        return self.done.stdout, {row["setting"]: row for row in rows}

    def logs(self, setting: str) -> set[str]:
        """What the launches of a setting print."""
        return {line["log"] for line in launches(self.output) if line["setting"] == setting}

    def test_each_is_measured_told_and_gone_on_with(self) -> None:
        """In one session; after it was killed in its fifth round; and by a row's own command."""
        out, rows = self.measured("MODE=a", "MODE=b X='1 2' --placement none --memory interleave")
        self.assert_rows(out, rows)
        self.assert_rounds(rows)
        self.assert_resumed()
        self.assert_repeated(rows["new"])

    def assert_rows(self, out: str, rows: dict[str, Row]) -> None:
        """Each setting has a row and its environment, and the table compares the two."""
        self.assertEqual([rows[s]["state"] for s in ("base", "new")], ["ok", "ok"])
        self.assertEqual(rows["base"]["environment"], "MODE=a")
        self.assertEqual(rows["new"]["environment"], "MODE=b 'X=1 2'")
        self.assertEqual((rows["base"]["placement"], rows["new"]["placement"]), ("cores", "none"))
        self.assertEqual((rows["base"]["memory"], rows["new"]["memory"]),
                         ("first-touch", "interleave"))  # fmt: skip
        for setting, mode in (("base", "a"), ("new", "b")):
            self.assertEqual(len(self.logs(setting)), 1)
            self.assertIn(f"MODE={mode} ", *self.logs(setting))
            self.assertIn(f"told/baseline {setting} ", out)
        said = "against base (--placement cores --environment 'MODE=a'), by the ratios of "
        self.assertIn(said, " ".join(out.split()))
        self.assertRegex(out, r"told/baseline on 1 thread: [+-]\d+\.\d % \([^)]+\), "
                              r"(SLOWER|FASTER|SAME|UNCLEAR): ")  # fmt: skip
        self.assertRegex(" ".join(out.split()), r", 1 cell: \d SLOWER, \d UNCLEAR, \d FASTER")

    def assert_rounds(self, rows: dict[str, Row]) -> None:
        """Each round has a launch of each setting, in an order that is shuffled."""
        taken = launches(self.output)
        self.assertEqual(len(taken), 12)
        order = [(line["round"], line["setting"]) for line in taken]
        self.assertEqual([n for n, _ in order], sorted(n for n, _ in order))
        self.assertEqual(set(order), {(n, s) for n in range(6) for s in ("base", "new")})
        firsts = {dict(reversed(order))[n] for n in range(6)}
        self.assertEqual(firsts, {"base", "new"}, "the order is shuffled")
        self.assertEqual(rows["base"]["time"]["launches"], 6)

    def assert_resumed(self) -> None:
        """Whatever is missing of both settings is launched, and nothing else."""
        whole = pathlib.Path(self.output).read_text(encoding="utf-8").splitlines(keepends=True)
        taken = [n for n, line in enumerate(whole) if json.loads(line)["type"] == "launch"]
        pathlib.Path(self.output).write_text("".join(whole[: taken[8] + 1]), encoding="utf-8")
        self.ran("run", "--resume", self.output)
        rows = {r["setting"]: r for r in lines(self.output) if r["type"] == "cell"}
        after = launches(self.output)
        for setting, mode in (("base", "a"), ("new", "b")):
            self.assertIn(f"MODE={mode}", rows[setting]["environment"].split())
            self.assertEqual(rows[setting]["time"]["launches"], 6)
            own = [line["round"] for line in after if line["setting"] == setting]
            self.assertEqual(own, list(range(6)))
        self.ran("run", "--resume", self.output)
        self.assertEqual(len(launches(self.output)), 12, "nothing is left to launch")

    def assert_repeated(self, row: Row) -> None:
        """A row's command repeats its setting."""
        path = str(self.directory / "again.jsonl")
        words = shlex.split(row["repro"])
        self.assertEqual(words[:2], ["attnbench", "run"])
        self.ran(*words[1:], "--launches", "1", "--output", path)
        (again,) = [line for line in lines(path) if line["type"] == "cell"]
        same = ("kernel", "problem", "placement", "memory", "huge_pages", "cache", "environment")
        self.assertEqual([again[k] for k in same], [row[k] for k in same])
        self.assertNotIn("setting", again)
        self.assertIn("MODE=b ", again["log"])

    def test_environments_fill_whole_pages_and_replace_what_a_session_sets(self) -> None:
        _, rows = self.measured("", f"MODE={'b' * 200} OMP_WAIT_POLICY=passive", more=ONE)
        self.assertNotIn("environment", rows["base"])
        for setting, policy in (("base", "active"), ("new", "passive")):
            self.assertIn(f"OMP_WAIT_POLICY={policy} misses=0 stored=", *self.logs(setting))

    def test_wrong_under_one_of_them(self) -> None:
        out, rows = self.measured("", "MODE=wrong", more=ONE, code=1)
        self.assertEqual((rows["base"]["state"], rows["new"]["state"]), ("ok", "failed"))
        self.assertIsNone(rows["new"]["time"])
        self.assertNotIn("against base", out)

    def test_one_cold_and_one_warm(self) -> None:
        _, rows = self.measured("--cold", "", "h=1,sq=1,skv=2k,d=64", ONE)
        self.assertEqual((rows["base"]["cache"], rows["new"]["cache"]), ("cold", "warm"))
        self.assertEqual([rows[s]["state"] for s in ("base", "new")], ["ok", "ok"])

    def test_one_that_cannot_be_cold(self) -> None:
        """A small case would take too many operands; the other setting has its time."""
        _, rows = self.measured("--cold", "", "h=1,s=1,d=1", ONE)
        self.assertEqual((rows["base"]["state"], rows["new"]["state"]), ("unsupported", "ok"))


class Refused(CommandTest):
    def test_what_is_no_setting(self) -> None:
        none = "is none of NAME=VALUE, --placement, --memory, --huge-pages, --cold"
        both = ("--base-options", "", "--new-options")
        for words, why in (
            ([*both, "--threads 2"], f"--new-options: --threads {none}"),
            ([*both, "--huge-pages A=1"], "--new-options: A=1 follows an option; variables come"),
            ([*both, "--placement"], "--new-options: --placement takes WHERE"),
            ([*both, "--placement moon"], "--new-options: --placement takes cores"),
            ([*both, "'"], "--new-options: a quote is not closed"),
            ([*both, f"A={'x' * 600}"], "--new-options: variables of more than 511 bytes"),
            (["--base-options", "B"], f"--base-options: B {none}"),
            ([*both, "--placement cores"], "are the same setting"),
            (["--environment", "A=1 --cold"], "--environment: --cold is no NAME=VALUE"),
            (["--environment", "A=1", *both, "--cold"], "--environment is a part of a setting"),
        ):
            with self.subTest(words=words):
                done = self.ran("run", "--problem", TINY, *words, code=2)
                self.assertEqual(done.stderr.count("\n"), 1)
                self.assertIn(why, done.stderr)

"""Results: every line of every kind of row against results/schema.json."""

import unittest

from command import BRIEF, HOST, SCHEMA, TINY, CommandTest, Row, cells, lines, run
from json_schema import Validator


class Schema(CommandTest):
    """Every line of every kind of row against results/schema.json."""

    def validate(self, path: str) -> list[Row]:
        validator = Validator(SCHEMA)
        written = lines(path)
        for line in written:
            self.assertEqual(validator.errors(line), [], line)
        return written

    def test_every_state(self) -> None:
        run(
            "run", "--problem", TINY, "--problem", "h=1,s=4,d=4,softcap=9", "--kernel",
            "naive,broken_zero,broken_crash,broken_hungry", "--isa", "all", "--threads", "1",
            *BRIEF, "--output", self.output, program=HOST,
        )  # fmt: skip
        written = self.validate(self.output)
        states = {line["state"] for line in written if line["type"] == "cell"}
        self.assertLessEqual({"ok", "failed", "crashed", "skipped", "unsupported"}, states)

    def test_check(self) -> None:
        arguments = ["--problem", TINY, "--kernel", "naive,online", "--threads", "1"]
        done = run("check", *arguments, "--output", self.output)
        self.assertEqual(done.returncode, 0, done)
        written = self.validate(self.output)
        (difference,) = [line for line in written if line["type"] == "difference"]
        self.assertEqual({row["kernel"] for row in difference["between"]}, {"naive", "online"})
        self.assertLess(difference["largest"], 1e-5)
        self.assertRegex(
            done.stdout, r"largest difference between two kernels: \S+e-0\d, (naive|online)/"
        )
        for row in cells(self.output).values():
            self.assertGreater(row["check"]["rows"], 0)
            self.assertIsNone(row["time"])

    def test_check_without_o_compares_nothing(self) -> None:
        arguments = ["--kernel", "naive,online", "--threads", "1", "--output", self.output]
        done = run("check", "--problem", "h=1,s=16,d=8,outputs=lse", *arguments)
        self.assertEqual(done.returncode, 0, done)
        self.assertNotIn("difference", {line["type"] for line in self.validate(self.output)})
        self.assertEqual({row["state"] for row in cells(self.output).values()}, {"ok"})

    def test_the_validator_can_fail(self) -> None:
        run("run", "--problem", TINY, "--kernel", "naive", *BRIEF, "--output", self.output)
        by_type = {line["type"]: line for line in lines(self.output)}
        session, check, launch, cell, end = (
            by_type[name] for name in ("session", "check", "launch", "cell", "end")
        )
        validator = Validator(SCHEMA)
        for line, key, value in (
            (session, "schema", "attnbench.results/2"),
            (session, "build", None),
            (check, "check", {}),
            (launch, "samples_s", []),
            (cell, "state", "fine"),
            (cell, "time", {"median_s": -1}),
            (cell, "threads", True),
            (cell, "repro", "rm -rf"),
            (cell, "placement", 3),
            (end, "complete", "yes"),
        ):
            self.assertNotEqual(validator.errors({**line, key: value}), [], (key, value))
            shorter = {name: kept for name, kept in line.items() if name != key}
            self.assertNotEqual(validator.errors(shorter), [], f"without {key}")


if __name__ == "__main__":
    unittest.main()

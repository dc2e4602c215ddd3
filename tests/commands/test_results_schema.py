"""Results: every line of every kind of row against results/schema.json."""

from command import HOST, SCHEMA, TINY, CommandTest, Row, lines
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
        self.cells_of(
            "run", "--problem", TINY, "--problem", "h=1,s=4,d=4,softcap=9", "--isa", "all",
            "--kernel", "naive,broken_zero,broken_crash,broken_hungry", code=None, program=HOST,
        )  # fmt: skip
        written = self.validate(self.output)
        states = {line["state"] for line in written if line["type"] == "cell"}
        self.assertLessEqual({"ok", "failed", "crashed", "skipped", "unsupported"}, states)

    def test_check(self) -> None:
        rows = self.cells_of("check", "--problem", TINY, "--kernel", "naive,online")
        written = self.validate(self.output)
        (difference,) = [line for line in written if line["type"] == "difference"]
        self.assertEqual({row["kernel"] for row in difference["between"]}, {"naive", "online"})
        self.assertLess(difference["largest"], 1e-5)
        self.assertRegex(
            self.done.stdout, r"largest difference between two kernels: \S+e-0\d, (naive|online)/"
        )
        for row in rows:
            self.assertGreater(row["check"]["rows"], 0)
            self.assertIsNone(row["time"])

    def test_check_without_o_compares_nothing(self) -> None:
        asked = ("--problem", "h=1,s=16,d=8,outputs=lse", "--kernel", "naive,online")
        rows = self.cells_of("check", *asked)
        self.assertNotIn("difference", {line["type"] for line in self.validate(self.output)})
        self.assertEqual({row["state"] for row in rows}, {"ok"})

    def test_the_validator_can_fail(self) -> None:
        self.cell_of("run", "--problem", TINY, "--kernel", "naive")
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

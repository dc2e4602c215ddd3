"""`attnbench capsule` and `replay`: a row leaves its file, and is repeated from there."""

import json
import os
import pathlib
import shutil
import unittest

from command import BASELINE, BESIDE, DATA, Row, cells, lines, run
from plugins import PluginTest

WRONG = os.environ["ATTNBENCH_WRONG"]


class Capsule(PluginTest):
    def setUp(self) -> None:
        super().setUp()
        self.folder = self.directory / "capsule"

    def capsule(self, row: int = 1, code: int = 0) -> str:
        done = run("capsule", self.output, "--row", str(row), "--output", str(self.folder))
        self.assertEqual(done.returncode, code, done)
        return done.stdout if code == 0 else done.stderr

    def replay(self, code: int = 0, **options: str) -> str:
        done = run("replay", str(self.folder), *BESIDE, **options)
        self.assertEqual(done.returncode, code, done)
        return done.stdout if code in (0, 1) else done.stderr

    def enclosed(self) -> Row:
        return json.loads((self.folder / "capsule.json").read_text(encoding="utf-8"))

    def again(self, number: int = 1) -> list[Row]:
        return list(cells(str(self.folder / f"replay-{number}.jsonl")).values())

    def test_a_row_is_measured_again(self) -> None:
        words = ["--isa", "baseline", "--placement", "none", "--seed", "7", "--huge-pages"]
        self.session(*words, kernels="naive,online", problem="h=2,s=24,d=8 input=uniform:3")
        (_, second) = [line for line in lines(self.output) if line["type"] == "cell"]
        said = self.capsule(2)
        self.assertIn(f"attnbench replay {self.folder}", said)
        inside = self.enclosed()
        self.assertEqual(inside["row"], second)
        self.assertEqual(inside["session"], lines(self.output)[0])
        self.assertEqual((inside["plugin"], inside["tensors"]), (None, None))
        pathlib.Path(self.output).unlink()
        said = self.replay()
        (row,) = self.again()
        for key in ("problem", "input", "kernel", "isa", "threads", "placement", "memory",
                    "huge_pages", "cache", "seed", "state"):  # fmt: skip
            self.assertEqual(row[key], second[key], key)
        self.assertIn(f"replay of {self.folder}: {second['kernel']}/{BASELINE}", said)
        self.assertRegex(said, r"(?m)^state +ok +ok$")
        self.assertRegex(said, r"(?m)^median +\d\S* [mun]s.* +\d\S* [mun]s")
        self.assertRegex(said, r"[+-]\d+\.\d % time, on the same machine; the intervals ")
        self.replay()
        self.assertEqual(len(self.again(2)), 1)

    def test_a_plug_in_goes_along(self) -> None:
        plugin = shutil.copy(self.plugin("right"), self.directory / "mine.so")
        _, rows = self.session("--plugin", str(plugin), kernels="plugins")
        (row,) = rows.values()
        self.assertEqual(row["state"], "ok")
        self.capsule()
        self.assertEqual(self.enclosed()["plugin"], {"name": "mine.so", "digest": row["plugin"]})
        pathlib.Path(plugin).unlink()
        self.replay()
        (again,) = self.again()
        self.assertEqual((again["plugin"], again["state"]), (row["plugin"], "ok"))
        shutil.copy(self.plugin("off_by_one"), self.folder / "mine.so")
        self.assertIn("mine.so is not the file that was put there", self.replay(3))
        (self.folder / "mine.so").unlink()
        self.assertIn("mine.so: cannot be read", self.replay(3))

    def test_a_plug_in_that_is_gone(self) -> None:
        plugin = pathlib.Path(shutil.copy(self.plugin("right"), self.directory / "mine.so"))
        self.session("--plugin", str(plugin), kernels="plugins")
        plugin.unlink()
        self.assertIn(", is not where its session found it", self.capsule(code=3))
        self.assertFalse(self.folder.exists())

    def test_tensors_go_along(self) -> None:
        tensors = self.directory / "t.safetensors"
        shutil.copy(DATA / "minilm-preamble.safetensors", tensors)
        problem = f"b=1,h=2,s=68,d=32 input=file:{tensors}:layer1."
        _, rows = self.session(kernels="naive", problem=problem)
        self.assertEqual(rows["naive"]["state"], "ok", rows)
        self.capsule()
        tensors.unlink()
        self.replay()
        (again,) = self.again()
        self.assertEqual(again["state"], "ok")
        self.assertEqual(again["input"], f"file:{self.folder}/t.safetensors:layer1.")

    def test_tensors_that_are_gone(self) -> None:
        """As one message says; another that they are there and no file."""
        tensors = self.directory / "t.safetensors"
        shutil.copy(DATA / "minilm-preamble.safetensors", tensors)
        problem = f"b=1,h=2,s=68,d=32 input=file:{tensors}:layer1."
        self.session(kernels="naive", problem=problem)
        tensors.unlink()
        self.assertIn(f"{tensors}: No such file", self.capsule(code=3))
        tensors.mkdir()
        self.assertIn(f"{tensors}: cannot be read", self.capsule(code=3))
        self.assertFalse(self.folder.exists())

    def test_a_failure_is_repeated_too(self) -> None:
        """And one that is none any more is another state: 1."""
        words = ["check", "--problem", "h=2,s=24,d=8", "--threads", "1,2"]
        run(*words, "--kernel", "nan_vanishes_in_teams", "--output", self.output, program=WRONG)
        rows = [line for line in lines(self.output) if line["type"] == "cell"]
        if all(row["state"] == "ok" for row in rows):
            self.fail(f"nothing failed: {rows}")
        number = next(n for n, row in enumerate(rows, 1) if row["failed_at"])
        self.capsule(number)
        said = self.replay(program=WRONG)
        self.assertRegex(said, r"(?m)^state +failed +failed$")
        self.assertEqual({row["threads"] for row in self.again()}, {1, 2})
        capsule = self.enclosed()
        capsule["row"]["kernel"] = "honest"
        (self.folder / "capsule.json").write_text(json.dumps(capsule), encoding="utf-8")
        said = self.replay(1, program=WRONG)
        self.assertRegex(said, r"(?m)^state +failed +ok$")

    def test_what_is_no_row(self) -> None:
        self.session(kernels="naive")
        self.assertIn(f"{self.output}: no row 2, it has 1", self.capsule(2, 3))
        self.assertFalse(self.folder.exists())
        self.folder.mkdir()
        self.assertIn("File exists", self.capsule(1, 3))
        self.assertEqual(list(self.folder.iterdir()), [])
        self.output = str(self.directory / "other.jsonl")
        self.assertIn("No such file", self.capsule(1, 3))
        pathlib.Path(self.output).write_text("{}\n", encoding="utf-8")
        self.assertIn("line 1 is no line of results", self.capsule(1, 3))
        pathlib.Path(self.output).write_text("", encoding="utf-8")
        self.assertIn("is no results file", self.capsule(1, 3))

    def test_what_is_no_capsule(self) -> None:
        self.folder.mkdir()
        self.assertIn("capsule.json", self.replay(3))
        (self.folder / "capsule.json").write_text('{"schema":"other"}', encoding="utf-8")
        self.assertIn("is no capsule of schema attnbench.capsule/1", self.replay(3))

    def test_usage(self) -> None:
        for words, said in (
            (["capsule"], "capsule takes a results file, --row and --output"),
            (["capsule", "x", "--row", "0", "--output", "y"], "--row takes a whole number from 1"),
            (["capsule", "x", "y", "--row", "1"], "capsule has no option 'y'"),
            (["replay"], "replay takes the folder of a capsule"),
            (["replay", "x", "--row", "1"], "replay has no option '--row'"),
        ):
            done = run(*words)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main()

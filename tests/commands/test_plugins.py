"""Kernels from shared objects: run as any other."""

import json
import os
import shlex
import shutil
import subprocess
import unittest
import unittest.mock

from command import (
    BESIDE,
    BRIEF,
    FULL,
    HANGS,
    HOST,
    SCHEMA,
    TINY,
    UNCHECKED,
    Row,
    cells,
    lines,
    run,
    safetensors,
    unless_emulated,
)
from command import read_safetensors as read
from plugins import PluginTest, digest

CAUSAL = "h=1,s=16,d=8,mask=causal"


def stored(row: Row) -> int:
    """Blocks of stored rows of the reference that kernel `told` found."""
    return int(row["log"].split("stored=")[1].split()[0])


class Plugins(PluginTest):
    # ---- as any other kernel ---------------------------------------------------------------------

    def test_it_is_checked_timed_and_named(self) -> None:
        """Its rows fit the schema, those of a refused one too, and its repro line runs it."""
        odd = self.directory / "it's mine.so"
        shutil.copy(self.plugin("right"), odd)
        both = ("--plugin", str(odd), "--plugin", self.plugin("no_entry"))
        rows = self.session(*both, code=3)
        row = rows["right"]
        self.assertEqual((row["state"], row["isa"]), ("ok", "baseline"))
        self.assertGreater(row["time"]["median_s"], 0)
        self.assertGreater(row["check"]["rows"], 0)
        self.assertEqual(row["workspace_bytes"], 4096)
        self.assertEqual(row["plugin"], digest(self.plugin("right")))
        self.assertIsNone(rows["naive"]["plugin"])
        for line in lines(self.output):
            if line.get("kernel") == "right":
                self.assertEqual(line["plugin"], row["plugin"])
        schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
        self.assertIn("plugin", schema["$defs"]["identity"]["key"])
        pattern = schema["$defs"]["identity"]["properties"]["plugin"]["pattern"]
        for name in ("right", "no_entry"):
            self.assertRegex(rows[name]["plugin"], pattern)
        words = shlex.split(row["repro"])
        self.assertEqual(words[2:4], ["--plugin", str(odd)])
        again = str(self.directory / "again.jsonl")
        self.ran(*words[1:], *BRIEF, "--output", again)
        self.assertEqual([key[1] for key in cells(again)], ["right"])

    def test_a_file_of_this_folder_needs_no_slash(self) -> None:
        shutil.copy(self.plugin("right"), self.directory / "right.so")
        done = self.ran("list", "--json", "--plugin", "right.so", cwd=self.directory)
        (kernel,) = [k for k in json.loads(done.stdout)["kernels"] if k["name"] == "right"]
        self.assertEqual(kernel["group"], "plugins")
        self.assertEqual(kernel["plugin"], digest(self.plugin("right")))
        self.assertEqual(kernel["summary"], "of a test")

    def test_list_shows_it(self) -> None:
        done = self.ran("list", "--plugin", self.plugin("right"))
        self.assertRegex(done.stdout, r"(?m)^  right +plugins +baseline\n      of a test$")

    def test_several_files_and_other_versions_of_attention_h(self) -> None:
        """One of them named in two ways, and so twice."""
        versions = ("first", "shorter", "longer")
        words = [f"--plugin={self.plugin(version)}" for version in versions]
        words += ["--plugin", self.plugin("first")]
        rows = self.session(*words, problem=CAUSAL)
        self.assertEqual({n: r["state"] for n, r in rows.items()},
                         dict.fromkeys(("naive", *versions), "ok"))  # fmt: skip

    def test_check_has_it(self) -> None:
        rows = self.session("--plugin", self.plugin("right"), command="check", kernels="right")
        self.assertEqual(
            (rows["right"]["state"], rows["right"]["check"]["depth"]), ("ok", "thorough")
        )

    def test_all_has_it(self) -> None:
        words = ["run", "--problem", TINY, "--kernel", "all", "--threads", "1", "--dry-run"]
        without, beside = (
            int(run(*words, *more).stdout.split()[0])
            for more in ([], ["--plugin", self.plugin("right")])
        )
        self.assertGreater(without, 1)
        self.assertEqual(beside, without + 1)

    def test_capabilities_are_checked_before_it_runs(self) -> None:
        rows = self.session(
            "--plugin", self.plugin("right"), problem="h=1,s=16,d=8,dtype=bf16", code=None
        )
        self.assertEqual(rows["right"]["state"], "unsupported")
        self.assertEqual(rows["right"]["why"], "no variant of it takes dtype=bf16")

    @unless_emulated("starts workers too slowly for six launches in the time granted")
    def test_a_long_check_leaves_time_for_launches(self) -> None:
        """It takes 2 s where the session would be 1 s long; --seconds limits both together."""
        words = ["run", "--plugin", self.plugin("slow"), "--kernel", "slow", "--problem", TINY]
        words += ["--threads", "1", *FULL, "--output"]
        taken = []
        for n, limit in enumerate(([], ["--seconds", "1"])):
            output = str(self.directory / f"{n}.jsonl")
            self.ran(*words, output, *limit)
            (row,) = cells(output).values()
            taken.append(row["time"]["launches"])
        self.assertGreaterEqual(taken[0], 6)
        self.assertEqual(taken[1], 1)

    def test_what_only_its_code_knows(self) -> None:
        for command in ("run", "check"):
            self.output = str(self.directory / f"{command}.jsonl")
            kernels = "naive,plugins" if command == "run" else "plugins"
            rows = self.session(
                "--plugin", self.plugin("right"), problem="h=1,s=16,d=7", command=command,
                kernels=kernels,
            )  # fmt: skip
            # a group was named, not the kernel
            self.assertEqual(rows["right"]["state"], "unsupported")
            self.assertEqual(rows["right"]["why"], "no variant of it takes an odd head dimension")
            self.assertIsNone(rows["right"]["time"])
            if command == "run":
                self.assertEqual(rows["naive"]["state"], "ok")

    def test_eval(self) -> None:
        given, out = str(self.directory / "in.safetensors"), str(self.directory / "out.safetensors")
        tensors = {name: ([1, 1, 2, 2], [1.0, 2.0, 3.0, 4.0]) for name in "qkv"}
        safetensors(given, tensors)
        words = ["eval", "--input", given, "--output", out, "--kernel"]
        results = {}
        for kernel in ("naive", "right"):
            self.ran(*words, kernel, "--plugin", self.plugin("right"))
            results[kernel] = read(out)["o"][1]
        for mine, theirs in zip(results["right"], results["naive"], strict=True):
            self.assertAlmostEqual(mine, theirs, places=6)

    def test_an_experiment(self) -> None:
        words = ["experiment", "overflow", "--quick", "--plugin", self.plugin("first")]
        self.ran(*words, "--output", self.output)
        by = {line["params"]["by"] for line in lines(self.output) if line["type"] == "experiment"}
        self.assertIn("first", by)

    def test_an_experiment_that_measures(self) -> None:
        words = ["experiment", "scaling", "--problem", "s=16,d=8", "--launches", "1"]
        words += ["--threads", "1", "--kernel", "right", "--plugin", self.plugin("right")]
        done = run(*words, "--output", self.output)
        rows = [line for line in lines(self.output) if line["type"] == "cell"]
        self.assertEqual({row["kernel"] for row in rows}, {"right"}, done)

    def test_resume(self) -> None:
        """Finished cells stay; those of a file that has changed are other cells."""
        mine = str(self.directory / "mine.so")
        shutil.copy(self.plugin("right"), mine)
        self.session("--plugin", mine)
        before = len(lines(self.output))
        self.ran("run", "--resume", self.output)
        added = lines(self.output)[before:]
        self.assertNotIn("launch", {line["type"] for line in added})
        shutil.copy(self.plugin("first"), mine)
        run("run", "--resume", self.output)
        (row,) = [r for r in lines(self.output)[before:] if r.get("kernel") == "first"
                  and r["type"] == "cell"]  # fmt: skip
        self.assertEqual((row["state"], row["plugin"]), ("ok", digest(self.plugin("first"))))

    def test_off_by_one(self) -> None:
        """The query, the key and the problem stand in the message."""
        rows = self.session("--plugin", self.plugin("off_by_one"), problem=CAUSAL, code=1)
        row = rows["off_by_one"]
        self.assertEqual(row["state"], "failed")
        self.assertIsNone(row["time"])
        self.assertRegex(
            row["why"],
            r"^own input: o row \(b 0, h 0, i 1\) element \d+: got -?[0-9.e-]+, "
            r"expected -?[0-9.e-]+, bound [0-9.e-]+ \(15 of 16 rows wrong\); "
            r"as if it did not see its last key, 1; "
            r"problem b=1,hq=1,hkv=1,sq=16,skv=16,d=8,mask=causal$",
        )
        self.assertIn("as if it did not see its last key, 1", " ".join(self.done.stdout.split()))

    def test_a_check_finds_the_rows_of_the_reference_that_others_computed(self) -> None:
        """But a plug-in hands on none; before any check there are those of the case's own input."""
        told = ("--plugin", self.plugin("told"))
        alone = stored(self.session(*told, kernels="told", command="check")["told"])
        self.output = str(self.directory / "second.jsonl")
        rows = self.session(*told, kernels="naive,told", command="check")
        self.assertEqual(list(rows), ["naive", "told"])
        self.assertGreater(stored(rows["told"]), alone)
        self.assertGreater(alone, 0)
        self.output = str(self.directory / "third.jsonl")
        right = ("--plugin", self.plugin("right"), *told)
        rows = self.session(*right, kernels="right,told", command="check")
        self.assertEqual(rows["right"]["state"], "ok")
        self.assertEqual(stored(rows["told"]), alone)

    # ---- files that change -----------------------------------------------------------------------

    def test_a_file_that_changes_meanwhile(self) -> None:
        """The row of one file is never computed by another."""
        mine = self.directory / "mine.so"
        shutil.copy(self.plugin("right"), mine)
        hold = self.directory / "hold"  # broken_slow, once there is a launch
        hold.write_text(f'{self.output}\n"type":"launch"\n', encoding="utf-8")
        words = ["--problem", TINY, "--threads", "1", "--kernel", "broken_slow,right"]
        with subprocess.Popen(
            [HOST, "run", *words, "--launches", "2", *UNCHECKED, *BESIDE,
             "--timeout", str(HANGS), "--plugin", str(mine), "--output", self.output],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "ATTNBENCH_TEST_HOLD": str(hold)},
        ) as process:  # fmt: skip
            while not self.written("launch"):
                self.assertIsNone(process.poll(), "it ended before it launched")
            changed = self.directory / "changed.so"
            shutil.copy(self.plugin("first"), changed)
            changed.replace(mine)
            hold.unlink()
            said = process.communicate(timeout=HANGS)
        self.assertEqual(process.returncode, 3, said)
        row = next(row for (_, name, _), row in cells(self.output).items() if name == "right")
        self.assertEqual(row["state"], "skipped")
        self.assertEqual(row["why"], f"{mine} has changed since the session began")
        self.assertIsNone(row["time"])

    def test_a_file_that_changes_while_it_is_loaded(self) -> None:
        """After its digest was taken, which is when the session above could miss it."""
        mine, following = self.directory / "mine.so", self.directory / "next.so"
        shutil.copy(self.plugin("replaced"), mine)
        shutil.copy(self.plugin("right"), following)
        with unittest.mock.patch.dict(os.environ, ATTNBENCH_TEST_NEXT=str(following)):
            rows = self.session("--plugin", str(mine), kernels="replaced", code=3)
        row = rows["replaced"]
        self.assertEqual((row["state"], row["time"]), ("skipped", None))
        self.assertEqual(row["why"], f"{mine} has changed since the session began")

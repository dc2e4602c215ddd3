"""Kernels from shared objects: run as any other, and refused with the reason."""

import hashlib
import json
import os
import pathlib
import platform
import shlex
import shutil
import subprocess
import unittest
import unittest.mock

from command import BRIEF, SCHEMA, TINY, CommandTest, Row, cells, lines, run, safetensors
from command import read_safetensors as read

PLUGINS = pathlib.Path(os.environ["ATTNBENCH_PLUGINS"])
HERE = {"x86_64": "x86-64", "aarch64": "AArch64"}[platform.machine()]
CAUSAL = "h=1,s=16,d=8,mask=causal"


def digest(path: str | pathlib.Path) -> str:
    """As rows have it."""
    return "sha256:" + hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


class Plugins(CommandTest):
    def plugin(self, name: str) -> str:
        """The path of a plug-in of tests/plugins/."""
        return str(PLUGINS / f"{name}.so")

    def session(
        self, *more: str, problem: str = TINY, command: str = "run", kernels: str = "naive,plugins"
    ) -> tuple[subprocess.CompletedProcess[str], dict[str, Row]]:
        """One session on one thread; how it ended, and its rows by kernel."""
        words = [command, "--problem", problem, "--threads", "1", "--output", self.output]
        words += ["--kernel", kernels, *more, *(BRIEF if command == "run" else [])]
        done = run(*words)
        rows = cells(self.output) if pathlib.Path(self.output).exists() else {}
        return done, {kernel: row for (_, kernel, _), row in rows.items()}

    # ---- as any other kernel ---------------------------------------------------------------------

    def test_it_is_checked_timed_and_named(self) -> None:
        done, rows = self.session("--plugin", self.plugin("right"))
        self.assertEqual(done.returncode, 0, done)
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

    def test_its_repro_line_runs_it(self) -> None:
        odd = self.directory / "it's mine.so"
        shutil.copy(self.plugin("right"), odd)
        _, rows = self.session("--plugin", str(odd))
        words = shlex.split(rows["right"]["repro"])
        self.assertEqual(words[2:4], ["--plugin", str(odd)])
        again = str(self.directory / "again.jsonl")
        done = run(*words[1:], *BRIEF, "--output", again)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual([key[1] for key in cells(again)], ["right"])

    def test_a_file_of_this_folder_needs_no_slash(self) -> None:
        shutil.copy(self.plugin("right"), self.directory / "right.so")
        done = run("list", "--json", "--plugin", "right.so", cwd=self.directory)
        self.assertEqual(done.returncode, 0, done)
        (kernel,) = [k for k in json.loads(done.stdout)["kernels"] if k["name"] == "right"]
        self.assertEqual(kernel["group"], "plugins")
        self.assertEqual(kernel["plugin"], digest(self.plugin("right")))
        self.assertEqual(kernel["summary"], "of a test")

    def test_list_shows_it(self) -> None:
        done = run("list", "--plugin", self.plugin("right"))
        self.assertEqual(done.returncode, 0, done)
        self.assertRegex(done.stdout, r"(?m)^  right +plugins +of a test$")

    def test_several_files(self) -> None:
        words = ["--plugin", self.plugin("right"), f"--plugin={self.plugin('first')}"]
        done, rows = self.session(*words, *words[:2], command="check")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual({n: r["state"] for n, r in rows.items()},
                         {"naive": "ok", "right": "ok", "first": "ok"})  # fmt: skip

    def test_all_has_it(self) -> None:
        done, rows = self.session("--plugin", self.plugin("right"), kernels="all", command="check")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("flash", rows)
        self.assertEqual(rows["right"]["state"], "ok")

    def test_capabilities_are_checked_before_it_runs(self) -> None:
        _, rows = self.session("--plugin", self.plugin("right"), problem="h=1,s=16,d=8,dtype=bf16")
        self.assertEqual(rows["right"]["state"], "unsupported")
        self.assertEqual(rows["right"]["why"], "no kernel variant takes dtype=bf16")

    def test_what_only_its_code_knows(self) -> None:
        for command in ("run", "check"):
            self.output = str(self.directory / f"{command}.jsonl")
            done, rows = self.session(
                "--plugin", self.plugin("right"), problem="h=1,s=16,d=7", command=command
            )
            self.assertEqual(done.returncode, 0, done)
            self.assertEqual(rows["right"]["state"], "unsupported")
            self.assertEqual(rows["right"]["why"], "no kernel variant takes an odd head dimension")
            self.assertIsNone(rows["right"]["time"])
            self.assertEqual(rows["naive"]["state"], "ok")

    def test_eval(self) -> None:
        given, out = str(self.directory / "in.safetensors"), str(self.directory / "out.safetensors")
        tensors = {name: ([1, 1, 2, 2], [1.0, 2.0, 3.0, 4.0]) for name in "qkv"}
        safetensors(given, tensors)
        words = ["eval", "--input", given, "--output", out, "--kernel"]
        results = {}
        for kernel in ("naive", "right"):
            done = run(*words, kernel, "--plugin", self.plugin("right"))
            self.assertEqual(done.returncode, 0, done)
            results[kernel] = read(out)["o"][1]
        for mine, theirs in zip(results["right"], results["naive"], strict=True):
            self.assertAlmostEqual(mine, theirs, places=6)

    def test_an_experiment(self) -> None:
        words = ["experiment", "overflow", "--quick", "--plugin", self.plugin("first")]
        done = run(*words, "--output", self.output)
        self.assertEqual(done.returncode, 0, done)
        by = {line["params"]["by"] for line in lines(self.output) if line["type"] == "experiment"}
        self.assertIn("first", by)

    def test_an_experiment_that_measures(self) -> None:
        words = ["experiment", "scaling", "--s", "16,32,64", "--batches", "1", "--at", "16"]
        words += ["--heads", "1", "--d", "8", "--launches", "1", "--threads", "1"]
        words += ["--kernels", "right", "--plugin", self.plugin("right")]
        done = run(*words, "--output", self.output)
        rows = [line for line in lines(self.output) if line["type"] == "experiment"]
        self.assertEqual({row["params"]["kernel"] for row in rows}, {"right"}, done)

    def test_resume(self) -> None:
        """Finished cells stay; those of a file that has changed are other cells."""
        mine = str(self.directory / "mine.so")
        shutil.copy(self.plugin("right"), mine)
        self.session("--plugin", mine)
        before = len(lines(self.output))
        done = run("run", "--resume", self.output)
        self.assertEqual(done.returncode, 0, done)
        added = lines(self.output)[before:]
        self.assertNotIn("launch", {line["type"] for line in added})
        shutil.copy(self.plugin("first"), mine)
        run("run", "--resume", self.output)
        (row,) = [r for r in lines(self.output)[before:] if r.get("kernel") == "first"
                  and r["type"] == "cell"]  # fmt: skip
        self.assertEqual((row["state"], row["plugin"]), ("ok", digest(self.plugin("first"))))

    def test_off_by_one(self) -> None:
        """The query, the key and the problem stand in the message."""
        done, rows = self.session("--plugin", self.plugin("off_by_one"), problem=CAUSAL)
        self.assertEqual(done.returncode, 1, done)
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
        self.assertIn("as if it did not see its last key, 1", " ".join(done.stdout.split()))

    # ---- other versions of attention.h -----------------------------------------------------------

    def test_other_versions(self) -> None:
        for version in ("first", "shorter", "longer"):
            with self.subTest(version):
                self.output = str(self.directory / f"{version}.jsonl")
                done, rows = self.session("--plugin", self.plugin(version), problem=CAUSAL)
                self.assertEqual(done.returncode, 0, done)
                self.assertEqual(rows[version]["state"], "ok", rows[version])

    # ---- refused ---------------------------------------------------------------------------------

    def refuses(
        self, path: str, why: str, *more: str, state: str = "unavailable", code: int = 3
    ) -> Row:
        """The file is refused with this reason, and the session goes on without it."""
        done, rows = self.session("--plugin", path, *more)
        self.assertEqual(done.returncode, code, done)
        self.assertEqual(rows["naive"]["state"], "ok", rows["naive"])
        self.assertGreater(rows["naive"]["time"]["median_s"], 0)
        name = pathlib.Path(path).stem
        self.assertEqual(set(rows), {"naive", name})
        row = rows[name]
        self.assertEqual((row["state"], row["why"]), (state, why))
        self.assertIsNone(row["time"])
        there = pathlib.Path(path).is_file()
        self.assertEqual(row["plugin"], digest(path) if there else "unread")
        self.assertIn(f"plug-in {path}: {state}: {why}", done.stderr)
        return row

    def test_refusals(self) -> None:
        sizes = [int(s) for s in subprocess.run(
            [str(PLUGINS / "sizes")], stdout=subprocess.PIPE, text=True, check=True
        ).stdout.split()]  # fmt: skip
        names = "a kernel's name is lower case letters, digits and _, at most 63 of them, not "
        for name, why in {
            "no_entry": "it does not export attn_plugin()",
            "size_zero": "kernel 0 says that its struct attn_kernel has 0 bytes; "
            f"{sizes[0]} to 65536 make sense",
            "size_huge": "kernel 0 says that its struct attn_kernel has 18446744073709551615 "
            f"bytes; {sizes[0]} to 65536 make sense",
            "caps_size_zero": "kernel 0 says that its struct attn_caps has 0 bytes; "
            f"{sizes[1]} to 65536 make sense",
            "no_execute": "kernel refused/baseline has no execute",
            "no_name": "kernel 0 has no name",
            "upper_case": names + "'Refused'",
            "long_name": names + "'a234567890" + "1234567890" * 5 + "1234'",
            "group_name": "kernel ours has the name of a group",
            "no_isa": "kernel refused is for instruction set 77; 0 to 6 are known",
            "no_compute": "kernel refused computes in data type 77; 0 to 6 are known",
            "of_library": "there is a kernel flash already, in this program",
            "twice": "it has two kernels refused/baseline",
            "no_kernels": "attn_plugin() gives 0 kernels; 1 to 64 make sense",
            "null_kernel": "kernel 0 is NULL",
        }.items():
            with self.subTest(name):
                self.output = str(self.directory / f"{name}.jsonl")
                self.refuses(self.plugin(name), why)

    def test_crashing_constructor(self) -> None:
        why = "SIGABRT while loading the plug-in"
        self.refuses(self.plugin("crashes"), why, state="crashed", code=1)

    def test_hanging_constructor(self) -> None:
        why = "no answer within 2 s, while loading the plug-in"
        self.refuses(self.plugin("hangs"), why, "--timeout", "2", state="timeout", code=1)

    def test_no_such_file(self) -> None:
        self.refuses(str(self.directory / "nowhere.so"), "no such file")

    def test_files_that_are_no_plugin(self) -> None:
        whole = pathlib.Path(self.plugin("right")).read_bytes()
        neither = "neither a shared object nor a program: it begins neither as an ELF file does "
        for name, content, why in (
            ("empty", b"", neither + "nor with #!"),
            ("text", b"int main(void);\n" * 9, neither + "nor with #!"),
            ("cut", whole[:40], "an ELF file that is cut off"),
            ("s390", whole[:18] + b"\x16\0" + whole[20:],
             f"built for s390, 64-bit; this program is for {HERE}, 64-bit"),
            ("small", whole[:4] + b"\1" + whole[5:18] + b"\3\0" + whole[20:],
             f"built for i386, 32-bit; this program is for {HERE}, 64-bit"),
            ("other", whole[:18] + b"\x39\x05" + whole[20:],
             f"built for machine number 1337, 64-bit; this program is for {HERE}, 64-bit"),
            ("object", whole[:16] + b"\1\0" + whole[18:],
             "an ELF file, but neither a shared object nor a program (an object file must be "
             "linked: cc -shared)"),
            ("script", b"#!/bin/sh\n", "a program, but not executable: chmod +x"),
        ):  # fmt: skip
            with self.subTest(name):
                path = self.directory / f"{name}.so"
                path.write_bytes(content)
                self.output = str(self.directory / f"{name}.jsonl")
                self.refuses(str(path), why)
        self.output = str(self.directory / "folder.jsonl")
        (self.directory / "folder").mkdir()
        done, rows = self.session("--plugin", str(self.directory / "folder"))
        self.assertEqual((done.returncode, rows["folder"]["why"]), (3, "not a regular file"))

    def test_a_library_that_it_needs_is_missing(self) -> None:
        """The loader's own words."""
        path = self.directory / "truncated.so"
        whole = pathlib.Path(self.plugin("right")).read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        done, rows = self.session("--plugin", str(path))
        self.assertIn(rows["truncated"]["state"], ("unavailable", "crashed"))
        self.assertIn(done.returncode, (1, 3))
        self.assertEqual(rows["naive"]["state"], "ok")

    def test_two_files_with_one_name(self) -> None:
        other = str(self.directory / "other.so")
        shutil.copy(self.plugin("right"), other)
        done, rows = self.session("--plugin", self.plugin("right"), "--plugin", other)
        self.assertEqual(done.returncode, 3, done)
        self.assertEqual(rows["right"]["state"], "ok")
        why = f"there is a kernel right already, of {self.plugin('right')}"
        self.assertEqual((rows["other"]["state"], rows["other"]["why"]), ("unavailable", why))

    def test_its_name_may_be_asked_for(self) -> None:
        """A kernel of a refused file is not an unknown one: its row says why it is not there."""
        done, rows = self.session("--plugin", self.plugin("no_entry"), kernels="naive,mine")
        self.assertEqual(done.returncode, 3, done)
        self.assertEqual(set(rows), {"naive", "no_entry"})
        done = run("eval", "--kernel", "mine", "--plugin", self.plugin("no_entry"), "--input", "i",
                   "--output", "o")  # fmt: skip
        self.assertEqual(done.returncode, 3, done)

    def test_every_case_has_its_row(self) -> None:
        words = ["--problem", "h=1,s=8,d=8", "--plugin", self.plugin("no_entry")]
        self.session(*words)
        rows = [row for row in cells(self.output).values() if row["kernel"] == "no_entry"]
        self.assertEqual(len({row["problem"] for row in rows}), 2)

    def test_list_and_experiment_go_on(self) -> None:
        for words in (["list"], ["experiment", "overflow", "--quick"]):
            done = run(*words, "--plugin", self.plugin("no_entry"))
            self.assertEqual(done.returncode, 3, done)
            self.assertIn("naive", done.stdout)
            self.assertIn("it does not export attn_plugin()", done.stderr)

    def test_the_program_of_the_rivals(self) -> None:
        """It is asked only for what is its own; one that fails does not cost `list` its exit code."""
        program = self.directory / "worker"
        program.write_text("#!/bin/sh\nexit 1\n")
        program.chmod(0o755)
        with unittest.mock.patch.dict(os.environ, {"ATTNBENCH_RIVALS": str(program)}):
            done, rows = self.session(kernels="all", command="check")
            self.assertEqual((done.returncode, "rivals" in rows), (0, False), done)
            self.assertNotIn("plug-in", done.stderr)
            done = run("list")
            self.assertEqual(done.returncode, 0, done)
            self.assertIn(f"plug-in {program}: ", done.stderr)
            self.output = str(self.directory / "asked.jsonl")
            done, rows = self.session(kernels="naive,rivals", command="check")
        self.assertIn(done.returncode, (1, 3), done)
        self.assertEqual(set(rows), {"naive", "gemm", "rivals"})
        self.assertEqual(rows["naive"]["state"], "ok")
        self.assertIn(rows["rivals"]["state"], ("unavailable", "crashed", "failed"))
        self.assertIsNone(rows["rivals"]["plugin"])

    def test_too_many(self) -> None:
        done = run("list", *["--plugin", "x"] * 17)
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("--plugin is given too often", done.stderr)

    def test_a_file_that_changes_meanwhile(self) -> None:
        """The row of one file is never computed by another."""
        mine = self.directory / "mine.so"
        shutil.copy(self.plugin("right"), mine)
        words = ["--problem", TINY, "--threads", "1", "--kernel", "naive,right", "--launches", "8"]
        program = os.environ["ATTNBENCH"]
        with subprocess.Popen(
            [program, "run", *words, "--if-busy", "go-on", "--plugin", str(mine), "--output",
             self.output], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            while not any('"type":"launch"' in line for line in self.written()):
                self.assertIsNone(process.poll(), "it ended before it launched")
            changed = self.directory / "changed.so"
            shutil.copy(self.plugin("first"), changed)
            changed.replace(mine)
            process.communicate(timeout=120)
        self.assertEqual(process.returncode, 3)
        row = next(row for (_, name, _), row in cells(self.output).items() if name == "right")
        self.assertEqual(row["state"], "skipped")
        self.assertEqual(row["why"], f"{mine} has changed since the session began")
        self.assertIsNone(row["time"])

    def written(self) -> list[str]:
        """The lines of the results so far."""
        path = pathlib.Path(self.output)
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def test_the_rows_fit_the_schema(self) -> None:
        self.session("--plugin", self.plugin("right"), "--plugin", self.plugin("no_entry"))
        schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
        self.assertIn("plugin", schema["$defs"]["identity"]["key"])
        pattern = schema["$defs"]["identity"]["properties"]["plugin"]["pattern"]
        for row in cells(self.output).values():
            if row["plugin"]:
                self.assertRegex(row["plugin"], pattern)


if __name__ == "__main__":
    unittest.main()

"""Files that are no plug-in of use: the session goes on, unless they cannot be read."""

import os
import pathlib
import shutil
import subprocess
import unittest
import unittest.mock

from command import EMULATED, PROGRAM, SANITIZED_IN_CI, TINY, cells
from plugins import PLUGINS, PluginTest, digest

# e_machine of the program's ELF header, as <elf.h> numbers processors.
HERE = {62: "x86-64", 183: "AArch64"}[pathlib.Path(PROGRAM).read_bytes()[18]]


class Refused(PluginTest):
    def refuses(
        self, reasons: dict[str, str], *more: str, state: str = "unavailable", code: int = 3
    ) -> None:
        """Each file is refused with its reason, and the session goes on without it."""
        words = [word for path in reasons for word in ("--plugin", path)]
        rows = self.session(*words, *more, code=code)
        self.assertEqual(rows["naive"]["state"], "ok", rows["naive"])
        self.assertGreater(rows["naive"]["time"]["median_s"], 0)
        self.assertEqual(set(rows), {"naive", *(pathlib.Path(path).stem for path in reasons)})
        for path, why in reasons.items():
            with self.subTest(path):
                row = rows[pathlib.Path(path).stem]
                said = row["why"]
                if EMULATED:  # what crashes there leaves a line of the emulator
                    said = said.partition("; it printed 'qemu: ")[0]
                self.assertEqual((row["state"], said), (state, why))
                self.assertIsNone(row["time"])
                self.assertEqual(row["plugin"], digest(path))
                self.assertIn(f"plug-in {path}: {state}: {why}", self.done.stderr)

    def test_refusals(self) -> None:
        sizes = [int(s) for s in subprocess.run(
            [str(PLUGINS / "sizes")], stdout=subprocess.PIPE, text=True, check=True
        ).stdout.split()]  # fmt: skip
        names = "a kernel's name is lower case letters, digits and _, at most 63 of them, not "
        reasons = {
            "no_entry": 'it does not export attn_plugin() (which C++ declares extern "C")',
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
            "no_isa": "kernel refused is for instruction set 77; 0 to 13 are known",
            "no_compute": "kernel refused computes in data type 77; 0 to 9 are known",
            "of_library": "there is a kernel flash already, in this program",
            "twice": "it has two kernels refused/baseline",
            "no_kernels": "attn_plugin() gives 0 kernels; 1 to 64 make sense",
            "null_kernel": "kernel 0 is NULL",
        }
        self.refuses({self.plugin(name): why for name, why in reasons.items()})

    def test_crashing_constructor(self) -> None:
        why = "SIGABRT while loading the plug-in"
        self.refuses({self.plugin("crashes"): why}, state="crashed", code=1)

    def test_hanging_constructor(self) -> None:
        limit = "20" if EMULATED else "2"  # what does not hang must end in time
        why = f"no answer within {limit} s, while loading the plug-in"
        self.refuses({self.plugin("hangs"): why}, "--timeout", limit, state="timeout", code=1)

    def test_a_file_that_cannot_be_read_ends_each_command_at_once(self) -> None:
        """Nothing is measured or printed, and a results file stays as it was."""
        nowhere, output = str(self.directory / "nowhere.so"), pathlib.Path(self.output)
        output.write_text("kept\n")
        for words in (
            ["run", "--kernel", "naive", "--problem", TINY, "--output", self.output, "--force"],
            ["check", "--kernel", "naive", "--problem", TINY],
            ["list"],
            ["eval", "--kernel", "naive", "--input", "i", "--output", "o"],
            ["experiment", "overflow", "--quick"],
        ):
            for path, why in ((nowhere, "no such file"), ("/", "not a regular file")):
                with self.subTest(words[0], path=path):
                    done = self.ran(*words, "--plugin", path, code=3)
                    self.assertEqual(done.stderr, f"attnbench: plug-in {path}: {why}\n")
                    self.assertEqual(done.stdout, "")
        self.assertEqual(output.read_text(), "kept\n")

    def test_files_that_are_no_plugin(self) -> None:
        whole = pathlib.Path(self.plugin("right")).read_bytes()
        neither = "neither a shared object nor a program: it begins neither as an ELF file does "
        reasons = {}
        for name, content, why in (
            ("empty", b"", neither + "nor with #!"),
            ("text", b"int main(void);\n" * 9, neither + "nor with #!"),
            ("cut", whole[:40], f"{self.directory / 'cut.so'}: file too short"),
            ("s390", whole[:18] + b"\x16\0" + whole[20:],
             f"built for s390, 64-bit; this program is for {HERE}, 64-bit"),
            ("small", whole[:4] + b"\1" + whole[5:18] + b"\3\0" + whole[20:],
             f"built for i386, 32-bit; this program is for {HERE}, 64-bit"),
            ("other", whole[:18] + b"\x39\x05" + whole[20:],
             f"built for machine number 1337, 64-bit; this program is for {HERE}, 64-bit"),
            ("object", whole[:16] + b"\1\0" + whole[18:],
             "an object file, which must be linked: cc -shared"),
            ("unexecutable", pathlib.Path(PROGRAM).read_bytes(),
             "a program, but not executable: chmod +x"),
            ("script", b"#!/bin/sh\n", "a program, but not executable: chmod +x"),
        ):  # fmt: skip
            path = self.directory / f"{name}.so"
            path.write_bytes(content)
            reasons[str(path)] = why
        self.refuses(reasons)
        self.output = str(self.directory / "arguments.jsonl")
        rows = self.session("--plugin", f"{self.plugin('right')} --fast", code=3)
        self.assertEqual(rows["right"]["why"], "a shared object, which takes no arguments")

    def test_a_file_that_is_cut_off(self) -> None:
        """The loader refuses it, or dies."""
        path = self.directory / "truncated.so"
        whole = pathlib.Path(self.plugin("right")).read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        rows = self.session("--plugin", str(path), code=None)
        self.assertIn(rows["truncated"]["state"], ("unavailable", "crashed"))
        self.assertIn(self.done.returncode, (1, 3))
        self.assertEqual(rows["naive"]["state"], "ok")

    def test_two_files_with_one_name(self) -> None:
        other = str(self.directory / "other.so")
        shutil.copy(self.plugin("right"), other)
        rows = self.session("--plugin", self.plugin("right"), "--plugin", other, code=3)
        self.assertEqual(rows["right"]["state"], "ok")
        why = f"there is a kernel right already, of {self.plugin('right')}"
        self.assertEqual((rows["other"]["state"], rows["other"]["why"]), ("unavailable", why))

    def test_its_name_may_be_asked_for(self) -> None:
        """A kernel of a refused file is not an unknown one: its row says why it is not there."""
        rows = self.session("--plugin", self.plugin("no_entry"), kernels="naive,mine", code=3)
        self.assertEqual(set(rows), {"naive", "no_entry"})
        words = ["eval", "--kernel", "mine", "--plugin", self.plugin("no_entry")]
        self.ran(*words, "--input", "i", "--output", "o", code=3)

    def test_every_case_has_its_row(self) -> None:
        words = ["--problem", "h=1,s=8,d=8", "--plugin", self.plugin("no_entry")]
        self.session(*words, code=3)
        rows = [row for row in cells(self.output).values() if row["kernel"] == "no_entry"]
        self.assertEqual(len({row["problem"] for row in rows}), 2)

    def test_list_and_experiment_go_on(self) -> None:
        for words in (["list"], ["experiment", "overflow", "--quick"]):
            done = self.ran(*words, "--plugin", self.plugin("no_entry"), code=3)
            self.assertIn("naive", done.stdout)
            self.assertIn(
                'it does not export attn_plugin() (which C++ declares extern "C")', done.stderr
            )

    def test_the_program_of_the_rivals(self) -> None:
        """It is asked only for what is its own; where it fails, `list` still ends with 0."""
        program = self.directory / "worker"
        program.write_text("#!/bin/sh\nexit 1\n")
        program.chmod(0o755)
        with unittest.mock.patch.dict(os.environ, {"ATTNBENCH_RIVALS": str(program)}):
            rows = self.session(kernels="naive" if SANITIZED_IN_CI else "all")
            self.assertNotIn("rivals", rows)
            self.assertNotIn("plug-in", self.done.stderr)
            done = self.ran("list")
            self.assertIn(f"plug-in {program}: ", done.stderr)
            self.output = str(self.directory / "asked.jsonl")
            rows = self.session(kernels="naive,rivals", command="check", code=None)
        self.assertIn(self.done.returncode, (1, 3), self.done)
        self.assertLessEqual({"naive", "gemm", "rivals"}, set(rows))
        self.assertNotIn("torch", rows)
        self.assertEqual(rows["naive"]["state"], "ok")
        self.assertIn(rows["rivals"]["state"], ("unavailable", "crashed", "failed"))
        self.assertIsNone(rows["rivals"]["plugin"])

    def test_too_many(self) -> None:
        done = self.ran("list", *["--plugin", "x"] * 33, code=2)
        self.assertIn("--plugin is given too often", done.stderr)

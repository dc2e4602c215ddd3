"""Files that are missing, full, closed, truncated or hostile; nothing measured is lost."""

import json
import os
import pathlib
import signal
import struct
import subprocess
import unittest

from command import (
    BESIDE,
    BRIEF,
    HANGS,
    HOST,
    PROGRAM,
    SANITIZED,
    TINY,
    UNCHECKED,
    CommandTest,
    Row,
    Tensor,
    cells,
    launches,
    lines,
    read_safetensors,
    run,
    safetensors,
    unless_emulated,
)
from eval_test import EvalTest


class Output(CommandTest):
    def test_unwritable(self) -> None:
        """Refused before anything is computed: this problem would take minutes."""
        nowhere = str(self.directory / "no" / "such" / "file")
        for command in ("run", "check"):
            self.refused(
                [command, "--problem", "h=8,s=16384,d=128", "--output", nowhere],
                *(3, nowhere, "No such file or directory"),
            )

    def test_existing_results_are_never_overwritten(self) -> None:
        pathlib.Path(self.output).write_text("precious\n")
        self.refused(["run", "--problem", TINY, "--output", self.output], 3, "exists", "--resume")
        self.assertEqual(pathlib.Path(self.output).read_text(), "precious\n")

    def test_full_disk_at_once(self) -> None:
        self.refused(
            ["run", "--problem", TINY, "--output", "/dev/full"], 3, "No space left on device"
        )

    @unless_emulated("forgets across exec which signals are ignored")
    def test_disk_that_fills_up(self) -> None:
        """A file size limit of some lines: what was written stays whole."""
        done = subprocess.run(
            ["bash", "-c", 'ulimit -f 8; exec "$0" "$@"', PROGRAM, "run", "--problem",
             TINY, "--kernel", "naive", "--launches", "40", *UNCHECKED, "--output",
             self.output],
            capture_output=True, text=True, timeout=HANGS, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 3, done)
        self.assertIn("File too large", done.stderr)
        self.assertGreater(len(lines(self.output)), 2)

    def test_results_on_stdout(self) -> None:
        done = self.ran("run", "--problem", TINY, "--kernel", "naive", *BRIEF, "--output", "-")
        types = [json.loads(line)["type"] for line in done.stdout.splitlines()]
        self.assertEqual(list(dict.fromkeys(types)), ["session", "check", "launch", "cell", "end"])
        self.assertIn("GFLOP/s", done.stderr)

    def test_closed_pipe_loses_nothing(self) -> None:
        read, write = os.pipe()
        os.close(read)
        arguments = ["run", "--problem", TINY, "--kernel", "naive", *BRIEF, "--output", self.output]
        done = run(*arguments, stdout=write)
        os.close(write)
        self.assertEqual(done.returncode, 3, done)
        self.assertIn("cannot write to standard output: Broken pipe", done.stderr)
        self.assertEqual(lines(self.output)[-1]["type"], "end")
        self.assertEqual([row["state"] for row in cells(self.output).values()], ["ok"])

    @unless_emulated("forgets across exec which signals are ignored")
    def test_a_reader_that_leaves_ends_a_list(self) -> None:
        for arguments in (["list"], ["list", "--json"], ["list", "--matrix"], ["help", "flags"]):
            read, write = os.pipe()
            os.close(read)
            done = run(*arguments, stdout=write)
            os.close(write)
            self.assertEqual((done.returncode, done.stderr), (-signal.SIGPIPE, ""), arguments)

    def test_words_into_a_full_disk(self) -> None:
        said = "attnbench: cannot write to standard output: No space left on device\n"
        with open("/dev/full", "w", encoding="utf-8") as full:
            self.assertIn(said, run("list", "--plugin", __file__, stdout=full).stderr)
            for text in ("list", "list --json", "list --matrix", "list --suite quick --json",
                         "--version", "--help", "help flags", "run --help", "completion bash",
                         "machine", "machine --json"):  # fmt: skip
                done = run(*text.split(), stdout=full)
                self.assertEqual((done.returncode, done.stderr), (3, said), text)


class Proc(CommandTest):
    """Where /proc cannot be read, in a mount namespace of its own."""

    def hidden(self, mount: str) -> subprocess.CompletedProcess[str]:
        """A session after a mount that hides something.

        With a /dev/shm of its own: LLVM's OpenMP registers every process there by its number, one
        that is killed stays, and whoever gets the number next asks /proc whether it lives; without
        a /proc it aborts, before main, because OpenBLAS's constructor starts it.
        """
        script = f'mount -t tmpfs none /dev/shm && {mount} && exec "$0" "$@"'
        inside = ["unshare", "--map-root-user", "--mount", "sh", "-c", script]
        if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no mount namespaces here")
        arguments = ["run", "--problem", TINY, "--kernel", "naive", "--threads", "1", *BRIEF]
        return subprocess.run(
            [*inside, PROGRAM, *arguments, *UNCHECKED, *BESIDE, "--output", self.output],
            capture_output=True, text=True, timeout=HANGS, check=False,
        )  # fmt: skip

    @unittest.skipIf(SANITIZED, "the sanitizers need /proc")
    def test_no_proc_at_all(self) -> None:
        done = self.hidden("mount -t tmpfs none /proc")
        self.assertEqual(done.returncode, 3, done)
        self.assertIn("/proc cannot be read", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertFalse(os.path.exists(self.output))

    def test_empty_files(self) -> None:
        """What they would have said is unknown, and the kernel is measured all the same."""
        hidden = ("meminfo", "stat", "cpuinfo", "self/status", "self/smaps")
        done = self.hidden(" && ".join(f"mount --bind /dev/null /proc/{name}" for name in hidden))
        self.assertEqual(done.returncode, 0, done)
        (row,) = cells(self.output).values()
        self.assertEqual(row["state"], "ok", row)
        self.assertGreater(row["time"]["median_s"], 0)
        (launch,) = launches(self.output)
        self.assertEqual(launch["disturbance"]["runnable"], 0)


WHOLE = {name: ([1, 1, 2, 2], [1, 2, 3, 4]) for name in "qkv"}  # tensors that fit


class Input(CommandTest):
    """A case whose tensors cannot be had is skipped, the others are measured."""

    def measure(self, content: bytes | None) -> Row:
        path = self.directory / "in.safetensors"
        if content is not None:
            path.write_bytes(content)
        suite = self.directory / "two.suite"
        suite.write_text(f"filed: h=1,s=2,d=2 input=file:{path}:\nother: h=1,s=4,d=4\n")
        found = self.cells_of("run", "--suite", str(suite), "--kernel", "naive", code=None)
        rows = {row["case"]: row for row in found}
        self.assertEqual(rows["other"]["state"], "ok")
        return rows["filed"]

    def skipped(self, content: bytes | None, message: str) -> None:
        row = self.measure(content)
        self.assertEqual(self.done.returncode, 3, self.done)
        self.assertEqual(row["state"], "skipped")
        self.assertIn(message, row["why"])
        self.assertIsNone(row["time"])

    def content(self, tensors: dict[str, Tensor]) -> bytes:
        """What a file of these tensors has."""
        path = self.directory / "good.safetensors"
        safetensors(path, tensors)
        return path.read_bytes()

    def test_good(self) -> None:
        row = self.measure(self.content(WHOLE))
        self.assertEqual((self.done.returncode, row["state"]), (0, "ok"), self.done)

    def test_missing_for_all_is_said_once(self) -> None:
        problem = "h=1,s=2,d=2 input=file:absent.safetensors:"
        done = self.ran(
            "run", "--problem", problem, "--kernel", "naive,online,gemm", *BRIEF, code=3
        )
        words = " ".join(done.stdout.split())  # lines break where instruction sets' names let them
        self.assertEqual(words.count("absent.safetensors: No such file"), 1, done.stdout)
        self.assertRegex(words, r" skipped: naive/\S+, online/\S+")

    def test_files_that_are_wrong(self) -> None:
        header = b'{"q":{"dtype":"F32","shape":[1,1,2,2],"data_offsets":[0,99999999999]}}'
        other = {name: ([1, 1, 4, 1], [1, 2, 3, 4]) for name in "qkv"}
        for what, content, message in (
            ("missing", None, "No such file"),
            ("truncated", self.content(WHOLE)[:-4], "in.safetensors"),
            ("a header longer than it", struct.pack("<Q", 2**62) + b"{}", "in.safetensors"),
            ("offsets outside", struct.pack("<Q", len(header)) + header + b"\0" * 16,
             "in.safetensors"),
            ("another shape", self.content(other), "q"),
        ):  # fmt: skip
            with self.subTest(what):
                (self.directory / "in.safetensors").unlink(missing_ok=True)
                self.skipped(content, message)


class Eval(EvalTest):
    TENSOR = ([1, 1, 2, 1], [1, 2])

    def setUp(self) -> None:
        """Writes a file that every kernel computes."""
        super().setUp()
        safetensors(self.file, dict.fromkeys("qkv", self.TENSOR))

    def arguments(self, problem: str = "") -> list[str]:
        return self.words("naive", problem)

    def test_known_answer(self) -> None:
        """Two equal keys: O is the mean of V, the weights are halves, LSE is ln 2."""
        safetensors(
            self.file,
            {
                "q": ([1, 1, 1, 2], [3, 4]),
                "k": ([1, 1, 2, 2], [0, 0, 0, 0]),
                "v": ([1, 1, 2, 3], [1, 2, 3, 5, 6, 7]),
            },
        )
        self.ran(*self.arguments("outputs=o+lse+weights+scores"))
        result = read_safetensors(self.result)
        self.assertEqual(result["o"], ([1, 1, 1, 3], [3, 4, 5]))
        self.assertEqual(result["weights"], ([1, 1, 1, 2], [0.5, 0.5]))
        self.assertEqual(result["scores"], ([1, 1, 1, 2], [0, 0]))
        self.assertEqual(result["lse"][0], [1, 1, 1])
        self.assertAlmostEqual(result["lse"][1][0], 0.6931472, places=6)

    def test_no_input(self) -> None:
        os.remove(self.file)
        self.refused(self.arguments(), 3, self.file, "No such file")

    def test_sizes_that_the_file_does_not_have(self) -> None:
        """A size in --problem is a demand: k and v have two keys and not five."""
        q, kv = ([1, 1, 1, 2], [3, 4]), ([1, 1, 2, 2], [1, 1, 1, 1])
        safetensors(self.file, {"q": q, "k": kv, "v": kv})
        for problem, message in (
            ("mask=causal,s=5", "--problem s=5, but sq=1 in "),
            ("skv=5", "--problem skv=5, but skv=2 in "),
            ("d=2,dv=3", "--problem dv=3, but dv=2 in "),
            ("h=2", "--problem h=2, but hq=1 in "),
        ):
            self.refused(self.arguments(problem), 2, message, self.file)
        self.assertFalse(os.path.exists(self.result))
        self.ran(*self.arguments("h=1,sq=1,skv=2,d=2"))
        self.assertEqual(read_safetensors(self.result)["o"], ([1, 1, 1, 2], [1, 1]))

    def test_tensor_prefix(self) -> None:
        """FILE:PREFIX as in input=file:PATH:PREFIX; a file of the whole name comes first."""
        tensors = {}
        for prefix, value in (("layer0.", 7), ("layer1.", 9), ("", 5)):
            tensors |= {prefix + name: ([1, 1, 1, 1], [value]) for name in "qkv"}
        safetensors(self.file, tensors)
        plain = self.file
        for self.file, value in ((plain, 5), (plain + ":layer1.", 9), (plain + ":", 5)):
            self.ran(*self.arguments())
            self.assertEqual(read_safetensors(self.result)["o"][1], [value])
        self.file = plain + ":layer2."
        self.refused(self.arguments(), 3, "no tensor layer2.q")
        safetensors(self.file, {name: ([1, 1, 1, 1], [3]) for name in "qkv"})
        self.ran(*self.arguments())
        self.assertEqual(read_safetensors(self.result)["o"][1], [3])

    def test_unsupported_names_what_no_variant_takes(self) -> None:
        self.refused(
            self.words("broken_hang", "outputs=weights"),
            *(2, ": unsupported: no variant of it takes outputs=weights"),
            program=HOST,
        )

    def test_full_disk(self) -> None:
        self.result = "/dev/full"
        self.refused(self.arguments(), 3, "No space left on device")

    def test_unwritable_before_anything_is_computed(self) -> None:
        """The kernel, which would end its process, is never called."""
        self.result = str(self.directory / "no" / "such")
        for kernel in ("naive", "broken_crash"):
            self.refused(
                self.words(kernel, ""),
                *(3, f"attnbench: cannot write {self.result}: No such file or directory"),
                program=HOST,
            )

    def test_links_are_followed_and_permissions_kept(self) -> None:
        away = self.directory / "away"
        away.mkdir()
        (away / "there").write_text("before")
        (away / "there").chmod(0o600)
        for name in ("there", "dangling"):
            link = self.directory / name
            link.symlink_to(f"away/{name}")
            self.result = str(link)
            self.ran(*self.arguments(), umask=0o027)
            self.assertEqual(os.readlink(link), f"away/{name}")
            self.assertEqual(read_safetensors(self.result)["o"][0], [1, 1, 2, 1])
        modes = {path.name: path.stat().st_mode & 0o777 for path in away.iterdir()}
        self.assertEqual(modes, {"there": 0o600, "dangling": 0o640})
        self.result = str(self.directory / "new")
        self.ran(*self.arguments(), umask=0o027)
        self.assertEqual(os.stat(self.result).st_mode & 0o777, 0o640)

    def test_stdout_is_that_of_the_command(self) -> None:
        """Not that of the process which computes: by each of its names."""
        for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
            self.result = name
            read, write = os.pipe()
            done = run(*self.arguments(), stdout=write)
            os.close(write)
            with open(read, "rb") as pipe:
                written = pipe.read()
            self.assertEqual(done.returncode, 0, done)
            kept = self.directory / "kept"
            kept.write_bytes(written)
            self.assertEqual(read_safetensors(str(kept))["o"][0], [1, 1, 2, 1])

    def test_a_directory_is_no_output(self) -> None:
        self.result = str(self.directory)
        self.refused(self.arguments(), 3, f"{self.result}: Is a directory")

    def test_options_it_needs(self) -> None:
        self.refused(["eval", "--kernel", "naive"], 2, "needs --kernel, --input and --output")
        self.refused(self.arguments("mask=diagonal"), 2, "diagonal")

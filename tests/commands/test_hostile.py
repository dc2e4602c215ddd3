"""Shared objects with hostile kernels: each costs its own row, which names what happened."""

import os
import pathlib
import re
import resource
import shutil
import struct
import subprocess

from command import EMULATED, SANITIZED, CommandTest, Row, lines, read_safetensors, safetensors

OBJECTS = pathlib.Path(os.environ["ATTNBENCH_HOSTILE"])
PROBLEM = "h=2,sq=17,skv=33,d=8"
# The limit where a kernel never answers.  Honest ones are checked on a single input there: in full
# it would take them as long on a busy machine.
SECONDS = "15" if SANITIZED else "5" if EMULATED else "2"
TIMEOUT = f"no answer within {SECONDS} s, while checking at threads="
MEMORY = 1 << 30  # bytes: more than a worker needs, less than what is tried

# Kernel, state, what its reason says, and what it says where a sanitizer is the first to notice.
EXPECTED = [
    ("segfaults", "crashed", r"SIGSEGV while .* own input: write at a null pointer", "exit status"),
    ("loops", "timeout", TIMEOUT, TIMEOUT),
    ("forks", "timeout", f"{TIMEOUT}.*; it was refused to start a process", TIMEOUT),
    ("allocates", "crashed", r"SIGSEGV while .* has reached its memory limit of 1074 MB", None),
    ("scribbles", "crashed", r"the worker's answer is not JSON", "not JSON"),
    ("exits", "crashed", r"ended without an answer \(exit status 0\)", r"exit status 0"),
    ("exits_at_once", "crashed", r"ended without an answer \(exit status 3\)", r"exit status 3"),
    ("lacks_threads", "skipped", r"it printed 'libgomp: Thread creation failed", "creation failed"),
    (
        "forges",
        "crashed",
        r"not written by it: the kernel wrote to descriptor 4",
        "not written by it",
    ),
    ("corrupts_heap", "crashed", r"SIGABRT while .*; it printed '.*free\(\)", "exit status"),
    ("sleeps", "timeout", TIMEOUT, TIMEOUT),
    ("cached_output", "failed", r": got .*, expected ", "expected"),
    ("leaves_rounding", "failed", r"floating-point environment changed: rounding upward", "upward"),
    ("leaves_flush_in_others", "failed", r"changed: flush-to-zero set.* in thread 1;", "flush"),
    ("leaves_threads", "failed", r"the kernel left 2 threads running;", "left 2 threads running"),
    (
        "second_runtime",
        "failed",
        r"left \d+ threads? running \(libiomp5\.so is a second OpenMP runtime beside \w+\.so",
        "libiomp5.so is a second OpenMP runtime",
    ),
    ("loads_threads", "failed", r"^loading the plug-in left 1 thread running$", "left 1 thread"),
    ("moves_thread", "failed", r"the kernel moved thread 1 off CPU \d+;", "moved thread 1 off CPU"),
]
if EMULATED:
    # The emulator does not say which access it was, and has the last word of what is printed.  It
    # has no filter that keeps processes from being started, and dies of a memory limit itself.
    OTHERWISE = {
        "segfaults": "SIGSEGV while .* own input: access at a null pointer",
        "corrupts_heap": "SIGABRT while ",
    }
    EXPECTED = [
        (kernel, state, OTHERWISE.get(kernel, why), sanitized)
        for kernel, state, why, sanitized in EXPECTED
        if kernel not in ("forks", "allocates")
    ]
NEVER_ANSWER = {kernel for kernel, state, *_ in EXPECTED if state == "timeout"}
MARK = "ATTNBENCH_TEST_SESSION"  # by which its processes are known
HONEST = ("row_parallel", "flash")


def limited() -> None:
    """In the program, before it starts: its workers inherit what memory it may have."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


class Hostile(CommandTest):
    def session(
        self, command: str, kernels: list[str], *more: str
    ) -> tuple[subprocess.CompletedProcess[str], dict[str, Row]]:
        """A session of two threads with hostile kernels between honest ones; rows by kernel."""
        words = ["--problem", PROBLEM, "--threads", "2", "--seed", "7", *more]
        if NEVER_ANSWER & set(kernels):
            words += ["--timeout", SECONDS, "--check", "case"]
        for kernel in kernels:
            words += ["--plugin", str(OBJECTS / f"{kernel}.so")]
        words += ["--kernel", ",".join([HONEST[0], *kernels, HONEST[1]])]
        limits = None if SANITIZED else limited
        marked = {**os.environ, MARK: self.output}
        rows = self.cells_of(command, *words, code=None, preexec_fn=limits, env=marked)
        return self.done, {row["kernel"]: row for row in rows}

    def expect(self, command: str, *only: str) -> dict[str, Row]:
        """Each hostile kernel named has its row, and every honest one a good one."""
        expected = [
            row for row in EXPECTED if row[0] in only and not (SANITIZED and row[3] is None)
        ]
        done, rows = self.session(command, [kernel for kernel, *_ in expected])
        self.assertEqual(done.returncode, 1, done)
        self.assertEqual(set(rows), {*HONEST, *(kernel for kernel, *_ in expected)})
        for kernel, state, why, sanitized in expected:
            with self.subTest(kernel=kernel):
                self.assertEqual(rows[kernel]["state"], state, rows[kernel])
                self.assertRegex(rows[kernel]["why"], sanitized if SANITIZED else why)
                self.assertIsNone(rows[kernel]["time"])
        for kernel in HONEST:
            self.assertEqual(rows[kernel]["state"], "ok", rows[kernel])
        self.assertEqual(lines(self.output)[-1]["complete"], True)
        self.assertNotIn("\x1b]0;", done.stdout + done.stderr)
        self.assertEqual(self.left(), [], "processes that a kernel started")
        return rows

    def test_run(self) -> None:
        rows = self.expect("run", *(row[0] for row in EXPECTED if row[0] not in NEVER_ANSWER))
        for row in rows.values():
            limit = None if SANITIZED else MEMORY
            self.assertEqual(row["memory_limit_bytes"], limit, row)
        for kernel in HONEST:
            self.assertGreater(rows[kernel]["time"]["median_s"], 0)
            self.assertIsNone(rows[kernel]["log"])
        if not SANITIZED:
            end = "" if EMULATED else "$"
            self.assertRegex(rows["corrupts_heap"]["log"], rf"^.*free\(\).*\n{end}")
        self.assertIn("\\x1b]0;garbage\\xff", rows["scribbles"]["log"])
        self.assertLess(len(rows["scribbles"]["log"]), 4 * 4096 + 64)

    def test_run_of_kernels_that_never_answer(self) -> None:
        self.expect("run", *NEVER_ANSWER)

    def left(self) -> list[pathlib.Path]:
        """The processes of the last session that are still there."""
        mark = f"{MARK}={self.output}\0".encode()
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                found += [path] if mark in path.read_bytes() else []
            except OSError:  # of another user, or gone
                continue
        return found

    def test_check(self) -> None:
        """One of each state: test_run checks every one, in workers of the same kind."""
        self.expect("check", "segfaults", "scribbles", "leaves_rounding")

    def test_operands_stay_what_they_are(self) -> None:
        """Two honest kernels differ by as much with a scribbler between them as without."""
        differences = []
        for kernels in ([], ["scribbles"]):
            self.session("check", kernels)
            (line,) = (line for line in lines(self.output) if line["type"] == "difference")
            differences.append(line["largest"])
        self.assertEqual(differences[0], differences[1])
        self.assertGreater(differences[0], 0)
        self.assertLess(differences[0], 1e-5)

    def test_faults_of_timed_calls_name_the_thread(self) -> None:
        _, rows = self.session("run", ["segfaults_when_timed"])
        self.assertEqual(rows["segfaults_when_timed"]["state"], "crashed", rows)
        where = r"^SIGSEGV while .*: \w+ at a null pointer \(thread 1\)"
        if SANITIZED:  # which is the first to notice
            where = "exit status"
        self.assertRegex(rows["segfaults_when_timed"]["why"], where)

    def test_folder_and_language_are_put_back(self) -> None:
        """A plug-in that is given as ./NAME, and a language in which 0.5 is written 0,5."""
        shutil.copy(OBJECTS / "wanders.so", self.directory)
        numbers = self.directory / "comma" / "LC_NUMERIC"
        numbers.parent.mkdir()
        texts = [b",\0", b"\0", b"\0\0", struct.pack("<I", ord(",")), bytes(4), b"ANSI_X3.4-1968\0"]
        offsets = [32, 34, 36, 40, 44, 48]  # behind the magic number and the number of texts
        data = b"".join(text.ljust(to - at, b"\0") for text, at, to in
                        zip(texts, offsets, [*offsets[1:], 64], strict=True))  # fmt: skip
        numbers.write_bytes(struct.pack("<8I", 0x20031114, 6, *offsets) + data)
        spoken = {**os.environ, "LOCPATH": str(self.directory), "LC_ALL": "", "LC_NUMERIC": "comma"}
        common = ["--plugin", "./wanders.so", "--kernel", "wanders"]
        problem = ("--problem", "h=1,s=4,d=4,scale=0.25")
        row = self.cell_of("check", *common, *problem, code=1, cwd=self.directory, env=spoken)
        self.assertEqual(row["state"], "failed", row)
        self.assertRegex(row["why"], r"got -?\d+\.\d+, expected -?\d+\.\d+.*scale=0\.25")
        operand = ([1, 1, 2, 2], [0.0, 1.0, 2.0, 3.0])
        safetensors(self.directory / "in", {"q": operand, "k": operand, "v": operand})
        self.ran("eval", *common, "--input", "in", "--output", "out", cwd=self.directory)
        self.assertEqual(read_safetensors(str(self.directory / "out"))["o"][0], [1, 1, 2, 2])

    def test_clocks_are_the_systems(self) -> None:
        """A kernel that takes a millisecond and brings clocks that stand still gets its time."""
        done, rows = self.session("run", ["fakes_clock"])
        self.assertEqual(done.returncode, 0, done)
        self.assertGreaterEqual(rows["fakes_clock"]["time"]["median_s"], 1e-3)
        self.assertTrue(re.match(r"\d{4}-", rows["fakes_clock"]["timed_at"]))

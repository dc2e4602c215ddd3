"""A kernel that misbehaves costs its own cell, says how it went, and nothing else is lost."""

import pathlib
import subprocess

from command import (
    BRIEF,
    EMULATED,
    HOST,
    PATIENCE,
    SANITIZED,
    TINY,
    CommandTest,
    Row,
    lines,
    run,
    safetensors,
)


class Faults(CommandTest):
    def session(
        self, kernels: str, *more: str, command: str = "run"
    ) -> tuple[subprocess.CompletedProcess[str], dict[str, Row]]:
        """Measures kernels in one session; the exit code and the rows by kernel."""
        words = ("--problem", TINY, "--kernel", kernels, *more)
        rows = self.cells_of(command, *words, code=None, program=HOST)
        return self.done, {row["kernel"]: row for row in rows}

    def broken(
        self, kernel: str, state: str, *reasons: str, more: tuple[str, ...] = ()
    ) -> tuple[subprocess.CompletedProcess[str], Row]:
        """A broken kernel between two good ones."""
        done, rows = self.session(f"naive,{kernel},online", *more)
        self.assertEqual(done.returncode, 1, done)
        self.assertEqual(rows[kernel]["state"], state, rows[kernel])
        for reason in reasons:
            self.assertIn(reason, rows[kernel]["why"])
        for good in ("naive", "online"):
            self.assertEqual(rows[good]["state"], "ok", rows[good])
            self.assertGreater(rows[good]["time"]["median_s"], 0)
        return done, rows[kernel]

    def test_ends_are_told(self) -> None:
        """How a process ended stands in the row; a sanitizer is the first to notice some."""
        for kernel, state, reason, *more in (
            ("broken_crash", "crashed", "" if SANITIZED else "SIGSEGV while "),
            ("broken_abort", "crashed", "" if SANITIZED else "SIGABRT while "),
            ("broken_exit", "crashed", "ended without an answer (exit status 0)"),
            ("broken_hang", "timeout", "no answer within 3 s", "--timeout", "3"),
            ("broken_zero", "failed", "b=1,hq=1"),
        ):
            with self.subTest(kernel):
                done, row = self.broken(kernel, state, reason, more=tuple(more))
                self.assertIsNone(row["time"])
                self.assertIsNone(row["gflops"])
                self.assertIn(state, done.stdout)

    def test_write_past_the_end(self) -> None:
        """The operand, the distance, the thread and the row stand in the message."""
        did = "access" if EMULATED else "write"  # the emulator does not say which it was
        fault = f"own input: {did} 4 bytes past the end of o (thread 0); last row of o written: b 0"
        reasons = [] if SANITIZED else ["SIGSEGV while checking at threads=", fault]
        self.broken("broken_overrun", "crashed", *reasons)

    def test_crash_while_sampling(self) -> None:
        reasons = [] if SANITIZED else ["SIGFPE while sampling"]
        _, row = self.broken("broken_late", "crashed", *reasons)
        self.assertIsNone(row["time"])
        self.assertGreater(row["check"]["rows"], 0)
        self.assertIsNone(row["check"]["error_over_bound"])  # what passed is not what failed

    def test_no_memory_for_its_workspace(self) -> None:
        done, rows = self.session("naive,broken_hungry")
        self.assertEqual(done.returncode, 3, done)
        self.assertEqual(rows["broken_hungry"]["state"], "skipped")
        self.assertIn("GB of memory", rows["broken_hungry"]["why"])
        self.assertEqual(rows["naive"]["state"], "ok")

    def test_chatter_stays_out_of_the_results(self) -> None:
        done, rows = self.session("broken_chatty")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(rows["broken_chatty"]["state"], "ok")
        self.assertNotIn("nonsense", done.stdout + done.stderr)
        printed = '{"type":"cell","nonsense":true}\n\\x1b[2J\n'
        self.assertEqual(rows["broken_chatty"]["log"], printed)
        logs = {line["log"] for line in lines(self.output) if line["type"] == "launch"}
        self.assertEqual(logs, {printed})

    def test_eval_shows_what_is_printed(self) -> None:
        """There is no row to keep it in; what a terminal would obey is escaped."""
        operands = {name: ([1, 1, 2, 2], [1.0, 0.0, 0.0, 1.0]) for name in "qkv"}
        safetensors(self.directory / "in.safetensors", operands)
        done = run(
            "eval", "--kernel", "broken_chatty", "--input", str(self.directory / "in.safetensors"),
            "--output", str(self.directory / "out.safetensors"), program=HOST,
        )  # fmt: skip
        self.assertEqual((done.returncode, done.stdout), (0, ""), done)
        self.assertEqual(
            done.stderr,
            "attnbench: broken_chatty/baseline printed:\n"
            '{"type":"cell","nonsense":true}\n\\x1b[2J\n\n',
        )

    def test_faster_than_the_machine(self) -> None:
        """One that knows how operands change between samples is right, and too fast to be true."""
        words = ("--problem", "h=1,s=256,d=64", "--kernel", "broken_cheat", *PATIENCE)
        row = self.cell_of("run", *words, code=1, program=HOST)
        self.assertEqual(row["state"], "implausible", row)
        self.assertRegex(row["why"], r"\d+ % of the multiply-add rate")
        self.assertIsNone(row["time"])
        self.assertIsNone(row["gflops"])
        self.assertRegex(self.done.stdout, r"(?m)^broken_cheat/baseline +1 +implausible  case 1$")
        self.assertNotRegex(self.done.stdout, r"[*=] +broken_cheat|GFLOP/s|fastest")
        launches = [line for line in lines(self.output) if line["type"] == "launch"]
        self.assertTrue(launches)  # the evidence
        for launch in launches:  # for which the machine was measured twice
            self.assertGreater(launch["ceiling"]["fma_again_gflops"], 0)
            self.assertGreater(launch["ceiling"]["fma_host_again_gflops"], 0)

    def test_a_row_of_an_older_program_is_not_ranked_either(self) -> None:
        """Rows of a file may have the time of what was implausible: it is not shown."""
        done = run(
            "run", "--problem", TINY, "--kernel", "naive", "--threads", "1", *BRIEF,
            "--output", self.output,
        )  # fmt: skip
        path = pathlib.Path(self.output)
        path.write_text(
            path.read_text().replace(
                '"state":"ok","why":null,"check"', '"state":"implausible","why":"x","check"'
            )
        )
        done = self.ran("run", "--resume", self.output, code=1)
        self.assertRegex(done.stdout, r"(?m)^naive/\S+ +1 +implausible  case 1  x$")
        self.assertNotRegex(done.stdout, r"[*=] +naive|GFLOP/s|fastest")

    def test_check_finds_them_too(self) -> None:
        done, rows = self.session("naive,broken_zero,broken_crash", command="check")
        self.assertEqual(done.returncode, 1, done)
        states = {kernel: row["state"] for kernel, row in rows.items()}
        self.assertEqual(
            states, {"naive": "ok", "broken_zero": "failed", "broken_crash": "crashed"}
        )

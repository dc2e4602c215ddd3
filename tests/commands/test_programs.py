"""Kernels that other programs compute: judged and timed as any other; cheats are caught."""

import os
import pathlib
import re
import shlex
import shutil
import time

from command import EMULATED, HANGS, TINY, CommandTest, Row, run, safetensors
from command import read_safetensors as read
from plugins import digest

PROGRAMS = pathlib.Path(__file__).parents[1] / "programs"
# 1 ms a call in Perl: a sample is then some calls, and a launch short.
SMALL = "h=1,s=16,d=8"
# Checked in a tenth of the time, where neither checks nor times are the question.
LEAST = "h=1,s=4,d=2"


class Programs(CommandTest):
    def session(
        self,
        program: str,
        *more: str,
        problem: str = SMALL,
        command: str = "run",
        kernel: str = "perl",
        depth: str = "case",
        code: int | None = 0,
    ) -> dict[str, Row]:
        """One session on one thread: its rows by kernel.

        Perl takes seconds for the full check, which is asked where it is the question.
        """
        words = ["--problem", problem, "--kernel", kernel, "--plugin", str(PROGRAMS / program)]
        words += ["--check", depth] if command == "run" else []
        rows = self.cells_of(command, *words, *more, code=code)
        return {row["kernel"]: row for row in rows}

    # ---- an honest one ---------------------------------------------------------------------------

    def test_it_is_checked_timed_and_named(self) -> None:
        rows = self.session("honest.pl", kernel="naive,perl", problem=LEAST)
        self.assertEqual(set(rows), {"naive", "perl"})
        row = rows["perl"]
        self.assertEqual((row["state"], row["threads"]), ("ok", 1))
        self.assertRegex(row["library"], r"^Perl v5\.")
        self.assertGreater(row["check"]["rows"], 0)
        self.assertGreater(row["check"]["verified_samples"], 0)
        self.assertLess(row["check"]["error_over_bound"], 0.5)
        self.assertGreater(row["time"]["median_s"], rows["naive"]["time"]["median_s"])
        self.assertGreater(row["prepare_s"], row["time"]["median_s"])
        self.assertGreater(row["peak_rss_bytes"], 1 << 20)
        self.assertEqual(row["plugin"], digest(PROGRAMS / "honest.pl"))

    def test_arguments_are_handed_on_and_tell_cells_apart(self) -> None:
        file = PROGRAMS / "knows_more.pl"
        rows = self.session(
            "knows_more.pl one",
            "--plugin",
            f"'{file}' two \"it's\" ''",
            kernel="one,two",
            problem=LEAST,
        )
        self.assertEqual(rows["one"]["plugin"], f"{digest(file)} one")
        self.assertEqual(rows["one"]["extra"], {"sent_bytes": 64, "arguments": 1})
        row = rows["two"]
        self.assertEqual(row["plugin"], f"{digest(file)} two 'it'\\''s' ''")
        self.assertEqual(row["extra"], {"sent_bytes": 64, "arguments": 3})
        self.assertEqual(shlex.split(row["repro"])[3], f"{file} two 'it'\\''s' ''")

    def test_it_may_say_what_its_processors_can_do(self) -> None:
        rows = self.session("knows_more.pl far", kernel="far", problem=LEAST, code=None)
        row = rows["far"]
        self.assertEqual(row["state"], "ok")
        self.assertEqual(row["ceiling"]["fma_gflops"], 1000)
        self.assertEqual(row["ceiling"]["read_gbytes_per_s"], 3000)
        self.assertAlmostEqual(row["fraction_of_machine"], row["gflops"] / 2000, 6)

    def test_its_start_counts_in_the_estimate(self) -> None:
        """One launch and the check start it.  It sleeps, so that its start takes no less."""
        for arguments, least in (("0 50", 2 * 50), ("2 0", 2 * 2)):
            self.session(f"starts_slowly.pl {arguments}", "--dry-run", problem=LEAST)
            span, unit = re.search(r"about ([0-9.]+) (s|min), ", self.done.stdout).groups()
            self.assertGreaterEqual(float(span) * {"s": 1, "min": 60}[unit], least, self.done)
        for said in ("-1", "301"):
            words = (f"starts_slowly.pl 0 {said}", "--dry-run")
            self.session(*words, problem=LEAST, code=None)
            self.assertIn("kernel perl: its start_s is no number from 0 to 300", self.done.stderr)

    def test_extra_numbers_are_numbers(self) -> None:
        rows = self.session("knows_more.pl far bad", kernel="far", problem=LEAST, code=1)
        self.assertEqual(rows["far"]["state"], "failed")
        self.assertIn("the program's extra 'sent_bytes' is not one of", rows["far"]["why"])

    def test_every_tensor_of_a_problem_is_handed_over(self) -> None:
        """As a kernel in this process gets them; timed on operands that change.

        The first ones with all inputs of the check, which are handed over as the own ones are.
        """
        shape = "b=2,hq=2,hkv=1,sq=3,skv=5,d=3,dv=2"
        for number, options in enumerate(
            (
                "mask=causal+bias,sinks=1,alibi=1,outputs=o+lse input=normal:1+bias:keys",
                "mask=bool+bias,ragged=1,kv_dtype=i8,outputs=o+lse",
                "packed=1,mask=bool,kv_dtype=i8,layout=bshd,outputs=o+lse",
                "packed=1,ragged=1,page=2,mask=causal,sinks=1",
                "page=4,shared_kv=1,layout=bshd,mask=bool input=normal:1+mask:blocks:2:0.5:full",
            )
        ):
            with self.subTest(options):
                depth = "case" if number else "full"
                rows = self.session("honest.pl", problem=f"{shape},{options}", depth=depth)
                self.assertEqual(rows["perl"]["state"], "ok", rows)
                self.assertGreater(rows["perl"]["check"]["rows"], 0 if number else 1000)
                self.assertGreater(rows["perl"]["check"]["verified_samples"], 0)
                self.assertLess(rows["perl"]["check"]["error_over_bound"], 0.5)

    def test_operands_that_it_misreads_fail_it(self) -> None:
        shape = "b=3,hq=2,hkv=1,sq=4,skv=6,d=2"
        for operand, options, why in (
            ("sinks", "sinks=1", "as if there were no sink"),
            ("slopes", "alibi=1", "the weight"),
            ("block_table", "page=2", "the weight"),
            ("kv_lens", "ragged=1", "as if it did not see its last key"),
            ("cu_seqlens_kv", "packed=1", "the weight"),
            ("k_scale", "kv_dtype=i8", "as if k_scale were not applied"),
        ):
            with self.subTest(operand):
                rows = self.session(
                    f"misreads.pl {operand}",
                    problem=f"{shape},{options}",
                    command="check",
                    code=1,
                )
                self.assertEqual(rows["perl"]["state"], "failed", rows)
                self.assertIn(why, rows["perl"]["why"])

    def test_one_that_does_not_name_an_option_is_not_asked_for_it(self) -> None:
        rows = self.session("constant.sh", kernel="constant", problem=f"{SMALL},sinks=1")
        self.assertEqual(rows["constant"]["state"], "unsupported")
        self.assertIn("sinks", rows["constant"]["why"])

    def test_what_it_does_not_claim_is_unsupported(self) -> None:
        rows = self.session("honest.pl", problem=f"{SMALL},softcap=30")
        self.assertEqual(rows["perl"]["state"], "unsupported")
        rows = self.session("refuses_small.pl", problem="sq=3,skv=8,d=4")
        row = rows["perl"]
        self.assertEqual((row["state"], row["why"]), ("unsupported", "fewer than 4 queries"))

    def test_it_is_asked_for_no_more_threads_than_it_has_places_for(self) -> None:
        """Though a check, here of options that it claims, has more threads than rows."""
        if os.cpu_count() == 1:
            self.skipTest("one core")
        rows = self.session(
            "is_parallel.pl",
            "--threads",
            "2",
            command="check",
            problem="hq=2,hkv=1,sq=5,skv=9,d=4,mask=causal,window=3,layout=bshd",
        )
        self.assertEqual((rows["perl"]["state"], rows["perl"]["threads"]), ("ok", 2))

    def test_huge_pages_are_not_claimed(self) -> None:
        """Asked for, they would lie under copies that only this program reads."""
        rows = self.session("honest.pl", "--huge-pages", problem=LEAST)
        self.assertEqual(rows["perl"]["state"], "unsupported")
        self.assertIn("huge pages", rows["perl"]["why"])

    def test_eval(self) -> None:
        """The softmax of two keys by hand: weights 1/4 and 3/4."""
        given, gained = self.directory / "in.safetensors", self.directory / "out.safetensors"
        one = [1, 1, 1, 1]
        keys = ([1, 1, 2, 1], [0.0, 1.0986123])
        safetensors(given, {"q": (one, [1.0]), "k": keys, "v": (keys[0], [4.0, 8.0])})
        words = [
            "--kernel",
            "perl",
            "--plugin",
            str(PROGRAMS / "honest.pl"),
            "--problem",
            "scale=1",
        ]
        self.ran("eval", *words, "--input", str(given), "--output", str(gained))
        shape, (value,) = read(str(gained))["o"]
        self.assertEqual(shape, one)
        self.assertAlmostEqual(value, 7, delta=1e-5)

    def test_eval_of_a_cache_with_other_sequences_in_it(self) -> None:
        """The same two keys in page 4 of nine; what lies in the others is not looked at."""
        given, gained = self.directory / "in.safetensors", self.directory / "out.safetensors"
        pages, first = [9, 1, 2, 1], [float("nan")] * 8
        safetensors(
            given,
            {
                "q": ([1, 1, 1, 1], [1.0]),
                "k": (pages, [*first, 0.0, 1.0986123, *first]),
                "v": (pages, [*first, 4.0, 8.0, *first]),
                "block_table": ([1, 1], [4], "I32"),
                "sinks": ([1], [1.3862944]),
            },
        )
        words = ["--kernel", "perl", "--plugin", str(PROGRAMS / "honest.pl")]
        words += ["--problem", "scale=1,page=2,sinks=1", "--input", str(given)]
        self.ran("eval", *words, "--output", str(gained))
        _, (value,) = read(str(gained))["o"]
        self.assertAlmostEqual(value, 28 / 8, delta=1e-5)  # weights 1 and 3, and 4 of the sink

    def test_list(self) -> None:
        done = run("list", "--plugin", str(PROGRAMS / "honest.pl"))
        self.assertRegex(done.stdout, r"perl +plugins .*\n? +the formula in Perl")

    # ---- cheats ----------------------------------------------------------------------------------

    def test_cheats_are_caught(self) -> None:
        """One of each state; worker/in_program has the other clocks."""
        for program, state, why in (
            ("says_nanosecond.sh", "implausible", "the program says 1e-09 s for "),
            ("keeps_results.pl", "failed", "got "),
        ):
            with self.subTest(program):
                rows = self.session(program, code=1)
                self.assertEqual(rows["perl"]["state"], state, rows)
                self.assertIn(why, rows["perl"]["why"])
                self.assertIsNone(rows["perl"]["time"])

    def test_a_constant_is_caught(self) -> None:
        rows = self.session("constant.sh", kernel="constant", code=1)
        self.assertEqual(rows["constant"]["state"], "failed")
        self.assertIn("got 0, expected ", rows["constant"]["why"])

    # ---- breakdowns ------------------------------------------------------------------------------

    def test_breakdowns_cost_their_cell(self) -> None:
        for program, state, why, code in (
            ("breaks-garbage", "crashed", "answers nonsense, which is not JSON, while checking", 1),
            ("breaks-exits", "crashed", "the program ended (exit status 3), while checking", 1),
            ("breaks-dies", "crashed", "the program was killed by SIGSEGV, while checking", 1),
            ("breaks-fails", "failed", "the program says: no luck, while checking", 1),
            ("lacks_library.pl", "unavailable", "install libfast with: apt install libfast", 0),
        ):
            with self.subTest(program):
                rows = self.session(program, kernel="perl,naive", code=code)
                self.assertEqual(rows["perl"]["state"], state, rows)
                self.assertIn(why, rows["perl"]["why"])
                self.assertEqual(rows["naive"]["state"], "ok")

    def test_another_number_of_threads_is_told(self) -> None:
        rows = self.session("runs_one_thread.pl", "--threads", "2", code=None)
        if os.cpu_count() == 1:
            self.skipTest("one core")
        self.assertEqual(self.done.returncode, 1, self.done)
        self.assertEqual(rows["perl"]["state"], "failed")
        self.assertIn("was asked for 2 threads, runs 1", rows["perl"]["why"])

    def test_one_that_hangs_is_ended(self) -> None:
        """And does not outlive the session."""
        folder = self.directory / "programs"
        shutil.copytree(PROGRAMS, folder)
        rows = self.session(str(folder / "breaks-hangs"), "--timeout", "5", code=1)
        self.assertEqual(rows["perl"]["state"], "timeout")
        until = time.monotonic() + HANGS
        while self.running(folder) and time.monotonic() < until:
            time.sleep(0.05)
        self.assertEqual(self.running(folder), [])

    def running(self, folder: pathlib.Path) -> list[str]:
        """The command lines that name a folder."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = process.read_bytes()
            except OSError:
                continue
            if str(folder).encode() in words:
                found.append(words.decode(errors="replace"))
        return found

    def test_one_without_kernels_is_refused(self) -> None:
        limit = "15" if EMULATED else "2"  # in which a kernel of the session must end
        for program, state, why, code in (
            ("ends_at_once.sh", "crashed", "the program ended (exit status 3)", 1),
            ("has_no_kernels.sh", "unavailable", "the program describes no kernels", 3),
            ("says_nothing.sh", "timeout", f"no answer within {limit} s", 1),
        ):
            with self.subTest(program):
                soon = ("--timeout", limit) if state == "timeout" else ()
                self.session(program, *soon, problem=TINY, kernel="naive", code=code)
                self.assertIn(f"{program}: {state}: ", self.done.stderr)
                self.assertIn(why, self.done.stderr)

"""Every timed sample is judged: kernels that pass the check and spoil timed calls get no time."""

import os
import re
import subprocess
import threading

from command import BESIDE, UNCHECKED, CommandTest, Row, cells, launches

WRONG = os.environ["ATTNBENCH_WRONG"]
FAST = "h=1,s=3,d=4"  # many calls a sample
SLOW = "h=1,s=384,d=64"  # a call a sample, some milliseconds; 25 on a busy machine


class Samples(CommandTest):
    def row(self, problem: str, kernel: str, *more: str, **options: object) -> Row:
        words = ("--problem", problem, "--kernel", kernel, *more)
        row = self.cell_of("run", *words, code=None, program=WRONG, **options)
        self.assertEqual(self.done.returncode, 0 if row["state"] == "ok" else 1, self.done)
        return row

    def assert_spoiled(self, row: Row, earliest: int = 2) -> None:
        """In one sample, told from the first output of its operands or, if it is that, by rows."""
        self.assertEqual(row["state"], "failed", row)
        self.assertIsNone(row["time"])
        self.assertRegex(
            row["why"],
            r"^in a timed call: sample \d+ of launch \d+"
            r"( differs from its first output"
            r"( at o \(b 0, h \d, i \d+\) element 0: got \S+, first \S+)?"
            r"|: o row \(b 0, h \d, i \d+\) element \d+: got \S+, expected \S+, bound \S+)$",
        )
        for got, honest in re.findall(r"got (\S+), (?:first|expected) ([^\s,]+)", row["why"]):
            self.assertAlmostEqual(float(got), 3 * float(honest) + 10, 5)  # tests/wrong/spoils.c
        check = row["check"]
        self.assertEqual(check["mismatches"], 1)
        self.assertEqual(check["samples"], check["verified_samples"] + 1)
        self.assertGreaterEqual(check["samples"], earliest)

    def test_every_sample_counts(self) -> None:
        row = self.row(FAST, "honest", "--launches", "12")
        samples = sum(len(line["samples_s"]) for line in launches(self.output))
        self.assertGreater(samples, 20)
        check = row["check"]
        counts = [check["samples"], check["verified_samples"], check["mismatches"]]
        self.assertEqual(counts, [samples, samples, 0])

    def test_every_hundredth_call(self) -> None:
        row = self.row(FAST, "spoils_every_hundredth", "--launches", "60")
        self.assert_spoiled(row, earliest=1)  # the first sample may end with such a call
        self.assertIn(" (b 0, ", row["why"])

    def test_the_last_call_of_a_sample(self) -> None:
        self.assert_spoiled(self.row(FAST, "spoils_last_of_sample", "--launches", "5"))

    def test_only_after_a_while(self) -> None:
        """Some launch has samples enough, however busy the machine is."""
        more = ("--launches", "20", "--seconds", "100")
        self.assert_spoiled(self.row(SLOW, "spoils_after_a_while", *more))

    def test_a_leak_and_prints_are_flagged(self) -> None:
        row = self.row("h=2,s=64,d=16", "leaks", "--launches", "2")
        self.assertEqual(row["state"], "ok", row)
        self.assertLessEqual({"grows", "prints"}, set(row["flags"]))
        row = self.row("h=2,s=64,d=16", "honest", "--launches", "2")
        # AddressSanitizer keeps what is freed: there every process grows
        own = {"prints"} if os.environ.get("ATTNBENCH_SANITIZED") == "ON" else {"grows", "prints"}
        self.assertFalse(own & set(row["flags"]))

    def test_kept_results(self) -> None:
        """Of operands that do not seem to have changed, as long as nothing in them does.

        Some launch has a hundred calls of each, however busy the machine is.
        """
        more = ("--launches", "20", "--seconds", "100")
        for problem in ("h=4,s=9,d=24", "b=3,hq=4,hkv=2,s=9,d=40,dtype=bf16,layout=bshd"):
            row = self.row(problem, "keeps_known_operands", *more)
            self.assertEqual(row["state"], "failed", row)
            self.assertIsNone(row["time"])
            self.assertRegex(
                row["why"], r"^in a timed call: sample \d+ of launch \d( differs from |: o row )"
            )

    def test_only_beside_another_program(self) -> None:
        """Which starts once a launch has come through."""
        beside = self.directory / "beside"
        words = ["run", "--problem", SLOW, "--kernel", "spoils_beside_others", "--threads", "1",
                 "--launches", "40", "--output", self.output, *UNCHECKED, *BESIDE]  # fmt: skip
        session = subprocess.Popen(
            [WRONG, *words], env={**os.environ, "SPOILS_BESIDE": str(beside)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        reader = threading.Thread(target=session.stdout.read)
        reader.start()
        while session.poll() is None and not self.written("launch"):
            threading.Event().wait(0.01)
        other = subprocess.Popen(["sleep", "1000"])
        beside.write_text(str(other.pid), encoding="ascii")
        code = session.wait()
        other.kill()
        other.wait()
        reader.join()
        session.stdout.close()
        (row,) = cells(self.output).values()
        self.assertEqual((code, row["state"]), (1, "failed"), row)
        self.assertRegex(row["why"], r"^in a timed call: sample \d+ of launch \d+")
        self.assertIsNone(row["time"])

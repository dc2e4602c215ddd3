"""What one sees on a terminal while a session is under way."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any

from command import (
    BASELINE,
    BESIDE,
    BRIEF,
    HANGS,
    HOST,
    CommandTest,
    launches,
    lines,
    on_a_core,
    run,
)
from sessions import hears_interrupts
from terminal import Terminal

PROBLEM = ["--problem", "h=1,s=8,d=4"]
HEAD = "h1-s8-d4  b=1,hq=1,hkv=1,sq=8,skv=8,d=4  1.024 kFLOP, 512.0 B"
# With this seed naive is launched before broken_slow, which then stays in its first launch.
SLOW = ["--kernel", "naive,broken_slow", "--isa", "baseline", "--threads", "1", "--seed", "2",
        "--check", "case"]  # fmt: skip
HELD = "] launch 1  broken_slow"
BUSY = re.compile(
    r"(?m)^attnbench: (process .* measuring on this machine|\S+ s asked; at least).*\n?"
)
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def from_head(text: str) -> str:
    """From the first case on: above it may be that other sessions measure."""
    return text[text.index("\nh1-s8-d4  ") + 1 :]


class Live(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.hold = self.directory / "hold"

    def terminal(self, columns: int = 80, rows: int = 24) -> Terminal:
        """A terminal of that size."""
        terminal = Terminal(columns, rows)
        self.addCleanup(terminal.close)
        return terminal

    def start(self, terminal: Terminal, *arguments: str, hold: str = "", **options: Any) -> Any:
        """A session on a terminal; with `hold` it stays where it is after a line of that type."""
        if hold:
            self.hold.write_text(f'{self.output}\n"type":"{hold}"\n', encoding="utf-8")
        clean = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        environment = {"ATTNBENCH_TEST_HOLD": str(self.hold), **options.pop("environment", {})}
        with on_a_core(arguments):
            process = subprocess.Popen(
                [HOST, "run", *arguments, "--timeout", str(HANGS), *BESIDE],
                env={**clean, "TERM": "xterm", **environment},
                preexec_fn=hears_interrupts,
                **{"stdout": terminal.end, "stderr": terminal.end, **options},
            )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait(self, terminal: Terminal, seen: Callable[[str], object], process: Any) -> str:
        """What the screen shows once that is seen, in a session that goes on."""
        deadline = time.monotonic() + HANGS
        while not seen(terminal.screen.text):
            self.assertIsNone(process.poll(), terminal.screen.all)
            self.assertLess(time.monotonic(), deadline, terminal.screen.all)
            terminal.read(0.05)
        return terminal.screen.text

    def end(self, terminal: Terminal, process: Any, code: int = 0) -> str:
        """What is there when the session is over, also what was scrolled out."""
        self.hold.unlink(missing_ok=True)
        deadline = time.monotonic() + HANGS
        while process.poll() is None:
            self.assertLess(time.monotonic(), deadline, terminal.screen.all)
            terminal.read(0.05)
        while terminal.read():
            pass
        self.assertEqual(process.returncode, code, terminal.screen.all)
        return terminal.screen.all

    def tables(self, columns: int) -> str:
        """The tables of the session as a pipe gets them, up to the states of cells."""
        done = run(*("run", "--resume", self.output), program=HOST,
                   env={**os.environ, "COLUMNS": str(columns)})  # fmt: skip
        return from_head(re.split(r"(?<=cells: )", done.stdout)[0])

    def test_cells_so_far(self) -> None:
        terminal = self.terminal()
        process = self.start(
            terminal, *PROBLEM, *SLOW, "--launches", "3", "--output", self.output, hold="launch"
        )
        shown = self.wait(terminal, lambda text: HELD in text, process)
        head, titles, naive, slow, below = from_head(shown).split("\n")
        self.assertEqual(head, HEAD)
        self.assertEqual(titles.split(), ["kernel/isa", "thr", "median", "+-%", "err/bnd"])
        (launch,) = launches(self.output)
        of = re.match(rf"   naive/{BASELINE} +1 +(\S+) (.?s) +n=1 +0\.\d{{4}}$", naive)
        self.assertTrue(of, naive)
        self.assertAlmostEqual(float(of[1]) * UNITS[of[2]] / launch["median_s"], 1, 3)
        self.assertRegex(slow, r"^>  broken_slow/baseline +1 +0\.\d{4}$")
        self.assertRegex(below, r"^\[ *\d+ %, \d+:\d\d (left|over)\] launch 1  broken_slow/baseline"
                                r"  1 thr  case 1 of 1  h1-s8-d4$")  # fmt: skip
        self.assertEqual(self.end(terminal, process).count(HEAD), 1)
        self.assertTrue(from_head(terminal.screen.all).startswith(self.tables(80)))

    def test_finished_cells(self) -> None:
        """A cell of an earlier session has its share of the ceiling, one that failed its reason."""
        naive = ["--kernel", "naive", "--isa", "baseline", "--threads", "1"]
        run("run", *PROBLEM, *naive, *BRIEF, "--output", self.output, program=HOST)
        kernels = ["--kernel", "naive,broken_zero,broken_slow"]
        terminal = self.terminal(100)
        process = self.start(terminal, "--resume", self.output, *kernels, hold="cell")
        shown = self.wait(terminal, lambda text: "] checking  broken_slow" in text, process)
        (row,) = [line for line in lines(self.output) if line.get("kernel") == "naive"
                  and line["type"] == "cell"]  # fmt: skip
        _, titles, naive_row, zero, slow, _ = from_head(shown).split("\n")
        binds = row["fraction_of_bandwidth"] > row["fraction_of_fma"]  # as it was measured
        read = ["%read"] if binds else []
        self.assertEqual(titles.split(), ["kernel/isa", "thr", "median", "+-%", "GFLOP/s", "%FMA",
                                          *read, "err/bnd"])  # fmt: skip
        words = naive_row.split()
        self.assertEqual((words[0], words[1], words[4]), (f"naive/{BASELINE}", "1", "n=1"))
        percent = 100 * row["fraction_of_fma"]
        self.assertEqual(
            words[6], f"{percent:.{2 if percent < 9.995 else 1 if percent < 99.95 else 0}f}"
        )
        self.assertRegex(zero, r"^   broken_zero/baseline +1 +failed +\S+  own input: o row \(b 0")
        self.assertTrue(90 < len(zero) < 100, zero)  # cut
        self.assertRegex(slow, r"^>  broken_slow/baseline +1$")
        self.assertIn("\x1b[31m   broken_zero/baseline", terminal.raw)
        self.end(terminal, process, 1)
        self.assertTrue(from_head(terminal.screen.all).startswith(self.tables(100)))

    def test_more_cells_than_lines(self) -> None:
        """Those that have run last are shown, and how many others there are."""
        kernels = ["crash", "abort", "exit", "zero", "overrun", "cheat", "slow"]
        listed = ",".join(f"broken_{kernel}" for kernel in kernels)
        asked = ["--kernel", listed, "--threads", "1", *BRIEF, "--output", self.output]
        for rows, shown_kernels, below in (
            (10, kernels[3:], "   and 3 more, 3 of them done"),
            (8, kernels[5:], "   and 5 more, 5 of them done"),
            (7, [], ""),
        ):
            terminal = self.terminal(80, rows)
            process = self.start(terminal, *PROBLEM, *asked, hold="cell")
            shown = self.wait(terminal, lambda text: "] checking  broken_slow" in text, process)
            self.assertEqual(re.findall(r"(?m)^[> ]  broken_(\w+)", shown), shown_kernels, shown)
            self.assertEqual(shown.split("\n")[-2] if below else "", below)
            self.assertEqual("kernel/isa" in shown, bool(shown_kernels))
            self.end(terminal, process, 1)
            os.remove(self.output)

    def test_narrow_terminal(self) -> None:
        """No line is wrapped, and what tells how far a cell is stays."""
        terminal = self.terminal(40, 12)
        asked = ["--launches", "3", "--output", self.output]
        process = self.start(terminal, *PROBLEM, *SLOW, *asked, hold="launch")
        shown = self.wait(terminal, lambda text: HELD[:19] in text, process)
        self.assertRegex(shown, rf"(?m)^  naive/{BASELINE} +1 +\d\S* .?s n=1$")
        table = shown[shown.index("h1-s8-d4") :].split("\n")
        self.assertEqual(len(table), 6)
        self.assertLess(max(map(len, table)), 40, shown)
        self.end(terminal, process)

    def test_another_size(self) -> None:
        terminal = self.terminal(120, 30)
        process = self.start(
            terminal, *PROBLEM, "--problem", "h=1,s=9,d=4", *SLOW, "--launches", "2",
            "--output", self.output, hold="launch",
        )  # fmt: skip
        self.wait(terminal, lambda text: HELD in text, process)
        terminal.resize(70, 9)
        shown = self.end(terminal, process)
        self.assertEqual(shown.count("kernel/isa"), 2, shown)  # a case's table each
        self.assertNotIn("] launch", shown)

    def test_interrupt_leaves_no_display(self) -> None:
        terminal = self.terminal(200)
        asked = ["--launches", "3", "--output", self.output]
        second = 'launch","round":1,"repeat'  # one of the first may be done again
        process = self.start(terminal, *PROBLEM, *SLOW, *asked, hold=second)
        self.wait(terminal, lambda text: re.search(r"\] launch [23]", text), process)
        os.write(terminal.end, b"^C")
        process.send_signal(signal.SIGINT)
        shown = self.end(terminal, process, 130)
        self.assertRegex(BUSY.sub("", shown).lstrip("\n"), r"\Ah1-s8-d4  b=1,")
        self.assertRegex(shown, r"(?m)^0 of 2 cells; [12] more incomplete: interrupted$")
        self.assertNotIn("this session takes", shown)
        self.assertIn(f"attnbench run --resume {self.output}", shown.replace("\n", ""))
        self.assertNotIn("] launch", shown)

    def test_who_was_stopped_leaves_what_others_wrote(self) -> None:
        terminal = self.terminal(100, 40)
        asked = ["--launches", "3", "--output", self.output]
        process = self.start(terminal, *PROBLEM, *SLOW, *asked, hold="launch")
        before = self.wait(terminal, lambda text: HELD in text, process)
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        os.write(terminal.end, b"^Z\n[1]+  Stopped\n$ fg\nattnbench run\n")
        process.send_signal(signal.SIGCONT)
        shown = self.end(terminal, process)
        self.assertEqual(shown.count("[1]+  Stopped\n$ fg\nattnbench run\n"), 1, shown)
        self.assertTrue(shown.startswith(before + "^Z"), shown)
        self.assertEqual(shown.count("] launch"), 1, shown)

    def test_in_the_background_there_are_lines(self) -> None:
        """Others write there: no line may be drawn over."""
        terminal = self.terminal(200)
        asked = [*PROBLEM, "--kernel", "naive", "--threads", "1", *BRIEF, *BESIDE]

        def in_front() -> None:
            os.setsid()
            os.close(os.open(os.ttyname(terminal.end), os.O_RDWR))

        for job, live in ((f"{HOST} run $0 $@; true", True), (f"{HOST} run $0 $@ & wait", False)):
            terminal.raw = ""
            subprocess.run(
                ["sh", "-m", "-c", job, *asked], check=True, preexec_fn=in_front,
                stdin=terminal.end, stdout=subprocess.PIPE, stderr=terminal.end,
                env={**os.environ, "TERM": "xterm"},
            )  # fmt: skip
            while terminal.read():
                pass
            self.assertEqual("\x1b" in terminal.raw, live, terminal.raw)
            self.assertEqual(bool(re.search(r"100 %  h1-s8-d4  naive", terminal.raw)), not live)

    def test_streams_are_told_apart(self) -> None:
        asked = [*PROBLEM, "--kernel", "naive", "--threads", "1", *BRIEF]
        terminal = self.terminal(200)
        process = self.start(terminal, *asked, stdout=subprocess.PIPE)
        tables, _ = process.communicate(timeout=HANGS)
        self.assertIn(b"kernel/isa", tables)
        self.assertNotIn(b"\x1b", tables)
        self.end(terminal, process)
        self.assertIn("] launch 1  naive/", terminal.raw)
        self.assertEqual(BUSY.sub("", terminal.screen.all), "")  # what was live is gone
        terminal = self.terminal()
        process = self.start(terminal, *asked, stderr=subprocess.PIPE)
        _, told = process.communicate(timeout=HANGS)
        self.assertRegex(
            BUSY.sub("", told.decode()), r"^100 %  h1-s8-d4  naive/\S+  1 thr  ok  .*\n$"
        )
        self.assertNotIn("] launch", self.end(terminal, process))

    def test_journal_on_the_terminal(self) -> None:
        """Its lines stand whole among the rest."""
        terminal = self.terminal(60000)
        asked = ["--kernel", "naive", "--threads", "1", *BRIEF, "--output", "-"]
        process = self.start(terminal, *PROBLEM, *asked)
        shown = self.end(terminal, process)
        written = [json.loads(line) for line in shown.split("\n") if line.startswith("{")]
        kinds = dict.fromkeys(line["type"] for line in written)  # launches may be repeated
        self.assertEqual(list(kinds), ["session", "check", "launch", "cell", "end"])
        self.assertNotIn("] launch", shown)

    def test_what_a_worker_prints_stays(self) -> None:
        """What its OpenMP runtime prints before the case's table is there."""
        terminal = self.terminal(200, 400)
        asked = ["--kernel", "naive", "--threads", "1", *BRIEF]
        process = self.start(terminal, *PROBLEM, *asked, environment={"OMP_DISPLAY_ENV": "true"})
        shown = self.end(terminal, process)
        piped = run("run", *PROBLEM, *asked, env={**os.environ, "OMP_DISPLAY_ENV": "true"})
        self.assertEqual(
            *(text.count("DISPLAY ENVIRONMENT END") for text in (shown, piped.stderr)), shown
        )
        self.assertIn("DISPLAY ENVIRONMENT END", shown)
        self.assertEqual(shown.count("kernel/isa"), 1)

    def test_no_color(self) -> None:
        for environment, code in (({}, True), ({"NO_COLOR": "1"}, False)):
            terminal = self.terminal()
            process = self.start(
                terminal, *PROBLEM, "--kernel", "naive", "--threads", "1", *BRIEF,
                stdout=subprocess.DEVNULL, environment=environment,
            )  # fmt: skip
            self.end(terminal, process)
            self.assertEqual("\x1b[1m>  naive" in terminal.raw, code)
            self.assertIn(">  naive", terminal.raw)

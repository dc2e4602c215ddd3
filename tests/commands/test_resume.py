"""Sessions that are killed or interrupted, and go on."""

import collections
import contextlib
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import time

from command import (
    BESIDE,
    EMULATED,
    HANGS,
    HOST,
    SANITIZED_IN_CI,
    cells,
    launches,
    lines,
    on_a_core,
)
from sessions import Sessions, children_of, hears_interrupts, threads_of

# ATTNBENCH_KILLS=600 ATTNBENCH_SEED=7 ctest --preset release -R commands/resume: more than CI
KILLS = int(os.environ.get("ATTNBENCH_KILLS", "6" if SANITIZED_IN_CI else "21"))


class Killed(Sessions):
    def begin_or_go_on(self) -> subprocess.Popen[str]:
        """The session from its start, or from where it was killed."""
        if not self.written("session"):  # killed before its first line
            pathlib.Path(self.output).unlink(missing_ok=True)
            return self.start()
        words = ["run", "--resume", self.output, *BESIDE]
        with on_a_core(words):
            return subprocess.Popen(
                [HOST, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )

    def strike(self, process: subprocess.Popen[str], victims: str) -> bool:
        """Kills the workers of the moment, the parent or all; whether there was one."""
        struck = victims == "parent"
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):  # it has just ended
            for worker in [] if victims == "parent" else children_of(process.pid):
                os.kill(worker, signal.SIGKILL)
                struck = True
        if victims != "worker":
            process.kill()
        return struck

    def whole(self) -> str:
        """The lines that are finished."""
        path = pathlib.Path(self.output)
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        return text[: text.rfind("\n") + 1]

    def assert_nothing_lost(self) -> bool:
        """After a session that came to its end: whether no cell waits for another one."""
        rows = [line for line in lines(self.output) if line["type"] == "cell"]
        final = [row for row in rows if row["state"] != "skipped"]  # others: no operands
        counted = collections.Counter(row["case"] for row in launches(self.output))
        cases = [row["case"] for row in final]
        self.assertEqual(len(set(cases)), len(cases), "a row stands there twice")
        for row in final:
            if row["state"] == "ok":
                self.assertEqual((row["time"]["launches"], counted[row["case"]]), (3, 3), row)
            else:
                self.assertEqual((row["state"], row["why"][:7]), ("crashed", "SIGKILL"), row)
                self.assertLess(counted[row["case"]], 3)
        return len(final) == 3

    def test_at_random_moments(self) -> None:
        """Kill -9 again and again, of the parent, of its worker, of both.

        No line is lost, no launch repeated; a worker costs its own cell.  A complete session makes
        room for another one.
        """
        seed = int(os.environ.get("ATTNBENCH_SEED", time.time_ns()))
        moments, before = random.Random(seed), ""
        kills, sessions = collections.Counter[str](), 0
        with self.subTest(seed=seed, kills=kills):
            while kills.total() < KILLS or before:
                process = self.begin_or_go_on()
                while process.poll() is None:
                    victims = min(("parent", "worker", "both"), key=lambda name: kills[name])
                    try:
                        process.wait(moments.uniform(0.01, 0.4) if kills.total() < KILLS else HANGS)
                    except subprocess.TimeoutExpired:
                        kills[victims] += self.strike(process, victims)
                        if victims != "worker":
                            break
                process.communicate()
                after = self.whole()
                self.assertEqual(after[: len(before)], before)
                before = after
                if process.returncode == -signal.SIGKILL:
                    continue
                self.assertIn(process.returncode, (0, 1, 3))
                if self.assert_nothing_lost():
                    os.remove(self.output)
                    before = ""
                    sessions += 1
        print(f"{dict(kills)} in {sessions} sessions")

    def test_workers_die_with_the_parent(self) -> None:
        process = self.start(hold="launch")
        self.wait_for(
            lambda: self.written("launch") and children_of(process.pid), process, "worker"
        )
        workers = children_of(process.pid)
        process.kill()
        process.communicate()
        deadline = time.monotonic() + HANGS
        while any(os.path.exists(f"/proc/{worker}/exe") for worker in workers):
            self.assertLess(time.monotonic(), deadline, "a worker outlived its parent")
            time.sleep(0.01)

    def test_a_skipped_cell_keeps_its_launches(self) -> None:
        """One whose operands the next session could not prepare, after launches of the first."""
        self.complete()
        before = launches(self.output)
        path = pathlib.Path(self.output)
        row = cells(self.output)["h1-s8-d4", "broken_slow", 1]
        skipped = {**row, "state": "skipped", "why": "no operands", "time": None}
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(skipped) + "\n")
        self.resume()
        self.assert_complete()
        self.assertEqual(launches(self.output), before)

    def test_half_a_line_is_cut_off(self) -> None:
        process = self.start(hold="launch")
        self.wait_for(lambda: self.written("launch"), process, "launch")
        process.kill()
        process.communicate()
        self.hold.unlink()
        with open(self.output, "a", encoding="utf-8") as file:
            file.write('{"type":"launch","prob')
        done = self.resume()
        self.assertIn("cut off an unfinished line of 22 bytes", done.stderr)
        self.assert_complete()


class Interrupted(Sessions):
    def interrupt(self, number: int, hold: str = "cell") -> tuple[int, str, str]:
        """Exit code and output of a session that gets a signal."""
        process = self.start(hold=hold)
        self.wait_for(lambda: self.written(hold), process, f"line of a {hold}")
        process.send_signal(number)
        out, err = process.communicate(timeout=HANGS)
        self.hold.unlink()
        return process.returncode, out, err

    def test_interrupt_finishes_the_journal(self) -> None:
        code, out, err = self.interrupt(signal.SIGINT)
        self.assertEqual(code, 130, err)
        self.assertIn(f"attnbench run --resume {self.output}", err)
        self.assertEqual(lines(self.output)[-1]["complete"], False)
        self.assertIn("of 3 cells", out)
        before = launches(self.output)
        self.resume()
        self.assert_complete()
        after = launches(self.output)
        self.assertEqual(after[: len(before)], before)
        self.assertEqual(len(after), 9)

    def test_what_was_measured_so_far_is_shown(self) -> None:
        """As incomplete, and not in the file: the session can go on."""
        # One of the first round may have been disturbed, to be done again, and counts for nothing.
        second = 'launch","round":1,"repeat'
        code, out, err = self.interrupt(signal.SIGINT, hold=second)
        self.assertEqual(code, 130, err)
        (row,) = re.findall(r"(?m)^broken_slow/.*$\n?.*incomplete: interrupted$", out)
        self.assertRegex(row, r" n=[12] ")
        self.assertRegex(out, r"(?m)^0 of 3 cells; 1 more incomplete: interrupted$")
        self.assertEqual(self.written("cell"), 0)
        self.resume()
        self.assert_complete()

    def test_an_interrupted_check_counts_as_checking(self) -> None:
        """Not as the harness itself, which only waited for it."""
        for seconds in (1, 5, 25):  # until operands of 8 rows are there, and the check waits
            process = self.start(hold="session")
            self.wait_for(lambda: self.written("session"), process, "session")
            time.sleep(seconds)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=HANGS)
            self.assertEqual(process.returncode, 130, err)
            end = lines(self.output)[-1]
            os.remove(self.output)
            if end["checking_s"] > 0:
                break
        self.assertGreater(end["checking_s"], end["overhead_s"], end)
        self.assertEqual(end["timing_s"], 0, end)

    def test_termination_too(self) -> None:
        self.assertEqual(self.interrupt(signal.SIGTERM)[0], 130)

    def test_resuming_a_complete_session_measures_nothing(self) -> None:
        self.complete()
        before = self.written("launch")
        done = self.resume()
        self.assertNotIn("time: ", done.stdout)  # shares of none
        self.assertEqual(self.written("launch"), before)
        self.assertEqual(self.written("cell"), 3)

    def test_resuming_with_other_options(self) -> None:
        self.complete()
        self.ran("run", "--resume", self.output, "--kernel", "naive", program=HOST)
        self.assertEqual({row["kernel"] for row in cells(self.output).values()},
                         {"naive", "broken_slow"})  # fmt: skip

    def test_resume_refuses_what_is_no_session(self) -> None:
        self.refused(["run", "--resume", self.output], 3, "No such file", program=HOST)
        pathlib.Path(self.output).write_text("{}\n", encoding="utf-8")
        self.refused(["run", "--resume", self.output], 3, "line 1 is damaged", program=HOST)

    def test_resume_refuses_another_session(self) -> None:
        """In one line, though texts of the file stand in it."""
        self.complete()
        path = pathlib.Path(self.output)
        whole = path.read_text(encoding="utf-8")
        header = lines(self.output)[0]
        fingerprint = header["machine"]["fingerprint"]
        word = header["command"].index("go-on") + 1
        for command, old, new, *messages in (
            ("run", '"go-on"', '"go\\non"', "--if-busy", "'go on'"),
            ("run", '"go-on"', "null", f"word {word} of its"),
            ("check", "", "", "attnbench run"),
            ("run", fingerprint, "another", "another machine"),
        ):
            with self.subTest(messages):
                path.write_text(whole.replace(old, new) if old else whole, encoding="utf-8")
                self.refused([command, "--resume", self.output], 2, *messages, program=HOST)


class Parent(Sessions):
    def test_has_one_thread_and_sleeps(self) -> None:
        """Seen while workers measure: one thread, which waits; a worker with its environment."""
        process = self.start(hold="launch")
        seen = 0
        while seen < 20:
            self.assertIsNone(process.poll())
            try:
                workers = children_of(process.pid)
                state = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")")[1].split()
                environment = pathlib.Path(f"/proc/{workers[0]}/environ").read_text().split("\0")
            except (OSError, IndexError):
                continue
            own = 1 if EMULATED else 0  # the emulator's
            self.assertEqual(len(threads_of(process.pid)), 1 + own)
            if any(entry.startswith("OMP_NUM_THREADS=") for entry in environment):
                seen += state[0] == "S"
                self.assertIn("OMP_PROC_BIND=false", environment)
                self.assertIn("OPENBLAS_NUM_THREADS=1", environment)
            time.sleep(0.005)
        self.let_go(process)

    def test_a_second_session_says_so_and_does_as_told(self) -> None:
        """The first waits for the machine until it has it, and is then stopped: it cannot end."""
        process = self.start("--if-busy", "wait", hold="launch")
        self.wait_for(lambda: self.written("launch"), process, "launch")
        process.send_signal(signal.SIGSTOP)
        second = ["run", "--problem", "h=1,s=4,d=4", "--kernel", "naive", "--launches", "1"]
        owner = rf"process {process.pid} \S.* is measuring on this machine"
        done = self.ran(*second)
        self.assertRegex(done.stderr, owner + " too")
        nothing = ["run", "--problem", "h=1,s=4,d=4,dtype=f16", "--kernel", "naive"]
        done = subprocess.run(
            [HOST, *nothing, "--if-busy", "wait"],
            capture_output=True, text=True, timeout=HANGS, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("nothing of naive was measured: ", done.stderr)
        self.assertNotIn("waiting", done.stderr)
        waiting = subprocess.Popen(
            [HOST, *second, "--if-busy", "wait"],
            stderr=subprocess.PIPE, text=True, preexec_fn=hears_interrupts,
        )  # fmt: skip
        self.assertRegex(waiting.stderr.readline(), owner + r": waiting \(--if-busy go-on")
        waiting.send_signal(signal.SIGINT)
        waiting.communicate(timeout=HANGS)
        self.assertEqual(waiting.returncode, 130)
        process.send_signal(signal.SIGCONT)
        self.let_go(process)

    def test_second_session_on_the_same_file(self) -> None:
        process = self.start(hold="launch")
        self.wait_for(lambda: self.written("launch"), process, "launch")
        self.refused(
            ["run", "--resume", self.output], 3, "another session is writing to it", program=HOST
        )
        self.let_go(process)
        self.assertEqual(process.returncode, 0)
        self.assert_complete()

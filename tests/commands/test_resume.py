"""Sessions that are killed or interrupted, and go on."""

import os
import pathlib
import random
import signal
import subprocess
import time
import unittest
from collections.abc import Callable

from command import BESIDE, HANGS, HOST, CommandTest, cells, launches, lines, run

# Three cells whose launches take some tens of milliseconds each.
SESSION = [
    *("--problem", "h=1,s=8,d=4", "--problem", "h=1,s=9,d=4", "--problem", "h=1,s=7,d=4"),
    *("--kernel", "broken_slow", "--threads", "1", "--launches", "3", "--seed", "5"),
    *("--timeout", str(HANGS)),
]


# ATTNBENCH_KILLS=200 ATTNBENCH_SEED=7 ctest --preset release -R commands/resume: more than CI
KILLS = int(os.environ.get("ATTNBENCH_KILLS", "20"))


def hears_interrupts() -> None:
    """In a session, before it starts: in the background of a shell it would ignore them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def threads_of(pid: int) -> list[str]:
    """The threads of a process."""
    return os.listdir(f"/proc/{pid}/task")


def children_of(pid: int) -> list[int]:
    """The processes that a process has started and not yet buried."""
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(child) for child in text.split()]


class Sessions(CommandTest):
    def start(self, *more: str, hold: str = "") -> subprocess.Popen[str]:
        """A session under way; after a line of type `hold` it stays where it is until let_go()."""
        if hold:
            self.hold.write_text(f'{self.output}\n"type":"{hold}"\n', encoding="utf-8")
        # not a group of the test's own: an interrupt is sent to the parent alone
        process = subprocess.Popen(
            [HOST, "run", *SESSION, "--output", self.output, *BESIDE, *more],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=hears_interrupts,
            env={**os.environ, "ATTNBENCH_TEST_HOLD": str(self.hold)},
        )  # fmt: skip
        self.addCleanup(process.kill)
        return process

    @property
    def hold(self) -> pathlib.Path:
        """The file that holds a session (broken.c)."""
        return self.directory / "hold"

    def let_go(self, process: subprocess.Popen[str]) -> tuple[str, str]:
        """Lets a session that was held go on to its end; what it prints."""
        self.hold.unlink()
        return process.communicate(timeout=HANGS)

    def complete(self) -> None:
        """Runs the session to its end."""
        process = self.start()
        _, err = process.communicate(timeout=HANGS)
        self.assertEqual(process.returncode, 0, err)

    def wait_for(
        self, condition: Callable[[], object], process: subprocess.Popen[str], what: str
    ) -> None:
        """Until something has happened in a session that goes on."""
        deadline = time.monotonic() + HANGS
        while not condition():
            self.assertIsNone(process.poll(), f"ended before {what}")
            self.assertLess(time.monotonic(), deadline, f"no {what}")
            time.sleep(0.002)

    def written(self, kind: str) -> int:
        """How many whole lines of a type the file has."""
        if not os.path.exists(self.output):
            return 0
        text = pathlib.Path(self.output).read_text(encoding="utf-8")
        return sum(f'"type":"{kind}"' in line for line in text.split("\n")[:-1])

    def resume(self) -> subprocess.CompletedProcess[str]:
        """Goes on to the end."""
        done = run("run", "--resume", self.output, program=HOST)
        self.assertEqual(done.returncode, 0, done)
        return done

    def assert_complete(self) -> None:
        rows = cells(self.output)
        self.assertEqual(len(rows), 3)
        for row in rows.values():
            self.assertEqual((row["state"], row["time"]["launches"]), ("ok", 3), row)
        self.assertEqual(lines(self.output)[-1]["complete"], True)


class Killed(Sessions):
    def begin_or_go_on(self) -> subprocess.Popen[str]:
        """The session from its start, or from where it was killed."""
        if not self.written("session"):  # killed before its first line
            pathlib.Path(self.output).unlink(missing_ok=True)
            return self.start()
        return subprocess.Popen(
            [HOST, "run", "--resume", self.output, *BESIDE],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def test_at_random_moments(self) -> None:
        """Kill -9 again and again: no launch is lost or repeated; a complete session makes room."""
        seed = int(os.environ.get("ATTNBENCH_SEED", time.time_ns()))
        moments = random.Random(seed)
        kills = 0
        while kills < KILLS:
            before = self.written("launch")
            process = self.begin_or_go_on()
            try:
                process.wait(timeout=moments.uniform(0.01, 0.4))
            except subprocess.TimeoutExpired:
                process.kill()
                kills += 1
            process.communicate()
            self.assertGreaterEqual(self.written("launch"), before, f"seed {seed}")
            if self.written("end"):
                self.assert_complete()
                self.assertEqual(len(launches(self.output)), 9, f"seed {seed}")
                os.remove(self.output)
        process = self.begin_or_go_on()
        _, err = process.communicate(timeout=HANGS)
        self.assertEqual(process.returncode, 0, err)
        self.assert_complete()
        self.assertEqual(len(launches(self.output)), 9, f"seed {seed}")

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
    def interrupt(self, number: int) -> tuple[int, str, str]:
        """Exit code and output of a session that gets a signal."""
        process = self.start(hold="cell")
        self.wait_for(lambda: self.written("cell"), process, "finished cell")
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
        done = run("run", "--resume", self.output, "--kernel", "naive", program=HOST)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual({row["kernel"] for row in cells(self.output).values()},
                         {"naive", "broken_slow"})  # fmt: skip

    def test_resume_refuses(self) -> None:
        self.refused(["run", "--resume", self.output], 3, "No such file", program=HOST)
        pathlib.Path(self.output).write_text("{}\n", encoding="utf-8")
        self.refused(["run", "--resume", self.output], 3, "line 1 is damaged", program=HOST)

    def test_resume_refuses_another_command(self) -> None:
        self.complete()
        self.refused(["check", "--resume", self.output], 2, "attnbench run", program=HOST)

    def test_resume_refuses_another_machine(self) -> None:
        self.complete()
        fingerprint = lines(self.output)[0]["machine"]["fingerprint"]
        path = pathlib.Path(self.output)
        path.write_text(path.read_text(encoding="utf-8").replace(fingerprint, "another"))
        self.refused(["run", "--resume", self.output], 2, "another machine", program=HOST)


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
            self.assertEqual(len(threads_of(process.pid)), 1)
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
        done = run(*second)
        self.assertEqual(done.returncode, 0, done)
        self.assertRegex(done.stderr, owner + " too")
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


if __name__ == "__main__":
    unittest.main()

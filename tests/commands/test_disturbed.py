"""Sessions that something happens to: processes stopped, CPUs taken away, a clock that jumps.

None of it may enter a result unseen.
"""

import os
import pathlib
import signal
import subprocess
import time
import unittest

from command import BESIDE, PROGRAM, UNCHECKED, Row, cells, lines, unless_emulated
from sessions import Sessions, children_of, threads_of

JUMPING = os.environ.get("ATTNBENCH_JUMPING", "")


def status(pid: int, field: str) -> str:
    """A field of /proc/PID/status; empty where there is none."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return ""
    return next((x.split(":", 1)[1].strip() for x in text.split("\n") if x.startswith(field)), "")


def samples(pid: int) -> bool:
    """Whether a worker has begun to measure: from then on it hears that it goes on (SIGCONT)."""
    return bool(int(status(pid, "SigCgt") or "0", 16) >> (signal.SIGCONT - 1) & 1)


# Where Linux keeps control groups that say which CPUs may be used: of version 1, or of version 2.
CPUSETS = (pathlib.Path("/sys/fs/cgroup/cpuset"), pathlib.Path("/sys/fs/cgroup"))


class Disturbed(Sessions):
    def held(self) -> tuple[subprocess.Popen[str], int]:
        """A session and its worker, which measures and stays where it is until let_go()."""
        process = self.start(hold="check")
        self.wait_for(
            lambda: any(samples(pid) for pid in children_of(process.pid)), process, "samples"
        )
        (worker,) = children_of(process.pid)
        return process, worker

    def stop(self, process: subprocess.Popen[str], pid: int) -> None:
        """Returns when the process has stopped."""
        os.kill(pid, signal.SIGSTOP)
        self.wait_for(lambda: status(pid, "State").startswith("T"), process, "stop")

    def test_a_worker_that_is_stopped(self) -> None:
        """Its launch does not count: another one takes its place."""
        process, worker = self.held()
        for _ in range(2):
            self.stop(process, worker)
            os.kill(worker, signal.SIGCONT)
        self.let_go(process)
        self.assert_complete()
        first, *rest = (line for line in lines(self.output) if line["type"] == "launch")
        self.assertTrue(first["superseded"])
        self.assertIn(first["disturbance"]["halts"], (1, 2))  # two signals may become one
        self.assertEqual([row["disturbance"]["halts"] for row in rest], [0] * len(rest))
        for row in cells(self.output).values():
            self.assertNotIn("halted", row["flags"])

    def test_cpus_that_are_taken_away(self) -> None:
        """A thread that is found elsewhere, whoever moved it, costs its row the time."""
        process, worker = self.held()
        (own,) = os.sched_getaffinity(worker)
        others = os.sched_getaffinity(0) - {own}
        if not others:
            process.kill()
            process.communicate()
            self.skipTest("there is one CPU")
        for thread in threads_of(worker):
            os.sched_setaffinity(int(thread), others)
        rest = self.after_a_move(process, own)
        self.assertEqual([row["state"] for row in rest], ["ok", "ok"])

    def after_a_move(self, process: subprocess.Popen[str], cpu: int) -> list[Row]:
        """The session ends without a time of the cell that was moved; the other rows."""
        self.let_go(process)
        self.assertEqual(process.returncode, 1)
        moved, *rest = cells(self.output).values()
        self.assertEqual((moved["state"], moved["time"]), ("failed", None))
        self.assertEqual(
            moved["why"], f"in the timed calls: the kernel moved thread 0 off CPU {cpu}"
        )
        return rest

    def cpuset(self) -> pathlib.Path:
        """A control group of all CPUs, to take some of them away from; gone at the end."""
        for root in CPUSETS:
            group = root / f"attnbench-test-{os.getpid()}"
            try:
                group.mkdir()
                self.addCleanup(group.rmdir)
                for name in ("cpus", "mems"):
                    of_all = root / f"cpuset.{name}.effective"
                    text = (of_all if of_all.exists() else root / f"cpuset.{name}").read_text()
                    (group / f"cpuset.{name}").write_text(text)
            except OSError:
                continue
            return group
        self.skipTest("control groups are not ours to make, or know of no CPUs")

    def test_cpus_that_a_cpuset_takes_away(self) -> None:
        """From the whole session: what ran there has no time, nor has what was to run there."""
        cpus = os.sched_getaffinity(0)
        if len(cpus) == 1:
            self.skipTest("there is one CPU")
        group = self.cpuset()
        process, worker = self.held()
        (own,) = os.sched_getaffinity(worker)
        for pid in (process.pid, worker):
            (group / "cgroup.procs").write_text(str(pid))
        (group / "cpuset.cpus").write_text(",".join(map(str, cpus - {own})))
        rest = self.after_a_move(process, own)
        self.assertEqual([(row["state"], row["time"]) for row in rest], [("skipped", None)] * 2)
        for row in rest:
            self.assertRegex(
                row["why"], r"^1 of \d+ threads are not on the CPU they were bound to$"
            )

    def test_a_parent_that_is_stopped(self) -> None:
        """Its worker goes on, and its answer waits."""
        process, worker = self.held()
        self.stop(process, process.pid)
        self.hold.unlink()
        self.wait_for(lambda: status(worker, "State").startswith("Z"), process, "end of the worker")
        process.send_signal(signal.SIGCONT)
        _, err = process.communicate()
        self.assertEqual(process.returncode, 0, err)
        self.assert_complete()

    @unless_emulated("is preloaded itself, not its program")
    @unittest.skipIf(not JUMPING, "sanitizers replace the same functions")
    def test_a_clock_that_jumps(self) -> None:
        """By a day, back or forth, whenever the time of day is asked for: only dates show it."""
        began = time.monotonic()
        done = subprocess.run(
            [PROGRAM, "run", "--problem", "h=1,s=8,d=4", "--kernel", "naive,online", "--threads",
             "1", "--launches", "2", *UNCHECKED, "--output", self.output, *BESIDE],
            capture_output=True, text=True, check=False, env={**os.environ, "LD_PRELOAD": JUMPING},
        )  # fmt: skip
        took = time.monotonic() - began
        self.assertEqual(done.returncode, 0, done)
        rows = lines(self.output)
        dates = {row["timed_at"][:10] for row in rows if row["type"] in ("check", "launch")}
        self.assertGreater(len(dates), 1)
        for row in rows:
            if row["type"] in ("launch", "check", "end"):
                self.assertGreater(row["wall_s"], 0)
                self.assertLess(row["wall_s"], took)
        for row in cells(self.output).values():
            self.assertEqual(row["state"], "ok")
            self.assertLess(row["time"]["median_s"], took)

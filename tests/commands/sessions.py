"""Sessions under way, of a slow kernel that can be held: for tests that disturb them."""

import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Callable

from command import BESIDE, HANGS, HOST, CommandTest, cells, lines, on_a_core, run

# Three cells whose launches take some tens of milliseconds each, checked briefly: a call takes 5.
SESSION = [
    *("--problem", "h=1,s=8,d=4", "--problem", "h=1,s=9,d=4", "--problem", "h=1,s=7,d=4"),
    *("--kernel", "broken_slow", "--threads", "1", "--launches", "3", "--seed", "5"),
    *("--check", "case", "--timeout", str(HANGS)),
]


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
    """A test of such sessions."""

    ended = b""

    def start(self, *more: str, hold: str = "") -> subprocess.Popen[str]:
        """A session under way; after a line of type `hold` it stays where it is until let_go()."""
        if hold:
            self.hold.write_text(f'{self.output}\n"type":"{hold}"\n', encoding="utf-8")
        # not a group of the test's own: an interrupt is sent to the parent alone
        with on_a_core(SESSION):
            process = subprocess.Popen(
                [HOST, "run", *SESSION, "--output", self.output, *BESIDE, *more],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                preexec_fn=hears_interrupts,
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
        """The file of a session that came to its end: measured once, then copied."""
        if not Sessions.ended:
            process = self.start()
            _, err = process.communicate(timeout=HANGS)
            self.assertEqual(process.returncode, 0, err)
            Sessions.ended = pathlib.Path(self.output).read_bytes()
        pathlib.Path(self.output).write_bytes(Sessions.ended)

    def wait_for(
        self, condition: Callable[[], object], process: subprocess.Popen[str], what: str
    ) -> None:
        """Until something has happened in a session that goes on."""
        deadline = time.monotonic() + HANGS
        while not condition():
            self.assertIsNone(process.poll(), f"ended before {what}")
            self.assertLess(time.monotonic(), deadline, f"no {what}")
            time.sleep(0.002)

    def resume(self) -> subprocess.CompletedProcess[str]:
        """Goes on to the end."""
        done = run("run", "--resume", self.output, program=HOST)
        self.assertEqual(done.returncode, 0, done)
        return done

    def assert_complete(self) -> None:
        """Every cell has its launches."""
        rows = cells(self.output)
        self.assertEqual(len(rows), 3)
        for row in rows.values():
            self.assertEqual((row["state"], row["time"]["launches"]), ("ok", 3), row)
        self.assertEqual(lines(self.output)[-1]["complete"], True)

"""A call of the system that fails costs no finished row, and says so.

Every write, open, fork, allocation .. of the parent process of a small session fails in its turn,
the first, the second and so on until there are no more (tests/faults/failing.c), as SQLite tests
itself.  However it goes, the session ends by itself, as asked (0) or with a message (3); what it
has written is sound, and going on with --resume loses nothing and repeats nothing.

CI takes a sample of the frequent ones.  ATTNBENCH_FAIL names others, KIND or KIND:FROM:TO, or all:

    ATTNBENCH_FAIL=memory:1:1000,write ctest --preset release -R failing_calls -V
"""

import concurrent.futures
import errno
import json
import os
import pathlib
import subprocess
import tempfile
import unittest
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from command import BESIDE, PROGRAM, Row, launches

FAILING = os.environ["ATTNBENCH_FAILING"]
ASKED = os.environ.get("ATTNBENCH_FAIL", "")
LIMIT_S = 120  # of a session that takes half a second
SESSION = [
    *("run", "--problem", "h=1,s=8,d=4", "--kernel", "naive,online", "--threads", "1"),
    *("--launches", "1", "--seed", "5", *BESIDE),
]
CELLS = 2

# How the calls of a kind fail, and every how manyth of them CI takes.
ERRORS: dict[str, tuple[list[tuple[int, str]], int]] = {
    "write": ([(errno.ENOSPC, "once"), (errno.EIO, "half"), (errno.ENOSPC, "on")], 1),
    "sync": ([(errno.EIO, "once"), (errno.EIO, "on")], 1),
    "truncate": ([(errno.EIO, "once")], 1),
    "read": ([(errno.EIO, "once")], 9),
    "pipe": ([(errno.EMFILE, "once")], 3),
    "fork": ([(errno.EAGAIN, "once"), (errno.EAGAIN, "on")], 1),
    "memfd": ([(errno.EMFILE, "once")], 1),
    "mmap": ([(errno.ENOMEM, "once")], 1),
    "poll": ([(errno.ENOMEM, "once")], 1),
    "open": ([(errno.EMFILE, "once")], 37),
    "memory": ([(errno.ENOMEM, "once"), (errno.ENOMEM, "on")], 97),
}


@dataclass(frozen=True)
class Failure:
    """A call that fails."""

    kind: str
    number: int
    error: int
    how: str

    def __str__(self) -> str:
        """As failing.c reads it."""
        return f"{self.kind} {self.number} {self.error} {self.how}"


def start(arguments: list[str], failure: str, told: str) -> subprocess.CompletedProcess[str]:
    """Runs the program while a call fails; `told` then says which."""
    return subprocess.run(
        [PROGRAM, *arguments], capture_output=True, text=True, timeout=LIMIT_S, check=False,
        env={**os.environ, "LD_PRELOAD": FAILING, "FAILING": f"{failure} {told}"},
    )  # fmt: skip


def whole_lines(path: pathlib.Path) -> list[Row]:
    """The objects of a file's whole lines."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [json.loads(line) for line in text.split("\n")[:-1]]


def of_type(rows: list[Row], kind: str) -> list[Row]:
    """The lines of a type."""
    return [row for row in rows if row["type"] == kind]


def filled(value: Any) -> Any:
    """Which fields a line has and which of them have a value, but those of some launches."""
    if isinstance(value, dict):
        some = ("twin", "superseded")
        return {name: filled(item) for name, item in value.items() if name not in some}
    return value is not None


class Sound(Exception):
    """What is wrong with what a session left."""


def require(right: bool, what: object) -> None:
    """Complains."""
    if not right:
        raise Sound(str(what))


class Trial:
    """One session with one failure, and going on after it."""

    def __init__(self, failure: Failure, usual: dict[str, Any], directory: pathlib.Path) -> None:
        """`usual`: the fields of each type of line in a session without failures."""
        self.failure, self.usual = failure, usual
        self.output, self.told = directory / "results.jsonl", directory / "told"

    def run(self) -> bool:
        """Whether the call was made at all; raises Sound."""
        done = start([*SESSION, "--output", str(self.output)], str(self.failure), str(self.told))
        if not self.told.exists():
            return False
        rows = whole_lines(self.output)
        self.judge(done, rows)
        if rows:
            self.go_on(rows)
        return True

    def judge(self, done: subprocess.CompletedProcess[str], rows: list[Row]) -> None:
        """The end of the session and what it wrote."""
        require(done.returncode in (0, 3), done)
        cells = of_type(rows, "cell")
        said = [line for line in done.stderr.splitlines() if "%  " in line[:7]]
        if done.returncode == 0:
            require(len(cells) == CELLS and rows[-1].get("complete") is True, (done, rows[-1:]))
        else:
            skipped = any("skipped" in line for line in said)
            require("attnbench: " in done.stderr or skipped, ("no message", done))
        require(len(cells) >= len(said), ("a row was shown and not written", done))
        for row in rows:
            if row["type"] != "cell" or row["state"] == "ok":
                usual = self.usual.get(row["type"], filled(row))
                other = {
                    name for name in filled(row) | usual if filled(row).get(name) != usual.get(name)
                }
                require(not other, ("fields", other, [row.get(name) for name in other]))

    def go_on(self, before: list[Row]) -> None:
        """--resume: nothing lost, nothing doubled."""
        done = subprocess.run(
            [PROGRAM, "run", "--resume", str(self.output), *BESIDE],
            capture_output=True, text=True, timeout=LIMIT_S, check=False,
        )  # fmt: skip
        rows = whole_lines(self.output)
        require(done.returncode == 0 and rows[-1].get("complete") is True, done)
        require(rows[: len(before)] == before, ("lines were lost", done))
        good = [row["kernel"] for row in of_type(rows, "cell") if row["state"] == "ok"]
        require(sorted(good) == ["naive", "online"], ("rows", good, done))
        counted = sorted(row["kernel"] for row in launches(str(self.output)))
        require(counted == ["naive", "online"], ("launches", counted))


def attempt(failure: Failure, usual: dict[str, Any]) -> str:
    """What is wrong after a failure; empty where nothing is."""
    with tempfile.TemporaryDirectory() as name:
        trial = Trial(failure, usual, pathlib.Path(name))
        try:
            trial.run()
        except (Sound, ValueError, subprocess.TimeoutExpired) as wrong:
            told = trial.told.read_text() if trial.told.exists() else ""
            return f"{failure} ({told.strip()}): {wrong}"
    return ""


def usual_session(directory: pathlib.Path) -> tuple[dict[str, int], dict[str, Any]]:
    """How many calls of each kind a session makes, and the fields of its lines."""
    output, told = directory / "usual.jsonl", directory / "counts"
    done = start([*SESSION, "--output", str(output)], "none 0 0 once", str(told))
    assert done.returncode == 0, done
    counts = dict(line.split() for line in told.read_text().splitlines())
    usual = {row["type"]: filled(row) for row in whole_lines(output) if row["type"] != "session"}
    return {kind: int(count) for kind, count in counts.items()}, usual


def failures(counts: dict[str, int]) -> Iterator[Failure]:
    """Those that CI takes, or those asked for."""
    asked = dict((*text.split(":", 1), "")[:2] for text in ASKED.split(",") if text)
    for kind, (ways, stride) in ERRORS.items():
        if asked and "all" not in asked and kind not in asked:
            continue
        text = asked.get(kind, "")
        first, last = map(int, text.split(":")) if text else (1, counts[kind])
        for error, how in ways:
            for number in range(first, last + 1, 1 if asked else stride):
                yield Failure(kind, number, error, how)


class FailingCalls(unittest.TestCase):
    """Of the parent; workers are spared."""

    def test_nothing_is_lost(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            counts, usual = usual_session(pathlib.Path(name))
        for kind in ERRORS:
            self.assertGreater(counts[kind], 0, kind)
        planned = list(failures(counts))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            wrong = [text for text in pool.map(lambda f: attempt(f, usual), planned) if text]
        print(f"{len(planned)} failures of {counts}")
        self.assertEqual(wrong, [], "\n".join(wrong))


if __name__ == "__main__":
    unittest.main()

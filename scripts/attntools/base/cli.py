"""What the command lines of all tools share: exit codes, messages, argument errors."""

import argparse
import io
import os
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from types import FrameType
from typing import NoReturn

from attntools.base.files import OutputError, naming
from attntools.results.cells import Results, ResultsError
from attntools.results.soundness import PICTURES


class Exit(IntEnum):
    """Exit codes of every tool.  The C program's own differ: its 2 is usage, its 3 is I/O."""

    OK = 0
    REGRESSION = 1
    WRONG_RESULT = 2
    TOO_NOISY = 3
    USAGE = 4
    INCOMPARABLE = 5
    NOT_BUILT = 6  # of the gate: the new commit does not build
    REMOVED = 7  # of the gate, where --fail-on removed asks for it: a cell is in the base alone


# An output could not be written; for every tool but the gate, whose 3 means too noisy.
UNWRITTEN = 3


class ToolError(Exception):
    """Ends a tool with one message and an exit code."""

    def __init__(self, message: str, code: Exit = Exit.USAGE) -> None:
        """Message as a person is to read it; code as a script is to."""
        super().__init__(message)
        self.code = code


class Parser(argparse.ArgumentParser):
    """An argument parser that exits with the tools' own code, not with argparse's 2."""

    def error(self, message: str) -> NoReturn:
        """Says what is wrong and how to learn more."""
        self.exit(Exit.USAGE, f"{self.prog}: {message}\n{self.prog}: see --help\n")


def parser(tool: str, description: str | None) -> Parser:
    """The parser of one tool, described by its module's docstring."""
    return Parser(
        prog=f"scripts/{tool}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def refuse_over(output: Path | str, inputs: Iterable[Path | str]) -> None:
    """Ends a tool whose output would take the place of a file that it reads.

    Raises:
        ToolError: they are the same file, by whatever names.
    """
    for path in inputs:
        try:
            same = os.path.samefile(output, path)
        except OSError:  # one of them is not there
            continue
        if same and Path(path).is_file():
            raise ToolError(f"{output}: is an input, which this would write over")


def say(tool: str, message: str) -> None:
    """A line for people, on standard error; control characters, as in a file's name, are shown."""
    told = message.translate({c: p for c, p in PICTURES.items() if c != ord("\n")})
    print(f"{tool}: {told}", file=sys.stderr, flush=True)


def told(tool: str, results: Results) -> Results:
    """Says what was noted of a file."""
    for note in results.notes:
        say(tool, note)
    return results


@dataclass
class Reached:
    """How far a tool came, for what it leaves where it is ended before."""

    text: str = "nothing was built or measured"


REACHED = Reached()


def pace(done: int, total: int, seconds: float) -> str:
    """Steps done, and how long the others take if they are like these."""
    left = seconds / max(1, done) * (total - done)
    more = f", about {left:.0f} s more" if done < total else ""
    return f"{done} of {total}, {seconds:.0f} s{more}"


def reason(wrong: Exception) -> str:
    """The text of an error for a message, with the file that it is about."""
    if not isinstance(wrong, OSError):
        return str(wrong)
    return f"{f'{wrong.filename}: ' if wrong.filename else ''}{wrong.strerror or wrong}"


def _terminated(_signal: int, _frame: FrameType | None) -> NoReturn:
    """Ends the tool as an exception would: what it has begun (such as a worktree) is undone."""
    sys.exit(128 + signal.SIGTERM)


@contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    """A temporary folder that is gone afterwards.

    It is removed from before it is there: SIGTERM, which any thread of the process may take, raises
    an exception at any line.
    """
    folder = Path(tempfile.gettempdir()) / f"{prefix}{secrets.token_hex(8)}"
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _open_streams() -> None:
    """Standard streams that can be written to in UTF-8, whatever the locale and the caller.

    A descriptor that is closed would become that of the next file, which then got the output.  One
    that can only be read stands in its place, so that writing to it is an error as it should be;
    what is said on standard error is dropped.
    """
    for number, name, flags in ((0, "stdin", os.O_WRONLY), (1, "stdout", os.O_RDONLY),
                                (2, "stderr", os.O_WRONLY)):  # fmt: skip
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, flags), True)  # the lowest number that is free
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)


def guard(tool: str, run: Callable[[], int]) -> NoReturn:
    """Runs a tool and exits; whatever the user can mend becomes one line, not a traceback.

    What nobody foresaw is left to attntools._internal(): exit code 70.
    """
    signal.signal(signal.SIGTERM, _terminated)
    _open_streams()
    try:
        code = run()
        with naming("standard output"):
            sys.stdout.flush()
    except ToolError as wrong:
        say(tool, str(wrong))
        code = wrong.code
    except ResultsError as wrong:
        say(tool, str(wrong))
        code = Exit.USAGE
    except BrokenPipeError:
        code = Exit.OK  # the reader of the output closed the pipe
    except OSError as wrong:
        say(tool, reason(wrong))
        code = UNWRITTEN if isinstance(wrong, OutputError) else Exit.USAGE
    except KeyboardInterrupt:
        say(tool, "interrupted")
        code = 130
    try:
        sys.stdout.flush()
    except OSError:  # as said above; what is left is dropped, or Python would complain of it again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(int(code))

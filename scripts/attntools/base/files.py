"""Writes output to files, devices and pipes; says where tools keep what they can do without.

A regular file is replaced as a whole, so that a reader never sees half of one: a temporary file is
written, then renamed.  A device or a pipe is written to, never replaced.  Standard library only.
"""

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

# What open() would have given the file; mkstemp's 0600 would hide reports from web servers.
ORDINARY_MODE = 0o666


class OutputError(OSError):
    """An output could not be written; `filename` is the one that the user gave."""


def cache(tool: str) -> Path:
    """A tool's cache folder; a relative XDG_CACHE_HOME counts as none, as its standard says."""
    chosen = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (chosen if chosen.is_absolute() else Path.home() / ".cache") / "attnbench" / tool


@contextmanager
def naming(path: Path | str) -> Iterator[None]:
    """Makes errors of the block errors of the output `path`, whatever file they are about.

    Except where the reader closed the pipe: that is no error.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as wrong:
        raise OutputError(wrong.errno, wrong.strerror or str(wrong), str(path)) from None


def current_umask() -> int:
    """The process's mask of permissions (readable only by setting it)."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _opened(path: Path) -> int | None:
    """What is at `path`, open for writing and not yet changed; None where nothing is."""
    try:
        return os.open(path, os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None


def _rename(aside: Path, target: Path, before: os.stat_result | None) -> None:
    """Puts `aside` in the place of `target`, with the permissions that were there before."""
    with aside.open("rb") as written:
        os.fsync(written.fileno())
    if before:
        with suppress(PermissionError):  # only root gives files away
            os.chown(aside, before.st_uid, before.st_gid)
        aside.chmod(stat.S_IMODE(before.st_mode))
    else:
        aside.chmod(ORDINARY_MODE & ~current_umask())
    aside.replace(target)


@contextmanager
def replacing(path: Path | str) -> Iterator[Path]:
    """A temporary path to write to; if the block ends well, its content becomes that of `path`.

    Links are followed, also one to a file that is not there yet.  On any failure the temporary
    file is removed, and a regular file at `path` stays as it was.

    Raises:
        OutputError: of the block's own OSErrors, too.
    """
    path = Path(path)
    with naming(path), ExitStack() as stack:
        there, before = _opened(path), None
        if there is not None:
            stack.callback(os.close, there)
            before = os.fstat(there)
        regular = before is None or stat.S_ISREG(before.st_mode)
        target = Path(os.path.realpath(path))
        handle, name = tempfile.mkstemp(
            dir=target.parent if regular else None, prefix=".attnbench-", suffix=path.suffix
        )
        os.close(handle)
        aside = Path(name)
        stack.callback(aside.unlink, missing_ok=True)
        yield aside
        if regular:
            _rename(aside, target, before)
        else:
            assert there is not None
            with aside.open("rb") as written, os.fdopen(there, "wb", closefd=False) as device:
                shutil.copyfileobj(written, device)


def make_directory(path: Path) -> None:
    """Makes a directory for output, and those above it; it may exist already."""
    with naming(path):
        path.mkdir(parents=True, exist_ok=True)


def _is_standard_output(path: Path | str) -> bool:
    """Whether a path is another name of standard output, as /dev/stdout is."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(sys.stdout.fileno()))
    except OSError:  # nothing there, or no file behind standard output
        return False


def write_text(path: Path | str, text: str) -> None:
    """Writes a whole text file, or leaves what was there; "-" is standard output.

    A file that standard output goes to is not replaced either: what is printed later would go to
    the old one.
    """
    if str(path) == "-" or _is_standard_output(path):
        with naming("standard output"):
            sys.stdout.write(text)
            sys.stdout.flush()
        return
    with replacing(path) as aside:
        aside.write_text(text, encoding="utf-8")


class _UndoneError(Exception):
    """Ends replacing() before anything is replaced."""


def refuse_unwritable(path: Path | str) -> None:
    """Fails now where write_text() would fail later, after minutes of work; changes nothing.

    Raises:
        OutputError: nothing can be written there.
    """
    if str(path) == "-" or _is_standard_output(path):
        return
    if Path(path).is_fifo():  # whose reader would take opening and closing it for the whole output
        return
    with suppress(_UndoneError), replacing(path):
        raise _UndoneError


def colours_wanted(stream: IO[str]) -> bool:
    """Whether a stream is a terminal whose user did not ask for plain text (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR")

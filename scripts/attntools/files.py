"""Writing files so that a reader never sees half of one: aside, then renamed into place."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

# What open() would have given the file; mkstemp's 0600 would hide reports from web servers.
ORDINARY_MODE = 0o666


def current_umask() -> int:
    """The process's mask of permissions (readable only by setting it)."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextmanager
def replacing(path: Path | str) -> Iterator[Path]:
    """A path beside `path` to write to; it takes `path`'s name if the block ends well.

    On any failure the temporary file is removed and what was at `path` stays as it was.
    """
    path = Path(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    os.close(handle)
    aside = Path(name)
    try:
        yield aside
        with aside.open("rb") as written:
            os.fsync(written.fileno())
        aside.chmod(ORDINARY_MODE & ~current_umask())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def write_text(path: Path | str, text: str) -> None:
    """Writes a whole text file, or leaves what was there; "-" is standard output."""
    if str(path) == "-":
        sys.stdout.write(text)
        return
    with replacing(path) as aside:
        aside.write_text(text, encoding="utf-8")


def colours_wanted(stream: IO[str]) -> bool:
    """Whether a stream is a terminal whose user did not ask for plain text (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR")

"""Keeps the programs that the gate built, so that a commit is built once.

They lie outside the tree, in $XDG_CACHE_HOME/attnbench/gate: `lock`, held by whoever reads or
writes there; `tree`, where a commit is checked out and built; and a file a program, whose name says
what it was built of.  A program appears there whole (renamed into place), or not at all.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attntools.base.cli import say
from attntools.base.files import cache, replacing

# Programs kept, of some 2 MB each; above that the least recently used goes.
MOST = 20

# The environment variables that CMake uses in a build.
ENVIRONMENT = ("CC", "CFLAGS", "CPPFLAGS", "LDFLAGS", "CMAKE_PREFIX_PATH", "PKG_CONFIG_PATH")


def folder() -> Path:
    """Where programs are kept."""
    return cache("gate")


def _lock(tool: str):  # noqa: ANN202
    """The lock, held while it is open, and also released when its process dies."""
    place = folder()
    place.mkdir(parents=True, exist_ok=True)
    lock = (place / "lock").open("a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say(tool, "another gate is building; waiting for it")
        fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


@contextmanager
def opened(tool: str, instead: Path) -> Iterator[Path]:
    """The folder, one gate's at a time; `instead`, for this gate only, where it cannot be used."""
    try:
        lock = _lock(tool)
    except (OSError, RuntimeError) as wrong:  # RuntimeError: this user has no home
        say(tool, f"builds are not kept: {wrong}")
        yield instead
        return
    with lock:
        for left in folder().glob(".*"):  # of a gate that was killed while it wrote
            left.unlink()
        yield folder()


def key(commit: str, script: Path) -> str:
    """A name for what a program is built of: commit, compiler, flags, the script that builds."""
    compiler = os.environ.get("CC", "").split() or ["cc"]
    found = shutil.which(compiler[0])
    ask = [found, *compiler[1:], "--version"] if found else ["true"]
    version = subprocess.run(ask, capture_output=True, text=True, errors="replace", check=False)
    chosen = [os.environ.get(name, "") for name in ENVIRONMENT]
    parts = [commit, *ask, version.stdout, *chosen, script.read_text()]
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:40]


def take(kept: Path, copy: Path) -> bool:
    """Copies a kept program; False where there is none that runs (a library of it may be gone)."""
    if not kept.is_file():
        return False
    os.utime(kept)
    shutil.copyfile(kept, copy)
    copy.chmod(0o755)
    done = subprocess.run([str(copy), "list"], capture_output=True, check=False)
    return done.returncode == 0


def keep(program: Path, kept: Path) -> None:
    """Keeps a program; those that were used least recently go."""
    with replacing(kept) as aside:
        shutil.copyfile(program, aside)
    others = [path for path in kept.parent.iterdir() if len(path.name) == len(kept.name)]
    others.sort(key=lambda path: path.stat().st_mtime_ns)
    for old in others[:-MOST]:
        old.unlink()

"""Runs clang-tidy or cppcheck over C files, except those that passed before and have not changed.

    python3 -m dev.tidy CHECKER FOLDER OPTIONS FILE...       (scripts/dev/lint calls it)

FOLDER holds compile_commands.json.  OPTIONS are the checker's, with {top} for the top of the tree;
for clang-tidy they are the checks behind those of .clang-tidy.  What passed is remembered in
$XDG_CACHE_HOME/attnbench/tidy, as an empty file whose name is a digest of all that the answer
depends on: the checker's version, settings and options, the compile commands, names and contents of
the file and of each header that it includes.  Paths count from the top of the tree, so that clones
share it.  What the checker says about a file is printed, each time again.

Exit 1: the checker found something.  Needs no packages.
"""

import contextlib
import functools
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from attntools.base.files import cache

TOOL = "tidy"
# What a checker reads for itself, and its arguments.
CHECKERS = {
    "clang-tidy-14": (".clang-tidy", "--quiet -p {folder} --checks={options} {name}"),
    "cppcheck": (
        "scripts/dev/jansson.cfg",
        "--quiet --error-exitcode=1 --project={folder}/compile_commands.json"
        " --library=scripts/dev/jansson.cfg {options} --file-filter={top}/{name}",
    ),
}
DAYS = 60  # without use, after which an answer is forgotten


def _headers(command: list[str], where: str) -> list[Path]:
    """The files that a compilation reads, its source among them: what its compiler says with -M."""
    kept, words = [], iter(command)
    for word in words:
        if word in ("-o", "-MF", "-MT", "-MQ"):
            next(words)
        elif word not in ("-c", "-MD", "-MMD"):
            kept.append(word)
    made = subprocess.run([*kept, "-M"], cwd=where, check=True, capture_output=True, text=True)
    names = made.stdout.replace("\\\n", " ").split(":", 1)[1]
    return [Path(where, name) for name in shlex.split(names)]


@functools.cache
def _contents(name: str) -> bytes:
    """A digest of a file."""
    return hashlib.sha256(Path(name).read_bytes()).digest()


def digest(entries: list[dict[str, str]], constant: str) -> str:
    """The digest of a file's compilations, and of what is the same for all files."""
    top = str(Path.cwd())
    text = hashlib.sha256(constant.encode())
    for entry in entries:
        command = shlex.split(entry["command"])
        if Path(command[0]).name == "ccache":  # or not: it is the same compilation
            command = command[1:]
        text.update(shlex.join(command).replace(top, ".").encode())
        for header in _headers(command, entry["directory"]):
            name = os.path.normpath(header)
            text.update(f"\0{name.replace(top, '.')}\0".encode() + _contents(name))
    return text.hexdigest()


def passes(command: list[str], entries: list[dict[str, str]], same: str) -> bool:
    """Whether a checker has nothing to say about a file, now or before; prints what it says."""
    known = None
    # What is wrong with a file that does not even give a digest, the checker says.
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        known = cache(TOOL) / digest(entries, same) if entries else None
    if known and known.exists():
        known.touch()
        return True
    said = subprocess.run(command, check=False, capture_output=True, text=True)
    noise = re.compile(r".* warnings? generated|Suppressed ")
    errors = [line for line in said.stderr.splitlines() if not noise.match(line)]
    told = said.stdout + "".join(line + "\n" for line in errors)
    sys.stdout.write(told)
    if known and said.returncode == 0 and not told:
        with contextlib.suppress(OSError):
            known.parent.mkdir(parents=True, exist_ok=True)
            known.touch()
    return said.returncode == 0


def run(checker: str, commands: Path, options: str, names: list[str]) -> bool:
    """Whether a checker finds nothing in any of the files; as many at a time as there are CPUs."""
    by_file: dict[str, list[dict[str, str]]] = {}
    for entry in json.loads((commands / "compile_commands.json").read_text()):
        by_file.setdefault(os.path.relpath(entry["file"]), []).append(entry)
    settings, arguments = CHECKERS[checker]
    version = subprocess.run([checker, "--version"], check=True, capture_output=True, text=True)
    same = "\0".join((version.stdout, Path(settings).read_text(), options))
    top = Path.cwd()
    words = {"folder": commands, "options": options.format(top=top), "top": top}

    def passed(name: str) -> bool:
        command = [checker, *shlex.split(arguments.format(**words, name=name))]
        return passes(command, by_file.get(name, []), same)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        answers = list(pool.map(passed, names))
    for known in cache(TOOL).glob("*"):
        if known.stat().st_mtime < time.time() - DAYS * 86400:
            known.unlink(missing_ok=True)
    return all(answers)


if __name__ == "__main__":
    sys.exit(not run(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4:]))

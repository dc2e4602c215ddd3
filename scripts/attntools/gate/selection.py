"""Which cells a tool makes the program run: the options of `attnbench run`."""

import argparse
import re
from pathlib import Path

from attntools.base.cli import ToolError
from attntools.results.schema import ABSENT

NAMES = (
    "suite", "model", "prefill", "decode", "batch", "case", "kernel", "isa", "threads", "placement",
)  # fmt: skip
WORKERS = re.compile(r":tp\d+$")  # of a model


def add_to(p: argparse.ArgumentParser) -> None:
    """Adds the options that choose cells."""
    for name in NAMES:
        p.add_argument(f"--{name}", help="as for attnbench run")
    p.add_argument("--problem", action="append", default=[], help="as for attnbench run")
    p.add_argument("--plugin", action="append", default=[], metavar="FILE",
                   help="as for attnbench run")  # fmt: skip


def refuse_missing(options: argparse.Namespace) -> None:
    """Ends a tool that was given a path where nothing is, before it builds anything.

    Raises:
        ToolError: a plug-in, the file of a suite or a config.json is not there.
    """
    files = [name for name in (options.suite or "").split(",") if "/" in name]
    models = [WORKERS.sub("", name) for name in (options.model or "").split(",")]
    files += [name for name in models if "/" in name or name.endswith(".json")]
    # A plug-in is a file, or a program and its arguments.
    files += [p for p in options.plugin if not Path(p.split(" ")[0]).exists()]
    for file in files:
        if not Path(file).exists():
            raise ToolError(f"{file}: No such file or directory")


def words(options: argparse.Namespace, **defaults: str) -> list[str]:
    """The options that choose cells, for attnbench; without any the suite `quick`.

    Args:
        options: as parsed.
        defaults: values of options that were not given.
    """
    chosen = []
    for name in NAMES:
        value = getattr(options, name) or defaults.get(name)
        chosen += [f"--{name}", value] if value else []
    for problem in options.problem:
        chosen += ["--problem", problem]
    named = options.suite or options.problem or options.model
    return chosen if named else ["--suite", "quick", *chosen]


def add_memory_to(p: argparse.ArgumentParser) -> None:
    """Adds the options that say how memory is placed, which only measuring takes."""
    p.add_argument("--memory", help="as for attnbench run")
    p.add_argument("--huge-pages", action="store_true", help="as for attnbench run")


def memory_words(memory: str | None, *, huge_pages: bool) -> list[str]:
    """How memory is placed, for attnbench run; nothing where as usual, which older builds know."""
    placed = ["--memory", memory] if memory and memory != ABSENT["memory"] else []
    return placed + (["--huge-pages"] if huge_pages else [])

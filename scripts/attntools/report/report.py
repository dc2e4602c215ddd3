"""Writes one self-contained HTML page from results files or a history.

    scripts/report FILE.jsonl --output report.html                  a session
    scripts/report BASE.jsonl NEW.jsonl [...] --output report.html  what changed against the first
    scripts/report results-local/history.sqlite --output report.html
                                                                    how times changed, with dates
    scripts/report --experiments results/experiments --output report.html
                                                                    a folder of experiments; one
                                                                    file of them needs no option
    scripts/report --fleet FOLDER|FILE [...] --output report.html   many machines: types side by
                                                                    side, and hosts that are off

A session begins with its headline in words, then what it was measured on and how far to trust it,
two figures, and every cell in a table; noise comes last.  In the page of a folder of experiments
each question comes with what the folder's README.md says was found, its figure, method and command.
A fleet's files are of many hosts, one or more each, or histories; a host has the name of its node,
or of its file.  The page needs no network and shows no folder of the machine; without scripts it
reads the same, with them its tables sort and filter.

Exit codes: 0 written, 3 output, 4 usage or input (the page of a fleet has the files that could be
read).
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from attntools.base.cli import Exit, ToolError, parser, reason, refuse_over, say, told
from attntools.base.files import write_text
from attntools.fleet.fleet import files_of
from attntools.fleet.fleet_tables import fleet_of
from attntools.history import database
from attntools.report import (
    page_comparison,
    page_experiments,
    page_fleet,
    page_history,
    page_session,
)
from attntools.results.cells import Results, ResultsError
from attntools.results.results import read, read_all

TOOL = "report"

SQLITE = b"SQLite format 3\0"


def is_history(path: Path | str) -> bool:
    """Whether a file is a database rather than results."""
    with Path(path).open("rb") as file:
        return file.read(len(SQLITE)) == SQLITE


def page(paths: Sequence[str]) -> str:
    """The page of some files."""
    histories = [path for path in paths if is_history(path)]
    if histories and len(paths) > 1:
        raise ToolError(f"{histories[0]}: is a history, which has a page of its own")
    if histories:
        with database.opened(paths[0]) as connection:
            return page_history.page(connection, Path(paths[0]).name)
    files = read_all(paths)
    if len(files) == 1 and not files[0].cells and page_experiments.names(files[0]):
        return page_experiments.page(Path(paths[0]))
    files = [told(TOOL, results) for results in files]
    return page_comparison.page(files) if len(files) > 1 else page_session.page(files[0])


def files_of_fleet(paths: Sequence[str]) -> tuple[list[Results], int]:
    """Results of many machines, and how many files were refused: one must not hide the others."""
    found: list[Results] = []
    refused = 0
    for path in (file for given in paths for file in files_of([given])):
        try:
            if path.is_file() and is_history(path):
                with database.opened(path) as connection:
                    found += database.sessions(connection)
            else:
                found.append(read(path))
        except (ResultsError, OSError) as wrong:
            say(TOOL, reason(wrong))
            refused += 1
    if not found:
        raise ToolError("no file can be used")
    return found, refused


def write_fleet(options: argparse.Namespace) -> Exit:
    """Writes the page of a fleet; the exit code says whether a file was refused."""
    files, refused = files_of_fleet(options.files)
    found = fleet_of(files)
    for note in found.notes:
        say(TOOL, note)
    write_text(options.output, page_fleet.page(found))
    return Exit.USAGE if refused else Exit.OK


def run(argv: Sequence[str] | None = None) -> int:
    """The tool."""
    p: argparse.ArgumentParser = parser(TOOL, __doc__)
    p.add_argument("files", nargs="*", metavar="FILE")
    p.add_argument("--experiments", metavar="FOLDER", help="of results files; takes no FILE")
    p.add_argument("--fleet", action="store_true", help="files, folders or histories of many hosts")
    p.add_argument("--output", required=True, metavar="HTML", help="- for standard output")
    options = p.parse_args(argv)
    if bool(options.files) == bool(options.experiments):
        p.error("takes files, or --experiments and a folder")
    if options.fleet and options.experiments:
        p.error("--fleet takes files, folders or histories, not --experiments")
    refuse_over(options.output, options.files)
    if options.fleet:
        return write_fleet(options)
    wanted = options.experiments
    write_text(
        options.output, page_experiments.page(Path(wanted)) if wanted else page(options.files)
    )
    return Exit.OK

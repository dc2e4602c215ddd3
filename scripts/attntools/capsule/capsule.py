"""Packs one row of a results file into a folder, and measures it again elsewhere.

    scripts/capsule pack run.jsonl --row 3 --output slow-row
    scripts/capsule replay slow-row

The folder, a capsule, has capsule.json: the row, the line of its session (machine, build, command),
and the digests of the other files, which the row needs: the plug-in that its kernel came from and
the tensors of its input.  `replay` runs (or checks) the row's cell by its `repro` line, with those
files, and prints both side by side; between machines compare shares of the ceiling, not times.
The new results are replay-1.jsonl in the capsule, and so on.

Exit codes: 0 packed, or the same state as before, 1 another state, 3 output, 4 usage or input.
"""

import argparse
import itertools
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attntools.base import tables, units
from attntools.base.cli import Exit, ToolError, parser
from attntools.base.files import naming
from attntools.gate.gate_builds import ROOT, digest_of
from attntools.results.cells import Cell
from attntools.results.results import read

TOOL = "capsule"
SCHEMA = "attnbench.capsule/1"
FILE = "capsule.json"
PROGRAM = ROOT / "build/release/attnbench"

Row = dict[str, Any]


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parses the command line."""
    p = parser(TOOL, __doc__)
    verbs = p.add_subparsers(dest="verb", required=True, metavar="pack|replay")
    pack = verbs.add_parser("pack", help="a row into a folder")
    pack.add_argument("file", type=Path, help="a results file")
    pack.add_argument("--row", type=int, required=True, metavar="N", help="its Nth row, from 1")
    pack.add_argument("--output", type=Path, required=True, metavar="DIR", help="the new folder")
    again = verbs.add_parser("replay", help="measure the row of a capsule again, and compare")
    again.add_argument("folder", type=Path, help="a capsule")
    again.add_argument("--program", type=Path, default=PROGRAM, help="default: %(default)s")
    return p.parse_args(argv)


# ---- packing -------------------------------------------------------------------------------------


def row_of(path: Path, number: int) -> tuple[Row, Row]:
    """The line of the session and the row with that number."""
    read(path)  # says what is wrong with it
    session, rows = {}, 0
    for line in path.read_bytes().splitlines():
        found = json.loads(line) if line.endswith(b"}") else {}
        session = found if found.get("type") == "session" else session
        rows += found.get("type") == "cell"
        if found.get("type") == "cell" and rows == number:
            return session, found
    raise ToolError(f"{path}: no row {number}, it has {rows}")


def words_of(row: Row) -> list[str]:
    """The row's command, as a list of words."""
    words = shlex.split(row["repro"])
    if words[:1] != ["attnbench"] or words[1:2] not in (["run"], ["check"]):
        raise ToolError(f"the row's command is none of attnbench: {row['repro']}")
    return words[1:]


def plugin_of(words: Sequence[str]) -> tuple[Path, str] | None:
    """The plug-in of a command, and its arguments."""
    if "--plugin" not in words:
        return None
    text = words[words.index("--plugin") + 1]
    if Path(text).exists():
        return Path(text), ""
    path, *rest = shlex.split(text)
    return Path(path), shlex.join(rest)


def tensors_of(words: Sequence[str]) -> tuple[Path, str, str] | None:
    """The tensors of a command's problem: their path, and the text before and behind it."""
    found = re.fullmatch(r"(.* input=file:)(.*)(:[^:]*)", words[words.index("--problem") + 1])
    return (Path(found[2]), found[1], found[3]) if found else None


def packed(options: argparse.Namespace) -> int:
    """Makes the folder; everything is looked up before anything is written."""
    session, row = row_of(options.file, options.row)
    words = words_of(row)
    enclosed: dict[str, Path | None] = {"plugin": None, "tensors": None}
    plugin, tensors = plugin_of(words), tensors_of(words)
    if plugin and row["plugin"]:
        enclosed["plugin"] = plugin[0]
        if digest_of(plugin[0]) != row["plugin"].split(" ")[0]:
            raise ToolError(f"{plugin[0]}: is not the plug-in of the row")
    if tensors:
        enclosed["tensors"] = next(
            (p for p in (tensors[0], ROOT / "tests/data" / tensors[0]) if p.exists()), tensors[0]
        )
    capsule = {"schema": SCHEMA, "session": session, "row": row} | {
        key: {"name": path.name, "digest": digest_of(path)} if path else None
        for key, path in enclosed.items()
    }
    with naming(str(options.output)):
        options.output.mkdir(parents=True)
        try:
            for path in filter(None, enclosed.values()):
                shutil.copy(path, options.output)
            (options.output / FILE).write_text(json.dumps(capsule, indent=1) + "\n")
        except OSError:
            shutil.rmtree(options.output)
            raise
    print(f"{options.output}: row {options.row} of {options.file}; repeat it with: "
          f"scripts/capsule replay {shlex.quote(str(options.output))}")  # fmt: skip
    return Exit.OK


# ---- replaying -----------------------------------------------------------------------------------


def opened(folder: Path) -> Row:
    """The contents of capsule.json."""
    path = folder / FILE
    try:
        capsule = json.loads(path.read_bytes())
    except ValueError:
        raise ToolError(f"{path}: is no JSON") from None
    if not isinstance(capsule, dict) or capsule.get("schema") != SCHEMA:
        raise ToolError(f"{path} is no capsule of schema {SCHEMA}")
    return capsule


def inside(folder: Path, capsule: Row, key: str) -> Path | None:
    """An enclosed file, which must be the one that was put there; no other folder counts."""
    if not capsule.get(key):
        return None
    path = folder.resolve() / Path(capsule[key]["name"]).name
    if digest_of(path) != capsule[key]["digest"]:
        raise ToolError(f"{path} is not the file that was put there")
    return path


def command(folder: Path, capsule: Row, output: Path) -> list[str]:
    """The words that measure, or check, the row again."""
    words = words_of(capsule["row"])
    plugin, tensors = inside(folder, capsule, "plugin"), inside(folder, capsule, "tensors")
    before, source = plugin_of(words), tensors_of(words)
    if before and plugin:
        text = shlex.quote(str(plugin)) + f" {before[1]}" if before[1] else str(plugin)
        words[words.index("--plugin") + 1] = text
    if source and tensors:
        words[words.index("--problem") + 1] = f"{source[1]}{tensors}{source[2]}"
    words += ["--seed", str(capsule["row"]["seed"])]
    if words[0] == "run" and capsule["row"]["time"]:  # as many, for an interval as narrow
        words += ["--launches", str(capsule["row"]["time"]["launches"])]
    return [*words, "--output", str(output)]


def new_file(folder: Path) -> Path:
    """A name that is free for the new results."""
    paths = (folder / f"replay-{n}.jsonl" for n in itertools.count(1))
    return next(path for path in paths if not path.exists())


def side(cell: Cell) -> Iterator[str]:
    """What the table has of a row and its session."""
    machine, build = cell.session.machine, cell.session.build
    lo_hi = cell.interval_s if cell.timed else None
    ends = f" [{units.seconds(lo_hi[0])} {units.seconds(lo_hi[1])}]" if lo_hi else ""
    share = cell.number("fraction_of_roofline")
    yield cell.state
    yield str(len(cell.launch_medians_s)) if cell.timed else ""
    yield units.seconds(cell.median_s) + ends if cell.timed else ""
    yield f"{100 * share:.1f} %" if share == share else ""
    yield units.digits(cell.number("check.error_over_bound"))
    yield str(cell.row.get("timed_at", ""))
    yield str(machine.get("cpu", ""))[:40]
    modified = " modified" if build.get("dirty") else ""
    yield f"{str(build.get('commit', ''))[:12]}{modified} {str(build.get('compiler', ''))[:40]}"


NAMES = (
    "state",
    "launches",
    "median",
    "of the ceiling",
    "error / bound",
    "timed at",
    "CPU",
    "build",
)


def verdict(then: Cell, now: Cell) -> str:
    """What the two times say."""
    if not (then.timed and now.timed):
        return ""
    if then.session.machine.get("fingerprint") != now.session.machine.get("fingerprint"):
        return "\nAnother machine: what travels is the share of the ceiling, not the time.\n"
    a, b = then.interval_s, now.interval_s
    change = units.change(now.median_s / then.median_s)
    if not (a and b):
        return f"\n{change} time, on the same machine; too few launches for intervals to tell.\n"
    end = "overlap" if a[0] <= b[1] and b[0] <= a[1] else "do not overlap"
    return f"\n{change} time, on the same machine; the intervals {end}.\n"


def replayed(options: argparse.Namespace) -> int:
    """Runs the row again and compares."""
    capsule = opened(options.folder)
    output = new_file(options.folder)
    words = [str(options.program), *command(options.folder, capsule, output)]
    ended = subprocess.run(words, check=False)
    if not output.exists():
        raise ToolError(f"{options.program} ended with {ended.returncode} and no results")
    before = options.folder / "before.jsonl"
    before.write_text("".join(json.dumps(capsule[key]) + "\n" for key in ("session", "row")))
    try:
        (then,) = read(before).cells.values()
    finally:
        before.unlink()
    # A row that failed on another number of threads was repeated on both.
    now = next((c for c in read(output).cells.values() if c.threads == then.threads), None)
    if now is None:
        raise ToolError(f"{output}: has no row of {then.threads} threads")
    rows = [list(row) for row in zip(NAMES, side(then), side(now), strict=True)]
    print(
        f"\nreplay of {options.folder}: {now.identity.kernel}/{now.identity.isa}\n{now.problem}\n"
    )
    sys.stdout.write(tables.text(("", "then", "now"), rows, (False,) * 3, colours=False))
    sys.stdout.write(verdict(then, now))
    return Exit.OK if then.state == now.state else Exit.REGRESSION


def run(argv: Sequence[str] | None = None) -> int:
    """The tool."""
    options = arguments(argv)
    return packed(options) if options.verb == "pack" else replayed(options)

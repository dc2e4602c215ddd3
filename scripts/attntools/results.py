"""Reads results files: JSON Lines of schema attnbench.results/1.

Everything that can be wrong with a file is found here and said once, with file and line, so that
no tool computes with a row that is not what it seems.  What a killed session leaves (an unfinished
last line, no end) is no error: it is noted.  The last row of a cell counts.
"""

import gc
import json
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

import msgspec

SCHEMA = "attnbench.results/"
VERSION = 1

State = Literal[
    "ok", "unsupported", "unavailable", "failed", "implausible", "crashed", "timeout", "skipped"
]
STATES = frozenset(get_args(State))
# A kernel that computed something wrong, or never came back.
WRONG_STATES = frozenset(("failed", "implausible", "crashed", "timeout"))

Row = dict[str, Any]
Positive = Annotated[float, msgspec.Meta(gt=0)]


class ResultsError(Exception):
    """A file that cannot be used; the message names file and line."""


class Identity(NamedTuple):
    """What makes two rows the same cell."""

    kernel: str
    isa: str
    problem: str
    input: str
    threads: int
    placement: str
    cache: str
    plugin: str | None

    @property
    def variant(self) -> str:
        """Kernel and instruction set, as people write it."""
        return f"{self.kernel}/{self.isa}"


@dataclass(slots=True, eq=False)
class Session:
    """A session line: which machine, which build, which settings."""

    path: str
    line: int
    header: Row

    @property
    def machine(self) -> Row:
        """What `attnbench machine --json` says."""
        return self.header.get("machine") or {}

    @property
    def build(self) -> Row:
        """Version, commit, dirty, compiler, flags."""
        return self.header.get("build") or {}

    def build_text(self) -> str:
        """A build in a few words."""
        build = self.build
        commit = (build.get("commit") or "no commit")[:12]
        dirty = " (modified)" if build.get("dirty") else ""
        return f"{commit}{dirty}, {build.get('compiler', '?')} {build.get('flags', '')}".rstrip()


class Time(msgspec.Struct, gc=False):
    """The part of a row's time that every tool needs."""

    median_s: Positive
    min_s: Positive
    launch_medians_s: Annotated[list[Positive], msgspec.Meta(min_length=1)]
    ci95_s: tuple[Positive, Positive] | None = None


class Cell(msgspec.Struct, gc=False, eq=False):
    """One row, already checked; `row` has what is not decoded here."""

    kernel: str
    isa: str
    problem: str
    input: str
    threads: Annotated[int, msgspec.Meta(ge=1)]
    placement: str
    cache: str
    plugin: str | None
    state: State
    case: str = ""
    why: str | None = None
    time: Time | None = None
    flags: list[str] = []
    text: bytes = b""
    line: int = 0
    identity: Any = None
    session: Any = None

    @property
    def row(self) -> Row:
        """The whole row."""
        return msgspec.json.decode(self.text)

    @property
    def timed(self) -> bool:
        """Whether the row has a time that may be used; one of `attnbench check` has none."""
        return self.state == "ok" and self.time is not None

    @property
    def median_s(self) -> float:
        """Median over launches, seconds per call."""
        assert self.time
        return self.time.median_s

    @property
    def launch_medians_s(self) -> list[float]:
        """Median of each launch, in the order of the rounds."""
        assert self.time
        return self.time.launch_medians_s

    @property
    def interval_s(self) -> tuple[float, float] | None:
        """The 95 % interval of the median, where there were launches enough."""
        assert self.time
        return self.time.ci95_s

    def number(self, key: str) -> float:
        """A number of the row, as in ceiling.fma_gflops; NaN where it is null or absent."""
        value: Any = self.row
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        return float(value) if isinstance(value, int | float) else math.nan


@dataclass(eq=False)
class Results:
    """A whole file."""

    path: str
    sessions: list[Session]
    cells: dict[Identity, Cell]
    experiments: list[Row] = field(default_factory=list)
    noise: list[Row] = field(default_factory=list)
    launches: dict[Identity, list[Row]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    complete: bool = False

    @cached_property
    def timed(self) -> list[Cell]:
        """The cells with a time."""
        return [cell for cell in self.cells.values() if cell.timed]

    @property
    def right(self) -> list[Cell]:
        """The cells that were found right, timed or not."""
        return [cell for cell in self.cells.values() if cell.state == "ok"]

    @property
    def name(self) -> str:
        """The file's name without folder and ending, for headings."""
        return Path(self.path).name.removesuffix(".jsonl")


def problem_fields(problem: str) -> dict[str, str]:
    """Keys and values of a problem's canonical text, defaults filled in.

    The defaults are the problem text's own: float32, no mask, Dv = D.
    """
    fields = dict(part.split("=", 1) for part in problem.split(",") if "=" in part)
    fields.setdefault("dtype", "f32")
    fields.setdefault("mask", "none")
    fields.setdefault("dv", fields.get("d", "?"))
    return fields


# ---- lines ---------------------------------------------------------------------------------------


def _object(text: bytes) -> Row | str:
    """A line as an object, or what is wrong with it.

    Python's reader takes NaN and Infinity, so that the row's checks can name the field.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as wrong:
        return f"is no JSON ({wrong})"
    return value if isinstance(value, dict) else "is no JSON object"


def _positive(value: Any) -> bool:
    return isinstance(value, int | float) and 0 < value < math.inf and value is not True


def _all_positive(values: Any) -> bool:
    """Whether this is a list of positive finite numbers, at least one (a NaN spoils the sum)."""
    try:
        return type(values) is list and min(values) > 0 and sum(values) < math.inf
    except (TypeError, ValueError):
        return False


def _wrong_time(time: Any) -> str | None:
    """What is wrong with the time of an ok row; None where nothing is."""
    if not isinstance(time, dict):
        return "state is ok, but there is no time"
    for key in ("median_s", "min_s"):
        if not _positive(time.get(key)):
            return f"time.{key} is {time.get(key)!r}, not a positive number"
    medians = time.get("launch_medians_s")
    if not _all_positive(medians):
        return f"time.launch_medians_s is {str(medians)[:60]}, not a list of positive numbers"
    interval = time.get("ci95_s")
    if interval is not None and not (_all_positive(interval) and len(interval) == 2):
        return f"time.ci95_s is {str(interval)[:60]}, neither null nor two positive numbers"
    return None


def _wrong_identity(row: Row) -> str | None:
    """What is wrong with the identity of a row; None where nothing is."""
    for name in Identity._fields:
        wanted = int if name == "threads" else str
        if name not in row:
            return f"has no {name}"
        value = row[name]
        if type(value) is not wanted and not (name == "plugin" and value is None):
            return f"{name} is {value!r}, not a {'whole number' if wanted is int else 'text'}"
    return None if row["threads"] > 0 else f"threads is {row['threads']}, not a positive number"


def _wrong_cell(row: Row) -> str:
    """Why a row could not be decoded: the first of our own reasons, in words."""
    state = row.get("state")
    if wrong := _wrong_identity(row):
        return wrong
    if state not in STATES:
        return f"state is {state!r}, none of {', '.join(sorted(STATES))}"
    return _wrong_time(row.get("time")) or "a field of this row is of the wrong type"


def _wrong_header(row: Row) -> str | None:
    """What is wrong with a session line; None where nothing is."""
    schema = row.get("schema")
    if not isinstance(schema, str) or not schema.startswith(SCHEMA):
        return f"is no results file of attnbench (schema {schema!r})"
    version = schema.removeprefix(SCHEMA)
    if not version.isdigit():
        return f"schema {schema!r} names no version"
    if int(version) > VERSION:
        return f"schema {schema} is newer than what this program reads ({SCHEMA}{VERSION})"
    for key in ("machine", "build"):
        if not isinstance(row.get(key), dict):
            return f"the session line has no {key}"
    return None


CELL = b'{"type":"cell",'  # as the program writes it: the type is the first key
DECODE = msgspec.json.Decoder(Cell).decode
identity_of = attrgetter(*Identity._fields)


# ---- files ---------------------------------------------------------------------------------------


class _Reader:
    """Takes the lines of one file in."""

    def __init__(self, path: str, with_launches: bool) -> None:
        self.results = Results(path, [], {})
        self.with_launches = with_launches
        self.replaced: list[tuple[int, int]] = []

    def error(self, line: int, message: str) -> ResultsError:
        return ResultsError(f"{self.results.path}:{line}: {message}")

    def take(self, line: int, text: bytes) -> None:
        """One whole line; raises ResultsError."""
        if text.startswith(CELL) and self.results.sessions:
            try:
                self.take_cell(line, text, DECODE(text))
                return
            except msgspec.MsgspecError:
                pass  # what follows finds the reason
        row = _object(text)
        if isinstance(row, str):
            raise self.error(line, row)
        kind = row.get("type")
        if kind == "session":
            self.take_session(line, row)
        elif not self.results.sessions:
            raise self.error(line, "is no results file of attnbench: a session line comes first")
        elif kind == "cell":
            self.take_other_cell(line, row)
        elif kind == "launch":
            self.take_launch(line, row)
        elif kind == "experiment":
            self.results.experiments.append(row)
        elif kind == "noise":
            self.results.noise.append(row)
        elif kind == "end":
            self.results.complete = row.get("complete") is True
        elif not isinstance(kind, str):
            raise self.error(line, f"has no type (keys: {', '.join(list(row)[:5]) or 'none'})")
        # Types that later programs add are none of ours: fields and lines are added in a version.

    def only_checks(self) -> bool:
        """Whether this session times nothing: `attnbench check`."""
        return (self.results.sessions[-1].header.get("command") or [""])[0] == "check"

    def take_session(self, line: int, row: Row) -> None:
        wrong = _wrong_header(row)
        if wrong:
            raise self.error(line, wrong)
        self.results.sessions.append(Session(self.results.path, line, row))
        self.results.complete = False

    def take_cell(self, line: int, text: bytes, cell: Cell) -> None:
        sound = math.isfinite(sum(cell.launch_medians_s)) if cell.time else self.only_checks()
        if cell.state == "ok" and not sound:
            raise self.error(line, _wrong_cell(json.loads(text)))
        cell.identity = Identity._make(identity_of(cell))
        cell.session = self.results.sessions[-1]
        cell.line = line
        cell.text = text
        cell.case = cell.case or cell.problem
        earlier = self.results.cells.get(cell.identity)
        if earlier:
            self.replaced.append((earlier.line, line))
        self.results.cells[cell.identity] = cell

    def take_other_cell(self, line: int, row: Row) -> None:
        """A cell with its keys in another order, or one that is not sound."""
        if row.get("state") != "ok":
            row = row | {"time": None}
        try:
            cell = msgspec.convert(row, Cell)
        except msgspec.ValidationError:
            raise self.error(line, _wrong_cell(row)) from None
        # Encoded again: whatever NaN stands in a field that no tool needs is null from here on.
        self.take_cell(line, msgspec.json.encode(row), cell)

    def take_launch(self, line: int, row: Row) -> None:
        wrong = _wrong_identity(row)
        if wrong:
            raise self.error(line, wrong)
        identity = Identity._make(map(row.get, Identity._fields))
        self.results.launches.setdefault(identity, []).append(row)

    def note(self, message: str) -> None:
        self.results.notes.append(f"{self.results.path}{message}")

    def finish(self) -> Results:
        if self.replaced:
            first, last = self.replaced[0]
            self.note(
                f":{last}: {len(self.replaced)} rows replace earlier ones of the same cell"
                f" (the first that of line {first})"
            )
        if not self.results.complete:
            self.note(": the session did not end: cells may be missing")
        return self.results


@contextmanager
def without_collector() -> Iterator[None]:
    """Without the cycle collector, which would walk all rows again and again: rows have no cycles.

    Half the time of comparing 100,000 cells goes to it otherwise.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def read(path: Path | str, *, with_launches: bool = False) -> Results:
    """Reads one results file.

    Args:
        path: the file.
        with_launches: whether to read launch lines too, which are most of a file.

    Raises:
        ResultsError: the file is empty, foreign, damaged or newer, or a row is not sound.
        OSError: it cannot be read.
    """
    path = str(path)
    data = Path(path).read_bytes()
    if not data.strip():
        raise ResultsError(f"{path}: is empty")
    lines = data.split(b"\n")
    tail = lines.pop()
    reader = _Reader(path, with_launches)
    with without_collector():
        for number, text in enumerate(lines, 1):
            # A launch line is recognised by the key that the program writes first.
            if not with_launches and text.startswith(b'{"type":"launch"') and text.endswith(b"}"):
                continue
            reader.take(number, text)
        if tail.strip():
            _take_tail(reader, len(lines) + 1, tail)
    return reader.finish()


def _take_tail(reader: _Reader, number: int, tail: bytes) -> None:
    """What stands after the last newline: a whole line without one, or what a kill left."""
    if isinstance(_object(tail), dict):
        reader.take(number, tail)
    elif number == 1:
        raise reader.error(1, "is no results file of attnbench (no whole line)")
    else:
        reader.note(f":{number}: an unfinished last line is left out ({len(tail)} bytes)")


def read_all(paths: Iterable[Path | str], *, with_launches: bool = False) -> list[Results]:
    """Reads several files, in order."""
    return [read(path, with_launches=with_launches) for path in paths]

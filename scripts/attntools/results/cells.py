"""What a results file holds: sessions and cells, as the tools use them."""

import math
import os
import sys
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from attntools.results.schema import ABSENT, KEY, STATES, USUAL, Identified

# A kernel that computed something wrong, or did not end normally.
WRONG_STATES = frozenset(("failed", "implausible", "crashed", "timeout"))

# The fields of an identity that say how something was measured, not what.
MEASURED = ("ranks", "placement", "memory", "huge_pages", "cache", "environment")

# Groups of kernels, as --kernel takes them: this project's, and those of other people's libraries.
OURS, RIVALS = "ours", "rivals"

Row = dict[str, Any]
LARGEST = sys.float_info.max
Positive = Annotated[float, msgspec.Meta(gt=0, le=LARGEST)]
Number = Annotated[float, msgspec.Meta(ge=-LARGEST, le=LARGEST)] | None


class ResultsError(Exception):
    """A file that cannot be used; the message names file and line."""


class Identity(namedtuple("Identity", KEY)):
    """What makes two rows the same cell: the fields of `key` in results/schema.json."""

    __slots__ = ()

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Identity":
        """The identity of a row; a field that older programs did not write has its default."""
        return cls._make(row.get(name, ABSENT.get(name)) for name in KEY)

    def text(self, name: str) -> str:
        """A field as people read it."""
        value = getattr(self, name)
        if isinstance(value, bool):
            return ("" if value else "no-") + name.replace("_", "-")
        if name == "ranks":
            return f"{value} rank{'s'[: value != 1]}"
        return "none" if value is None else str(value) or f"no {name}"

    @property
    def variant(self) -> str:
        """Kernel and instruction set, as people write it."""
        return f"{self.kernel}/{self.isa}"

    @property
    def label(self) -> str:
        """The variant; where it comes from a plug-in, with the beginning of the file's digest."""
        kind, _, digest = (self.plugin or "").partition(":")
        return f"{self.variant}@{digest[:8]}" if kind == "sha256" else self.variant

    @property
    def series(self) -> str:
        """The label, and how it was measured where that is unusual: what a figure tells apart."""
        unusual = (name for name in MEASURED if getattr(self, name) != USUAL[name])
        return " ".join([self.label, *map(self.text, unusual)])


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
    p05_s: Number = None
    p95_s: Number = None
    launches: Number = None
    samples: Number = None
    calls_per_sample: Number = None


class Check(msgspec.Struct, gc=False):
    """What tools read of `check`."""

    max_abs_error: Number = None
    error_over_bound: Number = None


class Ceiling(msgspec.Struct, gc=False):
    """What tools read of `ceiling`."""

    fma_gflops: Number = None
    read_gbytes_per_s: Number = None


class Counters(msgspec.Struct, gc=False):
    """What tools read of `counters`."""

    instructions: Number = None
    cycles: Number = None


class Share(msgspec.Struct, gc=False):
    """Which layers of a model's pass a case is."""

    name: str  # of the pass
    layers: int
    of: int = 0  # the pass has
    without: str | None = None  # layers that compute no softmax over keys


class Noise(msgspec.Struct, gc=False):
    """What tools read of a noise line."""

    case: str | None = None
    rounds: Number = None
    ratio: Number = None
    detectable: Number = None


class Experiment(msgspec.Struct, gc=False):
    """What tools read of every row of an experiment."""

    name: str
    params: dict[str, Any]
    values: dict[str, Any]


class Cell(Identified, kw_only=True, gc=False, eq=False):
    """One row, already checked; `row` has what is not decoded here."""

    state: Literal[STATES]
    case: str = ""
    group: str = ""
    why: str | None = None
    time: Time | None = None
    flags: list[str] = msgspec.field(default_factory=list)
    # What tools read besides: typed, so that a text in place of a number is refused.
    gflops: Number = None
    gbytes_per_s: Number = None
    fraction_of_fma: Number = None
    fraction_of_machine: Number = None
    fraction_of_bandwidth: Number = None
    fraction_of_bandwidth_in_place: Number = None
    prepare_s: Number = None
    busy_s: Number = None
    barrier_s: Number = None
    workspace_bytes: Number = None
    peak_rss_bytes: Number = None
    check: Check | None = None
    ceiling: Ceiling | None = None
    counters: Counters | None = None
    bound_by: Literal["compute", "bandwidth"] | None = None
    chosen: bool = False
    setting: Literal["base", "new"] | None = None  # of a session of two
    repro: str | None = None
    passes: list[Share] = msgspec.field(default_factory=list)
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

    def interval_of(self, rate: float) -> tuple[float, float] | None:
        """The 95 % interval of a number that is the lower the longer the time."""
        if self.interval_s is None:
            return None
        lo, hi = self.interval_s
        return rate * self.median_s / hi, rate * self.median_s / lo

    def number(self, key: str) -> float:
        """A number of the row, as in ceiling.fma_gflops; NaN where it is null or absent.

        A row that is not ok gives only its check's numbers: a rate would reveal a time, and older
        files have rates of implausible rows.
        """
        if self.state != "ok" and not key.startswith("check."):
            return math.nan
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
    earlier: list[Cell] = field(default_factory=list)  # that a later session of the file replaced
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
        """The cells that were found correct, timed or not."""
        return [cell for cell in self.cells.values() if cell.state == "ok"]

    @property
    def name(self) -> str:
        """The file's name without folder and ending, for headings."""
        name = Path(self.path).name.removesuffix(".jsonl")
        return os.fsencode(name).decode(errors="replace")  # figures are drawn of no other letters


def row_order(cells: Iterable[Cell]) -> Callable[[Cell], tuple[Any, ...]]:
    """The key that sorts rows for readers: by case, kernel, instruction set, threads, the rest.

    Cases are in the order in which those of `cells` come: a session's is its suite's.
    """
    cases: dict[str, int] = {}
    for cell in cells:
        cases.setdefault(cell.case, len(cases))

    def key(cell: Cell) -> tuple[Any, ...]:
        i = cell.identity
        return (cases[cell.case], i.kernel, i.isa, i.threads, *map(i.text, KEY))

    return key


def problem_fields(problem: str) -> dict[str, str]:
    """Keys and values of a problem's canonical text, defaults filled in.

    The defaults are the problem text's own: float32, no mask, Dv = D.
    """
    fields = dict(part.split("=", 1) for part in problem.split(",") if "=" in part)
    fields.setdefault("dtype", "f32")
    fields.setdefault("mask", "none")
    fields.setdefault("dv", fields.get("d", "?"))
    return fields

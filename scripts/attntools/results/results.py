"""Reads results files: JSON Lines of schema attnbench.results/1.

Everything that can be wrong with a file is found here and said once, with file and line, so that
no tool computes with an unsound row.  What a killed session leaves (an unfinished
last line, no end) is no error: it is noted.  The last row of a cell counts.
"""

import codecs
import gc
import json
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path

import msgspec
from attntools.results.cells import (
    Cell,
    Experiment,
    Identity,
    Noise,
    Results,
    ResultsError,
    Row,
    Session,
    row_order,
)
from attntools.results.soundness import (
    CONTROL,
    object_of,
    shown,
    without_nan,
    wrong_cell,
    wrong_fields,
    wrong_header,
    wrong_identity,
    wrong_problem,
)

CELL = b'{"type":"cell",'  # as the program writes it: the type is the first key
LAUNCH = b'{"type":"launch"'
DECODE = msgspec.json.Decoder(Cell).decode
identity_of = attrgetter(*Identity._fields)


class _Reader:
    """Takes the lines of one file in."""

    def __init__(self, path: str, with_launches: bool) -> None:
        self.results = Results(path, [], {})
        self.with_launches = with_launches
        self.replaced: list[tuple[Cell, int]] = []

    def error(self, line: int, message: str) -> ResultsError:
        return ResultsError(f"{self.results.path}:{line}: {message}")

    def take(self, line: int, text: bytes) -> None:
        """One whole line; raises ResultsError."""
        if text.startswith(CELL) and self.results.sessions and not CONTROL.search(text):
            try:
                text.decode()  # DECODE looks at the fields alone that tools need
                self.take_cell(line, text, DECODE(text))
                return
            except (msgspec.MsgspecError, UnicodeDecodeError):
                pass  # what follows finds the reason
        row = object_of(text)
        if isinstance(row, str):
            raise self.error(line, row)
        row = shown(row)
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
            self.results.experiments.append(self.sound(line, row, Experiment))
        elif kind == "noise":
            self.results.noise.append(self.sound(line, row, Noise))
        elif kind == "end":
            self.results.complete = row.get("complete") is True
        elif not isinstance(kind, str):
            raise self.error(line, f"has no type (keys: {', '.join(list(row)[:5]) or 'none'})")
        # Types that later programs add are skipped: fields and lines are added within a version.

    def sound(self, line: int, row: Row, kind: type) -> Row:
        """A row whose fields have their types; raises ResultsError."""
        wrong = wrong_fields(row, kind)
        if wrong:
            raise self.error(line, wrong)
        return row

    def only_checks(self) -> bool:
        """Whether this session times nothing: `attnbench check`."""
        return (self.results.sessions[-1].header.get("command") or [""])[0] == "check"

    def take_session(self, line: int, row: Row) -> None:
        wrong = wrong_header(row)
        if wrong:
            raise self.error(line, wrong)
        self.results.sessions.append(Session(self.results.path, line, row))
        self.results.complete = False

    def take_cell(self, line: int, text: bytes, cell: Cell) -> None:
        wrong = wrong_problem(cell.problem)
        if wrong:
            raise self.error(line, wrong)
        sound = math.isfinite(sum(cell.launch_medians_s)) if cell.time else self.only_checks()
        if cell.state == "ok" and not sound:
            raise self.error(line, wrong_cell(json.loads(text)))
        cell.identity = Identity._make(identity_of(cell))
        cell.session = self.results.sessions[-1]
        cell.line = line
        cell.text = text
        cell.case = cell.case or cell.problem
        earlier = self.results.cells.get(cell.identity)
        if earlier:
            self.replaced.append((earlier, line))
            if earlier.session is not cell.session:
                self.results.earlier.append(earlier)
        self.results.cells[cell.identity] = cell

    def take_other_cell(self, line: int, row: Row) -> None:
        """A cell with its keys in another order, or one that is not sound."""
        if row.get("state") != "ok":
            row = row | {"time": None}
        without = without_nan(row)
        wrong = wrong_fields(without, Cell)
        if wrong:
            raise self.error(line, wrong_cell(row) or wrong)
        self.take_cell(line, msgspec.json.encode(without), msgspec.convert(without, Cell))

    def take_launch(self, line: int, row: Row) -> None:
        wrong = wrong_identity(row)
        if wrong:
            raise self.error(line, wrong)
        identity = Identity.of(row)
        self.results.launches.setdefault(identity, []).append(row)

    def note(self, message: str) -> None:
        self.results.notes.append(f"{self.results.path}{message}")

    def finish(self) -> Results:
        cells = self.results.cells
        order = row_order(cells.values())
        self.results.cells = dict(sorted(cells.items(), key=lambda item: order(item[1])))
        if self.replaced:
            first, last = self.replaced[0]
            self.note(
                f":{last}: {len(self.replaced)} rows replace earlier ones of the same cell"
                f" (the first that of line {first.line})"
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
    reader = _Reader(path, with_launches)
    with Path(path).open("rb") as lines, without_collector():
        for number, line in enumerate(lines, 1):
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            # A launch line is recognised by the key that the program writes first.
            launch = line.startswith(LAUNCH) and line.endswith(b"}\n")
            if launch and not with_launches and reader.results.sessions:
                continue
            if line.endswith(b"\n"):
                reader.take(number, line[:-1])
            elif line.strip():
                _take_tail(reader, number, line)
    if not reader.results.sessions:
        raise ResultsError(f"{path}: is empty")
    return reader.finish()


def of_lines(path: str, lines: Iterable[str]) -> Results:
    """What lines from elsewhere hold, such as those of one session in a history.

    Raises:
        ResultsError: as read().
    """
    reader = _Reader(path, with_launches=False)
    for number, line in enumerate(lines, 1):
        reader.take(number, line.encode())
    return reader.finish()


def _take_tail(reader: _Reader, number: int, tail: bytes) -> None:
    """What stands after the last newline: a whole line without one, or what a kill left."""
    if isinstance(object_of(tail), dict):
        reader.take(number, tail)
    elif number == 1:
        raise reader.error(1, "is no results file of attnbench (no whole line)")
    else:
        reader.note(f":{number}: an unfinished last line is left out ({len(tail)} bytes)")


def read_all(paths: Iterable[Path | str], *, with_launches: bool = False) -> list[Results]:
    """Reads several files, in order."""
    return [read(path, with_launches=with_launches) for path in paths]

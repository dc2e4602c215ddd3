"""A fleet as tables: machine types side by side, kernels, cases, hosts, and the same in words."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import expm1

from attntools.base import tables
from attntools.base.units import counted, digits
from attntools.compare.comparison_tables import interval_text
from attntools.fleet import outliers
from attntools.fleet.fleet import Host, MachineType, same_machine_id, types_of
from attntools.fleet.fleet_kernels import Case, Standing, cases_of, standings
from attntools.fleet.outliers import Spread
from attntools.results.cells import WRONG_STATES, Results

Rows = list[tuple[str, ...]]

TYPES_HEAD = ("type", "machine", "hosts", "fastest most often", "% of ceiling")
TYPES_NUMERIC = (False, False, True, False, True)
LEGEND = (
    "Each type on all the threads it was measured on, each kernel by its fastest variant; of "
    "several hosts the median. First the rank; 1: no kernel is certainly faster in the "
    "median of cases and hosts, 2: one kernel is, and so on; - where there are too few launches to "
    "tell it from any other. x: time over that of the fastest "
    "kernel, geometric mean over the kernel's cases. %: share of the ceiling, which is measured "
    "beside each cell and is what travels between machines. =: fastest, but not certainly on "
    "most hosts."
)


@dataclass
class Fleet:
    """Types, cases and deviations of some results files."""

    types: list[MachineType]
    notes: list[str] = field(default_factory=list)

    @cached_property
    def cases(self) -> list[Case]:
        """Cases on the types that have them."""
        return cases_of(self.types)

    @cached_property
    def standings(self) -> dict[str, list[Standing]]:
        """Kernels by the letter of the type."""
        return {kind.letter: standings(self.cases, kind.letter) for kind in self.types}

    @cached_property
    def spreads(self) -> list[Spread]:
        """Quantities of the types, and which hosts are off."""
        return outliers.spreads(self.types)


def fleet_of(files: Sequence[Results]) -> Fleet:
    """The fleet that some files are of."""
    types = types_of(files)
    return Fleet(types, [note for r in files for note in r.notes] + same_machine_id(types))


# ---- tables --------------------------------------------------------------------------------------


def type_rows(fleet: Fleet) -> Rows:
    """One row a machine type."""
    rows = []
    for kind in fleet.types:
        wins = Counter(
            case.on[kind.letter].fastest for case in fleet.cases if kind.letter in case.on
        )
        first, count = wins.most_common(1)[0] if wins else ("-", 0)
        shares = [s.share for s in fleet.standings[kind.letter] if s.kernel == first]
        rows.append((
            kind.letter, kind.name, str(len(kind.hosts)),
            f"{first}, {count} of {sum(wins.values())}" if wins else "-",
            digits(shares[0]) if shares else "-",
        ))  # fmt: skip
    return rows


def side_by_side_head(fleet: Fleet, first: str) -> tuple[str, ...]:
    """The columns of a table with one for each type."""
    return (first, *(f"{t.letter} ({t.threads} thr)" for t in fleet.types))


def kernel_rows(fleet: Fleet) -> Rows:
    """One row a kernel: on each type its rank, how far behind it is, its share of the ceiling."""
    known = {letter: {s.kernel: s for s in found} for letter, found in fleet.standings.items()}
    order = {s.kernel: None for found in fleet.standings.values() for s in found}
    rows = []
    for kernel in order:
        row = [kernel]
        for kind in fleet.types:
            s = known[kind.letter].get(kernel)
            rank = "-" if s is None or s.rank is None else f"{s.rank}."
            row.append(f"{rank} {s.ratio:.2f} x {digits(s.share)} %" if s else "-")
        rows.append(tuple(row))
    return rows


def case_rows(fleet: Fleet) -> Rows:
    """One row a case: on each type the fastest kernel, `=` where it ties on half of the hosts."""
    rows = []
    for case in fleet.cases:
        row = [case.name]
        for kind in fleet.types:
            on = case.on.get(kind.letter)
            if on is None:
                row.append("-")
                continue
            unsure = "=" if len(on.kernels) > 1 and 2 * on.sure <= on.hosts else ""
            row.append(f"{on.fastest}{unsure} {digits(on.kernels[on.fastest].share)} %")
        rows.append(tuple(row))
    return rows


SPREAD_HEAD = ("type", "quantity", "threads", "hosts", "median", "spread", "off from")
SPREAD_NUMERIC = (False, False, True, True, True, True, True)
UNITS = {outliers.MULTIPLY_ADDS: "GFLOP/s", outliers.CACHE: "GB/s", outliers.MEMORY: "GB/s"}


def spread_rows(fleet: Fleet) -> Rows:
    """How much the hosts of each type differ."""
    return [
        (
            s.kind.letter, s.what, str(s.threads), str(len(s.hosts)),
            f"{digits(s.level)} {UNITS[s.what]}" if s.what in UNITS else "",
            f"{100 * expm1(s.deviation):.1f} %" if len(s.hosts) > 1 else "-",
            f"{100 * expm1(s.called):.1f} %" if s.called < float("inf") else "too few",
        )
        for s in fleet.spreads
    ]  # fmt: skip


HOST_HEAD = ("host", "quantity", "threads", "off by", "95 % interval", "cells", "")
HOST_NUMERIC = (False, False, True, True, True, True, False)


def host_rows(fleet: Fleet, *, every: bool = False) -> Rows:
    """Hosts that are off or have unusual settings; or the deviations of every host."""
    rows: Rows = []
    for kind in fleet.types:
        own = [(s, d) for s in fleet.spreads if s.kind is kind for d in s.hosts]
        for host in kind.hosts:
            title = f"{host.name} ({kind.letter})"
            shown = [(s, d) for s, d in own if d.host is host and (every or d.off)]
            rows += [
                (
                    title, s.what, str(s.threads), f"{100 * (d.ratio - 1):+.1f} %",
                    interval_text(d.lo, d.hi), str(d.cells),
                    ", ".join(filter(None, ("OFF" if d.off else "", _disturbed(d)))),
                )
                for s, d in shown
            ]  # fmt: skip
            odd = kind.odd.get(host.name)
            if odd:
                rows.append((title, "settings", "", "", "", "", "; ".join(odd)))
    return rows


def _disturbed(d: outliers.Deviation) -> str:
    return f"{d.disturbed} disturbed" if 2 * d.disturbed > d.cells else ""


# ---- words ---------------------------------------------------------------------------------------


def _off(fleet: Fleet) -> list[str]:
    """A sentence for each host that is off: in what, in how much else, and its settings."""
    by_host: dict[Host, list[tuple[Spread, outliers.Deviation]]] = {}
    for spread, d in outliers.called(fleet.spreads):
        by_host.setdefault(d.host, []).append((spread, d))
    said = []
    for host, found in by_host.items():
        spread, d = found[0]
        noise = f"; of its {d.cells} cells {_disturbed(d)}" if _disturbed(d) else ""
        text = f"{host.name} is {outliers.by_how_much(d)} in {spread.on_threads}"
        text += f" (95 % interval {interval_text(d.lo, d.hi)}{noise})"
        if len(found) > 1:
            text += f", and off in {len(found) - 1} more quantities"
        odd = spread.kind.odd.get(host.name)
        said.append(text + (f"; it has {'; '.join(odd)}." if odd else "."))
    return said


def wrong_sentence(fleet: Fleet) -> str:
    """How many cells have a wrong result, and on which hosts; empty where none has."""
    counts = Counter(
        host.name for kind in fleet.types for host in kind.hosts
        for cell in host.cells.values() if cell.state in WRONG_STATES
    )  # fmt: skip
    if not counts:
        return ""
    named = ", ".join(f"{name} ({n})" for name, n in counts.most_common(4))
    more = f" and {len(counts) - 4} hosts more" if len(counts) > 4 else ""
    return f"{sum(counts.values())} cells have no right result: {named}{more}."


def sentences(fleet: Fleet) -> list[str]:
    """The fleet in words: what it is, who is fastest where, which hosts are off."""
    hosts = sum(len(kind.hosts) for kind in fleet.types)
    kinds = len(fleet.types)
    said = [f"{counted(hosts, 'host')} of {counted(kinds, 'machine type')}."]
    said += _off(fleet) or ["No host is called off."]
    return said + outliers.could_tell(fleet.spreads)


def fleet_text(fleet: Fleet, *, every: bool, width: int | None) -> str:
    """Everything for a terminal."""
    several = [False] + [True] * len(fleet.types)
    hosts = host_rows(fleet, every=every)
    words = [text for text in (*sentences(fleet), wrong_sentence(fleet)) if text]
    parts = [
        "".join(tables.wrapped(text, width) for text in words),
        tables.text(TYPES_HEAD, type_rows(fleet), TYPES_NUMERIC, colours=False),
        tables.text(side_by_side_head(fleet, "kernel"), kernel_rows(fleet), several, colours=False),
        tables.text(side_by_side_head(fleet, "case"), case_rows(fleet), several, colours=False),
        tables.wrapped(LEGEND, width),
        tables.text(SPREAD_HEAD, spread_rows(fleet), SPREAD_NUMERIC, colours=False),
        tables.titled(HOST_HEAD, hosts, HOST_NUMERIC, width or 100, colours=False)
        if hosts else "",
        "".join(tables.wrapped(note, width) for note in fleet.notes),
    ]  # fmt: skip
    return "\n".join(part for part in parts if part.strip())

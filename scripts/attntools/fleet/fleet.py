"""Results of many machines: hosts, and the types that they belong to.

A type is what the hardware says of itself.  The fingerprint of a session is no type: it covers the
microcode and the exact memory, in which hosts that were bought together differ.  In those, and in
their settings, hosts of a type are compared, since that is how a host comes to be slow.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from attntools.base.units import size
from attntools.results.cells import Cell, Identity, Results, ResultsError, Session

# What makers add to the name of a processor.
PADDING = re.compile(r"\((R|TM)\)|\b(CPU|Processor|\d+-Core)\b|@ [\d.]+ ?GHz")

# Fields of `machine` that hosts of a type share.
HARDWARE = (
    *("cpu", "vendor", "family", "model", "stepping", "architecture", "packages", "numa_nodes"),
    *("cores", "threads", "core_kinds", "caches", "isas", "hypervisor"),
)

# Fields of `machine` and `build` that hosts of a type should share and may not.
SETTINGS = (
    *("microcode", "memory_bytes", "kernel", "allowed_cpus", "online_threads", "cpu_quota"),
    *("governor", "frequency_driver", "boost", "smt", "transparent_huge_pages", "page_bytes"),
    *("numa_balancing", "clocksource", "commit", "compiler", "flags"),
)
MEMORY_STEP = 0.01  # smaller differences of memory come from what firmware reserves


@dataclass(eq=False)
class Host:
    """One machine, with the last row of each of its cells."""

    name: str
    sessions: list[Session]
    cells: dict[Identity, Cell]

    @property
    def latest(self) -> Session:
        """The session that began last."""
        return self.sessions[-1]

    @cached_property
    def timed(self) -> list[Cell]:
        """The cells with a time."""
        return [cell for cell in self.cells.values() if cell.timed]

    def setting(self, name: str) -> Any:
        """A setting as its latest session recorded it."""
        return self.latest.machine.get(name, self.latest.build.get(name))


@dataclass(eq=False)
class MachineType:
    """Hosts of the same hardware; the letter names it in tables and figures."""

    letter: str
    hosts: list[Host]

    @property
    def name(self) -> str:
        """Processor and cores."""
        machine = self.hosts[0].latest.machine
        cpu = " ".join(PADDING.sub(" ", str(machine.get("cpu", "?"))).split())
        return f"{cpu}, {machine.get('cores', '?')} cores"

    @cached_property
    def threads(self) -> int:
        """The largest thread count of its cells with a time, 0 where there are none."""
        return max((c.threads for host in self.hosts for c in host.timed), default=0)

    @cached_property
    def odd(self) -> dict[str, list[str]]:
        """By host: the settings that most hosts of the type have otherwise."""
        found: dict[str, list[str]] = defaultdict(list)
        for name in SETTINGS:
            values = {host.name: _value(name, host.setting(name)) for host in self.hosts}
            (usual, count), *others = Counter(values.values()).most_common()
            if name == "memory_bytes":
                least = max(1.0, MEMORY_STEP * (float(usual) if usual != "none" else 0))
                others = [v for v in others if v[0] == "none" or usual == "none"
                          or abs(float(v[0]) - float(usual)) > least]  # fmt: skip
            strange = {value for value, _ in others}
            for host, value in values.items():
                if value in strange:
                    found[host].append(
                        f"{name.replace('_', ' ')} {_text(name, value)},"
                        f" {_text(name, usual)} in {count}"
                    )
        return dict(found)


def _value(name: str, value: Any) -> str:
    """A setting as a text that can be compared."""
    if name == "commit":
        return str(value)[:12]
    return "none" if value is None else str(value)


def _text(name: str, value: str) -> str:
    return size(float(value)) if name == "memory_bytes" and value != "none" else value


def _type_key(session: Session) -> str:
    return json.dumps([session.machine.get(name) for name in HARDWARE], sort_keys=True)


# ---- who is who ----------------------------------------------------------------------------------


def host_name(session: Session) -> str:
    """The node's name where a scheduler gave one, else the file's."""
    return str(session.machine.get("node") or Path(session.path).name.removesuffix(".jsonl"))


def hosts_of(files: Iterable[Results]) -> list[tuple[str, Host]]:
    """All hosts with the keys of their types, in order of names.

    A host with several sessions has each cell from the last of them.
    """
    found: dict[tuple[str, str], Host] = {}
    by_start = sorted(
        ((session, results) for results in files for session in results.sessions),
        key=lambda pair: str(pair[0].header["started"]),
    )
    for session, results in by_start:
        key = _type_key(session), host_name(session)
        host = found.setdefault(key, Host(key[1], [], {}))
        host.sessions.append(session)
        host.cells.update({i: c for i, c in results.cells.items() if c.session is session})
    return sorted(((key, host) for (key, _), host in found.items()), key=lambda p: _natural(p[1]))


def _natural(host: Host) -> list[tuple[bool, int, str]]:
    """node9 before node10."""
    parts: list[str] = [""]
    for letter in host.name:
        if letter.isdecimal() == parts[-1].isdecimal() or not parts[-1]:
            parts[-1] += letter
        else:
            parts.append(letter)
    return [(not p.isdecimal(), int(p) if p.isdecimal() else 0, p) for p in parts]


def letters() -> Iterator[str]:
    """A, B, ..., Z, AA, AB, ..."""
    before = [""]
    while True:
        now = [first + letter for first in before for letter in ascii_uppercase]
        yield from now
        before = now


def types_of(files: Sequence[Results]) -> list[MachineType]:
    """The machine types, those of most hosts first."""
    groups: dict[str, list[Host]] = defaultdict(list)
    for key, host in hosts_of(files):
        groups[key].append(host)
    ordered = sorted(groups.values(), key=lambda hosts: -len(hosts))
    return [MachineType(letter, hosts) for letter, hosts in zip(letters(), ordered, strict=False)]


def same_machine_id(types: Sequence[MachineType]) -> list[str]:
    """Hosts that by their machine-id are one: measured twice, or copies of one system image."""
    notes = []
    for kind in types:
        by_id: dict[str, list[str]] = defaultdict(list)
        for host in kind.hosts:
            if not host.latest.machine.get("node"):
                by_id[str(host.latest.machine.get("host"))].append(host.name)
        notes += [
            f"{', '.join(names)} have the same machine-id: one host measured several times,"
            " or copies of one system image; they count as several hosts"
            for machine_id, names in by_id.items()
            if machine_id != "None" and len(names) > 1
        ]
    return notes


def files_of(paths: Iterable[Path | str]) -> list[Path]:
    """Results files; of a folder all below it, whatever their depth.

    Raises:
        ResultsError: a folder has none.
    """
    found: list[Path] = []
    for path in map(Path, paths):
        inside = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
        if not inside:
            raise ResultsError(f"{path}: has no results files (*.jsonl)")
        found += inside
    return found

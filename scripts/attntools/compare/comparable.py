"""Whether times of two sessions can be compared."""

from collections.abc import Iterable
from typing import Any

from attntools.results.cells import Results, Session


def machine_key(session: Session) -> tuple[Any, ...]:
    """What two sessions must share for their times to be comparable: the hardware."""
    machine = session.machine
    fingerprint = machine.get("fingerprint")
    if fingerprint is not None:
        return (fingerprint,)
    return tuple(str(machine.get(key)) for key in ("cpu", "cores", "threads", "caches"))


def build_key(session: Session) -> tuple[Any, ...]:
    """What two builds must share for a difference between them to be the code's."""
    return tuple(str(session.build.get(key)) for key in ("compiler", "flags", "type"))


def incomparable(results: Iterable[Results], allowed: Iterable[str] = ()) -> list[str]:
    """Reasons why sessions must not be compared; empty where they may.

    Args:
        results: the files.
        allowed: reasons to overlook: "machine", "build", "mixed".
    """
    results = list(results)
    allowed = frozenset(allowed)
    sessions = [session for r in results for session in r.sessions]
    reasons = []
    for name, key in (("machine", machine_key), ("build", build_key)):
        first = sessions[0]
        other = next((s for s in sessions if key(s) != key(first)), None)
        if other and name not in allowed:
            reasons.append(
                f"{first.path}:{first.line} and {other.path}:{other.line} are of different "
                f"{name}s ({_tell(name, first)}; {_tell(name, other)}); --allow {name} to go on"
            )
    if "mixed" not in allowed:
        reasons += [reason for r in results for reason in _mixed(r)]
    return reasons


def _tell(name: str, session: Session) -> str:
    if name == "build":
        return session.build_text()
    machine = session.machine
    return f"{machine.get('cpu', '?')}, fingerprint {machine.get('fingerprint', '?')}"


def _mixed(results: Results) -> list[str]:
    """A file whose sessions ran different builds of the program."""
    for session in results.sessions[1:]:
        first = results.sessions[0]
        if session.build != first.build:
            return [
                f"{results.path}:{session.line}: this session is of another build than that of "
                f"line {first.line} ({session.build_text()}; {first.build_text()}); "
                "--allow mixed to go on"
            ]
    return []

"""What can be wrong with a line of a results file, in words."""

import json
import math
from typing import Any

import msgspec

from attntools.cells import Row
from attntools.schema import ABSENT, KEY, STATES, types_of

SCHEMA = "attnbench.results/"
VERSION = 1
WORDS = {int: "a whole number", str: "a text", bool: "true or false"}


class Cache(msgspec.Struct):
    """One of machine.caches."""

    level: int | None = None
    bytes: int | None = None
    shared_by_threads: int | None = None


class Machine(msgspec.Struct):
    """What tools read of `machine`."""

    cpu: str | None = None
    host: str | None = None
    node: str | None = None
    fingerprint: str | None = None
    governor: str | None = None
    cores: int | None = None
    threads: int | None = None
    caches: list[Cache] | None = None


class Build(msgspec.Struct):
    """What tools read of `build`."""

    commit: str | None = None
    dirty: bool | None = None
    compiler: str | None = None
    flags: str | None = None
    type: str | None = None


class Header(msgspec.Struct):
    """What tools read of a session line, with its types."""

    id: str
    started: str
    machine: Machine
    build: Build
    command: list[str] | None = None
    settings: dict[str, Any] | None = None


def object_of(text: bytes) -> Row | str:
    """A line as an object, or what is wrong with it.

    Python's reader takes NaN and Infinity, so that the row's checks can name the field.
    """
    try:
        value = json.loads(text.decode())
        if b"\\u" in text:  # half a surrogate pair, which nobody can write down again
            json.dumps(value, ensure_ascii=False).encode()
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


def wrong_identity(row: Row) -> str | None:
    """What is wrong with the identity of a row; None where nothing is."""
    for name in KEY:
        if name not in row and name not in ABSENT:
            return f"has no {name}"
        value, wanted = row.get(name, ABSENT.get(name)), types_of(name)
        if type(value) not in wanted and not (value is None and None in wanted):
            return f"{name} is {value!r}, not {WORDS[wanted[0]]}"
    return None if row["threads"] > 0 else f"threads is {row['threads']}, not a positive number"


def wrong_cell(row: Row) -> str:
    """Why a row could not be decoded: the first of our own reasons, in words."""
    state = row.get("state")
    if wrong := wrong_identity(row):
        return wrong
    if state not in STATES:
        return f"state is {state!r}, none of {', '.join(sorted(STATES))}"
    return _wrong_time(row.get("time")) or "a field of this row is of the wrong type"


def wrong_header(row: Row) -> str | None:
    """What is wrong with a session line; None where nothing is."""
    schema = row.get("schema")
    if not isinstance(schema, str) or not schema.startswith(SCHEMA):
        return f"is no results file of attnbench (schema {schema!r})"
    version = schema.removeprefix(SCHEMA)
    if not (version.isascii() and version.isdigit()):
        return f"schema {schema!r} names no version"
    if int(version) > VERSION:
        return f"schema {schema} is newer than what this program reads ({SCHEMA}{VERSION})"
    for key in ("machine", "build"):
        if not isinstance(row.get(key), dict):
            return f"the session line has no {key}"
    try:
        msgspec.convert(row, Header)
    except (msgspec.ValidationError, RecursionError) as wrong:
        return f"the session line is not sound: {wrong}"
    return None

"""What can be wrong with a line of a results file, in words."""

import json
import math
import re
from functools import cache
from typing import Any

import msgspec
from attntools.results.cells import Row
from attntools.results.schema import ABSENT, KEY, STATES, types_of

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
    memory_bytes: int | None = None
    isas: list[str] | None = None
    hypervisor: str | None = None
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


# What a text may hold that moves a terminal's cursor, breaks a table, or no XML may have: escapes
# of JSON, and the characters that may stand there as they are.
CONTROL = re.compile(rb"\\(?:[bfnrt]|u00[01]|u00[789])|\x7f|\xc2[\x80-\x9f]")
# Each as what people see: control pictures, of which Unicode has one for each up to a space.
PICTURES = {c: 0x2400 + c for c in range(0x20)} | {0x7F: 0x2421}
PICTURES |= dict.fromkeys(range(0x80, 0xA0), 0xFFFD) | {0xFFFE: 0xFFFD, 0xFFFF: 0xFFFD}


def shown(value: Any) -> Any:
    """A row whose texts have no control characters, at any depth; experiments print theirs."""
    if isinstance(value, str):
        return value.translate(PICTURES)
    if isinstance(value, dict):
        if value.get("type") == "experiment":
            return value
        return {key.translate(PICTURES): shown(inner) for key, inner in value.items()}
    return [shown(inner) for inner in value] if isinstance(value, list) else value


def without_nan(value: Any) -> Any:
    """A row in which NaN is null, as the program writes it."""
    if isinstance(value, dict):
        return {key: without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [without_nan(inner) for inner in value]
    return None if value != value else value


# msgspec's words for types, and ours.
TYPES = {"float": "a number", "int": "a number", "str": "a text", "object": "an object",
         "array": "a list", "bool": "true or false"}  # fmt: skip


def _in_words(wrong: Exception) -> str:
    """An error of msgspec: the field first."""
    told, _, field = str(wrong).partition(" - at `$")
    told = re.sub(r"`([^`]*)`", lambda m: _types(m[1]), told)
    return f"{field.strip('.`') or 'the line'}: {told[:1].lower()}{told[1:]}"


def _types(text: str) -> str:
    return " or ".join(dict.fromkeys(TYPES.get(word, word) for word in text.split(" | ")))


def wrong_fields(row: Row, kind: type) -> str | None:
    """What is wrong with the types of a row's fields; None where nothing is."""
    try:
        msgspec.convert(row, kind)
    except (msgspec.ValidationError, RecursionError, OverflowError) as wrong:
        return _in_words(wrong)
    return None


SIZES = ("b", "hq", "hkv", "sq", "skv", "d", "dv")


@cache
def wrong_problem(text: str) -> str | None:
    """Why a problem has no sizes that tools can compute with; None where it has."""
    fields = dict(part.split("=", 1) for part in text.split(",") if "=" in part)
    for name in SIZES:
        value = fields.get(name)
        if value is not None and not (value.isascii() and value.isdigit() and len(value) < 19):
            return f"problem {text[:60]!r}: {name} is no whole number"
    return None


def wrong_cell(row: Row) -> str | None:
    """Why a row could not be decoded: the first of our own reasons, in words."""
    state = row.get("state")
    if wrong := wrong_identity(row):
        return wrong
    if state not in STATES:
        return f"state is {state!r}, none of {', '.join(sorted(STATES))}"
    return _wrong_time(row.get("time")) if state == "ok" else None


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
    except (msgspec.ValidationError, RecursionError, OverflowError) as wrong:
        return f"the session line is not sound: {_in_words(wrong)}"
    return None

"""The lists that results/schema.json has once: identity of a cell, states, flags, exit codes.

The C program has the same; tests/results/test_schema.c compares them with the file.
"""

import json
from pathlib import Path
from typing import Annotated, Any

import msgspec

_PATH = Path(__file__).parents[3] / "results" / "schema.json"
_DEFINITIONS: dict[str, Any] = json.loads(_PATH.read_text(encoding="utf-8"))["$defs"]
_IDENTITY = _DEFINITIONS["identity"]
_TYPES = {"string": str, "integer": int, "boolean": bool, "null": None}

KEY: tuple[str, ...] = tuple(_IDENTITY["key"])
STATES: tuple[str, ...] = tuple(_DEFINITIONS["state"]["enum"])
FLAGS: tuple[str, ...] = tuple(_DEFINITIONS["flag"]["enum"])
# The flags of disturbances from outside; others describe the samples.
DISTURBANCES = frozenset[str](_DEFINITIONS["flag_of_disturbance"]["enum"])
EXIT: dict[str, int] = _DEFINITIONS["exit"]["codes"]

# What a field of the key usually is, and what it is where a row of an older program lacks it.
USUAL: dict[str, Any] = {
    name: _IDENTITY["properties"][name]["default"]
    for name in KEY
    if "default" in _IDENTITY["properties"][name]
}
ABSENT = {name: usual for name, usual in USUAL.items() if name not in _IDENTITY["required"]}


def types_of(name: str) -> tuple[type | None, ...]:
    """The Python types of a field of the key, None for null; words of a list are texts."""
    found = _IDENTITY["properties"][name].get("type", "string")
    return tuple(_TYPES[word] for word in ([found] if isinstance(found, str) else found))


def _hint(name: str) -> Any:
    """A field's type as msgspec wants it."""
    hint: Any = types_of(name)[0]
    for more in types_of(name)[1:]:
        hint = hint | more
    least = _IDENTITY["properties"][name].get("minimum")
    return hint if least is None else Annotated[hint, msgspec.Meta(ge=least)]


# The fields of the key, to be decoded from a row: the base of cells.Cell.
Identified = msgspec.defstruct(
    "Identified",
    [(n, _hint(n), ABSENT[n]) if n in ABSENT else (n, _hint(n)) for n in KEY],
    kw_only=True,
    gc=False,
    eq=False,
)

"""A validator for the part of JSON Schema that results/schema.json uses, and no more."""

import json
import pathlib
import re
from typing import Any

Schema = dict[str, Any]

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}
KNOWN = {
    "$schema", "$ref", "$defs", "title", "description", "type", "required", "properties", "items",
    "const", "enum", "pattern", "minimum", "minItems", "maxItems", "oneOf", "allOf", "default",
    "key",
}  # fmt: skip


def is_type(value: object, name: str) -> bool:
    """Whether a value is of a JSON type; true and false are no numbers."""
    if isinstance(value, bool) and name != "boolean":
        return False
    return isinstance(value, TYPES[name])


class Validator:
    """Errors of a value against a schema, as texts that say where."""

    def __init__(self, path: pathlib.Path) -> None:
        """Reads the schema."""
        self.root = json.loads(path.read_text(encoding="utf-8"))

    def errors(self, value: Any, schema: Schema | None = None, where: str = "line") -> list[str]:
        """All of them; an empty list where the value is valid."""
        schema = self.root if schema is None else schema
        unknown = set(schema) - KNOWN
        assert not unknown, f"the schema uses {unknown}, which this validator does not know"
        if "$ref" in schema:
            return self.errors(value, self.root["$defs"][schema["$ref"].split("/")[-1]], where)
        found = self.simple(value, schema, where)
        if isinstance(value, dict):
            found += [
                f"{where}: no {key}" for key in schema.get("required", []) if key not in value
            ]
            for key, inner in schema.get("properties", {}).items():
                if key in value:
                    found += self.errors(value[key], inner, f"{where}.{key}")
        if isinstance(value, list) and "items" in schema:
            for i, item in enumerate(value):
                found += self.errors(item, schema["items"], f"{where}[{i}]")
        for inner in schema.get("allOf", []):
            found += self.errors(value, inner, where)
        if "oneOf" in schema:
            found += self.one_of(value, schema["oneOf"], where)
        return found

    def one_of(self, value: Any, schemas: list[Schema], where: str) -> list[str]:
        """Errors of the alternative that comes nearest, unless exactly one fits."""
        attempts = [self.errors(value, inner, where) for inner in schemas]
        fitting = sum(not attempt for attempt in attempts)
        if fitting == 1:
            return []
        return [f"{where}: fits {fitting} of the alternatives", *min(attempts, key=len)]

    @staticmethod
    def simple(value: Any, schema: Schema, where: str) -> list[str]:
        """Errors of what does not look inside."""
        types = schema.get("type", [])
        types = [types] if isinstance(types, str) else types
        length = len(value) if isinstance(value, list) else None
        wrong = {
            f"is no {types}": types and not any(is_type(value, name) for name in types),
            "is another constant": "const" in schema and value != schema["const"],
            "is none of the values": "enum" in schema and value not in schema["enum"],
            "has another form": "pattern" in schema
            and isinstance(value, str)
            and not re.search(schema["pattern"], value),
            "is too small": "minimum" in schema
            and is_type(value, "number")
            and value < schema["minimum"],
            "is too short": length is not None and length < schema.get("minItems", 0),
            "is too long": length is not None and length > schema.get("maxItems", length),
        }
        return [f"{where} {error}: {value!r}" for error, applies in wrong.items() if applies]

"""Running experiments and reading their rows, for the tests of them.  Standard library only."""

import copy
import functools
import json
import os
import pathlib
import tempfile

from command import SCHEMA, CommandTest, Row, lines, run
from json_schema import Validator

PUBLISHED = pathlib.Path(__file__).parents[1] / "data" / "worked-examples.json"


@functools.cache
def session(name: str, arguments: tuple[str, ...], code: int) -> tuple[list[Row], str]:
    """The rows of one experiment, every line of whose file is valid, and what it printed.

    The tests of a file that ask for the same share one session.
    """
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/results.jsonl"
        done = run("experiment", name, *arguments, "--output", path)
        assert done.returncode == code, done.stderr + done.stdout
        written = lines(path)
    validator = Validator(SCHEMA)
    for line in written:
        assert validator.errors(line) == [], (validator.errors(line), line)
    assert written[0]["type"] == "session", written[0]
    assert (written[-1]["type"], written[-1]["complete"]) == ("end", True), written[-1]
    rows = [line for line in written if line["type"] == "experiment"]
    assert {row["name"] for row in rows} == {name}, name
    return rows, done.stdout


def values_by(rows: list[Row], *names: str, **where: object) -> dict[tuple[object, ...], Row]:
    """The values of rows with these parameters, by others of their parameters."""
    return {
        tuple(map(row["params"].get, names)): row["values"]
        for row in rows
        if where.items() <= row["params"].items()
    }


class Experiments(CommandTest):
    """A test of experiments."""

    def rows(self, name: str, *arguments: str, code: int = 0) -> list[Row]:
        """The rows of one experiment; `printed` is what it printed."""
        rows, self.printed = session(name, arguments, code)
        return copy.deepcopy(rows)

    def altered_data(self, path: list[str | int], value: float) -> dict[str, str]:
        """An environment whose published numbers differ in one place."""
        data = json.loads(PUBLISHED.read_text())
        place = data
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        (self.directory / PUBLISHED.name).write_text(json.dumps(data))
        return {**os.environ, "ATTNBENCH_DATA": str(self.directory)}

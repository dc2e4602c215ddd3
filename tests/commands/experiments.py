"""Running experiments and reading their rows, for the tests of them.  Standard library only."""

import json
import os
import pathlib

from command import SCHEMA, CommandTest, Row, lines, run
from schema import Validator

PUBLISHED = pathlib.Path(__file__).parents[1] / "data" / "worked-examples.json"


class Experiments(CommandTest):
    """A test of experiments."""

    def rows(self, name: str, *arguments: str, code: int = 0) -> list[Row]:
        """The rows of one experiment, every line of whose file is valid."""
        path = pathlib.Path(self.output)
        path.unlink(missing_ok=True)
        done = run("experiment", name, *arguments, "--output", self.output)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        self.printed = done.stdout
        validator = Validator(SCHEMA)
        written = lines(self.output)
        for line in written:
            self.assertEqual(validator.errors(line), [], line)
        self.assertEqual(written[0]["type"], "session")
        self.assertEqual(written[-1], {**written[-1], "type": "end", "complete": True})
        rows = [line for line in written if line["type"] == "experiment"]
        self.assertEqual({row["name"] for row in rows}, {name})
        return rows

    def altered_data(self, path: list[str | int], value: float) -> dict[str, str]:
        """An environment whose published numbers differ in one place."""
        data = json.loads(PUBLISHED.read_text())
        place = data
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        (self.directory / PUBLISHED.name).write_text(json.dumps(data))
        return {**os.environ, "ATTNBENCH_DATA": str(self.directory)}

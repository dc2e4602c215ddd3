"""Numbers as people read them: the same prefixes and units as the program's tables."""

import csv
from pathlib import Path

import pytest
from attntools.base import units

with (Path(__file__).parents[2] / "data" / "units.csv").open(newline="") as file:
    ROWS = [(row["kind"], row["value"], row["tools"]) for row in csv.DictReader(file)]


@pytest.mark.parametrize(("kind", "value", "text"), ROWS)
def test_units_are_those_of_the_program(kind: str, value: str, text: str) -> None:
    assert {"seconds": units.seconds, "bytes": units.size}[kind](float(value)) == text

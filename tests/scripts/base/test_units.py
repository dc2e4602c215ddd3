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


def test_numbers_at_axes_are_short() -> None:
    short = {0: "0", 0.001: "0.001", 0.25: "0.25", 10.0: "10", 20000: "20000", 1e5: "10⁵",
             3e38: "3·10³⁸", -2e-7: "-2·10⁻⁷"}  # fmt: skip
    assert {x: units.short(x) for x in short} == short
    times = {0: "0", 0.5: "500 ms", 0.02: "20 ms", 1.5: "1.5 s", 200e-6: "200 us"}
    assert {x: units.short_seconds(x) for x in times} == times
    lengths = {
        0.25: "1/4",
        3: "3",
        512: "512",
        1000: "1000",
        1024: "1k",
        1536: "1.5k",
        65536: "64k",
    }
    assert {x: units.length(x) for x in lengths} == lengths
    assert units.raised(-1.85) == "⁻¹·⁸⁵"

"""The tools have the identity fields, the states and the flags of results/schema.json."""

import json
from pathlib import Path

import pytest
import sample
from attntools.compare.comparison import COLUMNS
from attntools.compare.comparison_tables import CSV_HEAD
from attntools.results import export, schema
from attntools.results.cells import WRONG_STATES, Cell, Identity, ResultsError

FILE = Path(__file__).parents[3] / "results" / "schema.json"
DEFINITIONS = json.loads(FILE.read_text())["$defs"]
KEY = DEFINITIONS["identity"]["key"]


def test_one_list_for_all_tools() -> None:
    assert list(Identity._fields) == KEY
    assert set(KEY) <= set(Cell.__struct_fields__)
    assert set(KEY) <= set(export.COLUMNS)
    assert set(KEY) <= set(CSV_HEAD)
    assert set(COLUMNS) == set(KEY) - {"problem"} | {"group", "setting"}
    assert set(KEY) <= set(DEFINITIONS["identity"]["properties"])


def test_exported_numbers_are_fields_of_a_row() -> None:
    row = DEFINITIONS["cell"]["allOf"][1]["properties"]
    for name in export.NUMBERS:
        outer, _, inner = name.rpartition(".")
        fields = row if not outer else row[outer].get("properties")
        assert inner in (fields or DEFINITIONS[outer]["properties"]), name


def test_disturbances_are_flags() -> None:
    assert set(schema.FLAGS) > schema.DISTURBANCES


def test_the_gate_knows_the_program_s_exit_codes() -> None:
    assert DEFINITIONS["exit"]["codes"] == schema.EXIT
    assert (schema.EXIT["as-asked"], schema.EXIT["kernel"]) == (0, 1)


@pytest.mark.parametrize("name", KEY)
def test_each_field_tells_cells_apart(name: str) -> None:
    one = sample.cell(memory="first-touch", huge_pages=False, ranks=1, environment="")
    other = one | {name: not one[name] if isinstance(one[name], bool) else 7}
    if not isinstance(one[name], bool | int):
        other[name] = "other"
    assert len(sample.results(one, other).cells) == 2


@pytest.mark.parametrize("name", KEY)
def test_a_missing_field_has_its_default_or_is_refused(name: str) -> None:
    one = sample.cell(memory="first-touch", huge_pages=False)
    less = {k: v for k, v in one.items() if k != name}
    if name in DEFINITIONS["identity"]["required"]:
        with pytest.raises(ResultsError, match=f":3: has no {name}"):
            sample.results(one, less)
    else:
        assert len(sample.results(one, less).cells) == 1


def test_a_field_of_another_type_is_named() -> None:
    for name, value, words in (("huge_pages", 1, "true or false"), ("memory", 3, "a text")):
        with pytest.raises(ResultsError, match=f":2: {name} is {value}, not {words}"):
            sample.results(sample.cell(**{name: value}))


def test_states_and_flags() -> None:
    assert list(schema.STATES) == DEFINITIONS["state"]["enum"]
    assert list(schema.FLAGS) == DEFINITIONS["flag"]["enum"]
    assert set(schema.STATES) > WRONG_STATES
    assert "no-interval" in schema.FLAGS  # the one that comparison.py knows by name


@pytest.mark.parametrize("state", DEFINITIONS["state"]["enum"])
def test_every_state_is_read(state: str) -> None:
    (cell,) = sample.results(sample.cell(state=state)).cells.values()
    assert cell.state == state

"""Two settings of one build, with the pairs and verdicts of two builds."""

import os
from pathlib import Path

import fake
import pytest
from attntools.base.cli import ToolError
from attntools.gate import gate, gate_settings
from conftest import Outcome, Tool

QUICK = ("-n", "8", "--sessions", "1")


@pytest.fixture
def settings(tool: Tool, tmp_path: Path, in_process: None):  # noqa: ANN201
    """Runs the gate on one fake; placement threads takes it 5 % longer."""

    def run(base: str, new: str, *options: str) -> Outcome:
        program = fake.program(tmp_path / "base")
        sides = ("--base-options", base, "--new-options", new)
        return tool(gate, "--base", program, *sides, *QUICK, *options)

    return run


def test_a_slower_placement_is_found(settings, tmp_path: Path) -> None:  # noqa: ANN001
    outcome = settings("", "--placement threads")
    assert outcome.code == 1, outcome
    assert "1 of 1 cells are slower" in outcome.out
    assert f"`--placement threads` against `no options` of `{tmp_path}/base`," in outcome.out
    assert "huge pages" not in outcome.out
    assert "the same program" not in outcome.out
    faster = settings("--placement threads", "--placement cores --huge-pages")
    assert "`--placement cores --huge-pages` against `--placement threads` of `" in faster.printed
    assert "Memory on huge pages: base not asked for, new 6.29 MB (median of all launches).\n" in (
        faster.out
    )
    assert "1 of 1 cells are faster" in faster.out or "FASTER" in faster.out


def test_a_variable_reaches_its_side_alone(settings) -> None:  # noqa: ANN001
    assert settings("FAKE_FACTOR=1.0", "FAKE_FACTOR=1.05").code == 1
    assert settings("FAKE_FACTOR=1.05", "FAKE_FACTOR=1.05 --memory interleave").code == 0


def test_variables_are_an_option_of_the_program() -> None:
    """Or it would set what it sets for its workers itself, as OMP_WAIT_POLICY."""
    found = gate_settings.parse("new", "OMP_WAIT_POLICY=passive A='x y' --memory bind")
    assert found.options() == [
        "--memory", "bind", "--environment", "OMP_WAIT_POLICY=passive 'A=x y'",
    ]  # fmt: skip
    assert found.fields == {"memory", "environment"}
    assert gate_settings.parse("base", "").options() == []


def test_equal_settings_are_the_same_program(settings) -> None:  # noqa: ANN001
    outcome = settings("--placement threads", "--placement threads")
    assert "same program to the byte" in outcome.printed


def test_environments_are_equally_long() -> None:
    def length(found: dict[str, str]) -> int:
        return sum(len(f"{name}={value}") + 9 for name, value in found.items())

    sides = (gate_settings.parse("base", ""), gate_settings.parse("new", "A_VARIABLE='a b' B=1"))
    base, new = gate_settings.padded(*sides)
    assert new.variables({})["A_VARIABLE"] == "a b"
    assert length(base.variables(os.environ)) == length(new.variables(os.environ))
    assert gate_settings.padded(sides[0], sides[0]) == (sides[0], sides[0])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("--threads 2", "--new-options: --threads is none of NAME=VALUE, --placement, --memory"),
        ("--placement", "--new-options: --placement needs a value"),
        ("--huge-pages A=1", "--new-options: A=1 follows an option; variables come first"),
        ("'", "--new-options: No closing quotation"),
    ],
)
def test_what_is_no_setting_is_refused(settings, text: str, why: str) -> None:  # noqa: ANN001
    outcome = settings("", text)
    assert (outcome.code, outcome.err.count("\n")) == (4, 1)
    assert why in outcome.err
    with pytest.raises(ToolError):
        gate_settings.parse("new", text)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--placement", "numa"), "--placement is an option of a side here"),
        (("--metric", "instructions"), "settings are compared by their time"),
    ],
)
def test_what_does_not_go_with_settings(settings, options: tuple[str, ...], why: str) -> None:  # noqa: ANN001
    assert why in settings("", "--placement threads", *options).refused


def test_the_build_is_this_tree_s(tool: Tool, tmp_path: Path, monkeypatch) -> None:  # noqa: ANN001
    program = fake.program(tmp_path / "attnbench")
    monkeypatch.setattr(gate, "ROOT", tmp_path)
    outcome = tool(gate, "--new-options", "--placement threads", *QUICK, "--dry-run")
    assert outcome.code == 0, outcome
    assert program.exists()

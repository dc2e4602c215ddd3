"""Trials are recorded one by one, and a second go continues where the first ended."""

import json
from pathlib import Path

import fake
import pytest
from conftest import Tool
from dev import gate_trials


@pytest.mark.long
def test_goes_on_where_it_ended(tool: Tool, tmp_path: Path) -> None:
    base, new = fake.program(tmp_path / "base"), fake.program(tmp_path / "next")
    out = tmp_path / "trials.jsonl"
    command = ["--label", "a/a", "--trials", 3, "--output", out]
    rest = ["--", "--base", base, "--new", new, "-n", 6, "--sessions", 1]
    first = tool(gate_trials, *command, "--most", 2, *rest)
    assert first.printed.startswith("a/a: exit 0: 2 of 2 (15.8 .. 100.0 %); noise 0.")
    second = tool(gate_trials, *command, *rest)
    assert second.out.startswith("a/a: exit 0: 3 of 3 (29.2 .. 100.0 %); noise 0.")
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["trial"] for row in rows] == [1, 2, 3]
    assert rows[0]["medians"] != rows[1]["medians"]  # another seed
    assert rows[0]["build"] == "aaaaaaaaaaaa, GNU 12.2.0 -O3 -DNDEBUG"
    options = "--base base --new next -n 6 --sessions 1"  # of paths the last part only
    assert rows[0]["options"] == options.split()


@pytest.mark.long
def test_tells_every_label_and_begins_nothing_late(tool: Tool, tmp_path: Path) -> None:
    program, out = fake.program(tmp_path / "base"), tmp_path / "trials.jsonl"
    rest = ["--output", out, "--", "--base", program, "--new", program, "-n", 6, "--sessions", 1]
    assert tool(gate_trials, "--label", "a", "--seconds", 0, *rest).out == "a: no trials\n"
    for label in ("a", "b"):
        tool(gate_trials, "--label", label, "--trials", 1, *rest)
    lines = tool(gate_trials, "--output", out).out.splitlines()
    assert [line.split(": exit 0: 1 of 1")[0] for line in lines] == ["a", "b"]


def test_damaged_record_is_named(tool: Tool, tmp_path: Path) -> None:
    out = tmp_path / "trials.jsonl"
    for line, wrong in (
        (b'{"label":', "is no JSON ("),
        (b"\xff", "is no JSON ("),
        (b"[1]", "is no JSON object;"),
        (b'{"label":5}', "label: expected a text, got a number;"),
        (b'{"label":"x","code":0,"floors":["x"]}', "floors[0]: expected a number, got a text;"),
        (b"[" * 100000, "is no JSON ("),
    ):
        out.write_bytes(line)
        words = ["--label", "x", "--output", out, "--", "--base", "a", "--new", "b"]
        outcome = tool(gate_trials, *words)
        assert outcome.refused.startswith(f"gate-trials: {out}:1: {wrong}")
        assert outcome.err.endswith("; remove the line to go on\n")

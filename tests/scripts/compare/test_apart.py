"""What compare says of equal sessions, and the script that counts it."""

import importlib.util
import json
from pathlib import Path

import pytest
from attntools.compare import apart
from attntools.compare.comparison_tables import APART

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "scripts/dev/studies/coverage.py"

spec = importlib.util.spec_from_file_location("coverage_script", SCRIPT)
assert spec
assert spec.loader
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)


def test_the_sentence_counts_in_a_thousand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "FOUND", tmp_path / "apart.json")
    apart.FOUND.write_text(json.dumps({"sessions": 5, "compared": 400, "slower": 6, "faster": 2}))
    assert apart.found_equal() == (
        "Of 1000 cells of equal sessions apart in time 15 were called SLOWER "
        "(6 of 400, 5 sessions)."
    )


def test_the_committed_figures_are_those_of_the_committed_sessions() -> None:
    found = script.sessions(ROOT / "results/trust/equal-sessions.jsonl")
    assert script.verdicts(found) == json.loads(apart.FOUND.read_text(encoding="utf-8"))
    assert apart.found_equal() in APART

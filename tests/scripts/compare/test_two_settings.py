"""The two settings of a session of attnbench run, compared as it compares them itself."""

from pathlib import Path

import pytest
import sample
from attntools.compare import compare
from attntools.compare.comparison import THRESHOLD, Verdict, compare_columns, judge
from attntools.compare.ranking import rank
from attntools.results.results import read
from conftest import Tool


def test_verdicts_are_those_of_the_program() -> None:
    """What attnbench run says of two settings (harness/results/report_settings.c)."""
    text = (Path(__file__).parents[2] / "data" / "verdicts.txt").read_text()
    found = [line.split("|") for line in text.splitlines() if not line.startswith("#")]
    assert len(found) == 9
    for ratio, lo, hi, verdict, reason in found:
        said, why = judge(float(ratio), float(lo), float(hi), THRESHOLD)
        assert (said.value, why) == (verdict, reason)


def test_settings_of_a_session_are_compared_in_pairs(tool: Tool, tmp_path: Path) -> None:
    """Settings that differ in more than one field, and are never taken for one cell."""
    times = [1e-3 * (1 + 0.1 * i) for i in range(8)]
    rows = [
        *sample.settings(times, [1.05 * t for t in times]),
        *sample.settings(times, times, kernel="tiled"),
    ]
    path = sample.write(tmp_path / "both.jsonl", sample.session(), *rows)
    found = {c.cell.kernel: c for c in compare_columns(read(path), "setting", "base")}
    assert (found["flash"].verdict, found["tiled"].verdict) == (Verdict.SLOWER, Verdict.SAME)
    assert found["flash"].ratio == pytest.approx(1.05)
    assert found["flash"].reason == "at least 5.0 % more time"
    assert [len(group) for group in rank(read(path))] == [2, 2]
    out = tool(compare, path).out
    assert "s512-d64 no-huge-pages A=1 " in out
    assert "s512-d64 huge-pages A=2 B='x y' " in out
    assert tool(compare, path, "--by", "setting", "--base", "base", "--fail-on", "slower").code == 1

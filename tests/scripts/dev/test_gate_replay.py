"""Replayed gates answer as the noise of their record lets them."""

from pathlib import Path

import numpy as np
from conftest import Tool
from dev import gate_replay


def record(path: Path, noise: float, count: int = 400) -> Path:
    times = 1e-3 * np.exp(noise * np.random.default_rng(1).standard_normal(count))
    path.write_text("p05_s\n" + "".join(f"{t:.6e}\n" for t in times))
    return path


def test_quiet_record(tool: Tool, tmp_path: Path) -> None:
    path = record(tmp_path / "quiet.csv", 0.003)
    outcome = tool(gate_replay, path, "--gates", 10, "--slower", 0, 3)
    assert outcome.out == (
        "0 % slower: exit 0: 10 of 10 (69.2 .. 100.0 %)\n"
        "3 % slower: exit 1: 10 of 10 (69.2 .. 100.0 %)\n"
    )


def test_noisy_record(tool: Tool, tmp_path: Path) -> None:
    path = record(tmp_path / "noisy.csv", 3)
    outcome = tool(gate_replay, path, "--gates", 3, "--slower", 0)
    assert outcome.out == "0 % slower: exit 3: 3 of 3 (29.2 .. 100.0 %)\n"


def test_bad_records(tool: Tool, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    for text, message in (
        ("", f"{path}:1: is no record of launches: there is no column p05_s"),
        ("p05_s\n1\nx\n", f"{path}:3: p05_s is no positive number"),
        ("p05_s\n1\nnan\n", f"{path}:3: p05_s is no positive number"),
        ("p05_s\n1\n", f"{path}: 1 launches; 80 are the fewest to replay"),
    ):
        path.write_text(text)
        outcome = tool(gate_replay, path)
        assert (outcome.code, outcome.err) == (4, f"gate-replay: {message}\n")

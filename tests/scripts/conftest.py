"""Fixtures of all Python tests."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import fake
import numpy as np
import pytest
import sample
from attntools.base import cli
from attntools.gate import bisect, gate, gate_builds, gate_launch
from repository import Repository


def pytest_configure(config: pytest.Config) -> None:
    """The mark of what scripts/test leaves to .ci/run (tests/CMakeLists.txt)."""
    config.addinivalue_line("markers", "long: takes many seconds")


@dataclass
class Outcome:
    """How a tool ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def printed(self) -> str:
        """What it printed, where all went well."""
        assert self.code == 0, self
        return self.out

    @property
    def refused(self) -> str:
        """What it said of a command line or an input that it did not take."""
        assert self.code == 4, self
        return self.err


Tool = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def _no_figures_left() -> Iterator[None]:
    """Closes what a test has drawn."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def tool(capsys: pytest.CaptureFixture[str]) -> Tool:
    """Runs a tool as the command line does; called with its module and arguments."""

    def run(module: object, *arguments: object) -> Outcome:
        with pytest.raises(SystemExit) as exited:
            cli.guard(module.TOOL, lambda: module.run([str(a) for a in arguments]))
        captured = capsys.readouterr()
        return Outcome(int(exited.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs fakes in the test's own process: a start takes longer than all that they do."""
    monkeypatch.setattr(gate_launch, "_run", fake.run)
    monkeypatch.setattr(gate_builds, "_listed", fake.listed)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Two files: a cell that is the same, one slower, one faster, one wrong, two in one only."""
    rng = np.random.default_rng(2)

    def half(path: Path, slower: float, *rows: sample.Row) -> Path:
        return sample.write(
            path,
            sample.session(),
            sample.cell(sample.noisy(rng, 1e-3, 12, 0.002), s=64),
            sample.cell(sample.noisy(rng, slower * 1e-3, 12, 0.002), s=128),
            sample.cell(sample.noisy(rng, 1e-3 / slower, 12, 0.002), s=256),
            *rows,
        )

    base = half(tmp_path / "base.jsonl", 1.0, sample.cell(s=1), sample.cell(s=2))
    new = half(tmp_path / "new.jsonl", 1.1, sample.cell(s=2, state="failed"), sample.cell(s=3))
    return base, new


@pytest.fixture
def repository(
    tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_process: None
) -> Repository:
    """A small repository, where there is what builds its commits."""
    for program in ("git", "cmake", "ninja"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    for module in (gate_builds, gate, bisect):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("ATTNBENCH_DATA", str(tmp_path))  # which a gate sets for its programs
    return Repository(tmp_path, tool)

"""Fixtures of all Python tests."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from attntools import cli


@dataclass
class Outcome:
    """How a tool ended and what it said."""

    code: int
    out: str
    err: str


Tool = Callable[..., Outcome]


@pytest.fixture
def tool(capsys: pytest.CaptureFixture[str]) -> Tool:
    """Runs a tool as the command line does; called with its module and arguments."""

    def run(module: object, *arguments: object) -> Outcome:
        with pytest.raises(SystemExit) as exited:
            cli.guard(module.TOOL, lambda: module.run([str(a) for a in arguments]))
        captured = capsys.readouterr()
        return Outcome(int(exited.value.code or 0), captured.out, captured.err)

    return run

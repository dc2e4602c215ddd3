"""A small repository whose commits build programs with known times."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import fake
from attntools.gate import gate

if TYPE_CHECKING:
    from conftest import Outcome, Tool

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"

# What the gate asks of a repository: the preset `release`, and a target `attnbench`.
PRESETS = """{"version": 3, "configurePresets": [
  {"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/release"}]}
"""
CMAKE = """cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES NONE)
add_custom_target(attnbench %s
    COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/program ${CMAKE_BINARY_DIR}/attnbench)
"""


def _hear_interrupts() -> None:
    """What a shell starts in the background ignores them, and so do its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Repository:
    """A repository of its own whose commits the tools build."""

    def __init__(self, path: Path, tool: Tool) -> None:
        """An empty one at that path; `tool` runs tools in this process, as if they lay in it."""
        self.path = path
        self._tool = tool
        (path / ".gitignore").write_text("scripts\nresults\ntmp\ncache\nbuilt\n")
        (path / "CMakePresets.json").write_text(PRESETS)
        (path / "tmp").mkdir()
        self.git("init", "--quiet")

    def git(self, *arguments: str) -> str:
        """What a git command prints."""
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        return subprocess.run(
            command, cwd=self.path, check=True, capture_output=True, text=True
        ).stdout

    def commit(self, factor: float, build: str = "") -> str:
        """A commit whose program takes so many milliseconds; what its build runs before."""
        fake.program(self.path / "program", factor)
        (self.path / "CMakeLists.txt").write_text(CMAKE % build)
        self.git("add", ".")
        self.git("commit", "--quiet", "--allow-empty", "--message", f"{factor} ms")
        return self.git("rev-parse", "HEAD").strip()

    def run(self, module: ModuleType, *arguments: str) -> Outcome:
        """A tool with as few pairs as a gate may have, in no process: its start takes a second."""
        return self._tool(module, *arguments, "-n", "8")

    def gate(self, *arguments: str) -> Outcome:
        """The gate, likewise."""
        return self.run(gate, *arguments)

    def started(self, name: str, *arguments: str) -> subprocess.Popen[str]:
        """A tool under way in a process, from a copy of the tools in here."""
        if not (self.path / "scripts").exists():
            shutil.copytree(SCRIPTS / "attntools", self.path / "scripts/attntools")
            (self.path / "results").mkdir()
            shutil.copy(SCRIPTS.parent / "results/schema.json", self.path / "results")
        environment = os.environ | {"PYTHONPATH": str(self.path / "scripts")}
        return subprocess.Popen(
            [sys.executable, "-m", "attntools", f"attntools.gate.{name}", *arguments, "-n", "8"],
            env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, preexec_fn=_hear_interrupts,
        )  # fmt: skip

    def kept(self) -> list[Path]:
        """The programs in the cache."""
        return [p for p in (self.path / "cache/attnbench/gate").iterdir() if p.name != "lock"]

    def builds(self) -> int:
        """How many builds there were of commits whose build runs COUNT."""
        return len((self.path / "built").read_text().split())

    def left(self) -> list[Path]:
        """Worktrees besides the repository itself, and temporary folders."""
        trees = self.git("worktree", "list", "--porcelain").count("worktree ")
        return [*(self.path / "tmp").iterdir(), *[Path()] * (trees - 1)]

"""A small repository whose commits build programs with known times."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import fake

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
    """A repository of its own with the tools in it, so that they build its commits."""

    def __init__(self, path: Path) -> None:
        """An empty one at that path."""
        self.path = path
        shutil.copytree(SCRIPTS / "attntools", path / "scripts/attntools")
        (path / "results").mkdir()
        shutil.copy(SCRIPTS.parent / "results/schema.json", path / "results")
        (path / ".gitignore").write_text("scripts\ntmp\ncache\nbuilt\n")
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

    def tool(self, name: str, *arguments: str) -> subprocess.Popen[str]:
        """A tool under way, with as few pairs as a gate may have."""
        environment = os.environ | {
            "PYTHONPATH": str(self.path / "scripts"),
            "TMPDIR": str(self.path / "tmp"),
            "XDG_CACHE_HOME": str(self.path / "cache"),
        }
        return subprocess.Popen(
            [sys.executable, "-m", f"attntools.{name}", *arguments, "-n", "8"],
            env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, preexec_fn=_hear_interrupts,
        )  # fmt: skip

    def gate(self, *arguments: str) -> subprocess.Popen[str]:
        """The gate under way."""
        return self.tool("gate.gate", *arguments)

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

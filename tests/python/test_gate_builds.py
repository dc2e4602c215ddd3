"""The gate on commits: builds of a small repository, whose programs have known times."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import fake
import pytest

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


class Repository:
    """A repository of its own with the tools in it, so that they build its commits."""

    def __init__(self, path: Path) -> None:
        self.path = path
        shutil.copytree(SCRIPTS / "attntools", path / "scripts/attntools")
        (path / ".gitignore").write_text("scripts\ntmp\n")
        (path / "CMakePresets.json").write_text(PRESETS)
        (path / "tmp").mkdir()
        self.git("init", "--quiet")

    def git(self, *arguments: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        return subprocess.run(
            command, cwd=self.path, check=True, capture_output=True, text=True
        ).stdout

    def commit(self, factor: float, build: str = "") -> str:
        """A commit whose program takes so many milliseconds; what its build runs before."""
        fake.program(self.path / "program", factor)
        (self.path / "CMakeLists.txt").write_text(CMAKE % build)
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", f"{factor} ms")
        return self.git("rev-parse", "HEAD").strip()

    def gate(self, *arguments: str) -> subprocess.Popen[str]:
        environment = os.environ | {
            "PYTHONPATH": str(self.path / "scripts"),
            "TMPDIR": str(self.path / "tmp"),
        }
        return subprocess.Popen(
            [sys.executable, "-m", "attntools.gate", *arguments, "-n", "8"],
            env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip

    def left(self) -> list[Path]:
        """Worktrees besides the repository itself, and temporary folders."""
        trees = self.git("worktree", "list", "--porcelain").count("worktree ")
        return [*(self.path / "tmp").iterdir(), *[Path()] * (trees - 1)]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    for tool in ("git", "cmake", "ninja"):
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    return Repository(tmp_path)


def test_commits_are_built_and_compared(repository: Repository) -> None:
    base, new = repository.commit(1.0), repository.commit(1.05)
    gate = repository.gate("--base", "HEAD~1", "--new", "HEAD")
    out, err = gate.communicate()
    assert gate.returncode == 1
    assert f"building base (HEAD~1, {base[:12]})" in err
    assert "1 of 1 cells are slower" in out
    assert f"`HEAD ({new[:12]})` against `HEAD~1 ({base[:12]})`, 8 pairs of launches" in out
    same = repository.gate("--base", new, "--new", "HEAD")
    same.communicate()
    assert same.returncode == 0
    assert repository.left() == []


@pytest.mark.parametrize(("sides", "code"), [(("broken", "HEAD"), 5), (("HEAD", "broken"), 4)])
def test_commit_that_does_not_build(
    repository: Repository, sides: tuple[str, str], code: int
) -> None:
    repository.commit(1.0, "COMMAND false")
    repository.git("tag", "broken")
    repository.commit(1.0)
    gate = repository.gate("--base", sides[0], "--new", sides[1])
    _, err = gate.communicate()
    assert gate.returncode == code
    assert f"building {'base' if code == 5 else 'new'} failed (cmake --build " in err
    assert repository.left() == []


@pytest.mark.parametrize(("which", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_build_leaves_no_worktree(
    repository: Repository, which: signal.Signals, code: int
) -> None:
    begun = repository.path / "tmp/begun"
    repository.commit(1.0, f"COMMAND touch {begun} COMMAND sleep 60")
    gate = repository.gate("--base", "HEAD", "--new", "HEAD")
    while not begun.exists():
        assert gate.poll() is None, gate.communicate()[1]
        time.sleep(0.01)
    begun.unlink()
    os.killpg(gate.pid, which)
    gate.communicate()
    assert gate.returncode == code
    assert repository.left() == []

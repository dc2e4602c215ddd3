"""A checker is spared what it has passed before, and nothing else."""

import json
import os
import shutil
from pathlib import Path

import fake
import pytest
from attntools.base import files
from dev import tidy

# Says something of files with BUG in them, and writes down what it was asked for.
FAKE = """#!/bin/sh
if [ "$1" = --version ]; then echo "$VERSION"; exit; fi
for name; do :; done
name=${name#*=}
echo "$name" >>asked
if grep -q BUG "$name"; then echo "$name: a bug"; exit 1; fi
echo "1 warning generated." >&2
"""


class Tree:
    """A source, its header and the command that compiles it; clang-tidy is a fake."""

    def __init__(self, top: Path) -> None:
        self.top = top
        top.mkdir()
        self.write("a.c", '#include "a.h"\nint a = A;\n')
        self.write("a.h", "#define A 1\n")
        self.write(".clang-tidy", "Checks: all\n")
        self.compiled("cc -c -MD -MF a.d -o a.o")

    def write(self, name: str, text: str) -> None:
        (self.top / name).parent.mkdir(parents=True, exist_ok=True)
        (self.top / name).write_text(text)

    def compiled(self, command: str) -> None:
        entry = {"directory": str(self.top), "file": str(self.top / "a.c")}
        entry["command"] = f"{command} {self.top}/a.c"
        self.write("compile_commands.json", json.dumps([entry]))

    def asked(self, checks: str = "", *names: str) -> list[str]:
        """What clang-tidy was asked for in a run, after which the tree is as before."""
        os.chdir(self.top)
        self.passed = tidy.run("clang-tidy-14", self.top, checks, list(names or ["a.c"]))
        asked = self.top / "asked"
        said = asked.read_text().split() if asked.exists() else []
        asked.unlink(missing_ok=True)
        return said


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    if not shutil.which("cc"):
        pytest.skip("cc is not installed")
    for checker in tidy.CHECKERS:
        fake.script(tmp_path / "bin" / checker, FAKE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("VERSION", "14")
    tidy._contents.cache_clear()
    return Tree(tmp_path / "tree")


def test_what_passed_is_not_looked_at_again(tree: Tree) -> None:
    assert tree.asked() == ["a.c"]
    assert tree.passed
    assert tree.asked() == []
    assert tree.passed


def test_each_checker_looks_for_itself(tree: Tree) -> None:
    tree.asked()
    tree.write("scripts/dev/jansson.cfg", "<def/>\n")
    for _ in range(2):
        assert tidy.run("cppcheck", tree.top, "--suppress=x:{top}/b/*", ["a.c"])
        assert (tree.top / "asked").read_text() == f"{tree.top}/a.c\n"


def test_clones_share_it(tree: Tree, tmp_path: Path) -> None:
    tree.asked()
    clone = Tree(tmp_path / "clone")
    clone.compiled("ccache cc -c -MD -MF a.d -o a.o")
    assert clone.asked() == []


@pytest.mark.parametrize("change", ["source", "header", "command", "config", "checks", "version"])
def test_each_thing_that_matters_is_seen(
    tree: Tree, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.asked()
    checks = ""
    if change == "source":
        tree.write("a.c", '#include "a.h"\nint a = A + 1;\n')
    elif change == "header":
        tree.write("a.h", "#define A 2\n")
    elif change == "command":
        tree.compiled("cc -DB -c -MD -MF a.d -o a.o")
    elif change == "config":
        tree.write(".clang-tidy", "Checks: some\n")
    elif change == "checks":
        checks = "-cert-*"
    else:
        monkeypatch.setenv("VERSION", "15")
    tidy._contents.cache_clear()  # another process
    assert tree.asked(checks) == ["a.c"]
    assert tree.asked(checks) == []


def test_findings_are_told_each_time(tree: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    tree.write("a.c", "int a; /* BUG */\n")
    for _ in range(2):
        assert tree.asked() == ["a.c"]
        assert not tree.passed
        assert capsys.readouterr().out == "a.c: a bug\n"


def test_what_has_no_command_is_always_looked_at(tree: Tree) -> None:
    tree.write("b.c", "int b;\n")
    for _ in range(2):
        assert tree.asked("", "b.c") == ["b.c"]
        assert tree.passed


def test_without_a_place_to_remember_everything_is_looked_at(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file\n")
    for _ in range(2):
        assert tree.asked() == ["a.c"]
        assert tree.passed


def test_what_nobody_asked_for_in_two_months_is_forgotten(tree: Tree) -> None:
    tree.asked()
    (known,) = files.cache("tidy").iterdir()
    os.utime(known, (0, 0))
    tree.write("a.h", "#define A 2\n")
    tidy._contents.cache_clear()
    tree.asked()
    assert known.name not in [path.name for path in files.cache("tidy").iterdir()]

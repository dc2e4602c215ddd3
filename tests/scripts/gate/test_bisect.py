"""Bisecting planted histories: commits whose programs have known times."""

import os
import re
import signal

import pytest
from attntools.gate import bisect
from conftest import Outcome
from repository import Repository

BROKEN = "COMMAND false"


def bisected(repository: Repository, *arguments: str) -> Outcome:
    """What the tool says; the repository is left as it was."""
    head = repository.git("rev-parse", "HEAD")
    outcome = repository.run(bisect, *arguments)
    assert repository.git("rev-parse", "HEAD") == head
    assert repository.git("status", "--porcelain") == ""
    assert not (repository.path / ".git/BISECT_LOG").exists()
    return outcome


def plant(repository: Repository, *factors: float, broken: tuple[int, ...] = ()) -> list[str]:
    """A history of programs that take so many milliseconds; those that do not build by number."""
    return [repository.commit(f, BROKEN if i in broken else "") for i, f in enumerate(factors)]


def found_by(out: str) -> str:
    """The commit that a summary names."""
    found = re.match(r"first slow commit: (\w+) ", out)
    assert found, out
    return found[1]


@pytest.mark.long
def test_the_first_slow_commit_is_found(repository: Repository) -> None:
    commits = plant(repository, 1, 1, 1, 1.05, 1.05, 1.05, 1.05, 1.05)
    outcome = bisected(repository, "--good", commits[0], "--bad", "HEAD")
    assert commits[3].startswith(found_by(outcome.printed))
    assert "1 of 1 cells are slower" in outcome.out
    short = commits[3][:12]
    assert re.search(
        rf"`{commits[3]} \({short}\)` against `{commits[3]}\^ \({commits[2][:12]}\)`", outcome.out
    )
    asked = [c for c in commits if f"building new ({c}" in outcome.err]
    assert len(asked) <= 4  # 7 commits are halved three times; the last one is asked first
    assert repository.left() == []


@pytest.mark.long
def test_it_may_be_the_last_one(repository: Repository) -> None:
    commits = plant(repository, 1, 1, 1, 1.05)
    outcome = bisected(repository, "--good", commits[0], "--bad", "HEAD")
    assert commits[3].startswith(found_by(outcome.printed))


@pytest.mark.long
def test_what_does_not_build_is_skipped(repository: Repository) -> None:
    commits = plant(repository, 1, 1, 1, 1, 1, 1.05, 1.05, broken=(3,))
    outcome = bisected(repository, "--good", commits[0], "--bad", "HEAD")
    assert commits[5].startswith(found_by(outcome.printed))


@pytest.mark.long
def test_skipped_ones_may_hide_it(repository: Repository) -> None:
    commits = plant(repository, 1, 1, 1, 1.05, 1.05, broken=(2,))
    outcome = bisected(repository, "--good", commits[0], "--bad", "HEAD")
    assert (outcome.code, outcome.out) == (3, ""), outcome.err
    assert "skipped, building new failed" in outcome.err
    listed = set(re.findall(r"^  (\w+) ", outcome.err, re.MULTILINE))
    assert {c for c in commits if any(c.startswith(short) for short in listed)} == set(commits[2:4])


@pytest.mark.long
def test_interrupted_ones_go_on(repository: Repository) -> None:
    commits = plant(repository, 1, 1, 1, 1, 1, 1, 1.05, 1.05)
    words = ("--good", commits[0], "--bad", commits[-1])
    process = repository.started("bisect", *words)
    assert process.stderr
    for line in process.stderr:
        if re.search(r"bisect: about \d steps more", line):
            break
    os.killpg(process.pid, signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    outcome = bisected(repository, *words)
    assert outcome.code == 0, outcome.err
    assert "bisect: going on; answers so far: 1" in outcome.err
    assert commits[6].startswith(found_by(outcome.out))
    assert repository.left() == []


@pytest.mark.parametrize(
    ("good", "bad", "code", "said"),
    [
        ("HEAD~1", "HEAD", 1, "HEAD against HEAD~1: no regression in 1 cell"),
        ("HEAD", "HEAD~1", 4, "HEAD is no ancestor of HEAD~1"),
        ("HEAD", "HEAD", 4, "HEAD is no ancestor of HEAD"),
        ("nowhere", "HEAD", 5, "nowhere is no commit"),
        ("HEAD", "nowhere", 4, "nowhere is no commit"),
    ],
)
@pytest.mark.long
def test_nothing_to_find(repository: Repository, good: str, bad: str, code: int, said: str) -> None:
    plant(repository, 1, 1.001)
    outcome = bisected(repository, "--good", good, "--bad", bad)
    assert (outcome.code, outcome.out) == (code, "")
    assert f"bisect: {said}" in outcome.err
    assert repository.left() == []

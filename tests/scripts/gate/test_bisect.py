"""Bisecting planted histories: commits whose programs have known times."""

import os
import re
import signal

import pytest
from repository import Repository

BROKEN = "COMMAND false"


def bisect(repository: Repository, *arguments: str) -> tuple[int, str, str]:
    """Exit code, summary, messages; the repository is left as it was."""
    head = repository.git("rev-parse", "HEAD")
    process = repository.tool("gate.bisect", *arguments)
    out, err = process.communicate()
    assert repository.git("rev-parse", "HEAD") == head
    assert repository.git("status", "--porcelain") == ""
    assert not (repository.path / ".git/BISECT_LOG").exists()
    return process.returncode, out, err


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
    code, out, err = bisect(repository, "--good", commits[0], "--bad", "HEAD")
    assert code == 0, err
    assert commits[3].startswith(found_by(out))
    assert "1 of 1 cells are slower" in out
    short = commits[3][:12]
    assert re.search(
        rf"`{commits[3]} \({short}\)` against `{commits[3]}\^ \({commits[2][:12]}\)`", out
    )
    asked = [c for c in commits if f"building new ({c}" in err]
    assert len(asked) <= 4  # 7 commits are halved three times; the last one is asked first
    assert repository.left() == []


@pytest.mark.long
def test_it_may_be_the_last_one(repository: Repository) -> None:
    commits = plant(repository, 1, 1, 1, 1.05)
    code, out, err = bisect(repository, "--good", commits[0], "--bad", "HEAD")
    assert code == 0, err
    assert commits[3].startswith(found_by(out))


@pytest.mark.long
def test_what_does_not_build_is_skipped(repository: Repository) -> None:
    commits = plant(repository, 1, 1, 1, 1, 1, 1.05, 1.05, broken=(3,))
    code, out, err = bisect(repository, "--good", commits[0], "--bad", "HEAD")
    assert code == 0, err
    assert commits[5].startswith(found_by(out))


@pytest.mark.long
def test_skipped_ones_may_hide_it(repository: Repository) -> None:
    commits = plant(repository, 1, 1, 1, 1.05, 1.05, broken=(2,))
    code, out, err = bisect(repository, "--good", commits[0], "--bad", "HEAD")
    assert (code, out) == (3, ""), err
    assert "skipped, building new failed" in err
    listed = set(re.findall(r"^  (\w+) ", err, re.MULTILINE))
    assert {c for c in commits if any(c.startswith(short) for short in listed)} == set(commits[2:4])


@pytest.mark.long
def test_interrupted_ones_go_on(repository: Repository) -> None:
    commits = plant(repository, 1, 1, 1, 1, 1, 1, 1.05, 1.05)
    words = ("--good", commits[0], "--bad", commits[-1])
    process = repository.tool("gate.bisect", *words)
    assert process.stderr
    for line in process.stderr:
        if re.search(r"bisect: about \d steps more", line):
            break
    os.killpg(process.pid, signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    code, out, err = bisect(repository, *words)
    assert code == 0, err
    assert "bisect: going on; answers so far: 1" in err
    assert commits[6].startswith(found_by(out))
    assert repository.left() == []


@pytest.mark.parametrize(
    ("good", "bad", "code", "said"),
    [
        ("HEAD~1", "HEAD", 1, "HEAD against HEAD~1: no regression in 1 cells"),
        ("HEAD", "HEAD~1", 4, "HEAD is no ancestor of HEAD~1"),
        ("HEAD", "HEAD", 4, "HEAD is no ancestor of HEAD"),
        ("nowhere", "HEAD", 5, "nowhere is no commit"),
        ("HEAD", "nowhere", 4, "nowhere is no commit"),
    ],
)
@pytest.mark.long
def test_nothing_to_find(repository: Repository, good: str, bad: str, code: int, said: str) -> None:
    plant(repository, 1, 1.001)
    ended, out, err = bisect(repository, "--good", good, "--bad", bad)
    assert (ended, out) == (code, "")
    assert f"bisect: {said}" in err
    assert repository.left() == []

"""The gate on commits: builds of a small repository, whose programs have known times."""

import fcntl
import os
import re
import signal
import time
from pathlib import Path

import fake
import pytest
from attntools.base import cli
from attntools.gate import gate_builds, gate_kept
from repository import Repository

pytestmark = pytest.mark.long

# A step of a build that takes long enough for another gate to come by.
COUNT = "COMMAND sh -c 'echo once >>%s/built' COMMAND sleep 1"
SAME = ("--base", "HEAD", "--new", "HEAD")


def test_commits_are_built_and_compared(repository: Repository) -> None:
    base, new = repository.commit(1.0), repository.commit(1.05)
    gate = repository.gate("--base", "HEAD~1", "--new", "HEAD")
    assert gate.code == 1
    assert f"building base, HEAD~1 ({base[:12]})" in gate.err
    assert "1 of 1 cells are slower" in gate.out
    assert f"`HEAD ({new[:12]})` against `HEAD~1 ({base[:12]})`, 8 pairs of launches" in gate.out
    assert repository.gate("--base", new, "--new", "HEAD").code == 0
    assert repository.left() == []


def test_what_is_not_compared_is_said(repository: Repository) -> None:
    repository.commit(1.0)
    repository.commit(1.001)
    fake.program(repository.path / "program", 2.0)  # slower, and not committed
    gate = repository.gate("--base", "HEAD~1", "--new", "HEAD")
    assert gate.code == 0
    assert re.search(r"gate: uncommitted changes are not in HEAD \(\w+\): program\n", gate.err)
    assert gate.out.startswith("### ⚠️ attnbench gate: no regression in 1 cell\n")
    assert "\n**Uncommitted changes are not in HEAD (" in gate.out
    gate = repository.gate("--base", "HEAD", "--new", "HEAD~1")
    assert "uncommitted" not in gate.out + gate.err
    repository.git("checkout", ".")
    gate = repository.gate("--base", "HEAD", "--new", "HEAD")
    assert "base and new are the same program to the byte" in gate.printed
    assert "ncommitted" not in gate.out + gate.err


def test_a_base_that_is_not_there_says_how_to_deepen(repository: Repository) -> None:
    """In a shallow clone `git merge-base` prints nothing, which is no folder of a build."""
    fake.program(repository.path / "attnbench")  # which an empty path would mean
    for base in ("", " ", "0" * 40):
        gate = repository.gate("--base", base, "--new", str(repository.path / "attnbench"))
        assert gate.code == 5
        assert gate.err.startswith("gate: the base")
        assert "shallow" not in gate.err
    repository.commit(1.0)
    (repository.path / ".git/shallow").write_text(repository.commit(1.0) + "\n")
    for base in ("", "v1"):
        gate = repository.gate("--base", base, "--new", "HEAD")
        assert gate.code == 5
        assert "this clone is shallow: git fetch --unshallow" in gate.err
    gate = repository.gate("--base", "HEAD", "--new", "")
    assert (gate.out, gate.code) == ("", 4)


@pytest.mark.parametrize(("sides", "code"), [(("broken", "HEAD"), 5), (("HEAD", "broken"), 6)])
def test_commit_that_does_not_build(
    repository: Repository, sides: tuple[str, str], code: int
) -> None:
    """The compiler's words stand in message and summary, whatever else is printed after them."""
    noise = "; ".join(f"echo note {i}" for i in range(40))
    wrong = f"COMMAND echo mine.c:3:1: error: no such thing COMMAND sh -c '{noise}' COMMAND false"
    repository.commit(1.0, wrong)
    repository.git("tag", "broken")
    repository.commit(1.0)
    summary = repository.path / "tmp/summary.md"
    gate = repository.gate("--base", sides[0], "--new", sides[1], "--output", str(summary))
    assert gate.code == code
    what = f"building {'base' if code == 5 else 'new'} failed (cmake --build "
    assert what in gate.err
    assert "\n  mine.c:3:1: error: no such thing\n" in gate.err
    said = summary.read_text()
    assert said.startswith(f"### ❌ attnbench gate: {what}")
    assert "\nmine.c:3:1: error: no such thing\n" in said
    assert "\nnote 39" not in said
    summary.unlink()
    assert repository.left() == []


@pytest.mark.parametrize(("which", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_build_leaves_no_worktree(
    repository: Repository, which: signal.Signals, code: int
) -> None:
    begun = repository.path / "tmp/begun"
    repository.commit(1.0, f"COMMAND touch {begun} COMMAND sleep 60")
    summary = repository.path / "tmp/summary.md"
    gate = repository.started("gate", *SAME, "--output", str(summary))
    while not begun.exists():
        assert gate.poll() is None, gate.communicate()[1]
        time.sleep(0.01)
    begun.unlink()
    os.killpg(gate.pid, which)
    gate.communicate()
    assert gate.returncode == code
    said = summary.read_text()
    summary.unlink()
    assert re.search(r"gate: ended by a signal after \d+ s; nothing was built or measured\n", said)
    assert repository.left() == []


def test_a_build_tells_how_long_the_rest_takes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter([0.0, 1.0, 8.0, 9.0, 20.0])
    monkeypatch.setattr(gate_builds.time, "monotonic", lambda: next(now))
    steps = ["echo", "-e", r"[1/40] a\n[16/40] b\n[18/40] c\n[40/40] d"]
    gate_builds._told(steps, "building base", gate_builds.Exit.INCOMPARABLE)
    assert capsys.readouterr().err.splitlines() == [
        "gate: building base: 16 of 40, 8 s, about 12 s more",
        "gate: building base: 40 of 40, 20 s",
    ]
    assert cli.REACHED.text == "building base: 40 of 40 steps"


def test_commit_is_built_once_and_kept(repository: Repository) -> None:
    commit = repository.commit(1.0, COUNT % repository.path)
    gates = [repository.started("gate", *SAME, "--equal") for _ in range(2)]
    said = [gate.communicate() for gate in gates]
    assert [gate.returncode for gate in gates] == [0, 0]
    assert repository.builds() == 1
    assert (
        sum(
            err.count(f"gate: building base, HEAD ({commit[:12]}), for the first time\n")
            for _, err in said
        )
        == 1
    )
    assert sum(err.count("gate: building base: 1 of 1, ") for _, err in said) == 1
    assert sum(err.count(f", HEAD ({commit[:12]}), was built before: ") for _, err in said) == 3
    assert any(re.search(r" in [\d.]+ s \([\d.]+ s of them for builds\) on ", o) for o, _ in said)
    assert len(repository.kept()) == 1
    assert repository.left() == []


def test_gates_take_turns_at_building(repository: Repository) -> None:
    repository.commit(1.0)
    place = repository.path / "cache/attnbench/gate"
    place.mkdir(parents=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        gate = repository.started("gate", *SAME)
        assert gate.stderr
        assert gate.stderr.readline() == "gate: another gate is building; waiting for it\n"
        assert list(place.iterdir()) == [place / "lock"]
    gate.communicate()
    assert gate.returncode == 0


def test_program_that_does_not_run_is_built_again(repository: Repository) -> None:
    repository.commit(1.0, COUNT % repository.path)
    repository.gate(*SAME)
    (kept,) = repository.kept()
    whole = kept.read_bytes()
    kept.write_bytes(whole[: len(whole) // 2])
    half = kept.parent / f".{kept.name}.half"  # what a gate leaves that is killed as it writes
    half.write_bytes(whole[:9])
    assert repository.gate(*SAME).code == 0
    assert repository.builds() == 2
    assert repository.kept() == [kept]
    assert kept.read_bytes() == whole


def test_other_compiler_flags_are_another_program(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit(1.0, COUNT % repository.path)
    repository.gate(*SAME)
    monkeypatch.setenv("CFLAGS", "-fno-inline")
    repository.gate(*SAME)
    assert repository.builds() == 2
    assert len(repository.kept()) == 2


def test_least_recently_used_program_goes(tmp_path: Path) -> None:
    program = fake.program(tmp_path / "program")
    kept = [tmp_path / f"{i:040}" for i in range(gate_kept.MOST + 1)]
    for i, path in enumerate(kept[:-1]):
        gate_kept.keep(program, path)
        os.utime(path, (i, i))
    assert gate_kept.take(kept[0], tmp_path / "copy")
    gate_kept.keep(program, kept[-1])
    assert [path for path in kept if not path.exists()] == [kept[1]]
    assert (tmp_path / "copy").read_bytes() == program.read_bytes()


def test_gate_without_a_cache_builds_all_the_same(repository: Repository) -> None:
    repository.commit(1.0)
    (repository.path / "cache").write_text("a file, no folder")
    gate = repository.gate(*SAME)
    assert gate.code == 0
    assert "gate: builds are not kept: " in gate.err
    assert repository.left() == []

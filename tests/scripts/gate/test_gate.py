"""Every exit code of the gate, on programs whose times are known."""

import argparse
import hashlib
import json
import math
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import fake
import numpy as np
import pytest
import sample
from attntools.compare.comparison import Verdict
from attntools.gate import gate, gate_builds, gate_launch, gate_pace, gating
from attntools.gate.gate_builds import Build
from attntools.gate.gate_pairs import Plan, Samples, pilot, run_pairs
from attntools.results.cells import Identity
from conftest import Outcome, Tool

ONCE = ("--sessions", "1")  # noisy fakes do not become quieter


@pytest.fixture
def watched(tool: Tool, tmp_path: Path):  # noqa: ANN201
    """Runs the gate on two fakes; settings of the new one as keyword arguments."""

    def run(base: dict[str, object] | None = None, *options: str, **new: object) -> Outcome:
        first = fake.program(tmp_path / "base", **(base or {}))
        second = fake.program(tmp_path / "next", **new)
        return tool(gate, "--base", first, "--new", second, "-n", "8", *ONCE, *options)

    return run


@pytest.fixture
def gated(watched, in_process: None):  # noqa: ANN001, ANN201
    """As watched(), in processes that nobody watches, so in none."""
    return watched


def test_equal_builds_pass(gated) -> None:  # noqa: ANN001
    outcome = gated()
    assert outcome.printed.startswith("### ✅ attnbench gate: no regression in 1 cell\n")
    assert "The smallest slow-down that would have been seen in every cell (power 0.8): **" in (
        outcome.out
    )


def test_slower_build_is_confirmed_and_explained(gated) -> None:  # noqa: ANN001
    outcome = gated(factor=1.05)
    assert outcome.code == 1
    assert "1 of 1 cells are slower" in outcome.out
    assert "| **SLOWER**, confirmed |" in outcome.out
    assert "instructions +5.0 %; cycles per instruction +0.0 %" in outcome.out
    assert "gate: confirming on fresh pairs: 1 cell that may be slower" in outcome.err


def test_faster_build_passes(gated) -> None:  # noqa: ANN001
    assert "| FASTER |" in gated(factor=0.9).printed


def test_change_below_the_threshold_passes(gated) -> None:  # noqa: ANN001
    assert gated(factor=1.012, noise=0.0005).code == 0
    assert gated(None, "--threshold", "0.5", factor=1.012, noise=0.0005).code == 1


def test_only_the_slow_cell_is_blamed(gated) -> None:  # noqa: ANN001
    outcome = gated(None, "--kernel", "flash,gemm", factor=1.05)
    assert outcome.code == 1
    assert "2 of 2 cells are slower" in outcome.out


def test_rivals_are_left_out(gated) -> None:  # noqa: ANN001
    """The base is older and does not say which kernels are rivals."""
    outcome = gated(None, "--kernel", "flash,torch", rivals=["torch"], broken="torch",
                    state="failed")  # fmt: skip
    assert "no regression in 1 cell" in outcome.printed
    assert "gate: left out: 1 cell of rivals" in outcome.err
    outcome = gated(None, "--kernel", "torch", rivals=["torch"])
    assert (outcome.code, outcome.out) == (4, "")
    assert "the selection has no cell that either build can run" in outcome.err


@pytest.mark.parametrize("state", ["failed", "crashed", "timeout", "implausible"])
def test_wrong_result(gated, state: str) -> None:  # noqa: ANN001
    outcome = gated(None, "--kernel", "flash,gemm", state=state, broken="gemm")
    assert outcome.code == 2
    assert f"gemm/avx2, 1 threads: {state}: row 3 is off" in outcome.out


def test_implausible_once_is_launched_again(gated, tmp_path: Path) -> None:  # noqa: ANN001
    log = tmp_path / "log"
    assert gated(log=log, disturbed=[1, 3, 4]).code == 0
    assert log.read_text().split().count("next") == 9 + 3  # the pilot and 8 pairs, 3 repeated
    log.unlink()
    assert gated(log=log, disturbed=[3, 4, 5]).code == 2


def test_too_noisy(gated) -> None:  # noqa: ANN001
    outcome = gated({"noise": 0.2}, noise=0.2)
    assert outcome.code == 3
    assert outcome.out.startswith("### ⚠️ attnbench gate: undecided, ")
    assert "too noisy to tell: a change of 2 % cannot be ruled out in 1 of 1" in outcome.out
    outcome = gated({"noise": 0.2}, "--noise-limit", "10", noise=0.2)
    assert outcome.code == 3
    assert "too noisy to tell: a change of 10 % cannot be ruled out in 1 of 1" in outcome.out


def test_undecided_is_not_called_no_regression(gated) -> None:  # noqa: ANN001
    """An interval that holds the threshold, but nothing worse: no answer at that threshold."""
    outcome = gated({"noise": 0.02}, noise=0.02)
    (row,) = re.findall(
        r"\| ([+-][\d.]+) % .. ([+-][\d.]+) % \| \+([\d.]+) % \| UNCLEAR", outcome.out
    )
    lo, hi, seen = map(float, row)
    assert lo < 2 < hi < 10
    assert outcome.code == 3
    assert outcome.out.startswith(
        "### ⚠️ attnbench gate: undecided, too noisy to tell: a change of 2 % cannot be ruled out "
        f"in 1 of 1 cells; only a slow-down of {seen} % or more would have been seen there\n"
    )
    assert "no regression" not in outcome.out
    assert (
        f"up to {hi} % possible; only a slow-down of {seen} % or more would have been seen\n"
        in outcome.out
    )
    # Who can live with more says so, and is told what was left open.
    outcome = gated({"noise": 0.02}, "--noise-limit", "10", noise=0.02)
    assert outcome.printed.startswith(
        "### ⚠️ attnbench gate: no regression of 10 % in 1 cell; undecided above 2 % in 1 of them; "
        f"only a slow-down of {seen} % or more would have been seen there\n"
    )


MODEL = ("--model", "llama-3.1-8b", "--decode", "4k", "--batch", "8", "--prefill", "2k")


def test_both_sides_are_asked_for_models(gated, tmp_path: Path) -> None:  # noqa: ANN001
    outcome = gated({"must": MODEL}, *MODEL, must=MODEL)
    assert outcome.code == 0, outcome
    assert gated({"must": MODEL}, *MODEL, "--dry-run", must=MODEL).code == 0
    old = gated({"unknown": "model"}, *MODEL)
    assert old.code == 5
    assert "the base cannot run this selection: " in old.err
    assert "attnbench: unknown option --model" in old.err
    lacks = gated(None, "--model", f"llama-3.1-8b,{tmp_path}/none.json:tp2", "--decode", "8")
    assert (lacks.code, f"{tmp_path}/none.json: No such file" in lacks.err) == (4, True)


def test_a_kernel_of_the_base_alone(gated) -> None:  # noqa: ANN001
    """Removed or renamed: what is left is compared, and the heading says what is not."""
    chosen = ("--kernel", "flash,gemm")
    outcome = gated(None, *chosen, lacks="gemm")
    assert outcome.printed.startswith(
        "### ⚠️ attnbench gate: no regression in 1 cell; 1 cell only in the base: gemm/avx2\n"
    )
    outcome = gated(None, *chosen, "--fail-on", "removed", lacks="gemm")
    assert outcome.code == 7
    assert outcome.out.startswith("### ❌ attnbench gate: no regression in 1 cell; 1 cell only in ")
    outcome = gated(None, *chosen, "--fail-on", "removed", lacks="gemm", factor=1.05)
    assert outcome.code == 1
    assert "1 of 1 cells are slower; 1 cell only in the base: gemm/avx2\n" in outcome.out
    assert gated(None, *chosen, "--fail-on", "removed").code == 0
    only_the_base = gated(None, *chosen, lacks="flash,gemm")
    assert only_the_base.code == 5
    assert "no cell has a time in both builds; 2 cells only in the base" in only_the_base.out
    named = gated(None, "--kernel", "gemm/avx2", "--fail-on", "removed", lacks="gemm")
    assert (named.code, "1 cell only in the base: gemm/avx2" in named.out) == (7, True)
    added = gated({"lacks": "gemm"}, *chosen)
    assert (added.code, "Only in the new build:\n\n- `b=1" in added.out) == (0, True)
    assert gated({"lacks": "gemm"}, "--kernel", "gemm").code == 5
    nowhere = gated(None, "--kernel", "flash,gmm", usage=True)
    assert (nowhere.code, "no kernel of this name" in nowhere.err) == (4, True)


def test_what_would_have_been_seen_in_true_words(gated) -> None:  # noqa: ANN001
    """NaN is no percentage, 14766 % no help, and nothing was launched where all is wrong."""
    outcome = gated({"noise": 0.003}, "--kernel", "flash,gemm,a,b", "-n", "6", noise=0.003)
    assert "No slow-down can be shown by 6 pairs where 4 cells are judged together." in outcome.out
    outcome = gated({"noise": 2.0}, noise=2.0)
    assert outcome.code == 3
    first = outcome.out.splitlines()[0]
    (factor,) = re.findall(r"cells; only what takes ([\d.]+) x as long would have been seen", first)
    assert float(factor) > 3
    assert f"in every cell (power 0.8): **{factor} x**." in outcome.out
    assert f"| {factor} x | UNCLEAR |" in outcome.out
    outcome = gated(state="failed")
    assert outcome.code == 2
    assert re.search(r"`.*next` against `.*base`, no launches to compare in \d+ s on ", outcome.out)
    assert "pairs" not in outcome.out + outcome.err


def test_junit_has_a_test_per_cell(gated, tmp_path: Path) -> None:  # noqa: ANN001
    out, chosen = tmp_path / "gate.xml", ("--kernel", "flash,gemm")

    def tests(*options: str, **new: object) -> dict[str, str]:
        gated(None, *chosen, *options, "--junit", str(out), **new)
        suite = ElementTree.parse(out).getroot()[0]
        kinds = {c.get("name"): c[0].tag if len(c) else "passed" for c in suite}
        for kind, key in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert suite.get(key) == str(list(kinds.values()).count(kind))
        return kinds

    flash, gemm = "flash/avx2 1 threads", "gemm/avx2 1 threads"
    assert tests() == {flash: "passed", gemm: "passed"}
    assert tests(factor=1.05) == {flash: "failure", gemm: "failure"}
    assert tests(state="failed", broken="gemm") == {flash: "passed", gemm: "error"}
    assert tests(noise=0.2) == {flash: "error", gemm: "error"}  # the gate answers 3
    assert tests(lacks="gemm") == {flash: "passed", gemm: "skipped"}
    assert tests("--fail-on", "removed", lacks="gemm") == {flash: "passed", gemm: "failure"}
    assert tests(usage=True) == {"the comparison": "error"}
    why = ElementTree.parse(out).getroot()[0][0][0].get("message")
    assert "no kernel of this name" in why


def test_a_dry_run_says_what_needs_no_time(gated) -> None:  # noqa: ANN001
    chosen = ("--kernel", "flash,gemm", "--dry-run")
    wrong = gated(None, *chosen, state="failed", broken="gemm")
    assert (wrong.code, "gate: wrong in new: " in wrong.err) == (2, True), wrong
    before = gated({"state": "failed", "broken": "gemm"}, *chosen)
    assert (before.code, "gate: wrong in base: " in before.err) == (5, True)
    gone = gated(None, *chosen, lacks="gemm")
    assert (gone.code, "gate: 1 cell only in the base: gemm/avx2" in gone.err) == (0, True)
    assert gated(None, *chosen, "--fail-on", "removed", lacks="gemm").code == 7


def test_a_summary_of_before_does_not_stay(gated, tmp_path: Path, monkeypatch) -> None:  # noqa: ANN001
    """Where the gate is killed: a CI that comments it would tell of another gate."""
    out = tmp_path / "summary.md"
    out.write_text("no regression")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(gate, "gate", killed)
    assert gated(None, "--output", str(out)).code == 130
    assert re.fullmatch(
        r"### ❌ attnbench gate: ended by a signal after \d+ s; .+\n", out.read_text()
    )


def test_a_wrong_command_line_leaves_no_summary_of_before(tool: Tool, tmp_path: Path) -> None:
    out, xml = tmp_path / "summary.md", tmp_path / "gate.xml"
    new = fake.program(tmp_path / "next")
    sides = ["--base", "HEAD", "--new", new, "--junit", xml]
    for wrong in (["-n", "7"], ["--nonsense"], ["--base"]):
        out.write_text("no regression")
        xml.write_text("passed")
        assert tool(gate, *sides, "--output", out, *wrong).code == 4
        if wrong != ["--base"]:  # then nobody knows what follows what
            assert (
                out.read_text() == "### ❌ attnbench gate: the command line is wrong: see the log\n"
            )
            assert 'message="the command line is wrong: see the log"' in xml.read_text()
    assert tool(gate, *sides, "--output", new, "-n", "7").code == 4
    assert new.read_text().startswith("#!")  # an input is none, whatever else is wrong
    out.write_text("no regression")
    assert tool(gate, "--output", out, "--help").code == 0
    assert out.read_text() == "no regression"


@pytest.mark.usefixtures("in_process")
def test_equal_programs_are_measured_only_if_asked(tool: Tool, tmp_path: Path) -> None:
    log, xml = tmp_path / "log", tmp_path / "gate.xml"
    program = fake.program(tmp_path / "base", log=log)
    sides = ["--base", program, "--new", program, "-n", "6", *ONCE]
    outcome = tool(gate, *sides, "--junit", xml)
    said = "base and new are the same program to the byte: nothing to measure\n"
    assert (outcome.code, outcome.out) == (0, f"### ⚠️ attnbench gate: {said}")
    assert not log.exists()
    (suite,) = ElementTree.parse(xml).getroot()
    assert (suite.get("tests"), suite.get("skipped"), suite.get("errors")) == ("1", "0", "0")
    assert tool(gate, *sides, "--dry-run").out == said
    outcome = tool(gate, *sides, "--equal")
    assert "no regression in 1 cell" in outcome.printed
    assert "**Base and new are the same program to the byte: nothing can be found.**" in outcome.out


def test_every_mistake_is_found_before_anything_is_built(tool: Tool, tmp_path: Path) -> None:
    """HEAD would be built first."""
    program = fake.program(tmp_path / "next")
    for wrong, why in (
        (["--new", "no-such-ref"], "the new, no-such-ref, is neither a program, "),
        (["--new", program, "--plugin", tmp_path / "no.so"], "no.so: No such file or directory"),
        (["--new", program, "--suite", "./my.suite"], "./my.suite: No such file or directory"),
    ):
        outcome = tool(gate, "--base", "HEAD", *wrong)
        assert (outcome.code, why in outcome.err) == (4, True), outcome
        assert "building" not in outcome.err
        assert "was built before" not in outcome.err


LENGTH = (
    r"{cells}; 8 pairs of launches of each take about \d+ s, with more pairs of cells that "
    r"stay open up to \d+ s, and up to \d+ s where some look slower and are launched afresh\n"
)


def test_dry_run_says_how_long_it_takes(gated, tmp_path: Path) -> None:  # noqa: ANN001
    log = tmp_path / "log"
    outcome = gated(None, "--kernel", "flash,gemm", "--dry-run", log=log)
    assert re.fullmatch(LENGTH.format(cells="2 cells"), outcome.printed)
    assert log.read_text().split() == ["next"] * 3  # the pilot, and a block of two pairs


def test_the_length_is_told_at_the_start(gated) -> None:  # noqa: ANN001
    """Once: further sessions and the confirmation are parts of it."""
    said = gated(factor=1.05).err
    assert len(re.findall("gate: " + LENGTH.format(cells="1 cell"), said)) == 1
    assert said.index(" pairs of launches of each take about ") < said.index("4 of 4")


@pytest.mark.parametrize(
    ("pairs", "sessions", "patience", "told"),
    [
        (20, 15, 150, ("60", "210", "420")),  # a session may begin when patience is almost over
        (20, 2, 150, ("60", "120", "240")),
        (20, 15, 0, ("60", "60", "120")),
    ],
)
def test_length(pairs: int, sessions: int, patience: float, told: tuple[str, ...]) -> None:
    options = argparse.Namespace(pairs=pairs, sessions=sessions, patience=patience)
    assert tuple(re.findall(r"(\d+) s\b", gate_pace.length(60.0, 3, options))) == told


def test_waiting_for_another_session_is_told(
    watched,  # noqa: ANN001
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At once and each minute; the answer is that of a gate that never waited."""
    monkeypatch.setattr(gate_launch, "POLL_S", 0.05)
    monkeypatch.setattr(gate_launch, "EVERY_S", 0.2)
    outcome = watched(log=tmp_path / "log", queued=2)
    assert outcome.code == 0
    told = re.findall(r"gate: one launch, \d s so far: (.*)", outcome.err)
    waits = told.count("attnbench: run (process 7) is measuring on this machine: waiting")
    assert waits > 2
    assert waits + told.count("no word from it yet") == len(told)  # a start may take long


def test_waiting_for_another_session_ends(
    watched,  # noqa: ANN001
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gate_launch, "POLL_S", 0.05)
    monkeypatch.setattr(gate_launch, "WAIT_S", 0.0)
    outcome = watched(log=tmp_path / "log", queued=1, waits=600)
    assert "another session measures for more than 0 minutes: attnbench: run (process 7) is " in (
        outcome.refused
    )


def test_progress_is_told_each_minute(capsys: pytest.CaptureFixture[str]) -> None:
    now = 100.0
    tell = gate_pace.progress("pairs", 90.0, lambda: now)
    for done, seconds in ((1, 30), (2, 31), (3, 59), (4, 92), (5, 93), (10, 95)):
        now = 100.0 + seconds
        tell(done, 10)
    assert capsys.readouterr().err.splitlines() == [
        "gate: pairs: 1 of 10, 40 s, about 270 s more",
        "gate: pairs: 4 of 10, 102 s, about 138 s more",
        "gate: pairs: 10 of 10, 105 s",
    ]


def test_memory_and_huge_pages_reach_every_launch(gated) -> None:  # noqa: ANN001
    """A launch without them would be of another cell, so a pair without a row."""
    outcome = gated(None, "--memory", "interleave", "--huge-pages", factor=1.05)
    assert outcome.code == 1
    assert "1 of 1 cells are slower" in outcome.out
    outcome = gated(None, "--metric", "instructions", "--huge-pages")
    assert "instructions do not depend on --memory and --huge-pages" in outcome.refused


def test_wrong_base_is_no_base(gated) -> None:  # noqa: ANN001
    outcome = gated({"state": "failed"})
    assert outcome.code == 5
    assert "no base to compare with: 1 cell of the base with a wrong result" in outcome.out


def test_base_that_cannot_run_the_selection(gated) -> None:  # noqa: ANN001
    outcome = gated({"usage": True})
    assert outcome.code == 5
    assert "the base cannot run this selection: " in outcome.err
    assert "no kernel of this name" in outcome.err


def test_new_that_cannot_run_the_selection(gated) -> None:  # noqa: ANN001
    assert "the new cannot run this selection: " in gated(usage=True).refused


def test_a_selection_that_neither_can_run(gated) -> None:  # noqa: ANN001
    """A misspelt problem is no fault of the base, which a CI takes for a warning."""
    outcome = gated({"usage": True}, usage=True)
    assert "neither build can run this selection: " in outcome.refused
    assert "no kernel of this name" in outcome.err
    outcome = gated({"state": "unsupported"}, state="unsupported")
    assert "the selection has no cell that either build can run" in outcome.refused


def test_builds_of_other_flags_are_incomparable(gated) -> None:  # noqa: ANN001
    outcome = gated(build={"flags": "-O0"})
    assert outcome.code == 5
    assert "are of different builds" in outcome.err
    assert gated(None, "--allow", "build", build={"flags": "-O0"}).code == 0


def test_builds_may_describe_this_machine_differently(gated) -> None:  # noqa: ANN001
    assert gated(machine={"fingerprint": "of a later build"}).code == 0


def test_missing_sides(tool: Tool, tmp_path: Path) -> None:
    program = fake.program(tmp_path / "base")
    outcome = tool(gate, "--base", "no-such-ref", "--new", program)
    assert outcome.code == 5
    assert "the base, no-such-ref, is neither a program, a build folder nor a commit" in outcome.err
    assert tool(gate, "--base", program, "--new", "no-such-ref").code == 4
    for few_or_odd in ("5", "7", "0", "x"):
        assert tool(gate, "--base", program, "--new", program, "-n", few_or_odd).code == 4
    assert tool(gate, "--base", program).code == 4


def test_terminated_gate_leaves_nothing_behind(tmp_path: Path) -> None:
    slow = fake.program(tmp_path / "slow", sleep=60)
    gate_itself = [sys.executable, "-m", "attntools", "attntools.gate.gate"]
    command = [*gate_itself, "--base", slow, "--new", slow, "--equal"]
    folders = tmp_path / "tmp"
    folders.mkdir()
    environment = os.environ | {"TMPDIR": str(folders)}
    with subprocess.Popen(command, env=environment) as process:
        # tempfile tries whether it may write there by a file first.
        while not any(p.is_dir() for p in folders.glob("*")):
            time.sleep(0.01)
        process.terminate()
        assert process.wait() == 143
    assert list(folders.glob("*")) == []


@pytest.mark.usefixtures("in_process")
def test_summary_goes_to_a_file(tool: Tool, tmp_path: Path) -> None:
    base, new = fake.program(tmp_path / "base"), fake.program(tmp_path / "next")
    out = tmp_path / "summary.md"
    outcome = tool(gate, "--base", base, "--new", new, "-n", "6", *ONCE, "--output", out)
    assert outcome.code == 0
    assert out.read_text().startswith("### ✅ attnbench gate")
    assert outcome.err.endswith("gate: no regression in 1 cell\n")


def test_unwritable_summary_is_refused_before_anything_runs(tool: Tool, tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = fake.program(tmp_path / "base", log=log)
    out = tmp_path / "no" / "summary.md"
    outcome = tool(gate, "--base", program, "--new", program, "--output", out)
    assert (outcome.code, outcome.err) == (4, f"gate: {out}: No such file or directory\n")
    assert not log.exists()


def test_a_summary_over_a_program_is_refused(tool: Tool, tmp_path: Path) -> None:
    base, new = fake.program(tmp_path / "base"), fake.program(tmp_path / "next")
    outcome = tool(gate, "--base", base, "--new", new, "--output", new)
    assert (outcome.code, "write over" in outcome.err) == (4, True)
    assert new.read_text().startswith("#!")


@pytest.mark.usefixtures("in_process")
def test_launches_are_in_abba_order(tool: Tool, tmp_path: Path) -> None:
    log = tmp_path / "log"
    first = fake.program(tmp_path / "A", log=log)
    second = fake.program(tmp_path / "B", log=log)
    tool(gate, "--base", first, "--new", second, "-n", "6", *ONCE)
    order = "".join(log.read_text().split())
    assert order == "AB" + "ABBA" * 3  # the pilot, then three blocks of two pairs


@pytest.mark.usefixtures("in_process")
def test_launches_go_on_with_the_checks_of_the_pilot(tmp_path: Path) -> None:
    program = fake.program(tmp_path / "new")
    plan = Plan((Build(program, "a"), Build(program, "b")), tmp_path, 0.05, 1)
    first, _ = pilot(plan, [["run", "--kernel", "flash"]] * 2)
    (identity,) = first.cells
    collected = run_pairs(plan, [identity], 6)
    lines = [json.loads(t) for t in (tmp_path / "launch.jsonl").read_text().splitlines()]
    assert [line["type"] for line in lines] == ["session", "check", "session", "cell", "end"]
    assert lines[0]["command"] == ["run"]
    assert not lines[0]["resumed"]
    assert lines[2]["resumed"]
    assert len(collected.samples[identity].pairs) == 6


# ---- plug-ins ------------------------------------------------------------------------------------


@pytest.fixture
def compare_plugins(  # noqa: ANN201
    tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_process: None
):
    """Runs the gate on two plug-ins of a fake, that are slower by these factors."""
    program = tmp_path / "build/release/attnbench"
    program.parent.mkdir(parents=True)
    fake.program(program)
    monkeypatch.setattr(gate_builds, "ROOT", tmp_path)

    def run(base: float, new: float) -> Outcome:
        (tmp_path / "base.so").write_text(str(base))
        (tmp_path / "new.so").write_text(str(new))
        sides = ["--base", tmp_path / "base.so", "--new", tmp_path / "new.so"]
        return tool(gate, *sides, "-n", "20", *ONCE, "--equal")

    return run


def test_two_plugins_are_compared(compare_plugins) -> None:  # noqa: ANN001
    outcome = compare_plugins(1.0, 1.0)
    assert "no regression in 1 cell" in outcome.printed
    assert "| plugins/avx2 |" in outcome.out  # the kernel that was asked for, without a digest
    assert compare_plugins(1.0, 1.2).code == 1


@pytest.mark.usefixtures("in_process")
def test_a_plugin_for_both_sides(tool: Tool, tmp_path: Path) -> None:
    program, plugin = fake.program(tmp_path / "base"), tmp_path / "mine.so"
    plugin.write_text("1.5")
    digest = hashlib.sha256(b"1.5").hexdigest()
    sides = ["--base", program, "--new", program, "--plugin", plugin, "--equal"]
    assert f"| flash/avx2@{digest[:8]} |" in tool(gate, *sides, "-n", "6", *ONCE).printed


def test_a_plugin_that_is_not_there(tool: Tool, tmp_path: Path, monkeypatch) -> None:  # noqa: ANN001
    monkeypatch.setattr(gate_builds, "ROOT", tmp_path)
    outcome = tool(gate, "--base", tmp_path / "no.so", "--new", tmp_path / "no.so")
    assert (outcome.code, outcome.out) == (4, "")
    assert "plug-ins are compared by this tree's program: scripts/build release" in outcome.err
    fake.program(tmp_path / "attnbench")
    outcome = tool(gate, "--base", tmp_path / "no.so", "--new", tmp_path / "no.so")
    assert f"{tmp_path / 'no.so'}: no such plug-in" in outcome.err


def test_the_file_of_a_cell(tmp_path: Path) -> None:
    ours, theirs = str(tmp_path / "ours.so"), str(tmp_path / "theirs.so")
    Path(ours).write_text("1")
    Path(theirs).write_text("2")
    program = f"{ours} -n 'a b'"
    side = Build(tmp_path, "", plugins=(ours, program), compared=theirs)
    cell = Identity.of(sample.cell([1e-3]))
    assert side.file_of(cell) == ""
    assert side.file_of(cell._replace(plugin=gate_builds.digest_of(ours))) == ours
    assert side.file_of(cell._replace(plugin=gate_builds.COMPARED)) == theirs
    said = gate_builds.digest_of(ours) + " -n 'a b'"
    assert side.file_of(cell._replace(plugin=said)) == program
    assert side.words() == ["--plugin", ours, "--plugin", program, "--plugin", theirs]


# ---- the statistics of a gate --------------------------------------------------------------------


def samples_of(ratio: float, noise: float, seed: int, n: int = 20) -> Samples:
    rng = np.random.default_rng(seed)
    rows = [sample.cell([1e-3 * math.exp(noise * z)]) for z in rng.standard_normal(2 * n)]
    for row in rows[1::2]:
        row["time"]["p05_s"] *= ratio
    cells = [cell for row in rows for cell in sample.results(row).timed]
    return Samples(list(zip(cells[::2], cells[1::2], strict=True)))


def test_same_side_is_taken_within_blocks() -> None:
    samples = samples_of(2.0, 0.0, 1, n=4)
    assert samples.log_ratios() == pytest.approx([math.log(2)] * 4)
    assert samples.same_side() == pytest.approx([0.0] * 4)


def test_noise_floor_raises_the_threshold() -> None:
    (identity,) = {c.identity for c, _ in samples_of(1, 0, 1, 1).pairs}
    (quiet,) = gating.judge({identity: samples_of(1.03, 0.001, 1)}, 0.02)
    (loud,) = gating.judge({identity: samples_of(1.03, 0.1, 1)}, 0.02)
    assert quiet.verdict is Verdict.SLOWER
    assert quiet.threshold == pytest.approx(math.log(1.02))
    assert loud.verdict is not Verdict.SLOWER
    assert loud.threshold == loud.floor > 0.02
    assert gating.too_noisy(loud, math.expm1(loud.hi))
    assert not gating.too_noisy(loud, math.expm1(loud.hi) + 1e-9)
    assert not gating.too_noisy(quiet, 0.01)  # SLOWER is an answer


def test_figures_agree_with_the_change() -> None:
    """Of pairs in a machine that speeds up the medians of the sides differ otherwise."""
    samples = samples_of(1.0, 0.0, 1, 9)
    for i, (base, new) in enumerate(samples.pairs):
        slow = 1.3 if i < 5 else 1.0
        drift = 1.0 if i == 4 else slow  # the new side's middle launch already had the fast machine
        for cell, factor in ((base, slow), (new, 1.01 * drift)):
            cell.time.p05_s = 1e-3 * factor
    (identity,) = {base.identity for base, _ in samples.pairs}
    (judged,) = gating.judge({identity: samples}, 0.02)
    assert judged.median == pytest.approx(math.log(1.01))
    assert judged.base_s == pytest.approx(1.3e-3)
    assert judged.new_s == pytest.approx(1.01 * judged.base_s)


def test_explanation_names_what_was_not_measured() -> None:
    text = "; ".join(gating.explain(samples_of(1.03, 0.001, 1, 2)))
    assert text.startswith("frequency (multiply-add rate beside the samples) +0.0 %; not measured")
    assert "instructions" in text.split("not measured")[1]

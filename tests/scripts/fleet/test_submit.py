"""scripts/fleet/submit against a stand-in for Slurm; tests/scripts/cluster has a real one."""

import json
from collections.abc import Callable
from pathlib import Path

import fake
import pytest
import sample
from attntools.fleet import slurm, submit
from attntools.fleet.fleet_nodes import name_node, state_of
from attntools.results.results import read
from bad_files import BAD
from conftest import Tool

ARGUMENTS = ["--suite", "quick"]


class Queue:
    """Nodes and elements; what was asked of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.states = {"n1": "idle", "n2": "idle"}
        self.queued: dict[str, str] = {}  # element: its node
        self.said: list[tuple[str, ...]] = []
        self.work: Callable[[str], None] = self.finish
        self.refuse = ""

    def finish(self, node: str, *, end: bool = True) -> None:
        """What a job leaves."""
        command = ["run", *ARGUMENTS, "--output", f"{node}.jsonl"]
        header = sample.session(id=node, command=command)
        sample.write(self.folder / f"{node}.jsonl", header, sample.cell(), end=end)

    def __call__(self, *command: str) -> str:
        """As slurm.slurm()."""
        self.said.append(command)
        if command[0] == self.refuse:
            raise slurm.SlurmError(f"{command[0]}: not today")
        return getattr(self, command[0])(*command[1:])

    def sinfo(self, *words: str) -> str:
        return "".join(f"{n}|cpu|{s}\n" for n, s in self.states.items())

    def squeue(self, *words: str) -> str:
        """Afterwards what could run has run."""
        lines = [f"{e}|PENDING|{n}\n" for e, n in self.queued.items()]
        for element, node in [*self.queued.items()]:
            if node and self.states[node] == "idle":
                self.work(node)
                del self.queued[element]
        return "7_9|COMPLETED|n1\n" + "".join(lines)

    def sbatch(self, *words: str) -> str:
        return "7;cluster\n"

    def scontrol(self, *words: str) -> str:
        if words[0] == "update":
            fields = dict(word.split("=") for word in words[1:])
            self.queued[fields["jobid"]] = fields["reqnodelist"]
        return ""

    def scancel(self, *jobs: str) -> str:
        self.queued = {e: n for e, n in self.queued.items() if not e.startswith(jobs)}
        return ""

    def asked(self, what: str) -> list[tuple[str, ...]]:
        """The commands of a kind."""
        return [command for command in self.said if command[0] == what]


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Queue:
    found = Queue(tmp_path)
    monkeypatch.setattr(slurm, "slurm", found)
    return found


def options(queue: Queue, *more: str) -> list[str]:
    return [str(queue.folder), "--program", "/bin/true", "--poll", "0.01", *more, "--", *ARGUMENTS]


def test_every_node_has_an_element_of_its_own(tool: Tool, queue: Queue) -> None:
    outcome = tool(submit, *options(queue, "--at-once", "1", "--sbatch=--account=x"))
    assert outcome.code == 0, outcome.err
    (sbatch,) = queue.asked("sbatch")
    assert {"--exclusive", "--nodes=1", "--mem=0", "--array=0-1%1", "--hold", "--account=x"} <= {
        *sbatch
    }
    assert [*sbatch[-2:]] == ARGUMENTS
    told = [c[2:4] for c in queue.asked("scontrol") if c[1] == "update"]
    assert told == [("jobid=7_0", "reqnodelist=n1"), ("jobid=7_1", "reqnodelist=n2")]
    assert queue.asked("scontrol")[-1] == ("scontrol", "release", "7")
    assert outcome.out.startswith("2 hosts of 1 machine type.\n")
    assert (queue.folder / "report.html").exists()
    for node in ("n1", "n2"):
        (session,) = read(queue.folder / f"{node}.jsonl").sessions
        assert session.machine["node"] == node


def test_a_dry_run_says_what_a_node_has_to_do_and_submits_nothing(
    tool: Tool, queue: Queue, tmp_path: Path
) -> None:
    said = '#!/bin/sh\necho "3 cells of 3 cases: about 20 s" "$@"\n'
    program = fake.script(tmp_path / "attnbench", said)
    dry = ["--dry-run", "--program", program]
    queue.folder /= "fleet"
    outcome = tool(submit, *options(queue, *dry, "--at-once", "1"))
    said = "each, as this host reckons: 3 cells of 3 cases: about 20 s run --suite quick --dry-run"
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == f"2 nodes to measure, 1 at a time\n{said}\n"
    assert not queue.folder.exists()
    queue.folder.mkdir()
    queue.finish("n1")
    assert tool(submit, *options(queue, *dry)).out == (f"1 node to measure; 1 of 2 done\n{said}\n")
    assert {command[0] for command in queue.said} == {"sinfo"}
    program.write_text("#!/bin/sh\necho 'attnbench: no suite' >&2; exit 2\n")
    outcome = tool(submit, *options(queue, *dry))
    assert outcome.refused == (
        f"attnbench: no suite\nfleet/submit: {program} run --suite quick --dry-run: exit status 2\n"
    )


def test_what_is_whole_is_not_measured_again(tool: Tool, queue: Queue) -> None:
    queue.finish("n1")
    queue.finish("n2", end=False)
    outcome = tool(submit, *options(queue))
    assert outcome.code == 0
    assert [c[3] for c in queue.asked("scontrol") if c[1] == "update"] == ["reqnodelist=n2"]
    assert "1 node, to go on: n2\n" in outcome.err


def test_a_node_that_stays_away_is_given_up(tool: Tool, queue: Queue) -> None:
    def work(node: str) -> None:
        queue.states["n2"] = "down*"
        queue.finish(node)

    queue.work = work
    outcome = tool(submit, *options(queue, "--patience", "0.0001"))
    assert outcome.code == 1
    assert "n2: is down*; its job waits for it\n" in outcome.err
    assert "n2: no whole results: it has been down* for 0.0001 minutes\n" in outcome.err
    assert queue.queued == {}
    assert outcome.out.startswith("1 host of 1 machine type.\n")


def test_attempts_are_counted(tool: Tool, queue: Queue) -> None:
    def work(node: str) -> None:
        (queue.folder / f"{node}.log").write_text("attempt\nattnbench: no memory\n\n")

    queue.work = work
    outcome = tool(submit, *options(queue, "--attempts", "2"))
    assert outcome.code == 1
    assert len(queue.asked("sbatch")) == 2
    assert "n1: no whole results: 2 attempts, its log ends: attnbench: no memory\n" in outcome.err


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_is_no_result(tool: Tool, queue: Queue, kind: str) -> None:
    """What a job left that no tool reads: the node is given up with file and line."""
    make, message = BAD[kind]

    def work(node: str) -> None:
        if node == "n2":
            queue.finish(node)
        elif not (queue.folder / "n1.jsonl").exists():
            make(queue.folder / "n1.jsonl")

    queue.work = work
    outcome = tool(submit, *options(queue, "--attempts", "2"))
    assert outcome.code == submit.MISSING
    said = f"; {queue.folder}/n1.jsonl{message}" if kind != "missing" else ""
    assert f"n1: no whole results: 2 attempts{said}" in outcome.err
    assert "Traceback" not in outcome.err
    assert outcome.out.startswith("1 host of 1 machine type.\n")
    assert (queue.folder / submit.REPORT).exists()


def test_elements_without_a_node_are_cancelled(tool: Tool, queue: Queue) -> None:
    """They are of a submission that was interrupted before it told them."""
    queue.queued = {"3_0": ""}
    assert tool(submit, *options(queue)).code == 0
    assert queue.asked("scancel") == [("scancel", "3_0")]


@pytest.mark.parametrize("refuse", ["sbatch", "scontrol", "squeue"])
def test_what_slurm_refuses_is_said(tool: Tool, queue: Queue, refuse: str) -> None:
    queue.refuse = refuse
    outcome = tool(submit, *options(queue))
    assert outcome.refused.splitlines()[-1] == f"fleet/submit: {refuse}: not today"
    assert queue.queued == {}
    assert queue.asked("scancel") == ([("scancel", "7")] if refuse == "scontrol" else [])


def test_a_folder_of_another_command_is_refused(tool: Tool, queue: Queue) -> None:
    queue.finish("n1")
    words = [word if word != "quick" else "default" for word in options(queue)]
    outcome = tool(submit, *words)
    assert "n1.jsonl: has results of another command (run --suite quick" in outcome.refused


def test_a_wrong_kernel_is_an_exit_code(tool: Tool, queue: Queue) -> None:
    def work(node: str) -> None:
        command = ["run", *ARGUMENTS, "--output", f"{node}.jsonl"]
        header = sample.session(id=node, command=command)
        sample.write(queue.folder / f"{node}.jsonl", header, sample.cell(state="failed"))

    queue.work = work
    assert tool(submit, *options(queue)).code == 2


def test_bad_options(tool: Tool, queue: Queue) -> None:
    for words, said in (
        (["--attempts", "0"], "--attempts and --poll are above 0"),
        (["--program", "/nowhere"], "/nowhere: no such program"),
    ):
        assert said in tool(submit, *options(queue, *words)).refused
    outcome = tool(submit, *options(queue), "--output", "x")
    assert "--output and --resume are not for attnbench here" in outcome.err
    queue.states = {"n1": "drain"}
    outcome = tool(submit, *options(queue))
    assert outcome.err == (
        "fleet/submit: n1: is drain, left out\nfleet/submit: no node to measure; sinfo shows what"
        " there is\n"
    )


def test_states_of_files(tmp_path: Path) -> None:
    path = tmp_path / "n.jsonl"
    assert not state_of(path, ARGUMENTS).whole
    path.write_text('{"schema":"attnbench.res')
    assert not state_of(path, ARGUMENTS).whole
    header = sample.session(command=["run", *ARGUMENTS, "--output", "n.jsonl"])
    sample.write(path, header, sample.cell(), header | {"id": "2"})
    assert state_of(path, ARGUMENTS).whole
    assert state_of(path, ["--suite"]).foreign
    before = path.read_text()
    name_node(path, "n")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["machine"]["node"] for row in rows if row["type"] == "session"] == ["n", "n"]
    assert path.read_text().replace(',"node":"n"', "") == before

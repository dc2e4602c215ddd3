"""A real Slurm measures a fleet; nodes that die and jobs that are cancelled go on."""

import json
import os
import subprocess
import time
from collections import Counter
from pathlib import Path

import fake
from cluster import Cluster

ROOT = Path(__file__).parents[3]
PROGRAM = os.environ["ATTNBENCH_PROGRAM"]

# Nine cells in some four seconds, whatever else measures on this machine.
WORK = (
    *("--problem", "h=1,s=64", "--problem", "h=1,s=96", "--problem", "h=1,s=128"),
    *("--kernel", "naive,flash,online", "--threads", "1", "--seconds", "4"),
    *("--if-busy", "go-on"),
)


class Submission:
    """scripts/fleet/submit, running."""

    def __init__(self, cluster: Cluster, folder: Path, *options: str) -> None:
        command = (ROOT / "scripts/fleet/submit", folder, "--program", PROGRAM, "--poll", "0.3")
        self.cluster, self.folder = cluster, folder
        self.process = subprocess.Popen(
            [*map(str, command), "--partition", "cpu", *options, "--", *WORK],
            env=cluster.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def lines(self, node: str) -> list[dict]:
        """The whole lines of a node's file."""
        path = self.folder / f"{node}.jsonl"
        text = path.read_text() if path.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line[-1] == "\n"]

    def cells(self, node: str) -> list[str]:
        """What the finished cells of a node are."""
        return [f"{r['kernel']} {r['problem']}" for r in self.lines(node) if r["type"] == "cell"]

    def until_cells(self, least: int) -> str:
        """Waits until a node that is not done has so many cells; returns its name."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            for node in ("node1", "node2"):
                if least <= len(self.cells(node)) < 9:
                    return node
            time.sleep(0.05)
        raise AssertionError(f"no node has {least} cells\n{self.cluster.logs()}")

    def end(self) -> tuple[int, str]:
        """Exit code and output."""
        out, _ = self.process.communicate(timeout=60)
        return self.process.returncode, out


def whole(submission: Submission, node: str, sessions: int) -> None:
    """A node's file has each cell once, however often it was gone on with."""
    rows = submission.lines(node)
    headers = [row for row in rows if row["type"] == "session"]
    assert len(headers) == sessions
    assert {row["machine"]["node"] for row in headers} == {node}
    assert Counter(submission.cells(node)) == Counter({*submission.cells(node)})
    assert len(submission.cells(node)) == 9
    assert rows[-1] == rows[-1] | {"type": "end", "complete": True}


def cancel_job_on(cluster: Cluster, node: str) -> None:
    """As an operator does; a time limit that has run out does the same."""
    lines = cluster.run("squeue", "-h", "-r", "-o", "%i|%N|%C|%D").stdout.split()
    (job,) = (line.split("|") for line in lines if line.split("|")[1] == node)
    assert job[2:] == ["2", "1"]  # all processors of one node
    assert cluster.run("scancel", job[0]).returncode == 0


def test_a_node_that_dies_and_a_job_that_is_cancelled_go_on(
    cluster: Cluster, tmp_path: Path
) -> None:
    """The power of one node fails in mid-job, and Slurm requeues what ran there.

    The other's job is cancelled, and submitted again.
    """
    submission = Submission(cluster, tmp_path / "fleet")
    victim = submission.until_cells(1)
    other = {"node1": "node2", "node2": "node1"}[victim]
    cluster.kill_node(victim)
    kept = submission.cells(victim)
    cancel_job_on(cluster, other)
    time.sleep(1)
    cluster.start_node(victim)
    code, out = submission.end()
    assert code == 0, out + cluster.logs()
    whole(submission, victim, 2)
    whole(submission, other, 2)
    assert submission.cells(victim)[: len(kept)] == kept
    assert f"1 node, to go on: {other}\n" in out
    assert "2 hosts of 1 machine type.\n" in out
    assert "A: 2 hosts are too few to say that one of them is off" in out
    page = (tmp_path / "fleet/report.html").read_text()
    assert ">node1 (A)<" in page
    assert ">node2 (A)<" in page
    # All is there: the same command submits nothing, and says the same.
    code, out = Submission(cluster, tmp_path / "fleet").end()
    assert code == 0
    assert "job" not in out
    assert "2 hosts of 1 machine type.\n" in out


def test_nodes_that_cannot_be_measured(cluster: Cluster, tmp_path: Path) -> None:
    """What is drained is left out; what has no program to run is given up, with the reason."""
    cluster.run("scontrol", "update", "nodename=node1", "state=drain", "reason=test")
    try:
        broken = "#!/bin/sh\necho the program is broken >&2\nexit 3\n"
        program = fake.script(tmp_path / "attnbench", broken)
        submission = Submission(
            cluster, tmp_path / "fleet", "--attempts", "2", "--program", str(program)
        )
        code, out = submission.end()
    finally:
        cluster.run("scontrol", "update", "nodename=node1", "state=resume")
    assert code == 1
    assert "node1: is drain, left out\n" in out
    assert "node2: no whole results: 2 attempts, its log ends: the program is broken\n" in out
    assert out.count("1 node") == 2


def test_slurm_says_what_is_wrong(cluster: Cluster, tmp_path: Path) -> None:
    submission = Submission(
        cluster, tmp_path / "fleet", "--sbatch=--qos=nonsense,", "--sbatch=--wckeyy"
    )
    code, out = submission.end()
    assert code == 4
    assert "fleet/submit: sbatch: " in out
    assert cluster.run("squeue", "-h").stdout == ""

"""What scripts/fleet/submit asks of Slurm, through its commands.

An array job gives each element some node; here each element is to have a certain one.  So the array
is submitted held, each element is told its node, and then it is released.
"""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from attntools.base.cli import ToolError

# States of jobs that are over; all others still have, or wait for, their node.
OVER = frozenset(
    (
        *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL"),
        *("OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT"),
    )
)
# How the states of nodes begin on which nothing starts.
UNUSABLE = ("down", "drain", "drng", "fail", "inval", "maint", "unk", "boot")
LARGEST_ARRAY = 1000  # elements; MaxArraySize is 1001 unless a site has changed it


class SlurmError(ToolError):
    """A command of Slurm failed; the message is its own."""


@dataclass(frozen=True)
class Node:
    """A node of a partition."""

    name: str
    partition: str
    state: str

    @property
    def usable(self) -> bool:
        """Whether jobs start on it; a trailing * means that it does not answer."""
        return not self.state.startswith(UNUSABLE) and not self.state.endswith("*")


@dataclass(frozen=True)
class Element:
    """An element of an array job that is not over."""

    job: str
    state: str
    node: str  # requested for it; empty where a submission was interrupted


def slurm(*command: str) -> str:
    """Runs a command of Slurm; returns what it says.

    Raises:
        ToolError: it is not installed.
        SlurmError: it fails.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise ToolError(
            f"{command[0]} is not there: submit runs where Slurm's commands are, on a login node"
        ) from None
    if done.returncode:
        said = done.stderr.strip() or f"exit code {done.returncode}"
        raise SlurmError(f"{command[0]}: {said}")
    return done.stdout


def nodes(partitions: str | None, names: str | None) -> list[Node]:
    """Nodes of some partitions, or of some names, each once; of all where both are None."""
    only = [f"--partition={partitions}"] if partitions else []
    only += [f"--nodes={names}"] if names else []
    found: dict[str, Node] = {}
    for line in slurm("sinfo", "--noheader", "--Node", "--format=%N|%R|%t", *only).splitlines():
        name, partition, state = line.split("|")
        found.setdefault(name, Node(name, partition, state))
    return list(found.values())


def elements(name: str) -> list[Element]:
    """What is not over of this user's jobs of a name."""
    lines = slurm(
        *("squeue", "--noheader", "--array", "--me", "--states=all", f"--name={name}"),
        "--format=%i|%T|%n",
    )
    found = [Element(*line.split("|")) for line in lines.splitlines()]
    return [e for e in found if e.state not in OVER]


def cancel(jobs: Sequence[str]) -> None:
    """Ends jobs or elements."""
    if jobs:
        slurm("scancel", *jobs)


def submit_array(
    name: str, on: Sequence[Node], script: Sequence[str], options: Sequence[str], at_once: int
) -> str:
    """One element for each node, with the node to itself; returns the job.

    Args:
        name: of the job.
        on: the nodes.
        script: with its arguments.
        options: more of sbatch.
        at_once: at most so many elements at a time; 0: no limit.

    Raises:
        SlurmError: Slurm refuses; nothing is left in the queue then.
    """
    array = f"0-{len(on) - 1}" + (f"%{at_once}" if at_once else "")
    partitions = ",".join(dict.fromkeys(node.partition for node in on))
    job = slurm(
        *("sbatch", "--parsable", "--hold", "--requeue", "--open-mode=append", "--exclusive"),
        *("--nodes=1", "--mem=0", f"--array={array}", f"--partition={partitions}"),
        *(f"--job-name={name}", *options, *script),
    )
    job = job.strip().split(";")[0]
    try:
        for i, node in enumerate(on):
            slurm("scontrol", "update", f"jobid={job}_{i}", f"reqnodelist={node.name}",
                  f"partition={node.partition}")  # fmt: skip
        slurm("scontrol", "release", job)
    except BaseException:
        cancel([job])
        raise
    return job

"""A Slurm cluster of virtual nodes on this machine: munged, slurmctld and a slurmd for each node.

All as the user who runs the tests, in one folder, on ports and with a key of their own; none of it
touches a cluster that the machine belongs to.  Standard library only.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo", "scontrol", "scancel")
PATHS = "/usr/sbin:/sbin"

CONFIGURATION = """\
ClusterName=virtual
SlurmctldHost={host}
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmdTimeout=5
InactiveLimit=0
KillWait=2
MinJobAge=10
Waittime=0
{nodes}
{partitions}
"""


def missing() -> list[str]:
    """What has to be installed before a cluster can be started."""
    os.environ["PATH"] += f":{PATHS}"
    return [name for name in PROGRAMS if not shutil.which(name)]


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Cluster:
    """Starts it on entry, ends it on exit; `environment` is what its commands need."""

    def __init__(self, folder: Path, partitions: dict[str, list[str]], cpus: int) -> None:
        """The nodes of each partition; how many processors each says that it has."""
        self.folder = folder
        self.partitions = partitions
        self.nodes = [node for nodes in partitions.values() for node in nodes]
        self.cpus = cpus
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}
        self.environment = os.environ | {
            "SLURM_CONF": str(folder / "slurm.conf"),
            "TMPDIR": str(folder),  # ReFrame leaves a log there
        }
        self.stack = ExitStack()

    def configure(self) -> None:
        """Writes slurm.conf and a key."""
        host = socket.gethostname()
        nodes = "\n".join(
            f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()}"
            f" CPUs={self.cpus} State=UNKNOWN"
            for node in self.nodes
        )
        partitions = "\n".join(
            f"PartitionName={name} Nodes={','.join(nodes)} Default=NO MaxTime=INFINITE State=UP"
            for name, nodes in self.partitions.items()
        )
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True)
        text = CONFIGURATION.format(
            host=f"{host}(127.0.0.1)", port=free_port(), user=user.stdout.strip(),
            folder=self.folder, nodes=nodes, partitions=partitions,
        )  # fmt: skip
        (self.folder / "slurm.conf").write_text(text)
        (self.folder / "state").mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)

    def start(self, name: str, *command: str) -> None:
        """A daemon in the foreground, in a process group of its own."""
        with (self.folder / f"{name}.out").open("ab") as log:
            self.daemons[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment,
                start_new_session=True,
            )  # fmt: skip

    def start_node(self, node: str) -> None:
        """Its slurmd."""
        self.start(node, "slurmd", "-D", "-N", node)

    def kill_node(self, node: str) -> None:
        """As a power failure: slurmd, its steps and their jobs at once."""
        daemon = self.daemons.pop(node)
        for pid in [daemon.pid, *descendants(daemon.pid), *self.stepd(node)]:
            kill(pid, signal.SIGKILL)
        daemon.wait()

    def stepd(self, node: str) -> list[int]:
        """Processes of jobs on a node, which outlive its slurmd: their environment names it."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if f"SLURM_CONF={self.folder}/slurm.conf".encode() in words and (
                f"SLURMD_NODENAME={node}".encode() in words
            ):
                found.append(int(entry.name))
        return found

    def run(self, *command: str, **options: object) -> subprocess.CompletedProcess[str]:
        """A command of Slurm, or one that uses them."""
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False, **options
        )

    def __enter__(self) -> "Cluster":
        """Everything up; raises RuntimeError with the logs where it does not come up."""
        self.stack.callback(self.stop)
        try:
            self.configure()
            self.start(
                "munged", "munged", "--foreground", "--force", "--key-file",
                str(self.folder / "munge.key"), "--socket", str(self.folder / "munge.socket"),
                "--pid-file", str(self.folder / "munged.pid"), "--log-file",
                str(self.folder / "munged.log"), "--seed-file", str(self.folder / "munge.seed"),
            )  # fmt: skip
            self.until("munge has a socket", (self.folder / "munge.socket").exists)
            self.start("slurmctld", "slurmctld", "-D", "-i")
            for node in self.nodes:
                self.start_node(node)
            self.until("all nodes are idle", lambda: self.states() == ["idle"])
        except BaseException:
            self.stop()
            raise
        return self

    def states(self) -> list[str]:
        """The states that nodes are in, each once."""
        return sorted({*self.run("sinfo", "-h", "-N", "-o", "%t").stdout.split()})

    def until(self, what: str, ready, seconds: float = 30) -> None:  # noqa: ANN001
        """Waits for it."""
        end = time.monotonic() + seconds
        while not ready():
            ended = [n for n, d in self.daemons.items() if d.poll() is not None]
            if time.monotonic() > end or ended:
                raise RuntimeError(f"not true: {what}; ended: {ended}\n{self.logs()}")
            time.sleep(0.1)

    def logs(self) -> str:
        """The ends of all logs."""
        files = sorted([*self.folder.glob("*.log"), *self.folder.glob("*.out")])
        return "\n".join(f"== {p.name}\n{p.read_text(errors='replace')[-1500:]}" for p in files)

    def stop(self) -> None:
        """Ends what is left of jobs, then the daemons."""
        for node in self.nodes:
            for pid in self.stepd(node):
                kill(pid, signal.SIGKILL)
        for name in [*self.nodes, "slurmctld", "munged"]:
            daemon = self.daemons.pop(name, None)
            if daemon:
                daemon.terminate()
                try:
                    daemon.wait(5)
                except subprocess.TimeoutExpired:
                    daemon.kill()
                    daemon.wait()

    def __exit__(self, *_: object) -> None:
        """Everything down."""
        self.stop()


def why_not() -> str:
    """Why no cluster can run here; empty where one can, which is tried."""
    absent = missing()
    if absent:
        return f"{', '.join(absent)} not installed (scripts/setup --fleet)"
    try:  # as Slurm's daemons ask where to listen
        socket.getaddrinfo(None, 1, socket.AF_INET, 0, 0, socket.AI_PASSIVE | socket.AI_ADDRCONFIG)
    except socket.gaierror:
        return "Slurm needs an address other than 127.0.0.1, and this machine or container has none"
    with tempfile.TemporaryDirectory(prefix="attnbench-slurm-") as folder:
        try:
            with Cluster(Path(folder), {"all": ["node1"]}, 1):
                return ""
        except RuntimeError as wrong:
            return f"Slurm does not run here: {wrong}"


def descendants(pid: int) -> list[int]:
    """All processes below one."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    children = [int(word) for word in text.split()]
    return children + [below for child in children for below in descendants(child)]


def kill(pid: int, number: int) -> None:
    """Where it is still there."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


if __name__ == "__main__":
    sys.exit(why_not() or 0)

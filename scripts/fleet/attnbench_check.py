"""attnbench as a ReFrame check: builds it for each environment, measures a suite on each partition.

    .venv-fleet/bin/reframe -C SITE.py -c scripts/fleet/attnbench_check.py -r --distribute=idle

SITE.py is the site's configuration; --distribute makes one test of each node.  Rows become
performance variables, CASE/KERNEL/ISA/THREADS: seconds per call, and with /ceiling behind it the
percent of what the machine could do at that moment.  Results files are kept in ReFrame's output
folder, each named after its node: `scripts/report --fleet output --output fleet.html`.

Variables, to be set as in -S attnbench_suite.suite=default:
    attnbench_suite.suite       of the program's suites (quick)
    attnbench_suite.options     more options of `attnbench run`, words as of a shell
    attnbench_build.options     more options of `cmake`, space separated
    attnbench_build.program     a program that is there already, instead of a build
"""

import json
import os
import shlex
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher
from reframe.core.builtins import fixture, run_after, run_before, sanity_function, variable

ROOT = Path(__file__).resolve().parents[2]
WRONG = ("failed", "implausible", "crashed", "timeout")


class attnbench_build(rfm.CompileOnlyRegressionTest):
    """The program, by the compiler of the environment."""

    program = variable(str, value="")
    options = variable(str, value="")
    sourcesdir = None
    build_system = "CustomBuild"

    @run_before("compile")
    def set_commands(self) -> None:
        """Builds in the stage folder; the source tree stays as it is."""
        compiler = self.current_environ.cc or "gcc"
        built = [
            f"cmake -S '{ROOT}' -B build -G Ninja -D CMAKE_BUILD_TYPE=Release"
            f" -D BUILD_TESTING=OFF -D CMAKE_C_COMPILER={compiler} {self.options}",
            "cmake --build build --target attnbench",
        ]
        given = ["mkdir -p build", f"ln -sf '{self.program}' build/attnbench"]
        self.build_system.commands = given if self.program else built

    @sanity_function
    def is_there(self) -> object:
        """Whether there is a program now."""
        return sn.assert_true(os.access(Path(self.stagedir) / "build/attnbench", os.X_OK),
                              msg="no program was built")  # fmt: skip


@rfm.simple_test
class attnbench_suite(rfm.RunOnlyRegressionTest):
    """A suite on a node that runs nothing else."""

    descr = "attention kernels: time, and share of the machine's ceiling"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    build = fixture(attnbench_build, scope="environment")
    suite = variable(str, value="quick")
    options = variable(str, value="")
    sourcesdir = None
    exclusive_access = True
    num_tasks = 1
    keep_files = ["*.jsonl"]

    @run_after("setup")
    def set_command(self) -> None:
        """The results file has the name of the node, and says it."""
        self.executable = str(Path(self.build.stagedir) / "build/attnbench")
        more = [shlex.quote(word) for word in shlex.split(self.options)]  # for the job's script
        chosen = ["--suite", self.suite] if self.suite else []
        self.executable_opts = ["run", *chosen, *more, "--output", '"$node.jsonl"']
        self.prerun_cmds = ["node=${SLURMD_NODENAME:-$(uname -n)}", 'rm -f "$node.jsonl"']
        self.postrun_cmds = [
            """sed -i '/^{"schema"/s/"machine":{/&"node":"'"$node"'",/' "$node.jsonl\""""
        ]

    @run_before("run")
    def without_launcher(self) -> None:
        """The job has the node to itself; a launcher would bind the program to a part of it."""
        self.job.launcher = getlauncher("local")()

    def rows(self) -> list[dict]:
        """The lines of the results file."""
        (path,) = Path(self.stagedir).glob("*.jsonl")
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    @sanity_function
    def all_is_right(self) -> object:
        """Whether the session ended, and no kernel computed anything wrong."""
        files = list(Path(self.stagedir).glob("*.jsonl"))
        if not files:
            return sn.assert_true(
                False, msg="attnbench has written no results; see the job's output"
            )
        rows = self.rows()
        wrong = [f"{r['kernel']}/{r['isa']} {r['state']} in {r['case']}: {r['why']}"
                 for r in rows if r["type"] == "cell" and r["state"] in WRONG]  # fmt: skip
        return sn.all([
            sn.assert_true(rows[-1].get("complete"), msg="the session did not end"),
            sn.assert_eq(wrong, [], msg="wrong results: {0}"),
        ])  # fmt: skip

    @run_before("performance")
    def set_variables(self) -> None:
        """Two of each row with a time; where a case is measured in several ways the last counts."""
        for row in self.rows():
            if row["type"] != "cell" or not row["time"]:
                continue
            name = f"{row['case']}/{row['kernel']}/{row['isa']}/{row['threads']}"
            shares = (row["fraction_of_fma"], row["fraction_of_bandwidth"])
            share = 100 * max((s for s in shares if s is not None), default=0)
            for key, value, unit in ((name, row["time"]["median_s"], "s"),
                                     (f"{name}/ceiling", share, "%")):  # fmt: skip
                self.perf_variables[key] = sn.make_performance_function(sn.defer(value), unit)

"""attnbench-ring: ranks are checked as any kernel, placed, counted, and cost their cell alone."""

import os
import pathlib
import platform
import subprocess
import time
import unittest

from command import BRIEF, FULL, HANGS, PROGRAM, CommandTest, Row, lines, run

# The program with a part replaced, each wrong in its way; empty where the build found no MPI.
WRONG = os.environ["ATTNBENCH_WRONG_RANKS"]
RING = str(pathlib.Path(PROGRAM).with_name("attnbench-ring"))
# Ranks wait for each other, and more so where others compute.
PATIENT = ["--timeout", str(HANGS)]
CORES = len(os.sched_getaffinity(0))
CAUSAL = "hq=4,hkv=2,s=75,d=24,dv=17,mask=causal"
SHAPE = 2 * 75 * (24 + 17) * 4  # bytes of K and V of that
# So few queries that ranks send partial results, not keys.
FEW = "hq=4,hkv=2,sq=2,skv=301,d=24,dv=17,mask=causal"

# Whether a rank can be made to see another host: none of this one's processes, and another name.
FAR = WRONG and subprocess.run(
    ["unshare", "--uts", "--pid", "--fork", "--mount-proc", "hostname", "elsewhere"],
    capture_output=True, check=False,
).returncode == 0  # fmt: skip


def processes() -> list[str]:
    """Command lines of all processes, those that end meanwhile left out."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


@unittest.skipUnless(WRONG, "this build found no MPI")
class Distributed(CommandTest):
    """The experiment: a session of `attnbench run` with attnbench-ring beside the program."""

    def cells(self, *words: str) -> dict[tuple[str, int], Row]:
        self.ran(
            "experiment", "distributed", "--problem", FEW,
            *BRIEF, "--check", "case", "--threads", "2", "--placement", "none", *PATIENT,
            "--output", self.output, *words)  # fmt: skip
        written = lines(self.output)
        self.assertEqual(written[0]["experiment"], "distributed")
        return {(x["kernel"], x["threads"]): x for x in written if x["type"] == "cell"}

    def test_ranks_are_cells_beside_flash(self) -> None:
        found = self.cells()
        ranks = ("ring_1", "ring_2", "ring_4")
        self.assertEqual(set(found), {(kernel, 2) for kernel in ("flash", *ranks)})
        states = {key: cell["state"] for key, cell in found.items()}
        uneven = [("ring_4", 2)]
        self.assertEqual(states, {k: "unsupported" if k in uneven else "ok" for k in states})
        self.assertEqual(found["ring_4", 2]["why"], "4 ranks cannot share 2 threads evenly")
        extra = found["ring_2", 2]["extra"]
        self.assertEqual((extra["ranks"], extra["hosts"]), (2, 1))
        self.assertEqual(extra["sent_bytes"], 4 * 2 * (17 + 1) * 4)  # partial results: O and LSE
        alone = found["ring_1", 2]["extra"]
        self.assertEqual((alone["ranks"], alone["sent_bytes"]), (1, 0))
        self.assertNotIn("overlap", alone)

    def test_other_plugins_replace_those_beside_the_program(self) -> None:
        found = self.cells("--plugin", f"{RING} --ranks 2", "--kernel", "plugins", "--threads", "1")
        self.assertEqual([*found], [("ring_2", 1)])


class Session(CommandTest):
    def session(
        self, *more: str, problem: str = CAUSAL, ranks: int = 2, threads: str = "",
        program: str = RING, hosts: str = "", kernel: str = "", timed: bool = True,
    ) -> tuple[subprocess.CompletedProcess[str], Row]:  # fmt: skip
        """One session of ranks of one thread each; how it ended, and their row.

        More ranks than cores wait for each other's turns, at any length: they are only checked.
        """
        text = f"{program} --ranks {ranks}" + (f" --hostfile '{hosts}'" if hosts else "")
        arguments = ["--problem", problem, "--plugin", text, *PATIENT, *more]
        arguments += ["--kernel", f"ring_{ranks}{kernel}", "--threads", threads or str(ranks)]
        if ranks > CORES:
            arguments += ["--placement", "none"]
        command = "run" if timed and ranks <= CORES else "check"
        self.rows = {x["kernel"]: x for x in self.cells_of(command, *arguments, code=None)}
        return self.done, self.rows[f"ring_{ranks}"]


@unittest.skipUnless(WRONG, "this build found no MPI")
class Ranks(Session):
    def test_uneven_parts_are_checked_timed_and_counted(self) -> None:
        done, row = self.session(*FULL)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual((row["state"], row["threads"]), ("ok", 2))
        self.assertGreater(row["check"]["rows"], 10000)
        self.assertGreater(row["check"]["verified_samples"], 0)
        self.assertLess(row["check"]["error_over_bound"], 0.5)
        self.assertGreater(row["time"]["median_s"], 0)
        self.assertGreater(row["ceiling"]["fma_gflops"], 0)
        self.assertIn("MPI", row["library"])
        self.assertIn(f"--plugin '{RING} --ranks 2' ", row["repro"])
        extra = row["extra"]
        self.assertEqual((extra["ranks"], extra["hosts"]), (2, 1))
        self.assertEqual(extra["sent_bytes"], SHAPE)
        self.assertTrue(0 < extra["computing_s"] <= extra["slowest_computing_s"])
        self.assertTrue(0 <= extra["overlap"] <= 1)
        for name in ("latency_s", "link_gbytes_per_s", "waiting_s", "exchange_s", "peak_bytes"):
            self.assertGreater(extra[name], 0, name)

    def test_threads_are_shared_evenly(self) -> None:
        """A number of threads that cannot be is refused, and costs no other number."""
        words = ["--problem", "h=1,s=16,d=8", "--plugin", f"{RING} --ranks 2", *PATIENT]
        words += ["--kernel", "ring_2", "--placement", "none", "--threads", "1,2"]
        found = {x["threads"]: x for x in self.cells_of("check", *words)}
        self.assertEqual((found[1]["state"], found[2]["state"]), ("unsupported", "ok"))
        self.assertEqual(found[1]["why"], "2 ranks cannot share 1 thread evenly")

    def test_arguments_are_looked_at(self) -> None:
        for words, says in (
            ("--ranks 0", "--ranks takes a number from 1 to 4096"),
            ("--ranks two", "--ranks takes a number from 1 to 4096"),
            ("--hostfile /nowhere", "the file of --hostfile cannot be read"),
        ):
            done = run("list", "--plugin", f"{RING} {words}")
            self.assertIn(f"unavailable: the program says: {says}", done.stderr)
        done = subprocess.run([RING, "--help"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("attnbench run --plugin", done.stderr)

    def test_decode_is_computed_in_a_tree(self) -> None:
        """By split_kv, and by flash where there are more queries; each against the reference."""
        # two blocks of one split each, which need more memory than one of both
        many = FEW.replace("sq=2", "sq=32").replace("skv=301", "skv=2001")
        for ranks, problem in ((3, FEW), (2, FEW), (2, f"{many},dtype=bf16")):
            with self.subTest(problem, ranks=ranks):
                self.output = str(self.directory / f"{problem}-{ranks}.jsonl")
                done, row = self.session(problem=problem, ranks=ranks, timed=False)
                self.assertEqual(done.returncode, 0, done)
                self.assertEqual(row["state"], "ok")
                self.assertLess(row["check"]["error_over_bound"], 1)

    def test_a_host_file_that_mpi_does_not_read_is_named(self) -> None:
        hosts = self.directory / "some hosts"
        hosts.write_text(f"{platform.node()} slots=many\n", encoding="utf-8")
        done, row = self.session(hosts=str(hosts))
        self.assertEqual((done.returncode, row["state"]), (1, "crashed"))
        self.assertIn(f"it printed 'mpiexec with 2 ranks on the hosts of {hosts}"[:90], row["why"])
        self.assertIn(str(hosts), row["log"])

    @unittest.skipUnless(FAR, "this user may not make namespaces")
    def test_each_host_has_as_many_ranks_and_sends_the_others_their_part(self) -> None:
        hosts = self.directory / "hosts"
        hosts.write_text(f"{platform.node()} slots=2\nelsewhere slots=2\n", encoding="utf-8")
        agent = pathlib.Path(__file__).parents[1] / "programs" / "other_host.sh"
        os.environ.update(OMPI_MCA_plm_rsh_agent=str(agent))
        self.addCleanup(os.environ.pop, "OMPI_MCA_plm_rsh_agent", None)
        done, row = self.session("--check", "case", hosts=str(hosts), threads="1")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual((row["state"], row["extra"]["hosts"]), ("ok", 2))
        self.assertEqual(row["extra"]["sent_bytes"], SHAPE)

    def test_wrong_ranks_are_caught(self) -> None:
        for name in ("loses_block", "merges_without_lse", "uses_stale_block"):
            with self.subTest(name):
                self.output = str(self.directory / f"{name}.jsonl")
                # parts of one length: a stale block of another would be read beyond its end
                even = CAUSAL.replace("s=75", "s=76")
                done, row = self.session(program=f"{WRONG}/{name}", problem=even)
                self.assertEqual(done.returncode, 1, done)
                self.assertEqual((row["state"], row["time"]), ("failed", None))
                self.assertRegex(row["why"], "got .*, expected")


@unittest.skipUnless(WRONG, "this build found no MPI")
class Lost(Session):
    """Waits more than it computes, so that other tests may run beside it."""

    def test_a_rank_that_dies_or_hangs_costs_its_cell(self) -> None:
        for name, state, says, more in (
            ("dies", "crashed", "the program ended .* while checking at threads=2: own", ()),
            ("hangs", "timeout", "no answer within 5 s, while checking", ("--timeout", "5")),
        ):
            with self.subTest(name):
                self.output = str(self.directory / f"{name}.jsonl")
                done, row = self.session(*more, program=f"{WRONG}/{name}", kernel=",flash")
                self.assertEqual(done.returncode, 1, done)
                self.assertEqual(self.rows["flash"]["state"], "ok")
                self.assertEqual(row["state"], state)
                self.assertRegex(row["why"], says)
                until = time.monotonic() + HANGS
                while any(f"{WRONG}/{name}" in line for line in processes()):
                    self.assertLess(time.monotonic(), until, "a rank is left")
                    time.sleep(0.1)

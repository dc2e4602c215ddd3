"""Kernel ring: ranks are checked as any kernel, placed, counted, and cost their cell alone."""

import json
import os
import pathlib
import platform
import re
import subprocess
import time
import unittest

from command import BASELINE, BRIEF, HANGS, CommandTest, Row, lines, run
from experiments import Experiments

# Programs of a rank, each wrong in its way; empty where the build found no MPI.
WRONG = os.environ["ATTNBENCH_WRONG_RANKS"]
CAUSAL = "hq=4,hkv=2,s=75,d=24,dv=17,mask=causal"
SHAPE = 2 * 75 * (24 + 17) * 4  # bytes of K and V of that

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


class Session(CommandTest):
    def session(
        self, *more: str, problem: str = CAUSAL, ranks: str = "2", program: str = "",
        kernel: str = "ring",
    ) -> tuple[subprocess.CompletedProcess[str], dict[tuple[str, int], Row]]:  # fmt: skip
        """One session on one thread; how it ended, and its rows by kernel and ranks."""
        environment = {**os.environ, **({"ATTNBENCH_RANK": program} if program else {})}
        arguments = ["--problem", problem, "--kernel", kernel, "--ranks", ranks, *more]
        if "--threads" not in more:
            arguments += ["--threads", "1"]
        done = run("run", *arguments, *BRIEF, "--output", self.output, env=environment)
        rows = [line for line in lines(self.output) if line["type"] == "cell"]
        return done, {(row["kernel"], row["ranks"]): row for row in rows}


class Ring(Session):
    """What needs no MPI."""

    def test_list_says_what_it_needs(self) -> None:
        done = run("list", "--json")
        (kernel,) = (
            k
            for k in json.loads(done.stdout)["kernels"]
            if (k["name"], k["isa"]) == ("ring", BASELINE)  # of others this host may lack more
        )
        if WRONG:
            self.assertNotIn("MPI", kernel["needs"] or "")
        else:
            self.assertIn("this build found no MPI", kernel["needs"])

    def test_numbers_of_ranks_and_hosts_are_looked_at(self) -> None:
        problem = ["--problem", CAUSAL, "--kernel", "ring"]
        for ranks in ("0", "two", "2,,4", "-1", "5000"):
            self.refused(["run", *problem, "--ranks", ranks], 2, "--ranks takes numbers", ranks)
        nobody = self.directory / "hosts"
        self.refused(["run", *problem, "--hostfile", str(nobody)], 2, "cannot read", str(nobody))
        nobody.write_text("# nobody\n", encoding="utf-8")
        self.refused(["run", *problem, "--hostfile", str(nobody)], 2, "names no host")

    def test_only_ring_has_ranks(self) -> None:
        done, rows = self.session(kernel="naive", ranks="1,2")
        self.assertEqual(set(rows), {("naive", 1)}, done)
        self.assertIsNone(rows["naive", 1]["ring"])

    def test_threads_need_cores(self) -> None:
        done, rows = self.session("--threads", "2", ranks="1000")
        self.assertEqual(done.returncode, 0, done)
        row = rows["ring", 1000]
        self.assertEqual(row["state"], "unsupported")
        self.assertIn("1000 ranks of 2 threads need more cores than there are", row["why"])

    def test_hosts_are_named_where_a_row_is_repeated(self) -> None:
        hosts = self.directory / "some hosts"
        hosts.write_text(f"{platform.node()} slots=2\n", encoding="utf-8")
        _, rows = self.session("--hostfile", str(hosts), kernel="ring,naive")
        self.assertIn(f" --ranks 2 --hostfile '{hosts.resolve()}' ", rows["ring", 2]["repro"])
        self.assertNotIn("hostfile", rows["naive", 1]["repro"])

    def test_without_its_program_it_is_unavailable(self) -> None:
        done, rows = self.session(program="/nonexistent/rank")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(rows["ring", 2]["state"], "unavailable")


@unittest.skipUnless(WRONG, "this build found no MPI")
class Distributed(Experiments):
    def test_rows_have_ranks_and_the_report_the_models_times(self) -> None:
        rows = self.rows("distributed", "--s", "64", "--ranks", "2", "--launches", "1")
        by_kernel = {row["params"]["kernel"]: row for row in rows}
        params, values = by_kernel["ring"]["params"], by_kernel["ring"]["values"]
        self.assertEqual((params["ranks"], params["threads"], params["s"]), (2, 1, 64))
        self.assertEqual((params["network"], values["state"]), ("shared memory", "ok"))
        self.assertNotIn("hostfile", params)
        bytes_of_kv = 2 * 64 * 8 * 64 * 4
        self.assertEqual(values["ring"]["sent_bytes"], bytes_of_kv)
        # flash on as many threads as there are ranks, or as near as there is; else they take turns.
        flash = {
            row["params"]["threads"]: row["values"]["gflops"]
            for row in rows
            if row["params"]["kernel"] == "flash"
        }
        on = min((n for n in flash if n >= 2), default=max(flash))
        rate = 1e9 * flash[on] / on
        computing = 1e9 * values["gflops"] * values["median_s"] / 4 / rate * max(1, 2 / on)
        link = 1e9 * values["ring"]["link_gbytes_per_s"]
        moving = values["ring"]["latency_s"] + bytes_of_kv / 2 / link
        seconds = 2 * computing + moving  # by the same cores, as both ranks are on one host
        error = 100 * (seconds / values["median_s"] - 1)
        said = re.escape(f"{error:+.1f}")
        self.assertRegex(self.printed, rf"\b64 +2 +1 .* {said} ")
        self.assertIn("x 32  100 Gbit/s  16M   1024", self.printed)


@unittest.skipUnless(WRONG, "this build found no MPI")
class Ranks(Session):
    """What needs ranks."""

    def test_uneven_parts_are_checked_timed_and_counted(self) -> None:
        done, rows = self.session(ranks="1,3")
        self.assertEqual(done.returncode, 0, done)
        for ranks in (1, 3):
            row = rows["ring", ranks]
            self.assertEqual((row["state"], row["threads"]), ("ok", 1))
            self.assertGreater(row["check"]["rows"], 10000)
            self.assertGreater(row["check"]["verified_samples"], 0)
            self.assertLess(row["check"]["error_over_bound"], 0.5)
            self.assertGreater(row["time"]["median_s"], 0)
            ring = row["ring"]
            self.assertEqual(len(ring["places"]), ranks)
            self.assertEqual([len(place["cpus"]) for place in ring["places"]], [1] * ranks)
            self.assertEqual(ring["sent_bytes"], (ranks - 1) * SHAPE)
            self.assertEqual(len(ring["rank_computing_s"]), ranks)
            self.assertGreater(min(ring["rank_computing_s"]), 0)
        self.assertIsNone(rows["ring", 1]["ring"]["overlap"])
        self.assertTrue(0 <= rows["ring", 3]["ring"]["overlap"] <= 1)
        self.assertGreater(rows["ring", 3]["ring"]["latency_s"], 0)
        self.assertGreater(rows["ring", 3]["ring"]["link_gbytes_per_s"], 0)
        self.assertIn("--ranks 3", rows["ring", 3]["repro"])
        self.assertIn("MPI", rows["ring", 3]["library"])

    def test_ranks_of_a_host_share_its_cores(self) -> None:
        _, rows = self.session(ranks="2", problem="h=1,s=16,d=8")
        places = [place["cpus"] for place in rows["ring", 2]["ring"]["places"]]
        if len(os.sched_getaffinity(0)) > 1:
            self.assertNotEqual(places[0], places[1])
        else:
            self.assertIn("oversubscribed", rows["ring", 2]["flags"])

    def test_decode_sends_partial_results_in_a_tree(self) -> None:
        """By split_kv, and by flash where there are more queries; each against the reference."""
        few = "hq=4,hkv=2,sq=2,skv=301,d=24,dv=17,mask=causal"
        many = few.replace("sq=2", "sq=32").replace("skv=301", "skv=5001")
        # two blocks of one split each, which need more memory than one of both
        shorter = many.replace("skv=5001", "skv=2001")
        for problem, sums in (
            (f"{few},dtype=bf16", 4 * 2 * (17 + 1) * 4),
            (few, 4 * 2 * (17 + 1) * 4),
            (f"{many},dtype=bf16", 4 * 32 * (17 + 1) * 4),
            (many, 4 * 32 * (17 + 1) * 4),
            (shorter, 4 * 32 * (17 + 1) * 4),
        ):
            with self.subTest(problem):
                self.output = str(self.directory / f"{problem}.jsonl")
                done, rows = self.session(problem=problem, ranks="3")
                self.assertEqual(done.returncode, 0, done)
                row = rows["ring", 3]
                self.assertEqual(row["state"], "ok")
                self.assertLess(row["check"]["error_over_bound"], 1)
                self.assertEqual(row["ring"]["sent_bytes"], 2 * sums)

    def test_a_host_file_that_mpi_does_not_read_is_named(self) -> None:
        hosts = self.directory / "hosts"
        hosts.write_text(f"{platform.node()} slots=many\n", encoding="utf-8")
        _, rows = self.session("--hostfile", str(hosts))
        row = rows["ring", 2]
        self.assertEqual(row["state"], "crashed")
        self.assertIn(f"mpiexec with 2 ranks on the hosts of {hosts} ", row["why"])

    def test_what_mpi_says_first_is_quoted(self) -> None:
        """Its advice comes behind the cause, in a frame of dashes."""
        hosts, agent = self.directory / "hosts", self.directory / "agent"
        hosts.write_text(f"{platform.node()} slots=1\nelsewhere slots=1\n", encoding="utf-8")
        said = r"\n-----\nno way to %s\n"
        agent.write_text(f"#!/bin/sh\nprintf '{said}' $1 >&2\nexit 255\n", encoding="utf-8")
        agent.chmod(0o700)
        os.environ.update(OMPI_MCA_plm_rsh_agent=str(agent))
        self.addCleanup(os.environ.pop, "OMPI_MCA_plm_rsh_agent", None)
        done, rows = self.session("--hostfile", str(hosts))
        self.assertEqual(done.returncode, 1, done)
        self.assertEqual(rows["ring", 2]["state"], "crashed")
        self.assertIn("; it printed 'no way to elsewhere'", rows["ring", 2]["why"])

    def on_two_hosts(self, words: str, ranks: int, *more: str) -> Row:
        """The row of ranks on this host and another one, each with these words in the host file."""
        hosts = self.directory / "hosts"
        hosts.write_text(f"{platform.node()}{words}\nelsewhere{words}\n", encoding="utf-8")
        agent = pathlib.Path(__file__).parents[1] / "programs" / "other_host.sh"
        os.environ.update(OMPI_MCA_plm_rsh_agent=str(agent))
        self.addCleanup(os.environ.pop, "OMPI_MCA_plm_rsh_agent", None)
        done, rows = self.session("--hostfile", str(hosts), *more, ranks=str(ranks))
        self.assertEqual(done.returncode, 0, done)
        return rows["ring", ranks]

    @unittest.skipUnless(FAR, "this user may not make namespaces")
    def test_each_host_has_as_many_ranks_and_sends_the_others_their_part(self) -> None:
        for words, each in ((" slots=1", 1), (" slots=2", 1), ("", 2)):
            with self.subTest(words):
                self.output = str(self.directory / f"hosts{words}.jsonl")
                row = self.on_two_hosts(words, 2 * each)
                places = [place["host"] for place in row["ring"]["places"]]
                hosts = [platform.node()] * each + ["elsewhere"] * each
                self.assertEqual((row["state"], places), ("ok", hosts))
                self.assertEqual(row["ring"]["sent_bytes"], (2 * each - 1) * SHAPE)

    @unittest.skipUnless(FAR, "this user may not make namespaces")
    def test_ranks_that_share_a_host_need_its_cores(self) -> None:
        """The user's MPI is told to fill the first host, which has cores enough for one of them."""
        os.environ.update(OMPI_MCA_rmaps_base_mapping_policy="slot")
        self.addCleanup(os.environ.pop, "OMPI_MCA_rmaps_base_mapping_policy")
        row = self.on_two_hosts(" slots=2", 2, "--threads", "all")
        cores = row["threads"]
        if cores == 1:
            self.skipTest("one thread each is always taken")
        self.assertEqual((row["state"], row["time"]), ("unsupported", None))
        self.assertEqual(
            row["why"],
            f"rank 0: {platform.node()} has {cores} cores, "
            f"too few for its 2 ranks of {cores} threads",
        )

    def test_wrong_ranks_are_caught(self) -> None:
        for name, says in (
            ("loses_block", "got .*, expected"),
            ("merges_without_lse", "got .*, expected"),
            ("uses_stale_block", "got .*, expected"),
        ):
            with self.subTest(name):
                self.output = str(self.directory / f"{name}.jsonl")
                # parts of one length: a stale block of another would be read beyond its end
                even = CAUSAL.replace("s=75", "s=76")
                done, rows = self.session(program=f"{WRONG}/{name}", problem=even)
                self.assertEqual(done.returncode, 1, done)
                row = rows["ring", 2]
                self.assertEqual((row["state"], row["time"]), ("failed", None))
                self.assertRegex(row["why"], says)

    def test_a_rank_that_dies_or_hangs_costs_its_cell(self) -> None:
        for name, state, says, more in (
            (
                "dies",
                "crashed",
                "mpiexec with 2 ranks ended .* while checking at threads=1: own",
                (),
            ),
            ("hangs", "timeout", "no answer within 15 s, while ", ("--timeout", "15")),
        ):
            with self.subTest(name):
                self.output = str(self.directory / f"{name}.jsonl")
                done, rows = self.session(*more, program=f"{WRONG}/{name}",
                                          kernel="ring,naive")  # fmt: skip
                self.assertEqual(done.returncode, 1, done)
                self.assertEqual(rows["naive", 1]["state"], "ok")
                self.assertEqual(rows["ring", 2]["state"], state)
                self.assertRegex(rows["ring", 2]["why"], says)
                until = time.monotonic() + HANGS
                while any(f"{WRONG}/{name}" in line for line in processes()):
                    self.assertLess(time.monotonic(), until, "a rank is left")
                    time.sleep(0.1)


if __name__ == "__main__":
    unittest.main()

"""What a person gets who types something wrong: one line, the right exit code, no results."""

import functools
import os
import re
import resource
import shlex
import subprocess
from pathlib import Path

from command import (
    BASELINE,
    BRIEF,
    SANITIZED,
    SANITIZED_IN_CI,
    TINY,
    CommandTest,
    cells,
    lines,
    run,
    unless_emulated,
)

ROOT = Path(__file__).parents[2]

# A machine of four CPUs, as hwloc writes one.
FOUR_CPUS = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n'
    '<topology version="2.0"><object type="Machine" os_index="0" {0} nodeset="0x1" '
    'allowed_cpuset="0xf" allowed_nodeset="0x1" complete_nodeset="0x1">'
    '<object type="NUMANode" os_index="0" {0} nodeset="0x1" complete_nodeset="0x1" '
    'local_memory="1073741824"/>{1}</object></topology>\n'
).format(
    'cpuset="0xf" complete_cpuset="0xf"',
    "".join(
        f'<object type="PU" os_index="{n}" cpuset="{1 << n:#x}" complete_cpuset="{1 << n:#x}" '
        'nodeset="0x1" complete_nodeset="0x1"/>'
        for n in range(4)
    ),
)


class Usage(CommandTest):
    def test_no_command(self) -> None:
        done = self.ran(code=2)
        self.assertIn("usage: attnbench COMMAND", done.stderr)

    def test_help_of_every_command(self) -> None:
        overview = self.ran("--help")
        for command in ("list", "run", "check", "eval", "experiment", "machine"):
            self.assertIn(f"  {command} ", overview.stdout)
            page = self.ran(command, "--help")
            self.assertIn(f"usage: attnbench {command}", page.stdout)
            self.assertEqual(page.stderr, "")

    def test_help_of_eval_is_about_one_variant(self) -> None:
        page = run("eval", "--help").stdout
        for line in (
            "  --kernel K          one kernel (flash) or variant (flash/avx2)",
            "  --isa I             one instruction set; best",
            "  --threads N         one number of threads (default: 1)",
            "  --input FILE[:P]    safetensors with Pq, Pk and Pv",
        ):
            self.assertIn(line, page)
        self.assertNotIn("comma separated", page)
        table = (ROOT / "docs" / "eval.md").read_text(encoding="utf-8").split("## Tensors")[1]
        for row in re.findall(r"(?m)^\| (`[^|]+) \|", table.split("\n## ")[0]):
            for tensor in re.findall(r"`(\w{2,})`", row):  # q, k and v have lines of their own
                self.assertRegex(page, rf"\b{tensor}\b")
        self.assertNotIn("comma separated", run("list", "--help").stdout)
        self.assertIn("thread counts, comma separated", run("run", "--help").stdout)

    def test_help_of_check_says_what_it_cannot_see(self) -> None:
        page = " ".join(run("check", "--help").stdout.split())
        self.assertIn("within 8 times that of naive", page)
        self.assertIn("A single element with a relative error of 1e-5 is therefore caught", page)
        self.assertIn("Everywhere else it passes", page)

    def test_check_without_cases_takes_the_suite_conformance(self) -> None:
        words = ["--kernel", "naive", "--isa", "baseline"]
        rows = self.cells_of("check", *words, "--case", "check-f32-one,check-bf16-square")
        self.assertEqual(
            {row["case"]: row["state"] for row in rows},
            {"check-f32-one": "ok", "check-bf16-square": "unsupported"},
        )
        self.refused(["run", "--case", "check-f32-one"], 2, "no case 'check-f32-one'")

    def test_nothing_of_a_kernel_is_no_success(self) -> None:
        """Of one that is named; what it does not compute is one line for all cases of a check."""
        words = ["--isa", "baseline", "--threads", "1"]
        small = ["--problem", "h=1,s=4,d=2,dtype=bf16"]
        done = self.ran("check", "--kernel", "flash,naive", *small, *words, code=1)
        self.assertIn(
            "nothing of naive was checked: no variant of it takes dtype=bf16", done.stderr
        )
        done = run("check", "--kernel", "textbook", *small, *small[:1], "s=4,dtype=bf16", *words)
        self.assertIn("unsupported: naive/baseline in 2 cases (no variant of it takes", done.stdout)
        self.assertEqual((done.returncode, done.stdout.count("naive")), (0, 1), done)
        words = [*small, "--launches", "1", "--threads", "1"]
        for kernels, code, said in (("naive", 0, 1), ("flash,naive", 0, 0), ("textbook", 0, 0)):
            done = run("run", "--kernel", kernels, *words)
            told = done.stderr.count("nothing of naive was measured: no variant of it takes")
            self.assertEqual((done.returncode, told), (code, said), done)

    def test_a_dry_run_says_what_a_session_takes(self) -> None:
        """A full check of little takes 0.25 s, a launch 0.06 s, all 1 s; no file is written.

        A model's layer takes at most 5.5 s, its check included.
        """
        two = ["--problem", TINY, "--problem", "h=1,s=17,d=8", "--output", self.output, "--dry-run"]
        one = [*two, "--kernel", "naive", "--threads", "1"]
        large = ["--problem", "h=8,s=1024", "--kernel", "naive", "--threads", "1", "--dry-run"]
        some = ["--launches", "99", "--check", "case"]
        layer = ["--model", "llama-3.1-8b", "--kernel", "flash", "--threads", "1", "--dry-run"]
        for arguments, said in (
            (["run", *one], "2 cells of 2 cases: about 3 s, "),
            (["run", *one, "--launches", "4"], "2 cells of 2 cases: about 1 s, "),
            (["run", *one, "--launches", "99"], "2 cells of 2 cases: about 13 s, "),
            (["run", *one, *some], "2 cells of 2 cases: about 12 s, "),
            (["run", *one, "--seconds", "119"], "2 cells of 2 cases: about 119 s, "),
            (["run", *one, "--seconds", "900"], "2 cells of 2 cases: about 15 min, "),
            (["run", *one, "--seconds", "9e3"], "2 cells of 2 cases: about 2.5 h, "),
            (["run", *layer, "--decode", "64"], "1 cell of 1 case: about 1 s, "),
            (["run", *layer, "--prefill", "1k,1280"], "2 cells of 2 cases: about 12 s, "),
            (["check", *large], "1 cell of 1 case: about 31 s, "),
            (["check", *one], "2 cells of 2 cases: about 1 s, "),
            (["check", *two, "--kernel", "naive,online", "--threads", "1"], "4 cells of 2 cases: "),
            (["run", *one, "--problem", "b=1000000,s=1000000"], "2 cells of 2 cases: about 3 s, "),
        ):  # fmt: skip
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done)
            self.assertIn(said, done.stdout)
            unit = "MB" if "--model" in arguments or "h=8,s=1024" in arguments else "KB"
            self.assertRegex(done.stdout, rf"^[^\n]+ [0-9.]+ {unit} of memory(; [^\n]+)?\n$")
            self.assertEqual("more" in done.stdout, "b=1000000,s=1000000" in arguments)
        for arguments, said in (
            ([], "KB of memory\n"),
            (["--launches", "1"], "KB of memory; 1 launch each, too few to rank them\n"),
            (["--launches", "5"], "; 5 launches each, too few for intervals of their times\n"),
            (["--launches", "6"], "KB of memory; 6 launches each\n"),
            (["--seconds", "1"], "; no time for 6 launches of each: some get no interval\n"),
        ):  # fmt: skip
            self.assertTrue(run("run", *one, *arguments).stdout.endswith(said), arguments)
        # Of these naive computes some; none is so large that its check takes longer.
        drawn = run("check", *one, "--draw", "20", "--seed", "7").stdout
        count, cases, took = map(int, re.findall(r"\b([0-9]+) (?:cells|cases|s)\b", drawn))
        self.assertTrue(2 < count == cases <= 22, drawn)
        self.assertEqual(took, round(0.5 + 0.06 * count))
        self.assertFalse(os.path.exists(self.output))

    def test_a_dry_run_opens_the_files_of_cases(self) -> None:
        """It says why a session would skip their cells, and ends with the same code."""
        text = self.directory / "text"
        text.write_text("no tensors", encoding="utf-8")
        masked = "h=1,s=2,d=8,mask=bool input=normal+mask:file:"
        for case in (masked + "/none", f"{masked}{text}", "h=1,s=2,d=8 input=file:/none:"):
            words = ["--problem", case, "--kernel", "naive"]
            why = self.cell_of("run", *words, "--force", code=3)["why"]
            dry = run("run", *words, "--dry-run")
            said = f"attnbench: {why.removeprefix('operands: ')}\n"
            self.assertEqual((dry.returncode, dry.stderr), (3, said))

    def test_a_dry_run_of_a_resumed_session_leaves_the_file(self) -> None:
        self.cell_of("run", "--problem", TINY, "--kernel", "naive")
        before = lines(self.output)
        done = run("run", "--resume", self.output, "--dry-run")
        self.assertEqual((done.returncode, lines(self.output)), (0, before), done)
        self.assertEqual(
            done.stdout,
            "0 cells of 0 cases: about 0 s, 0.000 B of memory; 1 more cannot run or are done\n",
        )

    def test_pages_are_counted_before_memory_is_taken(self) -> None:
        """Whole pages are stored, however few keys there are."""
        words = ["--problem", "page=9999999999,s=8", "--kernel", "flash"]
        row = self.cell_of("check", *words, code=3)
        self.assertRegex(row["why"], r"^needs \S+ GB of memory, \S+ GB are available$")

    def test_named_pipes_are_refused(self) -> None:
        """And not waited for."""
        pipe = str(self.directory / "pipe")
        os.mkfifo(pipe)
        for words in (
            ["run", "--suite", pipe],
            ["eval", "--kernel", "flash", "--input", pipe, "--output", "/dev/null"],
            ["check", "--problem", f"s=4 input=file:{pipe}:"],
        ):
            done = run(*words, timeout=20)
            self.assertIn(done.returncode, (2, 3), done)
            self.assertIn("is a named pipe", " ".join((done.stdout + done.stderr).split()))

    def test_closed_descriptors_do_not_become_the_results_file(self) -> None:
        for closed in (1, 2):
            self.output = str(self.directory / f"closed-{closed}.jsonl")
            words = ["check", "--problem", TINY, "--kernel", "naive", "--output", self.output]
            command = shlex.join([os.environ["ATTNBENCH"], *words]) + f" {closed}>&-"
            subprocess.run(command, shell=True, check=False, capture_output=True)
            self.assertEqual(len(cells(self.output)), 1)  # every line is JSON

    def test_variables_of_openmp_do_not_shrink_the_machine(self) -> None:
        """Which would bind the first thread, and with it the session, to one core."""
        binding = {"OMP_PROC_BIND": "true", "OMP_PLACES": "{0}", "OMP_MAX_ACTIVE_LEVELS": "0"}
        words = ["run", "--problem", TINY, "--kernel", "flash", "--threads", "1,all"]
        cores = []
        for more in ({}, {**binding, "GOMP_CPU_AFFINITY": "0"}):
            self.cells_of(*words, env={**os.environ, **more})
            cores.append(lines(self.output)[0]["machine"]["cores"])
        self.assertEqual(cores[0], cores[1])
        for name in binding:
            self.assertIn(name, self.done.stderr)
        self.assertEqual(self.done.stderr.count("ignored: "), 1)

    def test_stacks_too_small_for_a_thread_are_ignored(self) -> None:
        words = ["run", "--problem", TINY, "--kernel", "flash", "--threads", "2", *BRIEF]
        for name, text, ignored in (
            ("OMP_STACKSIZE", "64k", True),
            ("OMP_STACKSIZE", "90", True),
            ("GOMP_STACKSIZE", " 65536 B", True),
            ("OMP_STACKSIZE", "2M", False),
        ):
            dry = [] if text == "64k" else ["--dry-run"]
            done = self.ran(*words, *dry, env={**os.environ, name: text})
            said = f"ignored: {name} (below 512 KiB); " in done.stderr
            self.assertEqual(said, ignored, (text, done.stderr))

    def test_variables_of_hwloc_make_up_no_machine(self) -> None:
        """One of CPUs that this process may not use, or that are not there."""
        four = self.directory / "four.xml"
        four.write_text(FOUR_CPUS)
        for made_up, ignored in (
            ({"HWLOC_SYNTHETIC": "core:4 pu:1"}, ["HWLOC_SYNTHETIC"]),
            ({"HWLOC_XMLFILE": str(four)}, ["HWLOC_XMLFILE"]),
            ({"HWLOC_HIDE_ERRORS": "2"}, []),
        ):
            words = ("--problem", TINY, "--kernel", "naive")
            self.cell_of("run", *words, env={**os.environ, **made_up})
            machine = lines(self.output)[0]["machine"]
            self.assertEqual(machine["threads"], 1)  # command.py leaves it one CPU
            self.assertEqual(re.findall(r"ignored: (.*); attnbench", self.done.stderr), ignored)

    @unless_emulated("has a stack and memory of its own")
    def test_small_limits_end_with_a_message(self) -> None:
        """Libraries that never come to an end included; what allows more is raised."""
        kib = 1024
        words = ["run", "--problem", TINY, "--kernel", "naive", "--threads", "1", *BRIEF]
        # Below 20 KiB the loader itself may fail, of any program; variables are on the stack, too.
        stacks = (64,) if SANITIZED else (24, 32, 48, 64)
        env = dict(os.environ) if SANITIZED else {"PATH": os.environ["PATH"]}
        for name, limits, code, message in (
            *(
                ("STACK", (n * kib, n * kib), 3, f"the stack may have {n} KiB, 1024 KiB are needed")
                for n in stacks
            ),
            *(("STACK", (n * kib, 4096 * kib), 0, "") for n in (stacks[0], 64)),
            ("AS", (150_000 * kib, 150_000 * kib), 3, "apparently for lack of memory"),
        ):
            if SANITIZED and name == "AS":
                continue
            limit = functools.partial(
                resource.setrlimit, getattr(resource, f"RLIMIT_{name}"), limits
            )
            done = run(*words, preexec_fn=limit, timeout=60, env=env)
            self.assertIn(done.returncode, {code, 0} if name == "AS" else {code}, done)
            if done.returncode:  # without OpenBLAS that much memory may do
                self.assertIn(message, " ".join(done.stderr.split()))

    def test_more_threads_than_places_cost_their_own_cell(self) -> None:
        words = ["--problem", TINY, "--kernel", "flash", "--threads", "1,4000"]
        states = {row["threads"]: row["state"] for row in self.cells_of("run", *words, code=3)}
        self.assertEqual(states, {1: "ok", 4000: "skipped"})
        self.assertIn("4000 threads requested", self.done.stdout)

    def test_other_hosts_are_made_by_a_mask(self) -> None:
        """With the baseline alone, or with some instruction sets, if this host has them."""
        unmasked = {name: os.environ[name] for name in os.environ if name != "ATTN_ISA_MASK"}
        every = self.listed(env=unmasked)["kernels"]
        own = {kernel["isa"] for kernel in every if kernel["available"]}
        masks = ("", "avx2", "avx2,avx512", "avx2,avx512,avx512_bf16")
        masks = masks[: 1 if SANITIZED_IN_CI else None]
        for mask in masks:
            masked = {**os.environ, "ATTN_ISA_MASK": mask}
            listed = self.listed(env=masked)
            available = {k["isa"] for k in listed["kernels"] if k["available"]}
            self.assertEqual(available, own & {BASELINE, *mask.split(",")})
            if mask not in (masks[0], masks[-1]):
                continue
            words = ("--problem", "s=4,d=4", "--kernel", "flash", "--isa", "all")
            self.cells_of("run", *words, env=masked)
            rows = [line for line in lines(self.output) if line["type"] == "cell"]
            states = {row["isa"]: row["state"] for row in rows}
            self.assertEqual(
                {isa for isa in states if states[isa] != "unavailable"}, available & set(states)
            )
            self.assertEqual(states[BASELINE], "ok")
        refused = self.ran("list", env={**os.environ, "ATTN_ISA_MASK": "avx52"}, code=2)
        self.assertIn("no instruction set 'avx52'; did you mean 'avx2'?", refused.stderr)
        self.assertIn("ATTN_ISA_MASK", run("--help").stdout)

    def test_version_names_the_build(self) -> None:
        done = self.ran("--version")
        self.assertRegex(done.stdout, r"^attnbench \d+\.\d+\.\d+ \((commit|no commit)")

    def test_help_has_a_short_form(self) -> None:
        self.assertEqual(run("-h").stdout, run("--help").stdout)
        for command in ("run", "list", "experiment", "help"):
            done = run(command, "-h")
            self.assertEqual((done.returncode, done.stdout), (0, run(command, "--help").stdout))
        self.assertEqual(
            run("experiment", "variance", "-h").stdout,
            run("experiment", "variance", "--help").stdout,
        )

    def test_problems_as_they_are_typed(self) -> None:
        """A blank behind a comma, and a unit; also before input=..."""
        done = run("eval", "--kernel", "naive", "--problem", "d=8, s=1k", *("--input", "x"),
                   *("--output", "y"))  # fmt: skip
        self.assertNotIn("position", done.stderr)
        text = "h=1, s=2k,  d=8 input=normal:3"
        done = run("run", "--problem", text, "--kernel", "no-such")
        self.assertIn("no kernel or group 'no-such'", done.stderr)

    def test_scripts_are_named_to_who_asks_for_a_command(self) -> None:
        """Each that reads or compares results, as it is in scripts/."""
        folder = Path(__file__).parents[2] / "scripts"
        own = ("results", "compare", "gate", "history", "plot", "report", "explain", "capsule")
        named = 0
        for script in (path for path in folder.iterdir() if path.is_file()):
            if any(f'/tool" attntools/{package}/' in script.read_text() for package in own):
                done = self.ran(script.name, code=2)
                self.assertIn(f"but a script: scripts/{script.name}\n", done.stderr)
                named += 1
        self.assertGreater(named, 5)

    def test_words_that_are_wrong_are_named(self) -> None:
        """With the nearest that is right, or the place."""
        tiny = ["run", "--problem", TINY]
        for words, *messages in (
            (["rum"], "no command 'rum'", "did you mean 'run'?"),
            (["run", "--sute", "quick"], "'--sute'", "did you mean --suite?"),
            (["run", "--problem", "h=2,s=abc,d=8"], "s", "'abc'", "position 6"),
            (["run", "--problem", "h=2,depth=8"], "'depth'", "position 4"),
            (["run", "--problem", "b=9000000000000000000,s=9"], "address space"),
            ([*tiny, "--kernel", "navie"], "'navie'", "'naive'"),
            ([*tiny, "--kernel", "naive/avx3"], "'naive/avx3'"),
            ([*tiny, "--isa", "avx22"], "'avx22'", "'avx2'"),
            (["run", "--suite", "quik"], "quik"),
            (["run", "--suite", "quick", "--case", "nothing-like-it"], "nothing-like-it"),
            ([*tiny, "--threads", "two"], "--threads", "'two'"),
            ([*tiny, "--threads", "0"], "'0' is less than 1"),
            ([*tiny, "--threads", "4..2"], "'4..2' runs from more"),
            ([*tiny, "--threads", "1,,2"], "'' is none"),
            ([*tiny, "--threads", "1..17"], "at most 16 numbers"),
        ):
            with self.subTest(words):
                self.refused(words, 2, *messages)

    def test_bad_suite_file_names_file_and_line(self) -> None:
        suite = self.directory / "mine.suite"
        suite.write_text("# cases\ngood: h=1,s=4,d=4\nbad: h=1,s=4,mask=diagonal\n")
        self.refused(["run", "--suite", str(suite)], 2, f"{suite}:3:", "diagonal")

    def test_ranges_of_threads_and_sizes(self) -> None:
        """Of problems beyond memory, which cost their cells alone, and no time here."""
        problem = ("--problem", "b=1000000000,s=4,d=4..8*2")
        words = ("--kernel", "row_parallel", "--threads", "1..4*2,2|3", "--placement", "none")
        rows = self.cells_of("run", *problem, *words, code=3)
        self.assertEqual(lines(self.output)[0]["settings"]["threads"], [1, 2, 4, 3])
        found = {(row["case"], row["threads"]): row["state"] for row in rows}
        cases = [f"b1000000000-h1-s4-d{d}" for d in (4, 8)]
        self.assertEqual(found, {(c, n): "skipped" for c in cases for n in (1, 2, 3, 4)})
        self.assertIn("GB of memory", self.done.stdout)

    def test_worker_without_a_request(self) -> None:
        done = self.ran("worker", stdin=None, close_fds=True, code=2)
        self.assertIn("expected a request on descriptor 3", done.stderr)

    def test_list_names_kernels_and_suites(self) -> None:
        done = self.ran("list")
        for word in ("naive", BASELINE, "textbook", "quick", "default", "dtype", "variance"):
            self.assertIn(word, done.stdout)

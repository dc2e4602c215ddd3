"""What people see: the tables, the progress, the machine."""

import json
import os
import pathlib
import pty
import re
import subprocess
import tempfile

from command import BASELINE, BRIEF, HANGS, HOST, PROGRAM, TINY, CommandTest, run, unless_emulated

RANKED = ["--launches", "6"]  # the fewest that give intervals
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "reading-a-result.md"


def entries(text: str) -> dict[str, str]:
    """Lines in two columns, the second of which may go on below: what stands beside what."""
    joined = re.sub(r"\n +", " ", text.strip())
    pairs = (re.split(r" {2,}", line, maxsplit=1) for line in joined.splitlines())
    return {left: " ".join(right.split()) for left, right in pairs}


def readme_table(title: str) -> dict[str, str]:
    """A table of the page in two columns, the first of which has this title."""
    text = PAGE.read_text(encoding="utf-8")
    rows = text.split(f"| {title} | meaning |\n|---|---|\n")[1].split("\n\n")[0]
    return dict(re.findall(r"(?m)^\| (.+?) \| (.+) \|$", rows))


class Legend(CommandTest):
    def printed(self, *arguments: str, width: int = 80) -> tuple[str, dict[str, str]]:
        """The tables of a run on one thread, and the legend below them."""
        done = self.ran(
            *("run", "--problem", "h=1,s=64,d=16", "--threads", "1", *arguments),
            program=HOST, env={**os.environ, "COLUMNS": str(width)})  # fmt: skip
        tables, legend = re.split(
            r"\n\n(?=[*=] +\w|median )", done.stdout.split("attnbench help")[0]
        )
        return tables, entries(legend)

    def letters(self, tables: str) -> set[str]:
        """The flags in the table of a case."""
        heading, *rows = tables.split("\n\n")[0].strip().splitlines()[1:]
        rows = [row for row in rows if re.match(r"([*= ]  )?\w+/", row)]  # not the notes below
        at = heading.find("flags")
        if at < 0:  # no row has any
            return set()
        return set("".join(row[at:].split(" ")[0] for row in rows))

    def test_one_launch_of_one_kernel_needs_few_lines(self) -> None:
        tables, legend = self.printed("--kernel", "naive", *BRIEF)
        columns = {"median", "%FMA", "err/bnd"} | {"%read"} & set(re.findall(r"%read", tables))
        self.assertEqual(set(legend), {"n=", *columns, *self.letters(tables)})

    def test_six_launches_beside_gemm_in_a_wide_terminal_need_others(self) -> None:
        tables, legend = self.printed("--kernel", "tiled,gemm", *RANKED, width=160)
        columns = {"median", "+-%", "%FMA", "x gemm", "err/bnd", "spread%", "%machine"}
        self.assertLessEqual(columns, set(legend))
        self.assertEqual("*" in legend, bool(re.search(r"(?m)^\*", tables)))
        self.assertEqual("=" in legend, bool(re.search(r"(?m)^=", tables)))
        for absent in ("n=", "GB/s", "min"):
            self.assertNotIn(absent, legend)
        letters = {sign for sign in legend if sign.isalpha() and len(sign) == 1}
        self.assertEqual(letters, self.letters(tables))

    def test_help_lists_its_topics_and_says_all(self) -> None:
        self.assertIn("attnbench help", run("--help").stdout)
        topics = re.findall(r"(?m)^  (\w+) ", run("help").stdout)
        self.assertEqual(
            topics, ["columns", "flags", "metrics", "models", "problem", "states", "suites"]
        )
        for topic in topics:
            done = self.ran("help", topic)
            if topic in ("columns", "flags", "states"):  # the others have tables of their own
                self.assertGreater(len(entries(done.stdout.split("\n\n", 1)[1])), 7)
        keys = run("help", "problem").stdout.split("\n\n", 1)[1]
        self.assertIn("keys of a problem", run("list").stdout)
        self.assertIn(keys, run("list").stdout)
        self.assertRegex(keys, r"(?m)^  skv +N >= 1 +sq +keys per sequence$")
        self.assertEqual(run("help", "run").stdout, run("run", "--help").stdout)
        self.refused(["help", "flgas"], 2, "no help on 'flgas'; did you mean 'flags'?")
        self.refused(["help", "flags", "states"], 2, "help takes one topic")

    def test_help_on_metrics_has_every_number_of_a_row(self) -> None:
        told = run("help", "metrics").stdout
        self.assertIn(
            "\ntime.median_s, s; column median\n"
            "    time of a call: median over launches (processes) of their medians\n", told
        )  # fmt: skip
        self.assertIn("\nfraction_of_fma, share; column %FMA\n", told)
        self.assertIn("\nceiling.fma_gflops, 1e9 a second\n", told)
        row = self.cell_of("run", "--problem", TINY, "--kernel", "naive")
        named = set(re.findall(r"(?m)^([a-z_.0-9]+), ", told))
        self.assertLessEqual({f"time.{name}" for name in ("min_s", "p05_s", "samples")}, named)
        for name in row:
            if re.search(r"_s$|_bytes$|^fraction_|^g(flops|bytes)", name) and name != "timed_s":
                self.assertIn(name, named)
        for name in named:
            part, _, inner = name.partition(".")
            self.assertIn(inner, row[part]) if inner else self.assertIn(part, row)

    def test_help_on_models_and_suites_has_a_line_each(self) -> None:
        told = self.listed()
        models = run("help", "models").stdout
        lines = [line for line in models.splitlines() if re.match(r"\S+ +[0-9]+ ", line)]
        self.assertEqual(
            list(dict.fromkeys(re.sub(r"\.[a-z]+$", "", line.split()[0]) for line in lines)),
            told["models"],
        )
        self.assertRegex(
            models, r"(?m)^mistral-7b +32 +decoder +hq=32,hkv=8,d=128,dtype=bf16,window=4095$"
        )
        self.assertRegex(models, r"(?m)^whisper-small.cross +12 +decode .*,skv=1500,d=64$")
        self.assertRegex(models, r"(?m)^qwen-3-next-80b-a3b.delta +36 +without +gated delta net$")
        self.assertRegex(models, r"(?m)^llama-4-scout.chunked +36 .*,chunk=8192$")
        suites = run("help", "suites").stdout
        for suite in told["suites"]:
            self.assertRegex(suites, rf"(?m)^  {suite['name']} +{len(suite['cases'])} cases ")

    def test_the_readme_repeats_flags_and_states(self) -> None:
        flags = entries(run("help", "flags").stdout.split("\n\n", 1)[1])
        words = dict(
            (f"{sign} {text.split(': ', 1)[0]}", text.split(": ", 1)[1])
            for sign, text in flags.items()
        )
        self.assertEqual(readme_table("flag"), words)
        states = entries(run("help", "states").stdout.split("\n\n", 1)[1])
        del states["ok"]  # has a time
        self.assertEqual(readme_table("state"), {f"`{s}`": text for s, text in states.items()})


class Lists(CommandTest):
    def matrix(self) -> str:
        """What variants take, however its lines are broken."""
        shown = run("list", "--matrix", env={**os.environ, "COLUMNS": "80"})
        return " ".join(shown.stdout.split())

    def test_list_fits_its_width(self) -> None:
        plain = [(columns, []) for columns in (66, 80, 120)]
        matrix = [(columns, ["--matrix"]) for columns in (80, 160)]
        for columns, arguments in plain + matrix:
            shown = run("list", *arguments, env={**os.environ, "COLUMNS": str(columns)}).stdout
            widest = max(map(len, shown.splitlines()))
            self.assertTrue(columns - 20 < widest <= columns, (columns, arguments, widest))
            self.assertEqual("which keys a query sees" in " ".join(shown.split()), not arguments)

    def test_list_as_json(self) -> None:
        listed = self.listed()
        naive = [k for k in listed["kernels"] if k["name"] == "naive"]
        self.assertIn(BASELINE, {k["isa"] for k in naive})
        self.assertTrue(all(k["available"] or k["needs"] for k in listed["kernels"]))
        self.assertEqual(listed["isa_preference"][-1], BASELINE)
        available = {k["isa"] for k in listed["kernels"] if k["available"]}
        self.assertLessEqual(available, set(listed["isa_preference"]))
        preferred = ", then ".join(listed["isa_preference"])
        shown = " ".join(run("list").stdout.split())  # wrapped where there are many
        self.assertIn(f"preferred on this host: {preferred} ", f"{shown} ")
        quick = next(s for s in listed["suites"] if s["name"] == "quick")
        self.assertTrue(all("problem" in case for case in quick["cases"]))
        alone = self.listed("--suite", "quick")
        self.assertEqual(alone, {"cases": quick["cases"]})
        serving = next(s for s in listed["suites"] if s["name"] == "serving")
        problems = " ".join(case["problem"] + case["input"] for case in serving["cases"])
        for key, word in (
            ("packed=1", "ragged"), ("page=", "pages"), ("kv_dtype=i4", "4 bits"),
            ("prefix:", "prefix"), ("shared_kv=1", "latent"), ("window=", "windows"),
            ("mask=tree", "trees"), ("keys=index", "chosen keys"),
        ):  # fmt: skip
            self.assertIn(key, problems)
            self.assertIn(word, serving["summary"])

    def test_the_matrix_says_what_each_variant_lacks(self) -> None:
        """Of what another variant of its kernel has."""
        variants = self.listed()["kernels"]
        shown = self.matrix()
        for each in variants:
            of_kernel = [k for k in variants if k["name"] == each["name"]]
            others = {feature for k in of_kernel for feature in k["features"]}
            some = [f for f in each["lacks"] if f in others and not f.startswith("dtype=")]
            label = f"{each['name']}/{each['isa']}: not "
            self.assertEqual(label in shown, bool(some), each["name"])
            self.assertIn(label + ", ".join(some) if some else "", shown)

    def test_the_matrix_says_what_a_matrix_unit_leaves_to_vectors(self) -> None:
        variants = self.listed()["kernels"]
        amx = {k["name"]: k for k in variants if k["isa"] == "amx"}
        self.assertEqual("what amx leaves to other variants" in run("list").stdout, bool(amx))
        if "split_kv" not in amx:
            self.skipTest("this build has no variants for AMX")
        shown = self.matrix()
        self.assertIn("keys=index", amx["split_kv"]["features"])
        self.assertIn("split_kv/amx: not kv_dtype=i4, kv_zeros, 1 row, keys=index for 1", shown)
        self.assertIn("split_kv/amx, 1 row: fewer than 8 query rows of a KV head", shown)
        self.assertIn("split_kv/amx, keys=index for 1 row: fewer than 8 query rows of a", shown)
        self.assertIn("flash/amx: not kv_dtype=i4, kv_zeros, d > 576, keys=index", shown)
        self.assertNotIn("flash/amx, ", shown)  # its capabilities are reasons enough
        for name in ("naive", "split_kv"):  # the other variants take these
            others = [k for k in variants if k["name"] == name and k["isa"] != "amx"]
            for feature in ("1 row", "d > 576", "keys=index for 1 row"):
                self.assertTrue(all(feature in k["features"] for k in others), feature)

    def test_list_of_a_suite_has_its_cases(self) -> None:
        """Of a file here, as of a built-in one."""
        path = self.directory / "my.suite"
        path.write_text("one: h=2,s=64,d=8 input=uniform:3\ntwo: b=2,s=9,d=4\n", encoding="utf-8")
        done = run("list", "--suite", str(path))
        expected = (
            "one\n    b=1,hq=2,hkv=2,sq=64,skv=64,d=8 input=uniform:3\n"
            "two\n    b=2,hq=1,hkv=1,sq=9,skv=9,d=4 input=normal:1\n"
        )
        self.assertEqual((done.returncode, done.stdout), (0, expected), done)
        self.refused(["list", "--suite", "quik"], 2, "quik")
        self.refused(["list", "--suite", "quick", "--matrix"], 2, "--suite or --matrix, not both")


class Display(CommandTest):
    ARGUMENTS = ("run", "--problem", TINY, "--kernel", "naive,online", "--threads", "1")

    @classmethod
    def setUpClass(cls) -> None:
        """Measures once; a complete session that is resumed prints its tables again."""
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.session = str(pathlib.Path(directory.name) / "session.jsonl")
        cls.measured = run(*cls.ARGUMENTS, *RANKED, "--output", cls.session, program=HOST)

    def again(self, width: int, session: str = "") -> str:
        """The tables of a complete session in a terminal, or pipe, of this width."""
        done = self.ran(
            *("run", "--resume", session or self.session),
            program=HOST, env={**os.environ, "COLUMNS": str(width)})  # fmt: skip
        return done.stdout

    def test_table_fits_its_width(self) -> None:
        for width in (60, 80, 100, 160):
            shown = self.again(width)
            self.assertLessEqual(max(len(line) for line in shown.splitlines()), width)
            self.assertIn("naive/", shown)
            self.assertIn("median", shown)

    def test_long_names_fit_narrow_terminals(self) -> None:
        problems = [
            "hq=32,hkv=8,sq=32,skv=64,d=24,dtype=bf16,mask=causal,window=16",
            "hq=32,hkv=8,sq=32,skv=64,d=24,dtype=bf16,mask=causal,window=17",
        ]
        asked = [word for problem in problems for word in ("--problem", problem)]
        session = str(self.directory / "bare.jsonl")
        words = ["--kernel", "split_kv,flash", "--threads", "1", "--output", session, *RANKED]
        run("run", *asked, *words, "--check", "case", program=HOST)
        # A case is a title where its row has no room; at 80 that depends on the variants.
        between = {40: "\n +", 47: "\n +", 60: "\n +", 80: "\n? +", 160: " +"}
        for width, gap in between.items():
            shown = self.again(width, session)
            wide = [(80, "hq=32"), (60, "h32x8-")]  # one word each
            lines = [
                line
                for line in shown.splitlines()
                if not any(width < least and word in line for least, word in wide)
            ]
            self.assertLessEqual(max(map(len, lines)), width)
            for case in ("window16", "window17"):
                row = rf"(?m)^h32x8-sq32-skv64-d24-bf16-causal-{case}{gap}1 +[*=] +\S+/"
                self.assertRegex(shown, row)

    @unless_emulated("knows no policies of memory")
    def test_memory_is_shown_where_it_was_asked_for(self) -> None:
        asked = ["--kernel", "naive,online", "--threads", "1", *BRIEF, "--check", "case"]
        shown = re.compile(
            r"(?m)^  memory: (\S+), in place(?:; on huge pages: (none|\S+ [MKG]B.*))?$"
        )
        problem = ["--problem", "h=2,s=64,d=64"]
        for options, policy in (
            (["--huge-pages"], "first-touch"),
            (["--memory", "interleave"], "interleave"),
            (["--memory", "bind", "--huge-pages"], "bind"),
        ):
            session = str(self.directory / f"{policy}.jsonl")
            run("run", *problem, *asked, *options, "--output", session)
            for width in (80, 160, 260):
                ((found, huge),) = shown.findall(self.again(width, session))
                self.assertEqual(found, policy)
                self.assertEqual(bool(huge), "--huge-pages" in options)
            self.assertIn("  read GB/s", self.again(260, session))
        self.assertEqual(shown.findall(self.measured.stdout), [])

    def test_few_launches_rank_nothing(self) -> None:
        few = "  no rank for 2 of 2 cells: too few launches for an interval"
        for count in ("2", "3"):
            problem = "h=1,s=64,d=16"
            done = run(
                *("run", "--problem", problem, "--kernel", "naive,tiled", "--threads", "1"),
                *("--launches", count, "--check", "case"),
                program=HOST,
            )
            marks = re.findall(r"(?m)^(.)  (?:naive|tiled)/", done.stdout)
            summary = re.findall(r"(?m)^h1-s64-d16 +1 +(\S) +(?:naive|tiled)/", done.stdout)
            lines = [line for line in done.stdout.splitlines() if line.startswith("  no rank")]
            if count == "2":
                self.assertEqual((marks, summary), ([], []))
                self.assertEqual(lines[0], few)
                advice = r"; with --launches 6 this session takes about \d+ s"
                self.assertRegex(" ".join(done.stdout.split()), re.escape(few.strip()) + advice)
                self.assertIn("2 of 2 cells: 2 ok", done.stdout)
            else:
                self.assertEqual((marks[0], lines), ("*", []))
                self.assertEqual(summary, ["=" if marks[1] == "=" else "*"])
                self.assertRegex(done.stdout, r"(?m)^ +n=3 |  n=3  ")

    def test_one_kernel_alone_beats_nothing(self) -> None:
        """Nor does one beside kernels without a time, in the table and in the summary."""
        words = ["--problem", "h=1,s=64,d=16,dtype=bf16", "--kernel", "flash,naive"]
        done = run("run", *words, "--isa", "baseline", "--threads", "1", *RANKED, program=HOST)
        self.assertRegex(done.stdout, r"(?m)^flash/")
        self.assertRegex(done.stdout, r"(?m)^h1-s64-d16-bf16 +1 +flash/")
        self.assertNotRegex(done.stdout, r"(?m)^\*|fastest at")

    def test_a_pipe_gets_plain_lines(self) -> None:
        done = self.measured
        self.assertNotIn("\033", done.stdout + done.stderr)
        self.assertNotIn("\r", done.stderr)
        self.assertRegex(done.stderr, r"(?m)^ *\d+ %  .*naive/\S+  1 thr  ok  \S+ .s")

    def on_terminal(self, *arguments: str, **environment: str) -> str:
        """What a terminal is sent, both streams together; test_live.py has what it shows."""
        clean = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        controller, terminal = pty.openpty()
        done = run(*arguments, stdout=terminal, stderr=terminal,
                   env={**clean, "TERM": "xterm", **environment})  # fmt: skip
        os.close(terminal)
        shown = b""
        while True:
            try:
                part = os.read(controller, 65536)
            except OSError:
                break
            shown += part
        os.close(controller)
        self.assertEqual(done.returncode, 0)
        return shown.decode()

    def test_no_color(self) -> None:
        again = ("run", "--resume", self.session)
        self.assertIn("\x1b[1m", self.on_terminal(*again))
        self.assertNotIn("\x1b[1m", self.on_terminal(*again, NO_COLOR="1"))

    def test_dumb_terminal(self) -> None:
        self.assertNotIn("\x1b[K", self.on_terminal(*self.ARGUMENTS, *BRIEF, TERM="dumb"))


class Machine(CommandTest):
    def test_machine_as_json(self) -> None:
        """On one core, which has one number of threads: each takes seconds."""
        core = {min(os.sched_getaffinity(0))}
        done = self.ran("machine", "--json", preexec_fn=lambda: os.sched_setaffinity(0, core))
        machine = json.loads(done.stdout)
        self.assertEqual(machine["machine"]["cores"], 1)
        self.assertTrue(machine["machine"]["fingerprint"])
        for ceilings in machine["ceilings"]:
            self.assertGreater(ceilings["arithmetic"][0]["f32_gflops"], 0)
            self.assertGreater(ceilings["bandwidth"][-1]["read_gbytes_per_s"], 0)
            for isa in ceilings["arithmetic"]:
                self.assertGreater(isa["f32_from_l1_gflops"], 0)
                for key in ("bf16_from_l1_gflops", "i8_gops"):
                    self.assertEqual(isa[key] is not None, isa["isa"] == "amx", isa)

    def test_memory_is_measured_where_no_cache_is_known(self) -> None:
        """Of a worker that is started by hand, as a session takes no made-up machine."""
        request = {
            "protocol": 1, "action": "ceilings", "problem": "s=8", "input": "normal:1", "case": "",
            "kernel": "naive", "isa": BASELINE, "plugin": "", "arguments": "", "digest": "",
            "program": False, "threads": 1, "team": 1, "placement": "none",
            "memory": "first-touch", "huge_pages": False, "cold": False, "files": {},
            "sets": 1, "shift": 0, "slot": 0, "seed": 1, "depth": "case", "launch": 0,
            "experiment": "", "step": "", "token": "", "warmup_s": 0.0, "sample_s": 0.0,
            "budget_s": 0.0, "max_samples": 1, "path_in": "", "path_out": "",
        }  # fmt: skip
        (self.directory / "request").write_text(json.dumps(request) + "\n")
        made_up = {"HWLOC_SYNTHETIC": "core:1 pu:1", "HWLOC_THISSYSTEM": "1"}
        subprocess.run(
            ["bash", "-c", 'exec "$0" worker 3<request 4>answer', PROGRAM],
            cwd=self.directory, env=os.environ | made_up, timeout=HANGS, check=True,
        )  # fmt: skip
        answer = json.loads((self.directory / "answer").read_text())
        self.assertEqual(answer["state"], "ok", answer)
        (memory,) = answer["bandwidth"]
        self.assertEqual((memory["memory"], memory["bytes"]), (True, 4 * 64 << 20))
        self.assertGreater(memory["read_gbytes_per_s"], 0)

    def test_machine_as_text(self) -> None:
        """Of all cores, and of the one instruction set that every host has."""
        done = self.ran("machine", env={**os.environ, "COLUMNS": "80", "ATTN_ISA_MASK": BASELINE})
        self.assertIn("ceilings, 1 thread ", done.stdout)
        self.assertRegex(done.stdout, rf"(?m)^  {BASELINE}( +[0-9.]+){{4}} +- +- +[0-9.]+$")
        self.assertRegex(done.stdout, r"(?m)^fingerprint +[0-9a-f]{16}$")
        self.assertRegex(done.stdout, rf"(?m)^isas +(\w+, )*{BASELINE}(, \w+)*,?$")
        self.assertRegex(done.stdout, r"(?m)^caches +\d+ of L1, \d+ KiB, ")
        self.assertRegex(done.stdout, r"(?m)^cpu_flags +\w+")
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)

"""What people see: the tables, the progress, the machine."""

import json
import os
import pty
import re
import unittest

from command import (
    BRIEF,
    PROGRAM,
    TINY,
    CommandTest,
    run,
)


class Display(CommandTest):
    ARGUMENTS = ("run", "--problem", TINY, "--kernel", "naive,online", *BRIEF)

    def test_table_fits_its_width(self) -> None:
        for width in (60, 80, 100, 160):
            done = run(*self.ARGUMENTS, env={**os.environ, "COLUMNS": str(width)})
            longest = max(len(line) for line in done.stdout.splitlines())
            self.assertLessEqual(longest, width)
            self.assertIn("naive/", done.stdout)
            self.assertIn("median", done.stdout)

    def test_case_of_a_bare_problem_fits_80_columns(self) -> None:
        problems = [
            "hq=32,hkv=8,sq=32,skv=64,d=24,dtype=bf16,mask=causal,window=16",
            "hq=32,hkv=8,sq=32,skv=64,d=24,dtype=bf16,mask=causal,window=17",
        ]
        asked = [word for problem in problems for word in ("--problem", problem)]
        done = run(
            *("run", *asked, "--kernel", "split_kv", "--threads", "1", *BRIEF),
            env={**os.environ, "COLUMNS": "80"},
        )
        self.assertLessEqual(max(len(line) for line in done.stdout.splitlines()), 80)
        self.assertRegex(done.stdout, r"(?m)^h32x8-sq32-skv64-d24-bf16-causal +1  ")
        self.assertRegex(done.stdout, r"(?m)^h32x8-sq32-skv64-d24-bf16-caus-2 +1  ")

    def test_memory_is_shown_where_it_was_asked_for(self) -> None:
        asked = ["--kernel", "naive,online", "--threads", "1", *BRIEF]
        shown = re.compile(
            r"(?m)^  memory: (\S+), in place(?:; on huge pages: (none|\S+ [MKG]B.*))?$"
        )
        for width in (80, 160, 260):
            environment = {**os.environ, "COLUMNS": str(width)}
            for options, policy in (
                (["--huge-pages"], "first-touch"),
                (["--memory", "interleave"], "interleave"),
                (["--memory", "bind", "--huge-pages"], "bind"),
            ):
                problem = ["--problem", "h=8,s=64,d=64"]
                done = run("run", *problem, *asked, *options, env=environment)
                ((found, huge),) = shown.findall(done.stdout)
                self.assertEqual(found, policy)
                self.assertEqual(bool(huge), "--huge-pages" in options)
        self.assertIn("  read GB/s", done.stdout)
        self.assertEqual(shown.findall(run(*self.ARGUMENTS).stdout), [])

    def test_few_launches_rank_nothing(self) -> None:
        for count, marks in (("5", {"?"}), ("6", {"*", "="})):
            problem = "h=1,s=64,d=16"
            done = run(
                *("run", "--problem", problem, "--kernel", "naive,tiled", "--threads", "1"),
                *("--launches", count),
            )
            fastest, slower = re.findall(r"(?m)^(.)  (?:naive|tiled)/", done.stdout)
            (summary,) = re.findall(r"(?m)^h1-s64-d16 +1 +(\S) +(?:naive|tiled)/", done.stdout)
            self.assertIn(fastest, marks - {"="})
            self.assertIn(slower, {" ", "="} & {" ", *marks})
            self.assertIn(summary, marks)
            self.assertEqual(summary == "=", slower == "=")

    def test_a_pipe_gets_plain_lines(self) -> None:
        done = run(*self.ARGUMENTS)
        self.assertNotIn("\033", done.stdout + done.stderr)
        self.assertNotIn("\r", done.stderr)
        self.assertRegex(done.stderr, r"(?m)^ *\d+ %  .*naive/\S+  1 thr  ok  \S+ .s")

    def on_terminal(self, **environment: str) -> str:
        """What a terminal of 80 columns shows, both streams together."""
        clean = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        controller, terminal = pty.openpty()
        done = run(*self.ARGUMENTS, stdout=terminal, stderr=terminal,
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

    def test_a_terminal_gets_a_live_line(self) -> None:
        shown = self.on_terminal()
        self.assertRegex(shown, r"\r\x1b\[K\[ *\d+ %, \d+:\d\d left\] ")
        self.assertIn("\x1b[1m", shown)

    def test_no_color(self) -> None:
        self.assertNotIn("\x1b[1m", self.on_terminal(NO_COLOR="1"))

    def test_dumb_terminal(self) -> None:
        self.assertNotIn("\x1b[K", self.on_terminal(TERM="dumb"))

    def test_list_as_json(self) -> None:
        listed = json.loads(run("list", "--json").stdout)
        naive = [k for k in listed["kernels"] if k["name"] == "naive"]
        self.assertIn("baseline", {k["isa"] for k in naive})
        self.assertTrue(all(k["available"] or k["needs"] for k in listed["kernels"]))
        quick = next(s for s in listed["suites"] if s["name"] == "quick")
        self.assertTrue(all("problem" in case for case in quick["cases"]))


class Machine(CommandTest):
    def test_machine_as_json(self) -> None:
        done = run("machine", "--json", program=PROGRAM)
        self.assertEqual(done.returncode, 0, done)
        machine = json.loads(done.stdout)
        self.assertGreaterEqual(machine["machine"]["cores"], 1)
        self.assertTrue(machine["machine"]["fingerprint"])
        for ceilings in machine["ceilings"]:
            self.assertGreater(ceilings["arithmetic"][0]["f32_gflops"], 0)
            self.assertGreater(ceilings["bandwidth"][-1]["read_gbytes_per_s"], 0)

    def test_machine_as_text(self) -> None:
        done = run("machine")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("ceilings, 1 thread ", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^fingerprint +[0-9a-f]{16}$")
        self.assertRegex(done.stdout, r"(?m)^isas +baseline(, \w+)*$")
        self.assertRegex(done.stdout, r"(?m)^caches +\d+ of L1, \d+ KiB, ")


if __name__ == "__main__":
    unittest.main()

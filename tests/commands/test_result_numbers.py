"""Results: the numbers in them, the repro line."""

import json
import pathlib
import re
import shlex
import shutil
import unittest

from command import (
    DATA,
    FULL,
    HOST,
    PATIENCE,
    SANITIZED,
    TINY,
    CommandTest,
    Row,
    cells,
    launches,
    lines,
    run,
    unless_emulated,
)

NAIVE = ["--problem", TINY, "--kernel", "naive"]
THREE = ["--launches", "3"]

# Many launches, as other tests have them, whose numbers alone are looked at.
of_numbers = unittest.skipIf(SANITIZED, "the sanitizers see the same launches elsewhere")


class Rows(CommandTest):
    @of_numbers
    def test_numbers_belong_together(self) -> None:
        asked = ("--problem", "h=2,s=64,d=32,mask=causal", "--kernel", "online")
        row = self.cell_of("run", *asked, "--launches", "7", program=HOST)
        time = row["time"]
        medians = sorted(time["launch_medians_s"])
        self.assertEqual(len(medians), time["launches"])
        if len(medians) >= 6:
            self.assertEqual(time["ci95_s"][0], medians[0])
        if len(medians) % 2:
            self.assertEqual(time["median_s"], medians[len(medians) // 2])
        flops = 2 * 2 * (64 * 65 / 2) * 64
        self.assertAlmostEqual(
            row["gflops"], flops / time["median_s"] / 1e9, delta=1e-6 * row["gflops"]
        )
        taken = launches(self.output)
        self.assertEqual([line["median_s"] for line in taken], time["launch_medians_s"])
        self.assertEqual(sum(len(line["samples_s"]) for line in taken), time["samples"])
        self.assertGreater(row["check"]["rows"], 0)
        self.assertTrue(all(line["check"]["verified_samples"] > 0 for line in taken))
        self.assertGreater(row["ceiling"]["fma_gflops"], 0)
        self.assertGreater(row["ceiling"]["fma_from_l1_gflops"], 0)
        self.assertGreater(row["fraction_of_fma"], 0)
        self.assertLess(row["fraction_of_fma"], 1)
        self.assertGreater(row["peak_rss_bytes"], 1e6)

    def test_rows_say_the_group_of_their_kernel(self) -> None:
        words = ("--problem", "h=1,s=8,d=8", "--kernel", "naive,flash,gemm", "--isa", "baseline")
        groups = {row["kernel"]: row["group"] for row in self.cells_of("run", *words)}
        self.assertEqual(groups, {"naive": "textbook", "flash": "ours", "gemm": "rivals"})

    def measured(self, *arguments: str) -> tuple[Row, list[Row]]:
        """The one row of a session, and its launches."""
        row = self.cell_of("run", *arguments, *PATIENCE, program=HOST)
        return row, launches(self.output)

    @of_numbers
    def test_the_roofline(self) -> None:
        """Whatever takes longer at its ceiling binds; many queries a key make it arithmetic."""
        for queries in (128, 1):
            problem = f"h=1,sq={queries},skv=512,d=64"
            row, taken = self.measured("--problem", problem, "--kernel", "online", *THREE)
            flops = 2 * queries * 512 * (64 + 64)
            moved = 4 * (2 * queries * 64 + 2 * 512 * 64)
            self.assertAlmostEqual(row["intensity_flop_per_byte"], flops / moved, places=6)
            ceiling = row["ceiling"]
            computes = flops / ceiling["fma_gflops"] >= moved / ceiling["read_gbytes_per_s"]
            self.assertEqual(row["bound_by"], "compute" if computes else "bandwidth")
            self.assertTrue(computes or queries == 1, row)
            work, key, fraction = (
                (flops, "fma_gflops", "fraction_of_fma")
                if computes
                else (moved, "read_gbytes_per_s", "fraction_of_bandwidth")
            )
            shares = sorted(work / one["median_s"] / 1e9 / one["ceiling"][key] for one in taken)
            self.assertAlmostEqual(row["fraction_of_roofline"], shares[1], places=6)
            self.assertEqual(row["fraction_of_roofline"], row[fraction])

    def test_the_bandwidth_in_place(self) -> None:
        """K and V are read where they lie; a share of that is each launch's own."""
        problem = "h=2,sq=1,skv=512,d=64"
        row, taken = self.measured("--problem", problem, "--kernel", "online", *THREE)
        moved = 4 * 2 * (2 * 64 + 2 * 512 * 64)
        rates = [one["ceiling"]["read_in_place_gbytes_per_s"] for one in taken]
        self.assertEqual(row["ceiling"]["read_in_place_gbytes_per_s"], sorted(rates)[1])
        shares = sorted(moved / one["median_s"] / 1e9 / rate
                        for one, rate in zip(taken, rates, strict=True))  # fmt: skip
        self.assertAlmostEqual(row["fraction_of_bandwidth_in_place"], shares[1], places=6)

    def test_too_little_to_read_in_place(self) -> None:
        row, _ = self.measured("--problem", "h=1,sq=1,skv=2,d=8", "--kernel", "online")
        self.assertIsNone(row["ceiling"]["read_in_place_gbytes_per_s"])
        self.assertIsNone(row["fraction_of_bandwidth_in_place"])

    def test_every_thread_says_how_busy_it_was(self) -> None:
        asked = ("--problem", "h=4,s=64,d=32", "--kernel", "row_parallel", "--threads", "2")
        row, taken = self.measured(*asked)
        for mean, each in (("busy_s", "thread_busy_s"), ("barrier_s", "thread_barrier_s")):
            if row[each] is None:  # an OpenMP runtime that nobody can listen to
                self.assertIsNone(row[mean])
                continue
            self.assertEqual(len(row[each]), 2)
            self.assertAlmostEqual(sum(row[each]) / 2, row[mean], delta=1e-6 * row[mean])
            self.assertEqual(row[each], taken[0][each])
        if row["thread_busy_s"]:
            self.assertGreater(min(row["thread_busy_s"]), 0)

    def test_where_the_time_went(self) -> None:
        """What the workers say they did and what the harness took make up the session."""
        self.cell_of("run", *NAIVE)
        taken = [line for line in lines(self.output) if line["type"] == "launch"]
        end = lines(self.output)[-1]
        self.assertEqual(end["type"], "end")
        probed = sum(launch["probed_s"] for launch in taken)
        self.assertAlmostEqual(end["probing_s"], probed, delta=1e-6)
        work = end["wall_s"] - end["probing_s"] - end["overhead_s"]
        self.assertGreater(work, sum(launch["sampled_s"] for launch in taken))
        self.assertGreater(end["overhead_s"], sum(launch["open_s"] for launch in taken))
        sampled = sum(launch["sampled_s"] for launch in taken)
        self.assertAlmostEqual(end["timing_s"], sampled, delta=1e-6)
        parts = ("preparing", "checking", "timing", "probing", "overhead")
        seconds = [end[f"{part}_s"] for part in parts]
        self.assertGreater(min(seconds), 0)
        self.assertAlmostEqual(sum(seconds), end["wall_s"], delta=1e-6)
        (said,) = re.findall(r"(?m)^time: (?:.+\n)+", self.done.stdout)
        shares = [f"{100 * part / end['wall_s']:.1f}%" for part in seconds]
        self.assertEqual(re.findall(r"[0-9.]+%", said), shares)

    def test_too_few_seconds_are_said_beforehand(self) -> None:
        """0.31 s are granted to each check and 0.06 s to each launch of something tiny."""
        cells = ["--problem", TINY, "--kernel", "naive,online", "--threads", "1", "--launches", "1"]
        cells += FULL
        said = run("run", *cells, "--seconds", "0.5").stderr.splitlines()
        self.assertIn(
            "attnbench: 0.5 s asked; at least about 1 s are needed: checks of 2 variants alone "
            "take about 1 s, one launch of each cell 0 s",
            said[:2],  # behind one of another session on this machine
        )
        for enough in ("1", "9"):  # 0.74 are needed, which reads 1
            self.assertNotIn("asked", run("run", *cells, "--seconds", enough).stderr)

    def test_a_long_session_says_so_beforehand(self) -> None:
        """A minute, whatever it then takes."""
        cells = ["--problem", TINY, "--kernel", "naive", "--threads", "1", "--launches", "1"]
        said = r"(?m)^attnbench: 1 cell of 1 case: about 60 s, [0-9.]+ KB of memory"
        said += "; 1 launch each, too few to rank them$"
        self.assertRegex(run("run", *cells, "--seconds", "60").stderr, said)
        self.assertNotIn("about", run("run", *cells, "--seconds", "59").stderr)

    @unless_emulated("knows no policies of memory")
    def test_memory_lies_where_it_was_asked_to(self) -> None:
        """Policy, read-back and huge pages of launches and row; another policy is another cell."""
        for policy in ("interleave", "bind", "first-touch"):
            row, (launch,) = self.measured(*NAIVE, "--memory", policy, "--huge-pages")
            for line in (row, launch):
                self.assertEqual((line["memory"], line["huge_pages"]), (policy, True))
                self.assertIs(line["memory_in_place"], True)
                self.assertGreaterEqual(line["huge_bytes"], 0)
            settings = lines(self.output)[0]["settings"]
            self.assertEqual((settings["memory"], settings["huge_pages"]), (policy, True))
            self.assertIn("--huge-pages", row["repro"])
            self.assertEqual("--memory " in row["repro"], policy != "first-touch")
        before = len(launches(self.output))
        self.ran("run", "--resume", self.output, "--memory", "bind", program=HOST)
        after = launches(self.output)
        self.assertEqual([line["memory"] for line in after[before:]], ["bind"])

    def test_counters_count_or_say_why_not(self) -> None:
        row, _ = self.measured(*NAIVE)
        counters = row["counters"]
        events = [counters[key] for key in counters if key not in ("why", "energy_j")]
        self.assertEqual(len(events), 4)
        why = counters["why"] or ""
        self.assertEqual("no hardware events: " in why, None in events)
        self.assertEqual("no energy: " in why, counters["energy_j"] is None)

    def test_a_kernel_names_the_library_it_calls(self) -> None:
        rows = self.cells_of("run", "--problem", TINY, "--kernel", "naive,gemm")
        libraries = {row["kernel"]: row["library"] for row in rows}
        self.assertIsNone(libraries["naive"])
        self.assertRegex(libraries["gemm"], r"BLAS|BLIS")
        words = " ".join(self.done.stdout.split())
        self.assertIn(f"gemm calls {' '.join(libraries['gemm'].split())}", words)

    def test_a_kernel_says_where_it_calls_what(self) -> None:
        """OpenBLAS may run other code for a few rows; then each line says for how many cells."""
        few_and_many = ("--problem", "h=1,s=8,d=8", "--problem", "h=1,s=128,d=8")
        rows = self.cells_of("run", *few_and_many, "--kernel", "gemm")
        libraries = {row["library"] for row in rows}
        words = " ".join(self.done.stdout.split())
        self.assertEqual(words.count("gemm calls"), len(libraries))
        for library in libraries:
            where = " in 1 of 2 cells" if len(libraries) > 1 else ""
            self.assertIn(f"gemm calls {' '.join(library.split())}{where}", words)

    def test_every_launch_of_gemm_runs_the_same_core(self) -> None:
        """Chosen by trying, once a case; what the library reports of itself is one text, too."""
        problems = ["--problem", "h=2,s=8,d=16", "--problem", "h=1,s=150,d=64"]
        asked = ("--kernel", "gemm,naive", "--threads", "1,2", "--launches", "2")
        every = self.cells_of("run", *problems, *asked, program=HOST)
        rows = [row for row in every if row["kernel"] == "gemm"]
        self.assertEqual(len(rows), 4)
        for problem in {row["problem"] for row in rows}:
            both = [row for row in rows if row["problem"] == problem]
            taken = [
                line
                for line in lines(self.output)
                if line["type"] == "launch" and line["kernel"] == "gemm"
                and line["problem"] == problem
            ]  # fmt: skip
            self.assertGreaterEqual(len(taken), 4)
            blas = both[0]["blas"]
            self.assertTrue(all(line["blas"] == blas for line in [*both, *taken]))
            self.assertEqual(len({line["library"] for line in [*both, *taken]}), 1)
            tried = blas["tried_s"]
            if tried:
                self.assertIn(blas["core"], tried)
                self.assertLessEqual(tried[blas["core"]], min(tried.values()))
                self.assertIn(
                    f"runs the BLAS library's core {blas['core']} (tried: ", self.done.stdout
                )
            if "OpenBLAS" in both[0]["library"] and "own" not in blas["core"]:
                self.assertIn(blas["core"].lower(), both[0]["library"].lower())
        self.assertEqual({str(row["blas"]) for row in every if row["kernel"] == "naive"}, {"None"})

    def test_a_resumed_session_keeps_the_core(self) -> None:
        """What the launches before an interruption ran on is not chosen anew."""
        asked = ("--problem", TINY, "--kernel", "gemm", "--launches", "2")
        self.cell_of("run", *asked, program=HOST)
        path = pathlib.Path(self.output)
        kept = [
            line
            for line in lines(self.output)
            if line["type"] in ("session", "check", "launch")
            and not line.get("superseded")  # a busy machine's: the cell does not keep it
        ]
        other = {"core": "Haswell", "tried_s": {"Haswell": 1.0, "another": 2.0}}
        for line in kept:
            if line["type"] == "launch":
                line["blas"] = other
        path.write_text("".join(json.dumps(line) + "\n" for line in kept[:3]), encoding="utf-8")
        run("run", "--resume", self.output, program=HOST)
        (row,) = cells(self.output).values()
        self.assertEqual(row["blas"], other)
        self.assertTrue(all(line["blas"] == other for line in launches(self.output)))

    def launched(self, kernels: str, *more: str) -> list[Row]:
        """The launches of a session of something tiny."""
        words = ("--problem", TINY, "--kernel", kernels, *more)
        self.cells_of("run", *words, program=HOST)
        return launches(self.output)

    @of_numbers
    def test_launches_differ_in_order_and_shift(self) -> None:
        taken = self.launched("naive,online,tiled", "--launches", "5", "--seed", "3")
        orders = {}
        for launch in taken:
            orders.setdefault(launch["round"], []).append(launch["kernel"])
        self.assertEqual(len(orders), 5)
        self.assertTrue(
            all(sorted(order) == ["naive", "online", "tiled"] for order in orders.values())
        )
        # Of the later ones: the first has no twin, and so another order even with the same key.
        self.assertGreater(len({tuple(orders[number]) for number in range(1, 5)}), 1)
        shifts = {(launch["round"], launch["shift_bytes"]) for launch in taken}
        self.assertEqual(len(shifts), 5, "a round has more than one shift")
        self.assertGreater(len({shift for _, shift in shifts}), 3)
        self.assertTrue(all(shift % 64 == 0 for _, shift in shifts))

    @of_numbers
    def test_thread_counts_stay_together(self) -> None:
        """In each round what is compared is launched one after the other, in any order."""
        more = ("--threads", "1,2", "--launches", "4", "--seed", "3")
        orders = {}
        for launch in self.launched("row_parallel,tiled", *more):
            orders.setdefault(launch["round"], []).append(launch["threads"])
        for order in orders.values():
            self.assertIn(order, (sorted(order), sorted(order, reverse=True)))
        self.assertEqual({order[0] for order in orders.values()}, {1, 2})

    @of_numbers
    def test_a_seed_repeats_the_order(self) -> None:
        orders = []
        for _ in range(2):
            self.launched("naive,online,tiled", "--seed", "11", "--launches", "2")
            every = lines(self.output)
            first = [line for line in every if line.get("repeat") == 0 and "twin" not in line]
            orders.append([(line["kernel"], line["shift_bytes"]) for line in first])
        self.assertEqual(orders[0], orders[1])

    def test_the_repro_line_reproduces_the_row(self) -> None:
        """Also that of a cold cache: here of too little to be cold, as a cold launch takes long."""
        for shape, *cold in (("h=2,s=128,d=64",), ("h=1,s=16,d=8", "--cold")):
            problem = f"{shape},mask=causal,scale=0.3 input=uniform:7"
            asked = ("--problem", problem, *cold, "--kernel", "online", "--isa", "baseline")
            row = self.cell_of("run", *asked, "--placement", "none")
            self.assertEqual(row["cache"], "cold" if cold else "warm")
            words = shlex.split(row["repro"])
            self.assertEqual(words[0], "attnbench")
            repeated = self.cell_of(*words[1:])
            for key in ("problem", "input", "kernel", "isa", "threads", "placement", "cache",
                        "state", "repro"):  # fmt: skip
                self.assertEqual(row[key], repeated[key])
            if not cold:
                self.assertEqual(row["check"]["max_abs_error"], repeated["check"]["max_abs_error"])

    def test_the_repro_line_survives_quotes_in_a_path(self) -> None:
        odd = self.directory / "it's $HOME"
        shutil.copy(DATA / "minilm-preamble.safetensors", odd)
        problem = f"h=2,s=68,d=32 input=file:{odd}:layer1."
        row = self.cell_of("run", "--problem", problem, "--kernel", "naive")
        self.assertEqual(row["state"], "ok", row)
        words = shlex.split(row["repro"])
        asked = words[words.index("--problem") + 1]
        self.assertTrue(asked.endswith(f" input=file:{odd}:layer1."), asked)

    def test_too_small_to_be_cold(self) -> None:
        row = self.cell_of("run", *NAIVE, "--cold")
        self.assertEqual(row["state"], "unsupported", row)
        self.assertIn("too small for --cold", row["why"])

    def test_unsupported_is_a_result(self) -> None:
        rows = self.cells_of(
            "run", "--problem", "h=1,s=4,d=4,outputs=weights", "--kernel", "online"
        )
        self.assertEqual(
            {(row["state"], row["why"]) for row in rows},
            {("unsupported", "no variant of it takes outputs=weights")},
        )
        self.assertIn("unsupported: online/", self.done.stdout)
        self.assertIn("(no variant of it takes outputs=weights)", self.done.stdout)

    def test_a_serial_kernel_on_two_threads(self) -> None:
        row = self.cell_of("run", *NAIVE, "--threads", "2")
        self.assertEqual((row["state"], row["why"]), ("unsupported", "runs on one thread only"))

    def test_all_variants_are_listed(self) -> None:
        """Those of the host are measured, the others are rows as well."""
        known = self.listed()["kernels"]
        expected = {k["isa"]: k["available"] for k in known if k["name"] == "naive"}
        self.cells_of("run", *NAIVE, "--isa", "all")
        rows = [line for line in lines(self.output) if line["type"] == "cell"]
        states = {row["isa"]: row["state"] == "ok" for row in rows}
        self.assertEqual(states, expected)

    def test_variants_that_are_not_built(self) -> None:
        """Of any instruction set, in words that do not deny the host what it has."""
        known = self.listed()["kernels"]
        built = {k["isa"] for k in known if k["name"] == "naive"}
        for isa in {"avx512_bf16", "amx", "neon_bf16"} - built:
            rows = self.cells_of("run", "--problem", TINY, "--kernel", f"naive/{isa}")
            here = isa in lines(self.output)[0]["machine"]["isas"]
            says = f"no variant for {isa} yet, though" if here else f"no variant for {isa}, and"
            rest = "this host has it" if here else "this host lacks "
            for row in rows:
                self.assertEqual(row["state"], "unavailable")
                self.assertTrue(row["why"].startswith(f"{says} {rest}"), row["why"])

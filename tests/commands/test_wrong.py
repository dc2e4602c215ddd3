"""No wrong kernel gets a time from `run`, nor passes `check`: not on any number of threads."""

import os
import pathlib
import re
import shlex
import unittest

from command import BRIEF, FULL, PATIENCE, SANITIZED, CommandTest, Row, cells, lines

WRONG = os.environ["ATTNBENCH_WRONG"]
KERNELS = {
    name
    for path in (pathlib.Path(__file__).parents[1] / "wrong").glob("*.c")
    for name in re.findall(r"^WRONG[A-Z_]*\(([a-z]\w*)", path.read_text(), re.M)
}
# Wrong in few shapes, which no given case has.
DRAWN = {"scale_of_80": "d=80", "causal_before_64": "mask=causal", "last_row_from_1024": "sq="}
# Right, or wrong in a way that no check can see, or not on one thread (test_wrong.c); from the
# third line on, right unless told which call to spoil, or until they are timed (test_samples.py).
HONEST = {"honest", "honest_bf16", "honest_bf16_cache", "honest_f64", "restores_flush",
          "one_element_off_of_many", "all_elements_off_in_teams",
          "spoils_one_call", "spoils_every_hundredth", "spoils_last_of_sample",
          "spoils_after_a_while", "spoils_beside_others",
          "differs_by_batch", "differs_by_longest", "differs_by_neighbours", "differs_by_prefix",
          "keeps_known_operands", "leaks", *DRAWN}  # fmt: skip

CAUSAL = "hq=4,hkv=2,s=90,d=24,dv=17,mask=causal"
FEW_QUERIES = "sq=8,skv=2000,d=64"
SQUARE = "hq=4,hkv=2,s=70,d=24,dv=17"
CACHE = "b=3,hq=4,hkv=2,sq=5,skv=133,d=24,dv=17"
# What shows those that the plain problem does not.
PROBLEMS = {
    "hq=4,hkv=2,sq=9,skv=69,d=12,dv=9": None,
    "hq=4,hkv=2,sq=9,skv=133,d=24,dv=17,dtype=bf16": "scaled_query_in_parts",
    CAUSAL: "causal_off_by_one nan_leaks nan_vanishes nan_vanishes_alone nan_vanishes_in_teams "
    "masked_rows_are_nan finite_mask",
    FEW_QUERIES: "p_in_f16 p_in_tf32",
    f"{FEW_QUERIES},dtype=bf16": "p_in_bf16 scale_in_bf16_q",
    "sq=24,skv=69,d=8,dtype=f64,mask=causal_top_left": "computes_in_f32 exp_of_40_bits "
    "exp_of_45_bits exp_of_47_bits",
    "sq=2,skv=65536,d=8": "drops_last_key_of_65536",
    "h=2,s=90,d=23": "reads_past_end",
    f"{SQUARE},mask=bool+causal": "mask_transposed mask_of_the_first_head mask_taken_for_dense "
    "mask_or_causal mask_of_the_first_row mask_inverted_in_tail full_block_counts_as_empty "
    "full_block_misses_last_row nan_leaks_through_weights mask_added softcap_after_mask "
    "hides_by_minus_1e9",
    f"{SQUARE},window=9:3": "window_left_off_by_one window_right_off_by_one",
    f"{SQUARE},mask=bias": "scores_before_bias minus_infinity_is_lowest",
    f"{CACHE},mask=bias,softcap=1,alibi=1,sinks=1": "bias_before_scale bias_before_softcap "
    "tanh_overflows tanh_loses_small alibi_without_offset sink_left_out_of_lse "
    "sink_scaled sink_outside_maximum",
    f"{SQUARE},b=3,packed=1,mask=causal_top_left": "packed_reads_on packed_top_left_of_all",
    f"{CACHE},ragged=1,page=16": "length_of_the_neighbour empty_sequence_is_nan "
    "last_page_read_whole page_of_the_first_head table_of_the_first_sequence",
    "hq=4,hkv=2,sq=35,skv=133,d=24,mask=causal": "strides_of_k",
    f"{CACHE},keys=index:40,mask=causal,page=16": "list_of_the_first_query list_of_the_first_head "
    "padding_is_key_0 list_instead_of_mask list_of_physical_keys",
    f"{CACHE},mask=tree": "tree_as_chain tree_shows_siblings tree_stops_at_parent "
    "tree_one_key_late tree_of_the_first_sequence",
    f"{CACHE},page=16,sinks=1": "prefix_of_the_neighbour prefix_counts_sink "
    "prefix_of_the_first_pair prefix_in_whole_blocks prefix_with_others_scales",
    f"{CACHE},kv_dtype=i8": "k_scale_of_the_next_token v_scale_missing v_scale_relative_to_first "
    "int8_taken_for_unsigned int8_negated",
}
ELSEWHERE = {name for names in PROBLEMS.values() if names for name in names.split()}


class Wrong(CommandTest):
    @unittest.skipIf(SANITIZED, "minutes; problem/draw and check/wrong run under the sanitizers")
    def test_drawn_problems_show_what_is_wrong_in_few_shapes(self) -> None:
        """And a simple one is named, which shows it again."""
        for kernel, part in DRAWN.items():
            words = ["check", "--kernel", kernel, "--threads", "1", "--problem", "s=4"]
            self.ran(*words, program=WRONG)
            done = self.ran(*words, "--draw", "30", "--seed", "1", program=WRONG, code=1)
            self.assertIn("problems were drawn from --seed 1", done.stdout)
            text = " ".join(done.stdout.split())
            repro = re.search(
                r"simpler, and fails as well: attnbench (check .*? --threads 1)", text
            )
            self.assertIn(part, repro[1])
            self.ran(*shlex.split(repro[1]), program=WRONG, code=1)

    def rows(self, command: str, problem: str, kernels: str, *more: str) -> list[Row]:
        """The rows of a session with default threads but for their number, by kernel."""
        words = ("--problem", problem, "--kernel", kernels, "--threads", "1,2", *PATIENCE, *more)
        if command == "run":
            words = (*words, *FULL)
        return self.cells_of(command, *words, code=None, program=WRONG)

    def assert_no_time(self, row: Row) -> None:
        self.assertIn(row["state"], ("failed", "crashed"), row)
        self.assertIsNone(row["time"])
        self.assertIsNone(row["gflops"])

    def are_caught(self, command: str, most: int | None) -> None:
        """All kernels, or so many of each problem."""
        for number, (problem, names) in enumerate(PROBLEMS.items()):
            if SANITIZED and problem != CAUSAL:
                continue  # minutes each; check/wrong has every kernel under the sanitizers
            every = set(names.split()) if names else KERNELS - HONEST - ELSEWHERE
            kernels = set(sorted(every)[:most])
            self.output = str(self.directory / f"{command}{number}.jsonl")
            rows = self.rows(command, problem, ",".join(sorted(kernels)))
            self.assertEqual(self.done.returncode, 1)
            self.assertEqual(
                {(row["kernel"], row["threads"]) for row in rows},
                {(kernel, threads) for kernel in kernels for threads in (1, 2)},
            )
            for row in rows:
                self.assert_no_time(row)
            self.assertNotRegex(self.done.stdout, r"(?m)^[*=] |GFLOP/s|fastest")

    def test_run(self) -> None:
        self.are_caught("run", None)

    def test_check(self) -> None:
        """The same phases, with more needles: it cannot miss what `run` catches."""
        self.are_caught("check", 1)

    def test_a_failure_shows_its_own_error(self) -> None:
        """At most four digits of it, or none where no element is wrong."""
        for kernel, error in (
            ("leaves_last_row", None),
            ("modifies_q", None),
            ("differs_by_threads", None),
            ("scale_twice", r"\d\.?\d*(e\+\d+)?"),
            ("lse_in_base_2", r"\d\.?\d*(e\+\d+)?"),
        ):
            self.output = str(self.directory / f"{kernel}.jsonl")
            (row,) = self.rows("check", next(iter(PROBLEMS)), kernel, "--threads", "2")
            self.assertEqual(row["state"], "failed", row)
            (shown,) = re.findall(rf"(?m)^ *{kernel}/baseline +2 +failed *(.*)$", self.done.stdout)
            over_bound = row["check"]["error_over_bound"]
            if error is None:
                self.assertIsNone(over_bound)
                self.assertNotRegex(shown, r"^\d")
                continue
            said = re.search(r"got (\S+), expected (\S+), bound (\S+) ", row["why"])
            got, expected, bound = (float(number) for number in said.groups())
            self.assertAlmostEqual(over_bound * bound / abs(got - expected), 1, delta=0.01)
            self.assertRegex(shown.split()[0], rf"^{error}$")
            digits = re.sub(r"e.*|\D", "", shown.split()[0]).lstrip("0")
            self.assertLessEqual(len(digits), 4, shown)

    def test_what_depends_on_the_batch(self) -> None:
        """Is right in every other check; --invariant names the first difference."""
        problem = next(iter(PROBLEMS))
        for kernel, phase in (
            ("differs_by_batch", "batch"),
            ("differs_by_neighbours", "neighbours"),
            ("differs_by_threads", "own input"),
            ("honest", None),
        ):
            self.output = str(self.directory / f"{kernel}.jsonl")
            for row in self.rows("check", problem, kernel, "--invariant"):
                self.assertEqual(row["check"]["depth"], "invariant")
                self.assertEqual(row["check"]["failed"], phase, row)
                self.assertEqual(row["state"], "failed" if phase else "ok")
                self.assertIn("attnbench check --invariant --problem ", row["repro"])
                if phase in ("batch", "neighbours"):
                    self.assertRegex(row["why"], rf"^{phase}: row .b \d, .* of o is \S+ \D+ and ")
            self.assertEqual(self.done.returncode, 1 if phase else 0)
        self.assertEqual(self.rows("run", problem, "differs_by_batch")[0]["state"], "ok")

    def test_honest_ones_get_theirs(self) -> None:
        rows = self.rows("run", CAUSAL, "honest")
        self.assertEqual(self.done.returncode, 0)
        for row in rows:
            self.assertEqual(row["state"], "ok", row)
            self.assertEqual(row["check"]["depth"], "full")
            self.assertEqual(row["check"]["threads"], [1, 2])
            self.assertIsNone(row["check"]["failed"])
            self.assertIsNone(row["failed_at"])

    def test_a_count_says_which_other_one_failed(self) -> None:
        """And its repro line, with both counts, shows the same row."""
        for kernel, wrong, right in (
            ("nan_vanishes_alone", 1, 2),
            ("nan_vanishes_in_teams", 2, 1),
        ):
            self.output = str(self.directory / f"{kernel}.jsonl")
            rows = {row["threads"]: row for row in self.rows("run", CAUSAL, kernel)}
            own, told = rows[wrong], rows[right]
            self.assertTrue(own["why"].startswith("nan in k: "), own)
            self.assertEqual(own["check"]["failed"], "nan in k")
            plural = "s" if wrong > 1 else ""
            self.assertEqual(told["why"], f"at {wrong} thread{plural}: {own['why']}")
            self.assertEqual((own["failed_at"], told["failed_at"]), (None, wrong))
            self.assertIsNone(told["check"]["error_over_bound"])
            words = shlex.split(told["repro"])
            self.assertEqual(words[words.index("--threads") + 1], f"{right},{wrong}")
            again = str(self.directory / "again.jsonl")
            self.ran(*words[1:], *BRIEF, *FULL, "--output", again, program=WRONG, code=1)
            repeated = {row["threads"]: row for row in cells(again).values()}[right]
            self.assertEqual(repeated["why"], told["why"])
            pathlib.Path(again).unlink()

    def test_a_crash_is_that_of_one_count(self) -> None:
        rows = {row["threads"]: row for row in self.rows("run", CAUSAL, "writes_before_alone")}
        self.assertEqual((rows[1]["state"], rows[2]["state"]), ("crashed", "crashed"), rows)
        self.assertEqual(rows[2]["why"], f"at 1 thread: {rows[1]['why']}")

    def test_a_failure_that_is_known_reaches_who_joins(self) -> None:
        """A session of one count, resumed with another one that is right, and without the first."""
        first = self.rows("run", CAUSAL, "nan_vanishes_alone", "--threads", "1")
        self.assertEqual([row["state"] for row in first], ["failed"])
        for threads in ("2", "2,1"):
            words = ["run", "--resume", self.output, "--threads", threads]
            self.ran(*words, program=WRONG, code=1)
        rows = {row["threads"]: row for row in cells(self.output).values()}
        self.assert_no_time(rows[1])
        self.assert_no_time(rows[2])
        self.assertEqual(
            (rows[2]["state"], rows[2]["why"]), ("failed", f"at 1 thread: {rows[1]['why']}")
        )
        self.assertNotIn("launch", {line["type"] for line in lines(self.output)})

    def test_a_failure_takes_a_time_back(self) -> None:
        """A count that was timed alone is right only as long as no other one fails."""
        (row,) = self.rows("run", CAUSAL, "nan_vanishes_in_teams", "--threads", "1")
        self.assertEqual(row["state"], "ok", row)
        done = self.ran("run", "--resume", self.output, "--threads", "1,2", program=WRONG, code=1)
        rows = {row["threads"]: row for row in cells(self.output).values()}
        for row in rows.values():
            self.assert_no_time(row)
        self.assertEqual(rows[1]["failed_at"], 2)
        self.assertFalse(re.search(r"(?m)^[*=] ", done.stdout), done.stdout)

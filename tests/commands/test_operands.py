"""Problems with masks, lengths, pages and scales, from the command line to the row."""

import os
import unittest

from command import PATIENCE, SANITIZED, SANITIZED_IN_CI, CommandTest, Row, launches, safetensors

# One of each, and some of them together: several pages, blocks and sequences, no larger.
PROBLEMS = (
    "b=3,hq=4,hkv=2,s=20,d=16,packed=1",
    "b=3,hq=4,hkv=2,s=20,d=16,packed=1,mask=causal,layout=bshd input=normal:2+qlens:0:20",
    "b=3,hq=4,hkv=2,sq=10,skv=30,d=16,packed=1,ragged=1 input=normal:2+lens:0:30:9+decode:2",
    "b=3,hq=4,hkv=2,sq=4,skv=45,d=16,ragged=1,page=16,mask=causal",
    "b=3,hq=4,hkv=2,sq=4,skv=70,d=16,page=64,packed=1,dtype=bf16,outputs=o+lse+weights",
    "b=3,hq=4,hkv=2,sq=4,skv=45,d=16,kv_dtype=i8,ragged=1,page=8 input=uniform+scales:channel",
    "b=3,hq=4,hkv=2,sq=4,skv=45,d=16,kv_dtype=i8,packed=1 input=needle:3",
    "b=3,hq=4,hkv=2,sq=2,skv=30,d=19,kv_dtype=i4,kv_zeros=1,page=8 input=uniform+scales:head",
    "b=2,h=2,sq=15,skv=45,d=16,mask=bool+causal,ragged=1 input=normal+mask:blocks:8:0.3:full",
    "b=2,h=2,sq=15,skv=45,d=16,mask=bias,packed=1,dtype=f16 input=negative+bias:causal",
    "b=2,h=2,sq=15,skv=45,d=16,sinks=1,alibi=1,softcap=5,window=10:3",
    "b=2,hq=8,hkv=1,sq=1,skv=30,d=24,dv=16,shared_kv=1,kv_dtype=i8,page=4",
)


class Operands(CommandTest):
    def row(self, command: str, problem: str) -> Row:
        """The row of a plain kernel that takes the types, on one thread."""
        # naive widens quantised elements once for each pair, which is slow under the sanitizers.
        kernel = "gemm" if "f16" in problem or "kv_dtype" in problem else "naive"
        return self.cell_of(command, "--kernel", kernel, "--problem", problem)

    def test_every_operand_is_made_and_checked(self) -> None:
        """One with all inputs of a check, of which check/registry has every kind of problem."""
        for number, problem in enumerate(PROBLEMS):
            with self.subTest(problem):
                brief = number > 0 or SANITIZED_IN_CI
                row = self.row("run" if brief else "check", problem)
                self.assertEqual(row["state"], "ok")
                self.assertGreater(row["check"]["rows"], 0 if brief else 1000)

    @unittest.skipIf(SANITIZED, "bits do not depend on the sanitizers")
    def test_where_tasks_end_changes_no_bit(self) -> None:
        """A tile of queries of one position is the last of its task or not, as threads are."""
        problem = "hq=32,hkv=1,sq=24,skv=72,d=16,mask=causal"
        done = self.ran("check", "--kernel", "flash", "--problem", problem, "--threads", "1,2",
                   *PATIENCE)  # fmt: skip
        self.assertIn("2 of 2 cells: 2 ok", done.stdout)

    def test_flops_are_of_the_keys_that_are_seen(self) -> None:
        plain = "b=4,h=2,sq=3,skv=64,d=8"  # 4 sequences, 2 heads, 3 queries; 32 flops a pair
        pairs = {
            plain: 4 * 2 * 3 * 64,
            f"{plain},mask=causal": 4 * 2 * (62 + 63 + 64),
            f"{plain},ragged=1 input=normal+lens:0:64:20": 2 * 3 * (4 * 20),
            f"{plain},ragged=1,page=16 input=normal+lens:7:7": 2 * 3 * (4 * 7),
            f"{plain},packed=1 input=normal+lens:5:5+decode:3": 2 * (3 * 5 + 3 * 5),
            f"{plain},mask=bool input=normal+mask:elements:0": 0,
            f"{plain},mask=bias input=normal+bias:causal": 4 * 2 * (62 + 63 + 64),
        }
        for problem, count in pairs.items():
            with self.subTest(problem):
                row = self.row("run", problem)
                self.assertEqual(row["useful_flops"], 32 * count)
        self.assertIsNone(self.row("check", f"{plain},mask=causal")["gflops"])

    def mask(self, shape: list[int], visible: list[int]) -> str:
        """A file beside the results with a boolean mask; its path."""
        path = self.directory / "m.safetensors"
        safetensors(path, {"mask": (shape, [bool(x) for x in visible], "BOOL")})
        return str(path)

    def test_a_mask_from_a_file_hides_what_it_says(self) -> None:
        problem = "b=2,h=2,sq=2,skv=3,d=8,mask=bool input=normal+mask:file:"
        path = self.mask([2, 3], [1, 0, 1, 0, 0, 1])  # 3 of 6 pairs, for all heads and sequences
        row = self.row("run", problem + path)
        self.assertEqual((row["state"], row["useful_flops"]), ("ok", 2 * 3 * 4 * (8 + 8)))
        self.assertEqual(row["input"], f"normal:1+mask:file:{path}")
        path = self.mask(
            [2, 1, 1, 3], [1, 0, 0, 1, 1, 1]
        )  # a key for one sequence, all for the other
        row = self.row("run", f"{problem}{path}:full")
        self.assertEqual((row["state"], row["useful_flops"]), ("ok", 2 * 2 * (2 + 6) * (8 + 8)))
        suite = self.directory / "one.suite"
        suite.write_text(f"one: {problem}m.safetensors:full\n", encoding="utf-8")
        self.cell_of("run", "--suite", str(suite), "--kernel", "naive")

    def test_a_mask_that_does_not_suit_is_why_its_row_is_skipped(self) -> None:
        problem = "b=2,h=2,sq=2,skv=3,d=8,mask=bool input=normal+mask:file:"
        for shape, why in (
            ([2, 1, 1, 3], "mask differs between heads or sequences: mask:file:PATH:full"),
            ([6], "bool (2,2,2,3) or what broadcasts to it"),
            (None, "/nowhere/m.safetensors: No such file"),
        ):
            path = self.mask(shape, [1, 0, 0, 1, 1, 1]) if shape else "/nowhere/m.safetensors"
            words = ["--kernel", "naive", "--problem", problem + path]
            row = self.cell_of("check", *words, code=None)
            self.assertEqual(row["state"], "skipped", self.done)
            self.assertIn(why, row["why"])

    def test_a_mask_of_bytes_is_of_0_and_1(self) -> None:
        path = self.directory / "m.safetensors"
        safetensors(path, {"mask": ([2, 3], [1, 0, 1, 0, 2, 1], "U8")})
        problem = f"h=1,sq=2,skv=3,d=8,mask=bool input=normal+mask:file:{path}"
        row = self.cell_of("check", "--kernel", "naive", "--problem", problem, code=None)
        self.assertEqual(row["state"], "skipped", self.done)
        self.assertIn("neither 0 nor 1", row["why"])

    def test_rates_are_of_the_flops_and_bytes_that_are_counted(self) -> None:
        row = self.row("run", "b=4,h=2,sq=1,skv=64,d=8,ragged=1 input=normal+lens:7:7")
        self.assertEqual(row["useful_flops"], 32 * 4 * 2 * 7)
        # Q and O, K and V; of the lengths no kernel has to read more than four numbers
        self.assertGreaterEqual(row["compulsory_bytes"], 4 * (4 * 2 * 16 + 4 * 2 * 7 * 16))
        self.assertLessEqual(row["compulsory_bytes"], 4 * (4 * 2 * 16 + 4 * 2 * 7 * 16 + 4))
        seconds = row["time"]["median_s"]
        self.assertAlmostEqual(row["gflops"] * 1e9 * seconds / row["useful_flops"], 1)
        self.assertAlmostEqual(row["gbytes_per_s"] * 1e9 * seconds / row["compulsory_bytes"], 1)

    def test_launches_say_it_for_who_resumes(self) -> None:
        row = self.row("run", "b=2,h=1,sq=1,skv=64,d=8,mask=bool")
        (launch,) = launches(self.output)
        self.assertEqual(launch["useful_flops"], row["useful_flops"])
        self.assertLess(row["useful_flops"], 32 * 2 * 64)
        again = self.ran("run", "--resume", self.output)
        first = [line for line in self.done.stdout.splitlines() if "FLOP" in line]
        self.assertEqual([line for line in again.stdout.splitlines() if "FLOP" in line], first)

    def test_what_a_problem_has_no_use_for_is_refused(self) -> None:
        for input_text, message in (
            ("normal+lens:1:9", "position 21: clause lens needs ragged=1, or packed=1"),
            ("normal+mask:blocks:8:0.5", "position 21: clause mask needs mask=bool"),
            ("normal+lenses:1:9", "position 21: unknown clause 'lenses'"),
        ):
            self.refused(["run", "--problem", f"s=9,d=8 input={input_text}"], 2, message)

    # ---- who has what ----------------------------------------------------------------------------

    def test_the_matrix_is_what_the_kernels_say(self) -> None:
        shown = self.ran("list", "--matrix", env={**os.environ, "COLUMNS": "80"})
        self.assertLessEqual(max(map(len, shown.stdout.splitlines())), 80)
        words: dict[tuple[str, str], str] = {}
        heads: list[str] = []
        for line in shown.stdout.splitlines():
            if line.startswith(" ") or not line:
                heads = line.split()
            elif len(cut := line[21:].split()) == len(heads) > 0:
                words |= {
                    (head, line[:21].strip()): word for head, word in zip(heads, cut, strict=True)
                }
        variants = self.listed()["kernels"]
        self.assertEqual({name for name, _ in words}, {each["name"] for each in variants})
        for (name, feature), word in words.items():
            has = [feature in each["features"] for each in variants if each["name"] == name]
            self.assertEqual(word, "yes" if all(has) else "some" if any(has) else "-", feature)
            for each in variants:
                self.assertNotEqual(feature in each["features"], feature in each["lacks"])
        self.assertEqual(words["naive", "page"], "yes")
        self.assertEqual(words["online", "outputs=o+weights"], "-")
        self.assertEqual(
            [words[name, "outputs=o+scores"] for name in ("naive", "gemm")], ["yes", "-"]
        )

    def test_what_a_kernel_lacks_is_why_its_row_is_unsupported(self) -> None:
        variants = self.listed()["kernels"]
        lacks = next(each["lacks"] for each in variants if each["name"] == "online")
        for feature, problem in (
            ("dtype=bf16", "h=2,s=8,d=8,dtype=bf16"),
            ("outputs=o+weights", "h=2,s=8,d=8,outputs=o+weights"),
        ):
            row = self.cell_of("check", "--kernel", "online", "--problem", problem, code=None)
            self.assertEqual(row["state"], "unsupported")
            self.assertIn(lacks[feature], row["why"])

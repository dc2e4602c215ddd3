"""The attention of models: cases of --model, and what a pass or a token takes in all."""

import json
import re

from command import BRIEF, CommandTest, cells, run

# Sums and names need no full check, which takes ten times as long as the rest.
TIMED = [*BRIEF, "--check", "case"]
# As many keys as its window does not hold.
GEMMA = ["--model", "gemma-3-1b", "--decode", "600", "--threads", "1", *TIMED]


class Passes(CommandTest):
    def line(self, printed: str, begin: str) -> str:
        """The paragraph that begins so, on one line."""
        text = re.sub(r"\n +", " ", printed)
        found = [line for line in text.splitlines() if line.startswith(begin)]
        self.assertEqual(len(found), 1, printed)
        return found[0]

    def test_a_token_takes_the_fastest_kernels_times_the_layers(self) -> None:
        self.cells_of("run", *GEMMA, "--kernel", "flash,split_kv")
        rows = cells(self.output)
        total = 0.0
        for kind, layers in (("full", 4), ("window", 22)):
            case = f"gemma-3-1b-{kind}-decode-600"
            both = [rows[case, kernel, 1] for kernel in ("flash", "split_kv")]
            total += layers * min(row["time"]["median_s"] for row in both)
            for row in both:
                share = {"name": "gemma-3-1b-decode-600", "layers": layers, "of": 26}
                self.assertEqual(row["passes"], [share | {"without": None}])
        line = self.line(self.done.stdout, "gemma-3-1b, one token on 600 keys, 1 thread: ")
        few = r"[0-9.]+ \w+ \(n=1\) by \w+/\w+"
        self.assertRegex(
            line, rf" in 26 layers \(4 full x {few} \+ 22 window x {few}\); n= counts "
        )
        said = re.search(r"attention takes ([0-9.]+ \w+) in ", line)
        assert said
        self.assertAlmostEqual(seconds(said[1]), total, delta=0.05 * total)  # to two digits
        self.assertLessEqual(len(said[1].split()[0].replace(".", "").lstrip("0")), 3)

    def test_what_has_no_time_is_named(self) -> None:
        done = run("run", *GEMMA, "--kernel", "split_kv", "--case", "*-window-*")
        line = self.line(done.stdout, "gemma-3-1b, one token on 600 keys, 1 thread: ")
        self.assertIn(": attention takes more than ", line)
        self.assertTrue(line.endswith("; it has no time in 4 of 26 layers (not selected)"), line)
        done = run("run", *GEMMA, "--kernel", "row_parallel", "--isa", "amx,sve")
        line = self.line(done.stdout, "gemma-3-1b, one token on 600 keys, 1 thread: ")
        names = ", ".join(f"gemma-3-1b-{kind}-decode-600" for kind in ("full", "window"))
        self.assertTrue(
            line.endswith(f": attention has no time in 26 of 26 layers ({names})"), line
        )

    def test_layers_without_softmax_are_told(self) -> None:
        done = run(
            *("run", "--model", "qwen-3-next-80b-a3b:tp2", "--prefill", "16", "--threads", "1"),
            *("--kernel", "split_kv", *TIMED),
        )
        line = self.line(done.stdout, "qwen-3-next-80b-a3b-tp2, a pass over 16 tokens, 1 thread: ")
        self.assertIn(" in 12 layers (12 x ", line)
        self.assertIn("; without 36 layers of gated delta net", line)

    def test_a_batch_of_sequences_is_computed_and_round_trips(self) -> None:
        batch = ["--model", "gemma-3-1b:tp4", "--batch", "q5,2q1s9,q3s7:page4"]
        row = self.cell_of("run", *batch, "--kernel", "split_kv")
        self.assertEqual((row["state"], row["input"]), ("ok", "normal:1+batch:q5,2q1s9,q3s7"))
        self.assertIn("packed=1,page=4", row["problem"])
        # by hand: 5 causal queries see 15 keys, each 9, and the last three 5, 6 and 7
        self.assertEqual(row["useful_flops"], 2 * (15 + 2 * 9 + 18) * (256 + 256))

    def test_a_check_takes_models_and_prints_no_time(self) -> None:
        self.cell_of("check", "--model", "gemma-3-1b", "--decode", "8", "--kernel", "split_kv")
        self.assertNotIn("attention takes", self.done.stdout)

    def test_an_unknown_model_is_refused_with_the_nearest(self) -> None:
        self.refused(
            ["run", "--model", "gemma-3-1c", "--prefill", "4"], 2, "did you mean 'gemma-3-1b'?"
        )
        self.refused(["check", "--decode", "4"], 2, "need a --model")

    def test_what_a_config_leaves_open_is_told(self) -> None:
        config = {
            "num_hidden_layers": 3, "num_attention_heads": 4, "hidden_size": 64,
            "model_type": "foo", "torch_dtype": "float32",
        }  # fmt: skip
        path = self.directory / "m.json"
        small = ["--model", str(path), "--decode", "8", "--threads", "1", "--kernel", "split_kv"]
        path.write_text(json.dumps(config))
        done = self.ran("run", *small, *TIMED)
        self.assertIn(
            f"attnbench: {path}: model_type 'foo' is not known: every layer is causal and sees all "
            "before it; no num_key_value_heads: as many as query heads; no head_dim: hidden_size "
            "divided by heads\n",
            done.stderr,
        )
        path.write_text(json.dumps(config | {"num_key_value_head": 2}))
        meant = f"{path}: 'num_key_value_head': is 'num_key_value_heads' meant?"
        self.refused(["run", *small], 2, meant)

    def test_a_batch_gives_a_problem_its_lengths(self) -> None:
        problem = ["--problem", "hq=4,hkv=2,d=16|24,mask=causal", "--kernel", "split_kv"]
        rows = self.cells_of("run", *problem, "--batch", "q5,2q1s9:page4|3q4s4")
        self.assertEqual({row["state"] for row in rows}, {"ok"})
        heads = "hq=4,hkv=2"
        self.assertEqual(
            [(row["problem"], row["input"]) for row in rows],
            [
                (f"b={b},{heads},sq={sq},skv={skv},d={d},mask=causal{more}", text)
                for d in (16, 24)
                for b, sq, skv, more, text in (
                    (3, 5, 9, ",ragged=1,packed=1,page=4", "normal:1+batch:q5,2q1s9"),
                    (3, 4, 4, "", "normal:1"),
                )
            ],
        )

    def test_a_batch_of_a_problem_is_refused_with_what_is_wrong(self) -> None:
        for problem, batch, message in (
            (
                "h=8,s=64",
                "2q4",
                "--batch says the lengths and the input of a --problem, which has sq",
            ),
            ("h=8,page=4", "2q4", "which has page"),
            ("h=8 input=uniform", "2q4", "which has an input"),
            ("b=2,h=8,s=9,packed=1 input=normal+lens:5,6", "2q4", "which has an input"),
            ("h", "2q4", "problem 'h', position 0: 'h' has no value"),
            ("x=8", "2q4", "problem 'x=8', position 0: unknown key 'x'"),
            ("hq=8,hkv=3", "2q4", "hq is not a multiple of hkv"),
            ("h=8", "2q4|2x", "--batch '2x' has no queries; expected [N]qQ[sS]"),
            ("h=8", "4", "--batch '4' has no queries"),
        ):
            self.refused(["run", "--problem", problem, "--batch", batch], 2, message)
        self.refused(["run", "--batch", "2q4"], 2, "or a --problem such as hq=32,hkv=8,mask=causal")


def seconds(text: str) -> float:
    """A time as the program prints it."""
    number, unit = text.split()
    return float(number) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[unit]

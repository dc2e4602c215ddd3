"""Experiments on the scale of logits: variance, softmax, saturation, the worked examples."""

import itertools
import json
import math
import statistics

from command import DATA, read_safetensors
from experiments import PUBLISHED, Experiments, values_by


class Variance(Experiments):
    SMALL = ("--d", "1,8", "--trials", "2000", "--kernel-d", "16")

    def test_published_numbers_lie_inside(self) -> None:
        rows = self.rows("variance", *self.SMALL)
        published = json.loads(PUBLISHED.read_text())["variance_of_dot_products"]
        mine = [row for row in rows if row["params"]["part"] == "published"]
        self.assertEqual([row["params"]["d"] for row in mine], published["dims"])
        for row, before, after in zip(mine, published["before"], published["after"], strict=True):
            self.assertEqual(row["params"]["trials"], 1000)
            for interval, printed in (("ci95", before), ("scaled_ci95", after)):
                lo, hi = row["values"][interval]
                self.assertLess(lo, printed)
                self.assertLess(printed, hi)
            self.assertEqual(row["values"]["theory"], row["params"]["d"])
            self.assertIs(row["values"]["before_inside"], True)
            self.assertIs(row["values"]["after_inside"], True)
        self.assertNotIn("lie outside", self.printed)

    def test_kernels_see_the_logits_of_their_scale(self) -> None:
        rows = self.rows("variance", *self.SMALL)
        kernels = [row for row in rows if row["params"]["part"] == "kernels"]
        names = {row["params"]["kernel"] for row in kernels}
        self.assertLessEqual({"naive", "flash", "gemm", "split_kv"}, names)
        self.assertEqual(len(kernels), 4 * len(names))
        for row in kernels:
            theory = {"1": 16, "d^-1/4": 4, "d^-1/2": 1, "1/d": 1 / 16}[row["params"]["scale"]]
            self.assertAlmostEqual(row["values"]["theory"] / theory, 1, places=6)
            self.assertAlmostEqual(row["values"]["variance"] / theory, 1, delta=0.1)

    def test_heads_of_the_model(self) -> None:
        rows = self.rows("variance", *self.SMALL)
        real = [row for row in rows if row["params"]["part"] == "real"]
        self.assertEqual(len(real), 10)
        tensors = read_safetensors(str(DATA / "minilm-preamble.safetensors"))
        (_, _, n, d), q = tensors["layer1.q"]
        k = tensors["layer1.k"][1]
        values = next(r["values"] for r in real if r["params"]["prefix"] == "layer1.")
        logits = [
            [sum(q[i * d + c] * k[j * d + c] for c in range(d)) for j in range(n)] for i in range(n)
        ]

        def variance(without: int | None) -> float:
            kept = [i for i in range(n) if i != without]
            return statistics.pvariance([logits[i][j] for i in kept for j in kept])

        self.assertAlmostEqual(values["variance"] / variance(None), 1, places=6)
        left = [variance(t) for t in range(n)]
        half = 1.96 * ((n - 1) * statistics.pvariance(left)) ** 0.5
        lo, hi = values["ci95"]
        self.assertAlmostEqual((hi - lo) / 2 / half, 1, places=4)
        self.assertAlmostEqual(values["scaled"] * d / values["variance"], 1, places=6)
        products = (
            [q[i * d + c] * k[j * d + c] for i in range(n) for j in range(n)] for c in range(d)
        )
        independent = sum(statistics.pvariance(p) for p in products)
        self.assertAlmostEqual(values["independent"] / independent, 1, places=6)

    def test_same_numbers_on_any_thread_count(self) -> None:
        one = self.rows("variance", *self.SMALL, "--threads", "1")
        three = self.rows("variance", *self.SMALL, "--threads", "3")
        other = self.rows("variance", *self.SMALL, "--seed", "2")
        self.assertEqual(one, three)
        self.assertNotEqual(one[-1]["values"], other[-1]["values"])


class Softmax(Experiments):
    def test_published_digits_of_every_kernel(self) -> None:
        rows = self.rows("softmax", "--quick")
        published = json.loads(PUBLISHED.read_text())["softmax_peaky"]
        mine = [row for row in rows if row["params"]["part"] == "published"]
        by = {row["params"]["by"] for row in mine}
        self.assertLessEqual({"definition", "naive", "flash", "gemm"}, by)
        for row in mine:
            key = row["params"]["printed"]
            form = {"softmax": "{:.4f}", "softmax_of_8x": "{:.4e}"}[key]
            self.assertEqual(
                [form.format(p) for p in row["values"]["weights"]],
                [form.format(p) for p in published[key]],
            )
        self.assertNotIn("DIFFERS", self.printed)

    def test_another_digit_is_a_mismatch(self) -> None:
        altered = self.altered_data(["softmax_peaky", "softmax_of_8x", 3], 2.4766e-05)
        done = self.ran("experiment", "softmax", "--quick", env=altered, code=1)
        self.assertIn("DIFFERS", done.stdout)
        self.assertIn("8 rows differ", done.stdout)

    def test_sweep(self) -> None:
        rows = self.rows("softmax", "--multipliers", "1,64", "--keys", "256", "--rows", "50")
        published, normal, uniform = (
            [row["values"] for row in rows if row["params"].get("input") == name]
            for name in ("published", "normal", "uniform")
        )
        # By hand from softmax(x) = .2105 .1469 .2676 .0822 .2928.
        self.assertAlmostEqual(published[0]["entropy"], 1.5276, places=3)
        self.assertAlmostEqual(published[0]["largest"], 0.2928, places=3)
        self.assertGreater(normal[0]["effective_keys"], 130)
        self.assertLess(normal[1]["effective_keys"], 1.5)
        self.assertLess(normal[1]["gradient"], normal[0]["gradient"] / 10)
        # Of many keys with logits x e^entropy is n E e^x / e^(E x e^x / E e^x): for x uniform in
        # +-a, a^2 = 3, that is n sinh(a)/a e^(1 - a coth a).  The largest is near a, and the next
        # are not far: 64 times a mean gap of 2 a / 256 is 0.9.
        a = 3**0.5
        keys = 256 * math.sinh(a) / a * math.exp(1 - a / math.tanh(a))
        self.assertAlmostEqual(uniform[0]["effective_keys"] / keys, 1, delta=0.03)
        self.assertAlmostEqual(
            uniform[0]["largest"] * 256, math.exp(a) * a / math.sinh(a), delta=0.2
        )
        self.assertTrue(2 < uniform[1]["effective_keys"] < 6)
        self.assertIn("With 256 normal logits of spread 1", self.printed)
        self.assertRegex(self.printed, r"uniform logits of spread 1 softmax lets more\s+gradient")
        self.assertLessEqual(max(v["jacobian"] for v in (*published, *normal, *uniform)), 0.5)


class Saturation(Experiments):
    SMALL = ("--d", "16,1024", "--keys", "64", "--rows", "40", "--inputs", "normal")

    def test_only_the_root_keeps_the_gradient(self) -> None:
        rows = self.rows("saturation", *self.SMALL)
        at = values_by(rows, "d", "scale", part="random")
        root = [at[d, "d^-1/2"]["gradient"] for d in (16, 1024)]
        self.assertAlmostEqual(root[1] / root[0], 1, delta=0.2)
        self.assertLess(at[1024, "1"]["effective_keys"], 1.5)
        self.assertGreater(at[1024, "1/d"]["effective_keys"], 63)
        # 1/d: the gradient goes with d^-1/2 times that of equal weights.
        shrunk = at[1024, "1/d"]["gradient"] / at[16, "1/d"]["gradient"]
        self.assertAlmostEqual(shrunk * 8, 1, delta=0.35)
        self.assertEqual(at[16, "d^-1/2"]["dead"], 0)
        self.assertGreater(at[1024, "1"]["dead"], 0.05)

    def test_heads_of_the_model(self) -> None:
        rows = self.rows("saturation", *self.SMALL)
        at = values_by(rows, "prefix", "head", part="real", scale="d^-1/2")
        self.assertEqual(len(at), 10)
        self.assertLessEqual(max(map(len, self.printed.splitlines())), 80)
        # tests/data/README.md: head 2 of layer 0 uses 1.4 keys (a mean of e^entropy).
        self.assertLess(at["layer0.", 2]["effective_keys"], 1.4)
        self.assertGreater(at["layer0.", 1]["effective_keys"], 150)

    def test_same_numbers_on_any_thread_count(self) -> None:
        one = self.rows("saturation", *self.SMALL, "--threads", "1")
        self.assertEqual(one, self.rows("saturation", *self.SMALL, "--threads", "3"))


class WorkedExamples(Experiments):
    def test_everything_that_was_printed(self) -> None:
        rows = self.rows("worked-examples")
        published = json.loads(PUBLISHED.read_text())
        listed = self.listed()["kernels"]
        kernels = {k["name"] for k in listed if k["group"] != "rivals" or k["name"] == "gemm"}
        found = {
            (row["params"]["example"], row["params"]["quantity"], row["params"]["by"])
            for row in rows
            if row["values"].get("published") is not None
        }
        for example, data in published.items():
            if "init" not in data:
                continue
            matrices = ("q", "k", "v", "scores", "scaled_scores", "weights", "output")
            printed = [key for key in data if key in matrices or key.startswith("w_")]
            for quantity in printed:
                self.assertIn((example, quantity, "definition"), found)
            self.assertLessEqual({(example, "output", k) for k in kernels}, found)
        for kernel in kernels:
            self.assertIn(("causal_softmax_printed", "weights", kernel), found)
        for row in rows:
            values, params = row["values"], row["params"]
            if values.get("published") is None:
                continue
            original = published[params["example"]][params["quantity"]]
            self.assertEqual(values["published"], original)
            for mine, theirs in zip(values["computed"], original, strict=True):
                theirs = theirs + [0] * (len(mine) - len(theirs))
                for a, b in zip(mine, theirs, strict=True):
                    self.assertLessEqual(abs(a - b), values["tolerance"])
            if "causal" not in params["example"]:
                self.assertEqual(values["tolerance"], 6e-5)
            elif params["by"] == "definition":
                self.assertEqual(values["tolerance"], 1e-8)

    def test_what_had_no_seed(self) -> None:
        for seed in ("1", "2"):
            rows = self.rows("worked-examples", "--seed", seed)
            exact = [
                row
                for row in rows
                if row["params"].get("property")
                in ("weights above the diagonal are 0", "first row is the first value")
            ]
            self.assertGreater(len(exact), 20)
            of = {row["params"]["example"].rpartition(", ")[2] for row in exact}
            self.assertEqual(of, {"causal_softmax_printed", "uniform inputs", "normal inputs"})
            for row in exact:
                self.assertEqual(row["values"]["difference"], 0)

    def test_masks_that_are_operands(self) -> None:
        kernels = {"naive", "row_parallel", "tiled", "online", "gemm", "flash"}
        rows = self.rows("worked-examples")
        by: dict[tuple[str, str], set[str]] = {}
        for row in rows:
            params = row["params"]
            if "property" in params:
                self.assertIs(row["values"]["ok"], True, row)
                by.setdefault((params["example"], params["property"]), set()).add(params["by"])
        for how in ("-inf added to the scores", "by a boolean mask"):
            at = ("causal_softmax_printed", f"weights as printed, {how}")
            self.assertLessEqual(kernels, by[at])
        for inputs, what in itertools.product(
            ("uniform", "normal"),
            (
                "weights of masked keys are 0",
                "rows without a key are 0",
                "first row is the first value",
                "output is that of float64 weights",
            ),
        ):
            layer = f"layer (2, 10, 64), 4 heads, added mask (2, 4, 10, 10), {inputs} inputs"
            self.assertLessEqual(kernels, by[layer, what])

    def test_masked_weights(self) -> None:
        uniform, normal = (
            row["values"]["computed"]
            for row in self.rows("worked-examples")
            if row["params"].get("quantity") == "weights of sequence 1, head 0"
        )
        for i, weights in (*enumerate(uniform), *enumerate(normal)):
            # Head 0 looks back 2 tokens, the last 3 are padding.
            seen = [j for j in range(10) if i - 2 <= j <= i and j < 7]
            self.assertEqual([j for j, p in enumerate(weights) if p > 0], seen)
            self.assertAlmostEqual(sum(weights), 1 if seen else 0)
        self.assertNotEqual(uniform, normal)

    def test_any_other_number_is_a_mismatch(self) -> None:
        altered = (
            (["layer_linear_seed42", "w_k_transposed", 1, 0], -0.519),
            (["layer_linear_seed42", "seed"], 43),
            (["layer_linear_seed123", "output", 4, 1], -0.0369),
            (["causal_softmax_printed", "weights", 5, 2], 0.22467583),
        )
        for path, value in altered:
            env = self.altered_data(path, value)
            done = self.ran("experiment", "worked-examples", env=env, code=1)
            self.assertRegex(done.stdout, r"what differs\n(.*\n)+\n\d+ DIFFER\.")

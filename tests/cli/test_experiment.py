"""Experiments from the command line: rows, refusals, published numbers, interrupts."""

import json
import pathlib
import signal
import statistics
import subprocess
import time
import unittest

from command import BESIDE, DATA, PROGRAM, lines, read_safetensors, run
from experiments import PUBLISHED, Experiments


class Command(Experiments):
    def test_listed_with_question_method_and_source(self) -> None:
        listed = json.loads(run("list", "--json").stdout)["experiments"]
        text = run("list").stdout
        self.assertIn("variance", [e["name"] for e in listed])
        for experiment in listed:
            self.assertIn(f"  {experiment['name']} ", text)
            page = run("experiment", experiment["name"], "--help")
            self.assertEqual(page.returncode, 0)
            self.assertIn(experiment["question"], page.stdout)
            for word in ("Method", "Source", "Parameters", "--seed", "--quick"):
                self.assertIn(word, page.stdout)

    def test_bad_parameters_are_refused_by_name(self) -> None:
        self.refused(["experiment", "varance"], 2, "'varance'", "'variance'")
        self.refused(["experiment"], 2, "takes a name, or all")
        self.refused(["experiment", "variance", "--dim", "4"], 2, "'--dim'", "'d'")
        self.refused(["experiment", "variance", "--trials", "few"], 2, "--trials", "'few'")
        self.refused(["experiment", "variance", "--inputs", "cauchy"], 2, "--inputs", "'cauchy'")
        self.refused(["experiment", "variance", "--d"], 2, "--d takes LIST")
        self.refused(["experiment", "all", "--d", "4"], 2, "'--d'")
        self.refused(["experiment", "all", "--if-busy", "go"], 2, "--if-busy", "go-on: 'go'")

    def test_output_that_exists_is_refused(self) -> None:
        pathlib.Path(self.output).write_text("mine\n")
        self.refused(["experiment", "variance", "--output", self.output], 3, "exists")

    def interrupted(self, *arguments: str, rows: int) -> str:
        """What an experiment prints that is interrupted after so many rows, which are kept."""
        with subprocess.Popen(
            [PROGRAM, "experiment", *arguments, "--output", self.output, *BESIDE],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            path = pathlib.Path(self.output)
            while not path.exists() or path.read_text().count('"type":"experiment"') < rows:
                self.assertIsNone(process.poll())
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130, err)
        self.assertIn("interrupted", err)
        types = [line["type"] for line in lines(self.output)]
        self.assertEqual(types, ["session", *rows * ["experiment"], "end"])
        self.assertFalse(lines(self.output)[-1]["complete"])
        return out

    def test_interrupt_keeps_what_is_done(self) -> None:
        out = self.interrupted("variance", "--trials", "1000000000", rows=3)
        self.assertIn("var(q.k)", out)

    def test_interrupt_keeps_the_cells_that_are_measured(self) -> None:
        out = self.interrupted("scaling", "--kernels", "naive", "--launches", "1000", rows=1)
        self.assertIn("1 times over S are too few", out)


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
        self.assertEqual(self.printed.count(" inside"), 6)

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
        self.assertEqual(self.printed.count(" ok\n"), len(mine))

    def test_another_digit_is_a_mismatch(self) -> None:
        done = run(
            "experiment",
            "softmax",
            "--quick",
            env=self.altered_data(["softmax_peaky", "softmax_of_8x", 3], 2.4766e-05),
        )
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("DIFFERS", done.stdout)
        self.assertIn("8 rows differ", done.stdout)

    def test_sweep(self) -> None:
        rows = self.rows("softmax", "--multipliers", "1,64", "--keys", "256", "--rows", "50")
        published, random = (
            [row["values"] for row in rows if row["params"].get("input") == name]
            for name in ("published", "normal")
        )
        # By hand from softmax(x) = .2105 .1469 .2676 .0822 .2928.
        self.assertAlmostEqual(published[0]["entropy"], 1.5276, places=3)
        self.assertAlmostEqual(published[0]["largest"], 0.2928, places=3)
        self.assertGreater(random[0]["effective_keys"], 130)
        self.assertLess(random[1]["effective_keys"], 1.5)
        self.assertLess(random[1]["gradient"], random[0]["gradient"] / 10)
        self.assertLessEqual(max(v["jacobian"] for v in (*published, *random)), 0.5)


class Saturation(Experiments):
    SMALL = ("--d", "16,1024", "--keys", "64", "--rows", "40", "--inputs", "normal")

    def test_only_the_root_keeps_the_gradient(self) -> None:
        rows = self.rows("saturation", *self.SMALL)
        at = {
            (row["params"]["d"], row["params"]["scale"]): row["values"]
            for row in rows
            if row["params"]["part"] == "random"
        }
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
        at = {
            (row["params"]["prefix"], row["params"]["head"]): row["values"]
            for row in rows
            if row["params"]["part"] == "real" and row["params"]["scale"] == "d^-1/2"
        }
        self.assertEqual(len(at), 10)
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
        kernels = {k["name"] for k in json.loads(run("list", "--json").stdout)["kernels"]}
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
            for row in exact:
                self.assertEqual(row["values"]["difference"], 0)

    def test_any_other_number_is_a_mismatch(self) -> None:
        altered = (
            (["layer_linear_seed42", "w_k_transposed", 1, 0], -0.519),
            (["layer_linear_seed42", "seed"], 43),
            (["layer_linear_seed123", "output", 4, 1], -0.0369),
            (["causal_softmax_printed", "weights", 5, 2], 0.22467583),
        )
        for path, value in altered:
            done = run("experiment", "worked-examples", env=self.altered_data(path, value))
            self.assertEqual(done.returncode, 1, (path, done.stdout))
            self.assertIn("off by", done.stdout)


class Numerics(Experiments):
    def test_errors_stay_within_their_bound(self) -> None:
        small = ("--s", "16,512", "--rows", "8", "--dtypes", "f32,bf16")
        rows = self.rows("error-growth", *small, "--threads", "1")
        self.assertEqual(rows, self.rows("error-growth", *small, "--threads", "3"))
        kernels = {row["params"]["kernel"] for row in rows if row["params"]["dtype"] == "f32"}
        self.assertLessEqual({"naive", "gemm", "flash"}, kernels)
        for row in rows:
            params, values = row["params"], row["values"]
            self.assertLessEqual(values["error_over_bound"], 1, row)
            lo, hi = (1e-9, 1e-6) if params["dtype"] == "f32" else (1e-5, 1e-2)
            self.assertTrue(lo < values["rms"] <= values["max"] < hi, row)
            self.assertLessEqual(values["rms"], values["bound_rms"], row)
        # N(0, 1) values: the output of s keys has a spread of about s^-1/2.
        outputs = {row["params"]["s"]: row["values"]["output_rms"] for row in rows}
        self.assertAlmostEqual(outputs[16] / outputs[512] / 32**0.5, 1, delta=0.4)

    def test_first_logit_that_overflows(self) -> None:
        rows = self.rows("overflow")
        at = {(row["params"]["dtype"], row["params"]["by"]): row["values"] for row in rows}
        plain = "exp without maximum"
        # log(FLT_MAX / 2): two exponentials are added; log(2^-150), half the least subnormal.
        self.assertAlmostEqual(at["f32", plain]["up"], 88.0297, places=3)
        self.assertAlmostEqual(at["f32", plain]["down"], 103.972, places=2)
        # log(65504 / 2) and log(2^-25), in float16's steps of 2^-7 and 2^-6.
        self.assertAlmostEqual(at["f16", plain]["up"], 10.397, delta=0.02)
        self.assertAlmostEqual(at["f16", plain]["down"], 17.329, delta=0.03)
        for (dtype, by), values in at.items():
            if by not in (plain, "exp with maximum"):
                for key in ("up", "down"):
                    if values[key] is not None:
                        self.assertGreater(values[key], 1e38 if dtype != "f16" else 1e8, by)

    def test_rescales_by_order_of_the_keys(self) -> None:
        rows = self.rows("rescale", "--quick", "--rounds", "6", "--s", "512")
        count = {
            (row["params"]["input"], row["params"]["block"], row["params"]["threshold"]): row[
                "values"
            ]["rescales"]
            for row in rows
            if row["params"]["part"] == "count"
        }
        self.assertEqual(count["ascending", 1, 0], 511)
        self.assertEqual(count["descending", 1, 0], 0)
        self.assertAlmostEqual(count["normal", 1, 0], sum(1 / k for k in range(2, 513)), delta=1)
        self.assertEqual(count["normal", 64, 8], 0)
        self.assertGreater(count["layer0.", 1, 0], 1)
        timed = [row for row in rows if row["params"]["part"] == "time"]
        self.assertEqual(len(timed), 12)
        for row in timed:
            if row["params"]["input"] == "descending":
                self.assertEqual(row["values"]["ratio"], 1)

    def test_weights_cost_memory_squared(self) -> None:
        rows = self.rows("memory", "--s", "128..1024")
        for row in rows:
            params, values = row["params"], row["values"]
            s, weights = params["s"], params["outputs"] == "o+weights"
            self.assertEqual(values["operand_bytes"], 4 * s * (4 * 64 + (s if weights else 0)))
            self.assertLess(values["workspace_bytes"], 1e6 + (4 * s * s if weights else 0))
        found = {row["params"]["kernel"] for row in rows if "w" in row["params"]["outputs"]}
        self.assertIn("naive", found)
        self.assertNotIn("flash", found)
        self.assertIn("grows as S^1.", self.printed)

    def test_what_changes_no_bit(self) -> None:
        rows = self.rows("invariance")
        repeatable = {
            k["name"]: k["bitwise_repeatable"]
            for k in json.loads(run("list", "--json").stdout)["kernels"]
        }
        seen = set()
        for row in rows:
            params, values = row["params"], row["values"]
            seen.add(params["change"])
            self.assertEqual(values["equal"], values["differing"] == 0)
            self.assertLess(values["largest"], 1e-5 if params["dtype"] == "f32" else 0.1, row)
            if params["change"] in ("threads", "repeats") and repeatable[params["kernel"]]:
                self.assertTrue(values["equal"], row)
        self.assertEqual(seen, {"threads", "repeats", "batch position", "chunks", "ISA"})
        self.assertEqual(rows, self.rows("invariance", "--threads", "1"))

    def test_where_accuracy_stops_paying(self) -> None:
        rows = self.rows("exp-degree", "--rows", "60", "--s", "256", "--rounds", "6")
        error = {
            (row["params"]["dtype"], row["params"]["degree"]): row["values"]
            for row in rows
            if row["params"]["part"] == "error"
        }
        for dtype, enough in (("f32", 5), ("f16", 3), ("bf16", 2)):
            best = error[dtype, 8]["rms"]
            self.assertGreater(error[dtype, 1]["rms"], 1.5 * best, dtype)
            self.assertLess(error[dtype, enough + 1]["rms"], 1.3 * best, dtype)
        self.assertLess(error["f32", 8]["relative"], 1e-6)
        times = [row["values"] for row in rows if row["params"]["part"] == "time"]
        self.assertEqual([t["ratio"] for t in times[-1:]], [1])
        self.assertEqual(len(times), 8)


if __name__ == "__main__":
    unittest.main()

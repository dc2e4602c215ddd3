"""Experiments on errors, overflow, rescaling and bits that stay."""

from command import SANITIZED_IN_CI
from experiments import Experiments, values_by


class Numerics(Experiments):
    def test_errors_stay_within_their_bound(self) -> None:
        small = ("--s", "16,512", "--rows", "8", "--dtypes", "f32,bf16")
        rows = self.rows("error-growth", *small, "--threads", "1")
        if not SANITIZED_IN_CI:
            self.assertEqual(rows, self.rows("error-growth", *small, "--threads", "3"))
        kernels = {row["params"]["kernel"] for row in rows if row["params"]["dtype"] == "f32"}
        self.assertLessEqual({"naive", "gemm", "flash"}, kernels)
        for row in rows:
            params, values = row["params"], row["values"]
            self.assertLessEqual(values["error_over_bound"], 1, row)
            lo, hi = (1e-9, 1e-6) if params["dtype"] == "f32" else (1e-5, 1e-2)
            if params["input"] == "sink":  # nearly one value, of any size and exact in bf16
                lo, hi = 1e-9, 10 * hi
            self.assertTrue(lo < values["rms"] <= values["max"] < hi, row)
            self.assertLessEqual(values["rms"], values["bound_rms"], row)
        self.assertEqual({row["params"]["input"] for row in rows}, {"normal", "sink"})
        # N(0, 1) values: the output of s keys has a spread of about s^-1/2.  Behind a sink it is
        # the value of the first key, around 2; the bound grows as the keys: by 32, less its offset.
        seen = values_by(rows, "input", "s", dtype="f32")
        spread = [seen["normal", s]["output_rms"] for s in (16, 512)]
        self.assertAlmostEqual(spread[0] / spread[1] / 32**0.5, 1, delta=0.4)
        for s in (16, 512):
            self.assertAlmostEqual(seen["sink", s]["output_rms"], 2.2, delta=1)
        growth = seen["sink", 512]["bound_rms"] / seen["sink", 16]["bound_rms"]
        self.assertTrue(8 < growth < 32, growth)

    def test_first_logit_that_overflows(self) -> None:
        rows = self.rows("overflow")
        at = values_by(rows, "dtype", "by")
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
        rows = self.rows("rescale", "--quick", "--s", "512")
        by = values_by(rows, "input", "block", "threshold")
        count = {key: values["rescales"] for key, values in by.items()}
        self.assertEqual(count["ascending", 1, 0], 511)
        self.assertEqual(count["descending", 1, 0], 0)
        self.assertAlmostEqual(count["normal", 1, 0], sum(1 / k for k in range(2, 513)), delta=1)
        self.assertEqual(count["normal", 64, 8], 0)
        self.assertGreater(count["layer0.", 1, 0], 1)

    def test_what_changes_no_bit(self) -> None:
        rows = self.rows("invariance")
        repeatable = {k["name"]: k["bitwise_repeatable"] for k in self.listed()["kernels"]}
        seen = set()
        for row in rows:
            params, values = row["params"], row["values"]
            seen.add(params["change"])
            self.assertEqual(values["equal"], values["differing"] == 0)
            self.assertLess(values["largest"], 1e-5 if params["dtype"] == "f32" else 0.1, row)
            if params["change"] in ("threads", "repeats") and repeatable[params["kernel"]]:
                self.assertTrue(values["equal"], row)
        self.assertEqual(seen, {"threads", "repeats", "batch position", "chunks", "ISA"})
        if not SANITIZED_IN_CI:
            self.assertEqual(rows, self.rows("invariance", "--threads", "1"))

    def test_what_a_cache_saves_and_whether_it_changes_bits(self) -> None:
        words = ("cache", "--s", "20", "--lengths", "1,3")
        rows = self.rows(*words)
        work = {r["params"]["length"]: r["values"] for r in rows if r["params"]["part"] == "work"}
        # 2 heads of 64: a pair of query and key is 2 (64 + 64) operations, a row 256 bytes.
        # 3 tokens with a cache: 1 + 2 + 3 pairs, Q and O of one row each, K and V of 1 + 2 + 3.
        # Computed again: 1 + 3 + 6 pairs, all four of 1 + 2 + 3 rows.
        self.assertEqual((work[3]["flops"], work[3]["flops_again"]), (2 * 256 * 6, 2 * 256 * 10))
        self.assertEqual(work[3]["bytes"], 2 * 256 * (2 * 3 + 2 * 6))
        self.assertEqual(work[3]["bytes_again"], 2 * 256 * (2 * 6 + 2 * 6))
        self.assertEqual(work[1]["times_flops"], 1)
        bits = [row for row in rows if row["params"]["part"] == "bits"]
        same = {(r["params"]["kernel"], r["params"]["dtype"]): r["values"]["same"] for r in bits}
        for kernel in ("naive", "row_parallel", "online"):  # a row is computed in one way
            self.assertEqual(same[kernel, "f32"], 20, kernel)
        for row in bits:
            values = row["values"]
            self.assertGreaterEqual(values["same"], 1, row)  # of one token both are the same call
            self.assertEqual(values["equal"], values["same"] == 20, row)
            self.assertEqual(values["equal"], values["largest"] == 0, row)
            self.assertLess(values["largest"], 1e-5 if row["params"]["dtype"] == "f32" else 0.1)
        if not SANITIZED_IN_CI:
            self.assertEqual(rows, self.rows(*words, "--threads", "1"))

    def test_where_accuracy_stops_paying(self) -> None:
        rows = self.rows("exp-degree", "--rows", "60", "--s", "256")
        error = values_by(rows, "dtype", "degree")
        for dtype, enough in (("f32", 5), ("f16", 3), ("bf16", 2)):
            best = error[dtype, 8]["rms"]
            self.assertGreater(error[dtype, 1]["rms"], 1.5 * best, dtype)
            self.assertLess(error[dtype, enough + 1]["rms"], 1.3 * best, dtype)
        self.assertLess(error["f32", 8]["relative"], 1e-6)

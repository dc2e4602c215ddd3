"""Experiments on layers, and those whose kernels are plug-ins beside the program."""

import itertools
import math
import shutil
import unittest
from random import Random

from command import (
    BASELINE,
    PROGRAM,
    SANITIZED,
    TINY,
    CommandTest,
    Row,
    Tensor,
    lines,
    run,
    safetensors,
)
from experiments import Experiments, values_by


def layer_tensors(causal: bool, context: int = 0) -> dict[str, Tensor]:
    """A layer of 2 heads of 2 for 3 tokens of 4 numbers, and what its attention gives.

    With K and V from x, or from a context of so many tokens of 3 numbers.
    """
    random = Random(1)
    wide = 3 if context else 4
    drawn = {"x": [1, 3, 4], "wq": [4, 4], "wk": [wide, 4], "wv": [wide, 4], "bq": [4], "bv": [4]}
    if context:
        drawn["context"] = [1, context, 3]
    tensors = {
        name: (shape, [random.gauss(0, 1) for _ in range(math.prod(shape))])
        for name, shape in drawn.items()
    }
    zero = ([4], [0.0] * 4)

    def projected(n: str, source: str) -> list[list[float]]:
        (_, rows, width), x = tensors[source]
        return [
            [
                sum(x[width * i + d] * tensors[f"w{n}"][1][4 * d + c] for d in range(width))
                + tensors.get(f"b{n}", zero)[1][c]
                for c in range(4)
            ]
            for i in range(rows)
        ]

    q = projected("q", "x")
    k, v = (projected(n, "context" if context else "x") for n in "kv")
    out = []
    for head, i in itertools.product((0, 2), range(3)):
        seen = range(i + 1 + len(k) - 3 if causal else len(k))
        scores = [sum(q[i][head + d] * k[j][head + d] for d in (0, 1)) / 2**0.5 for j in seen]
        weights = [math.exp(s - max(scores)) for s in scores]
        mean = [sum(w * v[j][head + d] for j, w in zip(seen, weights, strict=True)) for d in (0, 1)]
        out += [m / sum(weights) for m in mean]
    return {**tensors, "o": ([1, 2, 3, 2], out)}


class Layer(Experiments):
    def setUp(self) -> None:
        super().setUp()
        self.path = self.directory / "layer.safetensors"

    def real(self, tensors: dict[str, Tensor], *arguments: str) -> tuple[str, ...]:
        """Writes the layer's file; what runs it."""
        safetensors(self.path, {f"p.{name}": tensor for name, tensor in tensors.items()})
        return ("layer", "--file", str(self.path), "--prefix", "p.", *arguments)

    def refused_file(self, *messages: str) -> None:
        done = run("experiment", "layer", "--file", str(self.path), "--prefix", "p.")
        self.assertEqual((done.returncode, done.stdout), (3, ""), done)
        for message in messages:
            self.assertIn(message, done.stderr)

    def test_a_real_layer(self) -> None:
        rows = self.rows("layer")
        self.assertGreater(len(rows), 5)
        for row in rows:
            self.assertLess(row["values"]["difference"], 2e-5)
            self.assertLess(row["values"]["tolerance"], 2e-5)
            self.assertIs(row["values"]["ok"], True)

    def test_a_file_of_ones_own(self) -> None:
        for mask in ("none", "causal"):
            rows = self.rows(*self.real(layer_tensors(mask == "causal"), "--mask", mask))
            self.assertGreater(len(rows), 5)
            for row in rows:
                params = row["params"]
                self.assertEqual((params["heads"], params["d_model"], params["mask"]), (2, 4, mask))
                self.assertLess(row["values"]["difference"], 3e-6)
        self.assertNotIn("DIFFERS", self.printed)

    def test_a_layer_as_pytorch_stores_it(self) -> None:
        """Weights as (output, input), under the names of a state_dict; one sequence."""
        stored = layer_tensors(False)
        for n in "qkv":
            shape, w = stored.pop(f"w{n}")
            turned = [w[4 * i + o] for o in range(4) for i in range(4)]
            stored[f"w{n}.weight"] = (shape, turned)
            if f"b{n}" in stored:
                stored[f"w{n}.bias"] = stored.pop(f"b{n}")
        stored["x"] = ([3, 4], stored["x"][1])
        stored["o"] = ([2, 3, 2], stored["o"][1])
        for row in self.rows(*self.real(stored)):
            self.assertLess(row["values"]["difference"], 3e-6)
        whole = layer_tensors(False)
        wide = {n: ([4, 6], [0.5 * i for i in range(24)]) for n in ("wq", "wk", "wv")}
        output = {"y": ([1, 3, 6], [0.0] * 18)}
        plain = {"x": whole["x"]} | wide | output
        linear = {"x": whole["x"]} | output
        for name, (_, w) in wide.items():
            linear[f"{name}.weight"] = ([6, 4], [w[6 * i + o] for o in range(6) for i in range(4)])
        first, second = (
            {row["params"]["kernel"]: row["values"]["difference"]
             for row in self.rows(*self.real(t, "--file-heads", "3"), code=1)}
            for t in (plain, linear)
        )  # fmt: skip
        self.assertEqual(first, second)

    def test_state_dicts_that_pytorch_wrote(self) -> None:
        """Layers and outputs of PyTorch 2.15; tests/data/README.md has the lines that made them."""
        for prefix, keys in (("self.", 5), ("cross.", 7)):
            rows = self.rows("layer", "--file", "torch-attention.safetensors", "--prefix", prefix,
                             "--file-heads", "4")  # fmt: skip
            self.assertGreater(len(rows), 5)
            for row in rows:
                self.assertEqual([row["params"][n] for n in ("batch", "s", "skv")], [2, 5, keys])
                self.assertLess(row["values"]["difference"], 2e-6)
                self.assertTrue(row["values"]["ok"])

    def test_what_pytorch_adds_to_the_keys_is_refused(self) -> None:
        self.real({**layer_tensors(False), "bias_k": ([1, 1, 4], [0.0] * 4)})
        self.refused_file("p.bias_k is not computed: a layer with add_bias_kv has a key")

    def test_a_model_of_16_bits_rounds_between_its_steps(self) -> None:
        """Five roundings of half a unit each; six are too many."""
        layer = layer_tensors(False)
        shape, o = layer["o"]
        largest = max(map(abs, o))
        for factor, code in ((4, 0), (7, 1)):  # and the rounding of o itself
            away = [x + factor * 2**-9 * largest * (i == 0) for i, x in enumerate(o)]
            self.rows(*self.real({**layer, "o": (shape, away, "BF16")}), code=code)

    def test_a_multihead_attention_as_pytorch_stores_it(self) -> None:
        """Q, K and V in thirds of one matrix, and an output projection, all as (output, input)."""
        layer = layer_tensors(False)
        layer["bk"] = ([4], [0.0] * 4)
        o = layer.pop("o")[1]
        random = Random(2)
        wo, bo = ([random.gauss(0, 1) for _ in range(n)] for n in (16, 4))
        stored = {
            "x": layer["x"],
            "in_proj_weight": ([12, 4], [layer[f"w{n}"][1][4 * i + c]
                                         for n in "qkv" for c in range(4) for i in range(4)]),
            "in_proj_bias": ([12], [b for n in "qkv" for b in layer[f"b{n}"][1]]),
            "out_proj.weight": ([4, 4], wo),
            "out_proj.bias": ([4], bo),
            "y": ([1, 3, 4], [bo[c] + sum(wo[4 * c + 2 * h + d] * o[6 * h + 2 * i + d]
                                          for h in (0, 1) for d in (0, 1))
                              for i in range(3) for c in range(4)]),
        }  # fmt: skip
        rows = self.rows(*self.real(stored, "--file-heads", "2"))
        self.assertGreater(len(rows), 5)
        for row in rows:
            self.assertLess(row["values"]["difference"], 3e-6)
        self.real({**stored, "in_proj_weight": ([8, 4], stored["in_proj_weight"][1][:32])})
        self.refused_file("p.in_proj_weight is f32 (8,4), its rows are not those of q, k and v")
        del stored["in_proj_weight"]
        self.real(stored)
        self.refused_file("there is no tensor p.wq; a layer has p.x, wq, wk and wv")

    def test_cross_attention(self) -> None:
        """K and V from another input, of fewer and of more tokens and of another width."""
        for keys, mask in ((2, "none"), (5, "causal")):
            rows = self.rows(*self.real(layer_tensors(mask == "causal", keys), "--mask", mask))
            self.assertGreater(len(rows), 5)
            for row in rows:
                self.assertEqual((row["params"]["s"], row["params"]["skv"]), (3, keys))
                self.assertLess(row["values"]["difference"], 3e-6)
        (self.directory / "layer.tokens").write_text("a\nb\nc\n")
        shown = run("experiment", "words", "--parts", "trained", "--trained", f"{self.path}:p.")
        self.assertIn("has a tensor p.context: words shows self-attention", shown.stderr)
        whole = layer_tensors(False, 2)
        self.real({**whole, "wk": layer_tensors(False)["wk"]})
        self.refused_file("p.wk is f32 (4,4), not floating-point (3,4)")
        self.real({**whole, "context": ([2, 1, 3], whole["context"][1])})
        self.refused_file("p.context is f32 (2,1,3), not floating-point (1,1,3)")

    def test_another_output_is_a_mismatch(self) -> None:
        tensors = layer_tensors(False)
        tensors["o"][1][5] += 1e-3
        for row in self.rows(*self.real(tensors), code=1):
            self.assertAlmostEqual(row["values"]["difference"], 1e-3, delta=1e-5)
        self.assertIn("DIFFERS", self.printed)

    def test_without_an_output_heads_are_given(self) -> None:
        tensors = layer_tensors(False)
        del tensors["o"]
        for row in self.rows(*self.real(tensors, "--file-heads", "4")):
            self.assertEqual((row["params"]["heads"], row["values"]["difference"]), (4, None))
        self.refused_file("the number of heads in the 4 and 4 columns of p.wq", "--file-heads")

    def test_files_that_are_no_layer_are_refused_by_tensor(self) -> None:
        whole = layer_tensors(False)
        self.real({name: tensor for name, tensor in whole.items() if name != "wk"})
        self.refused_file(f"{self.path}: there is no tensor p.wk; a layer has p.x, wq, wk and wv")
        self.real({**whole, "wk": ([4, 2], whole["wk"][1][:8])})
        self.refused_file("p.wk is f32 (4,2), not floating-point (4,4)")
        self.real({**whole, "x": ([12], whole["x"][1])})
        self.refused_file("p.x is f32 (12), not floating-point (B,S,d_in)")
        self.real({**whole, "bq": ([3], whole["bq"][1][:3])})
        self.refused_file("p.bq is f32 (3), not floating-point (4)")
        self.real(whole)
        text = self.path.read_bytes()
        self.path.write_bytes(text.replace(b'"p.wv": {"dtype": "F32"', b'"p.wv": {"dtype": "I32"'))
        self.refused_file("p.wv is i32 (4,4), not floating-point (4,4)")
        self.path.unlink()
        self.refused_file("No such file")


class Linear(Experiments):
    def test_equal_weights_make_both_versions_equal(self) -> None:
        asked = ("linear", "--parts", "equal,init", "--d", "3,64,200")
        rows = self.rows(*asked, "--threads", "1")
        self.assertEqual(rows, self.rows(*asked, "--threads", "2"))
        equal = [row for row in rows if row["params"]["part"] == "equal"]
        self.assertEqual(len(equal), 12)  # 3 sizes, normal and uniform, rounded and exact sums
        for row in equal:
            values = row["values"]
            self.assertLessEqual(values["over_bound"], 1, row)
            self.assertTrue(values["loops_equal"], row)
            if row["params"]["sums"] == "exact":
                self.assertEqual((values["difference"], values["output_difference"]), (0, 0), row)
                self.assertEqual(values["equal"], 1)
            else:
                self.assertLess(values["output_difference"], 1e-4, row)
        self.assertIn("not a bit differs where sums are exact", words(self.printed))

    def test_what_the_layers_begin_with(self) -> None:
        rows = self.rows("linear", "--parts", "init", "--d", "16,1024")
        seen = values_by(rows, "d", "input", "init")
        self.assertEqual(len(seen), 8)
        for (d, given, init), values in seen.items():
            x2 = 1 if given == "normal" else 1 / 3
            # E q^2 is d E x^2 E w^2: E w^2 is 1/3 of [0, 1), 1/(3 d) of +-1/sqrt(d).  The former
            # have a mean, so that a token's numbers go up and down together: 64, not 64 d.
            expected = x2 * (d if init == "rand" else 1) / 3
            delta = 0.6 if init == "rand" else 0.2
            self.assertAlmostEqual(values["q_squared"] / expected, 1, delta=delta, msg=(d, given))
            if init == "linear":  # scores of a spread of E q^2, whatever d
                self.assertAlmostEqual(values["spread"] / expected, 1, delta=0.25, msg=(d, given))
                self.assertGreater(values["effective_keys"], 55)
        for given in ("normal", "uniform"):
            self.assertLess(seen[1024, given, "rand"]["effective_keys"], 1.5)
            self.assertGreater(seen[1024, given, "rand"]["spread"], 100)

    def test_bad_parameters_are_refused(self) -> None:
        self.refused(["experiment", "linear", "--parts", "speed"], 2, "--parts", "'speed'")
        self.refused(["experiment", "linear", "--d", "9000"], 2, "--d takes whole numbers", "9000")
        self.refused(["experiment", "linear", "--inputs", "heavy"], 2, "normal, uniform: 'heavy'")


def words(text: str) -> str:
    """What was printed, however its lines are broken."""
    return " ".join(text.split())


class Beside(CommandTest):
    """Experiments whose kernels are plug-ins beside the program."""

    def cells(self, name: str, problem: str, kernels: str) -> list[Row]:
        asked = ("--problem", problem, "--kernel", kernels, "--threads", "1", "--launches", "1")
        self.ran("experiment", name, *asked, "--output", self.output)
        return [line for line in lines(self.output) if line["type"] == "cell"]

    @unittest.skipUnless(BASELINE == "baseline", "the sizes are built for x86's AVX-512 alone")
    @unittest.skipIf(SANITIZED, "flash/avx512 is not in the sanitized build")
    def test_sizes_are_cells_beside_flash(self) -> None:
        kernels = "flash/avx512,flash_k64_q32,flash_k64_q128"
        flash, *sizes = self.cells("tiles", "h=1,sq=40,skv=200,d=16", kernels)
        self.assertEqual([c["kernel"] for c in sizes], ["flash_k64_q32", "flash_k64_q128"])
        for cell in (flash, *sizes):
            self.assertEqual(cell["isa"], "avx512")
            self.assertEqual(cell["state"], flash["state"])
        self.assertIn(flash["state"], ("ok", "unavailable"))
        self.assertNotIn("flash_k64_q32", run("list").stdout)

    def test_layouts_are_cells_of_a_plugin_each(self) -> None:
        names = ["tiled_again_6", "tiled_stack_3504", "tiled_code_16"]
        cells = self.cells("layouts", TINY, ",".join(names))
        self.assertEqual({c["kernel"]: c["state"] for c in cells}, dict.fromkeys(names, "ok"))
        self.assertEqual(len({c["plugin"] for c in cells}), 3)

    def test_a_plugin_that_is_absent_is_named(self) -> None:
        program = str(shutil.copy(PROGRAM, self.directory))
        absent = "attnbench_plugins/layouts/again_1.so, which it needs, is not beside the program"
        self.refused(["experiment", "layouts"], 3, absent, program=program)

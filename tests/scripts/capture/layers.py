"""Tests of scripts/attntools on a model of two tiny layers with random weights."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import numpy as np
from attntools.capture import capture, minilm
from safetensors.numpy import save_file

TOKENS, HEADS, DIM, LAYERS = 5, 3, 4, 2
WIDTH = HEADS * DIM


def tiny_model() -> minilm.Model:
    """A BERT encoder with the checkpoint's names and no checkpoint."""
    random = np.random.default_rng(1)
    shapes = {f"embeddings.{n}_embeddings.weight": (9, WIDTH) for n in ("word", "position")}
    shapes["embeddings.token_type_embeddings.weight"] = (2, WIDTH)
    linear = {}
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        linear |= {f"{name}.attention.self.{n}": (WIDTH, WIDTH) for n in ("query", "key", "value")}
        linear[f"{name}.attention.output.dense"] = (WIDTH, WIDTH)
        linear[f"{name}.intermediate.dense"] = (2 * WIDTH, WIDTH)
        linear[f"{name}.output.dense"] = (WIDTH, 2 * WIDTH)
        for norm in (f"{name}.attention.output", f"{name}.output"):
            shapes |= {f"{norm}.LayerNorm.{n}": (WIDTH,) for n in ("weight", "bias")}
    shapes |= {f"embeddings.LayerNorm.{n}": (WIDTH,) for n in ("weight", "bias")}
    for name, shape in linear.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    config = {"num_attention_heads": HEADS, "num_hidden_layers": LAYERS, "layer_norm_eps": 1e-12}
    tensors = {name: random.normal(size=shape) for name, shape in shapes.items()}
    return minilm.Model(tensors, config, TOKENS, Path())


class Encoder(unittest.TestCase):
    """What minilm.run says about a layer is consistent with the definition."""

    def setUp(self) -> None:
        """Runs the tiny model once."""
        self.model = tiny_model()
        self.traces = minilm.run(self.model, [1, 2, 3, 4, 5])

    def test_projections(self) -> None:
        """Each of q, k, v is x w + b with w as (d_in, d_out)."""
        for trace in self.traces:
            for name, value in (("q", trace.q), ("k", trace.k), ("v", trace.v)):
                np.testing.assert_allclose(value, trace.x @ trace.w[name] + trace.b[name])
        weight = self.model.tensors["encoder.layer.1.attention.self.key.weight"]
        np.testing.assert_array_equal(self.traces[1].w["k"], weight.T)

    def test_attention_by_loops(self) -> None:
        """The context equals attention written out for one element at a time."""
        trace, head = self.traces[1], 2
        columns = slice(head * DIM, (head + 1) * DIM)
        q, k, v = trace.q[:, columns], trace.k[:, columns], trace.v[:, columns]
        for i in range(TOKENS):
            p = np.array([np.exp(sum(q[i, d] * k[j, d] for d in range(DIM)) / 2) for j in range(5)])
            np.testing.assert_allclose(trace.context[i, columns], (p / p.sum()) @ v)

    def test_input_is_normalised(self) -> None:
        """A layer norm ends the embeddings and every layer."""
        t = self.model.tensors
        for trace, name in zip(self.traces, ("embeddings", "encoder.layer.0.output"), strict=True):
            weight, bias = t[f"{name}.LayerNorm.weight"], t[f"{name}.LayerNorm.bias"]
            plain = (trace.x - bias) / weight
            np.testing.assert_allclose(plain.mean(axis=-1), 0, atol=1e-12)
            np.testing.assert_allclose(plain.std(axis=-1), 1)

    def test_gelu(self) -> None:
        """Values of x Phi(x) from tables of the normal distribution."""
        x = np.array([-1.0, 0.0, 1.0, 2.0])
        np.testing.assert_allclose(minilm.gelu(x), [-0.158655, 0, 0.841345, 1.954500], atol=1e-6)


class Capture(unittest.TestCase):
    """Selection, layout and the checks before a file is written."""

    def setUp(self) -> None:
        """Captures heads 2 and 0 of layer 1."""
        self.model = tiny_model()
        self.trace = minilm.run(self.model, [1, 2, 3, 4, 5])[1]
        self.tensors = capture.layer_tensors(self.trace, "layer1.", [2, 0], DIM, True)

    def test_lists(self) -> None:
        """Ranges and single numbers."""
        self.assertEqual(capture.number_list("0-3,8"), [0, 1, 2, 3, 8])
        for wrong in ("1-", "3-1", "", "a", "-1"):
            with self.subTest(wrong), self.assertRaises(ValueError):
                capture.number_list(wrong)

    def test_layout(self) -> None:
        """Shapes as documented, float32, heads in the order asked for."""
        shapes = {name[7:]: t.shape for name, t in self.tensors.items()}
        heads, matrix = (1, 2, TOKENS, DIM), (WIDTH, 2 * DIM)
        expected = dict.fromkeys("qkvo", heads) | {"x": (1, TOKENS, WIDTH)}
        expected |= dict.fromkeys(("wq", "wk", "wv"), matrix)
        expected |= dict.fromkeys(("bq", "bk", "bv"), (2 * DIM,))
        self.assertEqual(shapes, expected)
        self.assertEqual({t.dtype for t in self.tensors.values()}, {np.dtype(np.float32)})
        np.testing.assert_allclose(self.tensors["layer1.q"][0, 0], self.trace.q[:, 8:], rtol=1e-6)
        np.testing.assert_allclose(self.tensors["layer1.v"][0, 1], self.trace.v[:, :4], rtol=1e-6)

    def test_weights_belong_to_the_heads(self) -> None:
        """The stored x, w and b give the stored k."""
        t = self.tensors
        k = t["layer1.x"][0] @ t["layer1.wk"] + t["layer1.bk"]
        heads = k.reshape(TOKENS, 2, DIM).transpose(1, 0, 2)
        np.testing.assert_allclose(heads, t["layer1.k"][0], atol=1e-4)

    def test_self_check(self) -> None:
        """An output that is not the attention of q, k, v is noticed."""
        self.assertLess(capture.self_check(self.tensors, [1]), capture.AGREEMENT)
        self.tensors["layer1.o"][0, 0, 0, 0] *= 1.001
        self.assertGreater(capture.self_check(self.tensors, [1]), capture.AGREEMENT)

    def test_compare(self) -> None:
        """Equal files agree; a changed, missing or reshaped tensor does not."""
        changed = self.tensors | {"layer1.q": self.tensors["layer1.q"] + np.float32(0.01)}
        reshaped = self.tensors | {"layer1.q": self.tensors["layer1.q"][0]}
        missing = {n: t for n, t in self.tensors.items() if n != "layer1.bq"}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x.safetensors"
            save_file(self.tensors, path)
            silent = io.StringIO()
            with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
                self.assertTrue(capture.compare(self.tensors, path))
                for other in (changed, reshaped, missing):
                    self.assertFalse(capture.compare(other, path))
        self.assertIn("layer1.bq", silent.getvalue())

    def test_selection(self) -> None:
        """Layers and heads that the model lacks are refused by number."""
        capture.check_selection(self.model, [0, 1], [0, 2])
        with self.assertRaisesRegex(ValueError, "no layer 2: the model has 0 to 1"):
            capture.check_selection(self.model, [2], [0])
        with self.assertRaisesRegex(ValueError, "no head 3"):
            capture.check_selection(self.model, [0], [3])


if __name__ == "__main__":
    unittest.main(verbosity=0)

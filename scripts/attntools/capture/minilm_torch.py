"""all-MiniLM-L6-v2 as its authors run it: sentence-transformers on PyTorch, seen through hooks."""

import os
from typing import Any

import numpy as np
from attntools.capture.minilm import PACKAGE, LayerTrace, Model, layer_weights

os.environ["HF_HUB_OFFLINE"] = "1"


def run(model: Model, text: str) -> tuple[list[int], list[LayerTrace]]:
    """Embeds a text with the package's own loader; returns its tokens and what was seen.

    The values are the float32 numbers that the model computed; tokens come from the model's own
    tokenizer, so that comparing them with :func:`minilm.tokenize` means something.
    """
    import importlib

    import torch

    package = importlib.import_module(PACKAGE)
    encoder = package.load_model(device="cpu")
    seen: dict[tuple[int, str], np.ndarray] = {}

    def keep(layer: int, name: str, value: torch.Tensor) -> None:
        assert value.shape[0] == 1
        seen[layer, name] = value[0].double().numpy()

    def watch(layer: int, attention: torch.nn.Module) -> None:
        def on_attention(_: torch.nn.Module, args: Any, kwargs: Any, output: Any) -> None:
            keep(layer, "x", args[0] if args else kwargs["hidden_states"])
            keep(layer, "context", output[0])

        attention.register_forward_hook(on_attention, with_kwargs=True)
        linears = {"q": attention.query, "k": attention.key, "v": attention.value}
        for name, linear in linears.items():
            linear.register_forward_hook(lambda _, __, y, n=name: keep(layer, n, y))

    for layer, block in enumerate(encoder[0].auto_model.encoder.layer):
        watch(layer, block.attention.self)
    ids = encoder.preprocess([text])["input_ids"][0].tolist()
    with torch.no_grad():
        encoder.encode(text)

    traces = []
    for layer in range(model.layers):
        w, b = layer_weights(model, layer)
        values = {n: seen[layer, n] for n in ("x", "q", "k", "v", "context")}
        traces.append(LayerTrace(**values, w=w, b=b))
    return ids, traces

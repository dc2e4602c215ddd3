"""Captures what a real transformer feeds its attention, as safetensors that cases can load.

    scripts/capture --text FILE --layers 0,3 --heads 0-3 OUTPUT.safetensors

For each layer N the file gets layerN.q, .k, .v, .o of shape (1, H, S, D), float32, after the
bias and before the output projection; with --weights also the layer's input layerN.x (1, S,
d_model) and layerN.wq, .wk, .wv (d_model, H*D), .bq, .bk, .bv (H*D), so that q = x wq + bq with
head h in columns h*D to h*D+D-1.  A case reads them as `input=file:OUTPUT.safetensors:layerN.`.
The tokens go to OUTPUT.tokens, one a line: `attnbench experiment words` and `scripts/plot --kind
weights` read them there.
"""

import argparse
import hashlib
import sys
from pathlib import Path

import numpy as np
from attntools.base.files import replacing
from attntools.capture import minilm
from numpy.typing import NDArray

Tensors = dict[str, NDArray[np.float32]]

# Relative to a tensor's largest element.  Two float32 evaluations of six layers differ by some
# hundred roundings of 6e-8; a wrong formula differs by 1e-2.
AGREEMENT = 2e-5


def number_list(text: str) -> list[int]:
    """Numbers of a list such as "0,3" or "0-3,8"."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        span = range(int(first), int(last if dash else first) + 1)
        if not span:
            raise ValueError(f"{part} is no range")
        numbers.extend(span)
    return numbers


def head_columns(heads: list[int], dim: int) -> list[int]:
    """The columns of (S, d_model) that belong to some heads."""
    return [h * dim + d for h in heads for d in range(dim)]


def layer_tensors(
    trace: minilm.LayerTrace, prefix: str, heads: list[int], dim: int, with_weights: bool
) -> Tensors:
    """One layer's tensors, restricted to some heads (heads do not see each other)."""
    columns = head_columns(heads, dim)
    out: Tensors = {}

    def put(name: str, value: minilm.Array) -> None:
        out[prefix + name] = np.ascontiguousarray(value, dtype=np.float32)

    pairs = (("q", trace.q), ("k", trace.k), ("v", trace.v), ("o", trace.context))
    for name, value in pairs:
        put(name, minilm.split_heads(value[:, columns], len(heads))[None])
    if with_weights:
        put("x", trace.x[None])
        for name in "qkv":
            put(f"w{name}", trace.w[name][:, columns])
            put(f"b{name}", trace.b[name][columns])
    return out


def relative_difference(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    """Largest difference over the largest element of b; infinite if the shapes differ."""
    if a.shape != b.shape:
        return float("inf")
    scale = float(np.abs(b).max())
    return float(np.abs(a.astype(np.float64) - b).max()) / scale


def self_check(tensors: Tensors, layers: list[int]) -> float:
    """How far each o is from float64 attention over the q, k, v that the file will have."""
    worst = 0.0
    for layer in layers:
        q, k, v = (tensors[f"layer{layer}.{n}"].astype(np.float64) for n in "qkv")
        exact = minilm.attention(q, k, v).astype(np.float32)
        worst = max(worst, relative_difference(tensors[f"layer{layer}.o"], exact))
    return worst


def compare(tensors: Tensors, path: Path) -> bool:
    """Prints how far each tensor is from the one in a file; whether all agree."""
    from safetensors.numpy import load_file

    stored = load_file(path)
    agree = stored.keys() == tensors.keys()
    if not agree:
        odd = ", ".join(sorted(stored.keys() ^ tensors.keys()))
        print(f"capture: only one side has: {odd}", file=sys.stderr)
    for name in sorted(stored.keys() & tensors.keys()):
        difference = relative_difference(tensors[name], stored[name])
        agree = agree and difference <= AGREEMENT
        print(f"{name:12} {stored[name].shape!s:18} relative difference {difference:.1e}")
    return agree


def trace_text(engine: str, text: str) -> tuple[minilm.Model, list[minilm.LayerTrace], list[str]]:
    """Runs the text through the model with one of the two engines; the tokens come last."""
    model = minilm.load()
    ids, tokens = minilm.tokenize(model, text)
    if engine == "numpy":
        return model, minilm.run(model, ids), tokens
    from attntools.capture import minilm_torch

    torch_ids, traces = minilm_torch.run(model, text)
    if torch_ids != ids:
        raise ValueError("the model's own tokenizer splits this text differently")
    return model, traces, tokens


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="scripts/capture", description=__doc__.split("\n")[0])
    parser.add_argument("output", type=Path, help="safetensors file to write (or compare with)")
    parser.add_argument("--text", type=Path, required=True, help="UTF-8 text file")
    parser.add_argument("--layers", type=number_list, default=[0], help="such as 0,3 or 0-5")
    parser.add_argument("--heads", type=number_list, help="such as 0-3 (default: all)")
    parser.add_argument("--weights", action="store_true", help="also x and the layer's weights")
    parser.add_argument(
        "--engine",
        choices=("numpy", "torch"),
        default="numpy",
        help="numpy: the encoder in float64; torch: the model's own runtime (downloads gigabytes)",
    )
    parser.add_argument(
        "--compare", action="store_true", help="write nothing; say how far OUTPUT's tensors are"
    )
    return parser.parse_args()


def check_selection(model: minilm.Model, layers: list[int], heads: list[int]) -> None:
    """Refuses layers and heads that the model does not have."""
    for what, chosen, count in (("layer", layers, model.layers), ("head", heads, model.heads)):
        for number in chosen:
            if number >= count:
                raise ValueError(f"no {what} {number}: the model has 0 to {count - 1}")


def run(args: argparse.Namespace) -> int:
    """Captures and writes, or compares."""
    from safetensors.numpy import save

    text = args.text.read_text(encoding="utf-8")
    model, traces, tokens = trace_text(args.engine, text)
    heads = args.heads or list(range(model.heads))
    check_selection(model, args.layers, heads)
    dim = int(model.config["hidden_size"]) // model.heads
    tensors: Tensors = {}
    for layer in args.layers:
        prefix = f"layer{layer}."
        tensors |= layer_tensors(traces[layer], prefix, heads, dim, args.weights)
    difference = self_check(tensors, args.layers)
    if difference > AGREEMENT:
        raise ValueError(f"o is not the attention of q, k, v: relative difference {difference:.1e}")
    lines = "".join(f"{token}\n" for token in tokens)
    beside = args.output.with_suffix(".tokens")
    if args.compare:
        same = beside.read_text(encoding="utf-8") == lines
        if not same:
            print(f"capture: {beside}: other tokens", file=sys.stderr)
        return 0 if compare(tensors, args.output) and same else 1
    metadata = {
        "model": "sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0)",
        "engine": args.engine,
        "text_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "heads": ",".join(map(str, heads)),
    }
    with replacing(args.output) as aside:
        aside.write_bytes(save(tensors, metadata))
    with replacing(beside) as aside:
        aside.write_text(lines, encoding="utf-8")
    print(f"{args.output}: layers {args.layers}, heads {heads}; {beside}: {len(tokens)} tokens")
    return 0


def main() -> int:
    """Entry point: 0 done, 1 --compare found a difference, 2 usage, 3 environment."""
    try:
        return run(arguments())
    except ValueError as error:
        print(f"capture: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        print(f"capture: {message}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())

"""Figures of the experiment words: matrices of a layer with words at their rows and columns."""

import re
import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np
from attntools.experiments.experiment_rows import Row, rows_of
from attntools.plot import style, weights
from attntools.plot.figures import origin
from attntools.results.cells import Results
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# What the figure of the steps shows, row by row; words are at the columns of those of "across".
STEPS = ("X", "Q", "K", "V", "scores", "scaled scores", "weights", "output")
TITLES = {
    "X": "X: embeddings", "Q": "Q = X Wq", "K": "K = X Wk", "V": "V = X Wv", "scores": "Q Kᵀ",
    "scaled scores": "Q Kᵀ / √d", "weights": "softmax of it: weights", "output": "weights V",
}  # fmt: skip
ACROSS = ("scores", "scaled scores", "weights")

# The four kinds of weights of a head.
KINDS = (
    ("weights of scores", "none", "unscaled"),
    ("weights", "none", "scaled"),
    ("weights of scores", "causal", "unscaled, causal"),
    ("weights", "causal", "scaled, causal"),
)


def _elements(results: Results, layer: str, matrix: str, **params: object) -> np.ndarray | None:
    rows = rows_of(results, "words", part="matrix", layer=layer, matrix=matrix, **params)
    return np.array(rows[0]["values"]["elements"], dtype=float) if rows else None


def _words(layer: Row) -> list[str]:
    return [word.replace("$", r"\$") for word in layer["values"]["tokens"]]


def _annotated(ax: Axes, x: np.ndarray, most: float, words: list[str], across: bool) -> None:
    """A matrix with its numbers: red below 0, blue above."""
    ax.imshow(x, cmap="RdBu", vmin=-most, vmax=most, aspect="auto")
    for (i, j), value in np.ndenumerate(x):
        text = f"{value:.1f}" if abs(value) >= 9.95 else f"{value:.2f}"
        dark = abs(value) > 0.6 * most
        ax.text(j, i, text, ha="center", va="center", fontsize=5.5, color="w" if dark else "k")
    ax.set_yticks(range(len(words)), words, fontsize=7)
    if across:
        ax.set_xticks(range(len(words)), words, rotation=90, fontsize=7)
    else:
        ax.set_xticks(range(x.shape[1]), [str(j) for j in range(x.shape[1])], fontsize=6)
    ax.tick_params(length=0, pad=2)
    ax.grid(visible=False)


def steps(results: Results, layer: Row) -> Figure | None:
    """The matrices of one head of a layer, from embeddings to outputs, with their numbers."""
    name, words = layer["params"]["layer"], _words(layer)
    of_head: dict[str, dict[str, Any]] = {m: {"head": 0} for m in STEPS} | {"X": {}}
    for matrix in ("weights", "output"):
        of_head[matrix]["mask"] = "none"
    found = {m: x for m in STEPS if (x := _elements(results, name, m, **of_head[m])) is not None}
    if len(found) < len(STEPS):
        return None
    fig, axes = style.panels(
        2, 4, height=0.26 * len(words) + 0.1, gap=(0.5, 0.62), sides=(0.6, 0.1)
    )
    for ax, (matrix, x) in zip(axes, found.items(), strict=True):
        most = 1.0 if matrix == "weights" else float(np.abs(x).max() or 1)
        _annotated(ax, x, most, words, matrix in ACROSS)
        ax.set_title(TITLES[matrix], fontsize=8.5)
    d = layer["values"]["d"]
    style.heading(
        fig, f"Self-attention step by step: {' '.join(words)}",
        f"Head 0 of {layer['values']['heads']}, d = {d}. A row is a word; of scores and weights a "
        "column is, too. Red is below 0, blue above.",
        origin(results),
    )  # fmt: skip
    return fig


def _title(name: str, words: list[str]) -> str:
    """The sentence, or "minilm-preamble layer1"."""
    if name == "sentence":
        return " ".join(words)
    return _short(name).replace(":", ", ")


def _short(name: str) -> str:
    """A layer's name without folder and ending."""
    return re.sub(r"^.*/|\.safetensors", "", name).rstrip(".")


def heads(results: Results, layer: Row) -> Figure | None:
    """Weights of every head of a layer: unscaled beside scaled, without a mask and causal."""
    name, words = layer["params"]["layer"], _words(layer)
    said = rows_of(results, "words", part="head", layer=name, mask="none")
    if not said:
        return None
    side = (style.PAGE - sum(weights.SIDES) - 3 * 0.15) / 4
    fig, axes = style.panels(
        len(said), 4, height=side, gap=(0.15, 0.58), sides=weights.SIDES)  # fmt: skip
    for at, row in enumerate(said):
        head, panels = row["params"]["head"], axes[4 * at : 4 * at + 4]
        for n, (ax, (matrix, mask, title)) in enumerate(zip(panels, KINDS, strict=True)):
            p = _elements(results, name, matrix, head=head, mask=mask)
            if p is None:
                return None
            image = weights.heat(ax, p, words, words, weights.norm(), down=n == 0,
                                 across=row is said[-1])  # fmt: skip
            ax.annotate(title, (0, 1), (0, 2), xycoords="axes fraction", fontsize=6.5,
                        textcoords="offset points", color=style.GREY)  # fmt: skip
        text = textwrap.fill(f"Head {head} {row['values']['looks']}.", 180)
        panels[0].annotate(text, (0, 1), (-61, 10), xycoords="axes fraction", fontsize=7,
                           textcoords="offset points", va="bottom")  # fmt: skip
    weights.colour_bar(fig, image)
    count = layer["values"]["count"]
    which = f"{len(words)} of {count} tokens" if len(words) < count else f"{count} tokens"
    style.heading(
        fig, f"What each head looks at: {_title(name, words)}",
        f"A row is a word that asks, a column one that is asked; {which}. White: exactly 0. "
        "Sentences are about scaled weights without a mask.",
        origin(results),
    )  # fmt: skip
    return fig


def words(results: Results) -> Figure | None:
    """A sentence's embeddings, Q, K, V, scores, weights and outputs, a word at each row."""
    for layer in rows_of(results, "words", part="tokens"):
        if layer["params"]["layer"] == "sentence":
            return steps(results, layer)
    return None


def figures(results: Results) -> Iterator[tuple[str, Figure | None]]:
    """Name and figure of the heads of each layer of a file."""
    for layer in rows_of(results, "words", part="tokens"):
        name = _short(layer["params"]["layer"]).replace(":", "-")
        yield f"words-{name}", heads(results, layer)

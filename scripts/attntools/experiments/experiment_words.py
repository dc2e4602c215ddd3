"""Figures of the experiment words: matrices of a layer with words at their rows and columns."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from attntools.base.units import digits, trimmed
from attntools.experiments.experiment_rows import rows_of
from attntools.plot import style, weights
from attntools.plot.figures import origin
from attntools.results.cells import Results, Row
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# What the figure of the steps shows, row by row; words are at the columns of those of "across".
STEPS = ("X", "Q", "K", "V", "scores", "scaled scores", "weights", "output")
TITLES = {
    "X": "X: embeddings", "Q": "Q = X Wq", "K": "K = X Wk", "V": "V = X Wv", "scores": "Q Kᵀ",
    "scaled scores": "Q Kᵀ / √d", "weights": "softmax: weights", "output": "weights V",
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


# Matrices of one kind share their colours, so that what scaling and averaging do is seen.
SCALES = (("X",), ("Q", "K", "V", "output"), ("scores", "scaled scores"), ("weights",))
SENTENCE = 60  # letters of a sentence in a title
LINE = 160  # letters of a line across the figure
FEW = 7  # words up to which there are four panels in a row
NUMBER = (5.5, 4.4)  # points of the numbers in a matrix at most and at least


def _annotated(ax: Axes, x: np.ndarray, most: float, words: list[str], across: bool) -> None:
    """A matrix with its numbers where there is room: red below 0, blue above."""
    ax.imshow(x, cmap="RdBu", vmin=-most, vmax=most, aspect="auto")
    width, height = ax.get_position().size * ax.figure.get_size_inches()
    size = min(NUMBER[0], 72 * width / x.shape[1] / (5 * 0.62))
    for (i, j), value in np.ndenumerate(x) if size >= NUMBER[1] else ():
        text = f"{value:.1f}" if abs(value) >= 9.95 else f"{value:.2f}"
        dark = abs(value) > 0.6 * most
        ax.text(j, i, text, ha="center", va="center", fontsize=size, color="w" if dark else "k")
    weights.words_at(ax.yaxis, words, height)
    if across:
        weights.words_at(ax.xaxis, words, width, rotation=90)
    else:
        ax.set_xticks(range(x.shape[1]), [str(j) for j in range(x.shape[1])])
    ax.tick_params(length=0, pad=2, labelsize=6.5)
    ax.grid(visible=False)
    ax.set_title(f"to ±{trimmed(digits(most))}", fontsize=6.5, weight="normal", color=style.GREY,
                 loc="right")  # fmt: skip


def steps(results: Results, layer: Row) -> Figure | None:
    """The matrices of one head of a layer, from embeddings to outputs, with their numbers."""
    name, words = layer["params"]["layer"], _words(layer)
    of_head: dict[str, dict[str, Any]] = {m: {"head": 0} for m in STEPS} | {"X": {}}
    for matrix in ("weights", "output"):
        of_head[matrix]["mask"] = "none"
    found = {m: x for m in STEPS if (x := _elements(results, name, m, **of_head[m])) is not None}
    if len(found) < len(STEPS):
        return None
    columns = 4 if len(words) <= FEW else 2
    longest = max(style.letters(weights.cut(word)) for word in words)
    left = 0.15 + 0.065 * longest
    fig, axes = style.panels(
        len(STEPS) // columns, columns, height=max(1.0, 0.2 * len(words)),
        gap=(left, 0.35 + 0.065 * longest), sides=(left, 0.1),
    )  # fmt: skip
    most = {m: float(max(np.abs(found[other]).max() for other in scale) or 1)
            for scale in SCALES for m in scale} | {"weights": 1.0}  # fmt: skip
    for ax, (matrix, x) in zip(axes, found.items(), strict=True):
        _annotated(ax, x, most[matrix], words, matrix in ACROSS)
        ax.set_title(TITLES[matrix], fontsize=8.5)
    style.heading(
        fig, steps_title(found, words),
        f"{_sentence(words)}: head 0 of {layer['values']['heads']}, d = {layer['values']['d']}.\n"
        "Rows, and columns of scores and weights, are words. Red: below 0, blue: above; Q, K, V "
        "and outputs share their colours, both scores do.",
        origin(results),
    )  # fmt: skip
    return fig


def steps_title(found: dict[str, np.ndarray], words: list[str]) -> str:
    """How large scores are before and after scaling, and the largest weight that they give."""
    before, after = (float(np.abs(found[m]).max()) for m in ("scores", "scaled scores"))
    i, j = np.unravel_index(int(found["weights"].argmax()), found["weights"].shape)
    return (f"Scores reach {digits(before)}, over √d {digits(after)}; the largest weight is "
            f"{digits(float(found['weights'][i, j]))}, of “{weights.cut(words[i])}” on "
            f"“{weights.cut(words[j])}”")  # fmt: skip


def _sentence(words: list[str]) -> str:
    """As many words as a line has room for."""
    text = " ".join(words)
    fits = weights.begin(text, SENTENCE)
    return text if fits == text else fits + "…"


def _title(name: str, words: list[str]) -> str:
    """The sentence, or "minilm-preamble layer1"."""
    if name == "sentence":
        return _sentence(words)
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
        text = f"Head {head} {row['values']['looks']}."
        panels[0].annotate(text, (0, 1), (-61, 10), xycoords="axes fraction", va="bottom",
                           textcoords="offset points",
                           fontsize=min(7, 7 * LINE / style.letters(text)),
                           fontfamily=style.families(text))  # fmt: skip
    weights.colour_bar(fig, image)
    count = layer["values"]["count"]
    which = f"{len(words)} of {count} tokens" if len(words) < count else f"{count} tokens"
    style.heading(
        fig, f"What each head looks at: {_title(name, words)}",
        f"Rows ask, columns are asked; {which}. Colours: 0 to 1 by square root; white: exactly 0. "
        "Sentences: of scaled weights, no mask.",
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

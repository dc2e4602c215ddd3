"""Figures of the experiment words: matrices with words at their sides, in colours that compare."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import sample
from attntools.experiments import experiment_words
from attntools.plot import plot
from attntools.results.results import read
from conftest import Tool
from drawn import WORDS, labels, shown, softmax


def rows(layer: str, heads: int = 1) -> list[dict[str, object]]:
    """Rows of a layer of four tokens, as the program writes them."""
    of = {"layer": layer}
    all_rows = [sample.experiment(
        "words", {"part": "tokens", **of}, tokens=WORDS, places=[0, 1, 2, 9], count=10,
        heads=heads, d=2)]  # fmt: skip

    def add(matrix: str, shape: tuple[int, int], **params: object) -> None:
        p = softmax(shape).astype(float) + params.get("head", 0)
        all_rows.append(sample.experiment(
            "words", {"part": "matrix", **of, **params, "matrix": matrix},
            elements=p.tolist(), shape=[10, 10]))  # fmt: skip

    add("X", (4, 3))
    for head in range(heads):
        for matrix in "QKV":
            add(matrix, (4, 2), head=head)
        for matrix in ("scores", "scaled scores"):
            add(matrix, (4, 4), head=head)
        for mask in ("none", "causal"):
            for matrix in ("weights of scores", "weights"):
                add(matrix, (4, 4), head=head, mask=mask)
            add("output", (4, 2), head=head, mask=mask)
            all_rows.append(sample.experiment(
                "words", {"part": "head", **of, "head": head, "mask": mask},
                looks=f"looks at {head}, {mask}"))  # fmt: skip
    return all_rows


def test_figures_of_the_experiment(tool: Tool, tmp_path: Path) -> None:
    path = sample.write(
        tmp_path / "w.jsonl", sample.session(), *rows("sentence"), *rows("a/b.safetensors:l1.", 2)
    )
    results = read(path)
    drawn = dict(experiment_words.figures(results))
    assert list(drawn) == ["words-sentence", "words-b-l1"]
    steps = experiment_words.words(results).axes
    assert [ax.get_title(loc="left") for ax in steps] == list(experiment_words.TITLES.values())
    texts = [text.get_text() for text in steps[0].texts]
    assert texts == [f"{x:.2f}" for x in softmax((4, 3)).flat]
    assert labels(steps[4].xaxis) == labels(steps[4].yaxis) == ["the", "cat", "costs", r"\$5"]
    heads = drawn["words-b-l1"].axes
    assert len(heads) == 2 * 4 + 1  # and the colours
    for n, ax in enumerate(heads[:8]):
        np.testing.assert_array_equal(shown(ax), softmax((4, 4)).astype(float) + n // 4)
    said = [text.get_text() for text in heads[4].texts]
    assert said[:16] == [f"{x + 1:.2f}" for x in softmax((4, 4)).astype(float).flat]
    assert said[16:] == ["unscaled", "Head 1 looks at 1, none."]
    outcome = tool(plot, path, "--format", "svg", "--output", tmp_path / "o")
    assert [Path(line).stem for line in outcome.out.split()] == [
        f"experiment-{n}" for n in ("words", *drawn)]  # fmt: skip


def test_matrices_of_one_kind_share_their_colours() -> None:
    """So that scores and scaled scores look different."""
    made = rows("sentence")
    elements = {
        r["params"]["matrix"]: r["values"]["elements"]
        for r in made
        if r["params"]["part"] == "matrix" and r["params"].get("mask") != "causal"
    }
    for i in range(4):
        elements["scores"][i][:] = [8.0, -4.0, 2.0, 0.0]
        elements["scaled scores"][i][:] = [4.0, -2.0, 1.0, 0.0]
    elements["V"][0][0] = -3.0
    fig = experiment_words.words(sample.results(*made))
    limits = [ax.images[0].get_clim() for ax in fig.axes]
    names = list(experiment_words.STEPS)
    assert {limits[names.index(m)] for m in ("scores", "scaled scores")} == {(-8, 8)}
    assert {limits[names.index(m)] for m in ("Q", "K", "V", "output")} == {(-3, 3)}
    assert [ax.get_title(loc="right") for ax in fig.axes[4:6]] == ["to ±8"] * 2
    assert (
        fig.texts[0]
        .get_text()
        .startswith("Scores reach 8.00, over √d 4.00; the largest weight is ")
    )


def test_ten_long_words_fit() -> None:
    long = ["uncharacteristically", "更完善的联邦制度", *(f"word{i}" for i in range(8))]
    made = sample.experiment("words", {"part": "tokens", "layer": "sentence"}, tokens=long,
                             places=list(range(10)), count=10, heads=1, d=2)  # fmt: skip
    shapes = {"X": (10, 16), "Q": (10, 2), "K": (10, 2), "V": (10, 2), "scores": (10, 10),
              "scaled scores": (10, 10), "weights": (10, 10), "output": (10, 2)}  # fmt: skip
    matrices = [
        sample.experiment(
            "words",
            {"part": "matrix", "layer": "sentence", "matrix": m, "head": 0, "mask": "none"},
            elements=softmax(shape).tolist(),
        )
        for m, shape in shapes.items()
    ]  # fmt: skip
    del matrices[0]["params"]["head"]
    fig = experiment_words.words(sample.results(made, *matrices))
    fig.canvas.draw()
    for ax in fig.axes:
        left = min(t.get_window_extent().x0 for t in ax.get_yticklabels())
        assert left >= 0
        assert not any(other is not ax and other.bbox.x1 > left > other.bbox.x0
                       and other.bbox.y0 == ax.bbox.y0 for other in fig.axes)  # fmt: skip
        boxes = [t.get_window_extent() for t in ax.texts[:10]]
        assert not any(a.overlaps(b) for a, b in pairwise(boxes))
    assert labels(fig.axes[0].yaxis)[:2] == ["uncharacte…", "更完善的联…"]

"""Heat maps of weights: the numbers of their files, words at both axes, and files refused."""

from pathlib import Path

import numpy as np
import pytest
import sample
from attntools.experiments import experiment_words
from attntools.plot import plot, style, weights
from attntools.results.results import read
from conftest import Tool
from matplotlib.axes import Axes
from matplotlib.image import imread
from safetensors.numpy import save_file

WORDS = ["the", "cat", "costs", "$5"]


def softmax(shape: tuple[int, ...]) -> np.ndarray:
    x = np.exp(np.random.default_rng(1).normal(size=shape))
    return (x / x.sum(axis=-1, keepdims=True)).astype(np.float32)


def written(path: Path, *shape: int) -> np.ndarray:
    """A file with weights of that shape."""
    p = softmax(shape)
    save_file({"o": p, "weights": p}, path)
    return p


def words(path: Path, texts: list[str]) -> Path:
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path


def shown(ax: Axes) -> np.ma.MaskedArray:
    """The matrix of a panel."""
    (image,) = ax.images
    return image.get_array()


def labels(axis: object) -> list[str]:
    return [text.get_text() for text in axis.get_ticklabels()]


# ---- files of eval -------------------------------------------------------------------------------


def test_a_panel_is_a_head(tmp_path: Path) -> None:
    p = written(tmp_path / "out.safetensors", 2, 3, 4, 4)
    p[1, 2, 0, 3] = 0
    save_file({"weights": p}, tmp_path / "out.safetensors")
    drawn = dict(weights.figures(tmp_path / "out.safetensors", words(tmp_path / "t", WORDS)))
    assert list(drawn) == ["weights-0", "weights-1"]
    for b, fig in enumerate(drawn.values()):
        for h, ax in enumerate(fig.axes[:3]):
            assert ax.get_title(loc="left") == f"head {h}"
            np.testing.assert_array_equal(shown(ax).data, p[b, h])
            assert labels(ax.xaxis) == ["the", "cat", "costs", r"\$5"]
            assert labels(ax.yaxis) == ([] if h else ["the", "cat", "costs", r"\$5"])
    hidden = shown(drawn["weights-1"].axes[2]).mask
    assert hidden.sum() == 1 and hidden[0, 3]  # exactly 0 is white


def test_few_queries_are_the_last_tokens(tmp_path: Path) -> None:
    written(tmp_path / "out.safetensors", 2, 3, 4)  # packed: (H, rows, Skv)
    ((name, fig),) = weights.figures(tmp_path / "out.safetensors", words(tmp_path / "t", WORDS))
    assert name == "weights"
    assert labels(fig.axes[0].yaxis) == ["cat", "costs", r"\$5"]


def test_many_heads_have_pages_and_long_rows_their_largest(tmp_path: Path) -> None:
    p = written(tmp_path / "out.safetensors", 1, 7, 2, 1025)
    drawn = list(weights.figures(tmp_path / "out.safetensors", None))
    assert [name for name, _ in drawn] == ["weights-heads-0", "weights-heads-6"]
    ax = drawn[1][1].axes[0]
    assert ax.get_title(loc="left") == "head 6"
    largest = [p[0, 6, :, j : j + 3].max(axis=1) for j in range(0, 1025, 3)]
    np.testing.assert_array_equal(shown(ax).data, np.array(largest).T)
    for name, fig in drawn:
        (path,) = style.save(fig, tmp_path / name, ["png"])
        assert max(imread(path).shape) <= 2000


def test_the_tool_writes_figures(
    tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "out.safetensors"
    written(file, 1, 2, 4, 4)
    tokens = words(tmp_path / "t", WORDS)
    outcome = tool(plot, file, "--kind", "weights", "--tokens", tokens, "--format", "svg")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.split() == ["figures/out/weights.svg"]
    text = (tmp_path / "figures" / "out" / "weights.svg").read_text()
    assert "costs" in text and "$5" in text
    outcome = tool(plot, file)
    assert (outcome.code, outcome.out) == (4, "")
    assert outcome.err == f"plot: {file}: has tensors, of which --kind weights draws the weights\n"


FILES = {
    "missing": (lambda _: None, ": No such file or directory"),
    "foreign": (lambda path: path.write_text("{}"), "out.safetensors: is no safetensors file: "),
    "other tensors": (
        lambda path: save_file({"o": softmax((1, 1, 2, 2))}, path),
        "out.safetensors: there is no tensor weights, it has o; attnbench eval --problem "
        "outputs=o+weights writes it",
    ),
    "rank": (
        lambda path: written(path, 2, 3),
        "out.safetensors: weights is f32 (2,3), not floating-point (B,H,Sq,Skv)",
    ),
    "type": (
        lambda path: save_file({"weights": np.zeros((1, 1, 2, 2), np.int32)}, path),
        "out.safetensors: weights is i32 (1,1,2,2), not floating-point (B,H,Sq,Skv)",
    ),
    "empty": (
        lambda path: save_file({"weights": np.zeros((1, 0, 2, 2), np.float32)}, path),
        "out.safetensors: weights is f32 (1,0,2,2), not floating-point (B,H,Sq,Skv)",
    ),
    "tokens": (
        lambda path: written(path, 1, 1, 3, 3),
        "tokens: 4 tokens, and weights of {file} has 3 keys",
    ),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_does_not_fit_is_named(tool: Tool, tmp_path: Path, kind: str) -> None:
    make, message = FILES[kind]
    file = tmp_path / "out.safetensors"
    make(file)
    tokens = words(tmp_path / "tokens", WORDS)
    outcome = tool(plot, file, "--kind", "weights", "--tokens", tokens)
    assert (outcome.code, outcome.out) == (4, "")
    assert message.format(file=file) in outcome.err
    assert outcome.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_options_that_do_not_fit_are_named(tool: Tool, tmp_path: Path) -> None:
    file = tmp_path / "out.safetensors"
    written(file, 1, 1, 4, 4)
    (tmp_path / "bytes").write_bytes(b"\xff\n" * 4)
    results = sample.write(tmp_path / "a.jsonl", sample.session(), sample.cell())
    for arguments, message in (
        ((file, "--kind", "weights", "--tokens", tmp_path / "bytes"), "bytes: is no UTF-8 text"),
        ((file, "--kind", "weights", "--tokens", tmp_path / "no"), "no: No such file"),
        ((results, "--kind", "weights,bars"), "weights is drawn alone, of a file of"),
        ((results, "--tokens", tmp_path / "t"), "--tokens goes with --kind weights"),
        ((results, "--kind", "weights"), "a.jsonl: is no safetensors file"),
    ):
        outcome = tool(plot, *arguments)
        assert outcome.code == 4
        assert message in outcome.err


# ---- the experiment ------------------------------------------------------------------------------


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
    assert [text.get_text() for text in heads[4].texts] == [
        "unscaled", "Head 1 looks at 1, none."]  # fmt: skip
    outcome = tool(plot, path, "--format", "svg", "--output", tmp_path / "o")
    assert [Path(line).stem for line in outcome.out.split()] == [
        f"experiment-{n}" for n in ("words", *drawn)]  # fmt: skip

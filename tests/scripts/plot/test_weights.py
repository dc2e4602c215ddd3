"""Heat maps of weights: the numbers of their files, words at both axes, and files refused."""

from pathlib import Path

import numpy as np
import pytest
import sample
from attntools.plot import plot, style, weights
from conftest import Tool
from drawn import WORDS, labels, shown, softmax
from matplotlib.image import imread
from safetensors.numpy import save_file


def written(path: Path, *shape: int) -> np.ndarray:
    """A file with weights of that shape."""
    p = softmax(shape)
    save_file({"o": p, "weights": p}, path)
    return p


def words(path: Path, texts: list[str]) -> Path:
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path


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


def test_letters_that_no_font_has_are_said(
    tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "out.safetensors"
    written(file, 1, 2, 4, 4)
    tokens = words(tmp_path / "t", ["合", "众", "国", "人"])
    said = "plot: no font here has these letters: only SVG shows them; Noto Sans CJK SC has them\n"
    for fonts, form, message in ((["Arial"], "png", said), (["Arial"], "svg", ""),
                                 ([style.EAST[2]], "png", "")):  # fmt: skip
        monkeypatch.setattr(style.font_manager, "get_font_names", lambda fonts=fonts: fonts)
        outcome = tool(plot, file, "--kind", "weights", "--tokens", tokens, "--format", form,
                       "--output", tmp_path / "o")  # fmt: skip
        assert (outcome.code, outcome.err) == (0, message)


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
        assert message in tool(plot, *arguments).refused


def test_ticks_are_integers_and_few_weights_have_numbers(tmp_path: Path) -> None:
    p = written(tmp_path / "out.safetensors", 1, 2, 3, 3)
    ((_, fig),) = weights.figures(tmp_path / "out.safetensors", None)
    fig.canvas.draw()
    first = fig.axes[0]
    assert {"0", "1", "2"} <= {*labels(first.xaxis)} <= {"0", "1", "2"} | {"\N{MINUS SIGN}1", "3"}
    assert [t.get_text() for t in first.texts] == [f"{x:.2f}" for x in p[0, 0].flat]
    title, note = (text.get_text() for text in fig.texts[:2])
    most = p.max()
    assert title.startswith(
        f"Attention weights: the largest is {most:.3f}, in head {p.max((2, 3)).argmax()}, "
    )
    assert f"Colours from 0 to {most:.3f} by square root" in note
    assert first.images[0].get_clim() == (0, pytest.approx(most))
    written(tmp_path / "many.safetensors", 1, 2, 40, 40)
    ((_, fig),) = weights.figures(tmp_path / "many.safetensors", None)
    assert not fig.axes[0].texts


def test_words_are_cut_by_their_width() -> None:
    assert weights.cut("incomprehensibilities") == "incomprehe…"
    assert weights.cut("合众国人民") == "合众国人民"
    assert weights.cut("更完善的联邦制度") == "更完善的联…"
    assert style.families("a") == [style.FONT]
    assert style.families("合a")[1:] == list(style.EAST)

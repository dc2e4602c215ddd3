"""Figures of experiments show the numbers of their rows."""

from pathlib import Path
from typing import Any

import pytest
import sample
from attntools.experiments import experiment_logits as logits
from attntools.experiments import experiment_numerics as numerics
from attntools.experiments import plot_experiments
from attntools.plot import plot
from attntools.results.cells import Results
from attntools.results.results import read
from conftest import Tool


def scale_row(d: int, scale: str, keys: float) -> dict[str, Any]:
    params = {"part": "random", "input": "normal", "d": d, "scale": scale, "keys": 256}
    return sample.experiment("saturation", params, effective_keys=keys, gradient=1 / d, dead=0.25)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    variance = [
        sample.experiment(
            "variance",
            {"part": "sweep", "input": "normal", "d": d},
            variance=1.01 * d,
            ci95=[0.9 * d, 1.1 * d],
            theory=d,
            scaled=1.01,
            scaled_ci95=[0.9, 1.1],
            scaled_theory=1,
        )
        for d in (1, 2, 4)
    ]
    published = sample.experiment(
        "variance", {"part": "published", "d": 10}, before=9.5, after=0.95
    )
    softmax = [
        sample.experiment(
            "softmax",
            {"part": "multiplier", "input": "normal", "keys": 64, "multiplier": m},
            largest=m / 64,
            jacobian=0.1,
            gradient=m,
        )
        for m in (0.25, 1, 64)
    ]
    saturation = [scale_row(d, s, 100 / d) for s in ("1", "d^-1/2") for d in (4, 16)]
    example = sample.experiment(
        "worked-examples",
        {"example": "a", "quantity": "q", "by": "naive"},
        published=[[1.0]],
        difference=3e-5,
        tolerance=6e-5,
    )
    rows = [*variance, published, *softmax, *saturation, example]
    return read(sample.write(tmp_path / "a.jsonl", sample.session(), *rows))


def test_cache_shows_work_and_the_share_of_equal_tokens() -> None:
    work = [
        sample.experiment("cache", {"part": "work", "length": n},
                          flops=n, bytes=2 * n, flops_again=n * n, bytes_again=4 * n,
                          times_flops=n, times_bytes=2)
        for n in (4, 8)
    ]  # fmt: skip
    bits = [
        sample.experiment("cache", {"part": "bits", "kernel": kernel, "dtype": "f32", "s": 10},
                          equal=same == 10, same=same, largest=largest)
        for kernel, same, largest in (("naive", 10, 0), ("flash", 4, 3e-7))
    ]  # fmt: skip
    file = sample.results(*work, *bits)
    figure = numerics.cache(file)
    left, right = figure.axes
    title = "Without a cache 8 tokens take 8 times the operations and 2.00 times the bytes"
    assert title in [t.get_text().replace("\n", " ") for t in figure.texts]
    assert {line.get_label(): list(line.get_ydata()) for line in left.lines} == {
        "operations, with a cache": [4, 8],
        "operations, computed again": [16, 64],
        "bytes, with a cache": [8, 16],
        "bytes, computed again": [16, 32],
    }
    assert [bar.get_width() for bar in right.patches] == [1, 0.4]
    assert [t.get_text() for t in right.texts] == ["others differ by up to 3·10⁻⁷"]
    assert [t.get_text() for t in right.get_yticklabels()] == ["naive, f32", "flash, f32"]


def test_variance_shows_points_exact_lines_and_what_was_published(results: Results) -> None:
    raw, scaled = logits.variance(results).axes
    exact, points = raw.lines[0], raw.lines[1]
    assert list(exact.get_xdata()) == [1, 2, 4]
    assert list(exact.get_ydata()) == [1, 2, 4]
    assert list(points.get_ydata()) == pytest.approx([1.01, 2.02, 4.04])
    published = next(line for line in scaled.lines if line.get_label() == "published")
    assert (list(published.get_xdata()), list(published.get_ydata())) == ([10], [0.95])


def test_variance_shows_heads_where_the_file_has_them() -> None:
    sweep = sample.experiment(
        "variance",
        {"part": "sweep", "input": "normal", "d": 4},
        variance=4, ci95=[3, 5], theory=4, scaled=1, scaled_ci95=[0.9, 1.1], scaled_theory=1,
    )  # fmt: skip
    heads = [
        sample.experiment("variance", {"part": "real", "prefix": "layer0.", "head": h},
                          scaled=v, scaled_ci95=[v - 1, v + 2], scaled_independent=v / 2)
        for h, v in ((0, 2.0), (1, 300.0))
    ]  # fmt: skip
    file = sample.results(sweep, *heads)
    _, _, ax = logits.variance(file).axes
    (container,) = ax.containers
    assert list(container.lines[0].get_xdata()) == [2, 300]
    assert container.lines[2][0].get_segments()[0][:, 0].tolist() == [1, 4]
    assert list(ax.lines[-2].get_xdata()) == [1, 150]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["layer 0, head 0", "layer 0, head 1"]


def test_softmax_over_the_multiplier(results: Results) -> None:
    largest, _, gradient = logits.softmax(results).axes
    (line,) = largest.lines
    assert line.get_label() == "64 normal logits"
    assert list(line.get_ydata()) == [0.25 / 64, 1 / 64, 1]
    assert list(gradient.lines[0].get_ydata()) == [0.25, 1, 64]
    assert [t.get_text() for t in largest.get_xticklabels()] == ["1/4", "1", "64"]


def test_saturation_has_a_line_per_scale(results: Results) -> None:
    keys, _, dead = logits.saturation(results).axes
    assert [line.get_label() for line in keys.lines] == ["scale 1", "scale $1/\\sqrt{d}$"]
    assert list(keys.lines[0].get_ydata()) == [25, 6.25]
    assert list(dead.lines[1].get_ydata()) == [25, 25]


def test_worked_examples_are_shares_of_what_is_allowed(results: Results) -> None:
    (ax,) = numerics.worked_examples(results).axes
    assert list(ax.lines[0].get_xdata()) == [pytest.approx(0.5)]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a: q"]


def test_only_what_the_file_has_is_drawn(tool: Tool, results: Results, tmp_path: Path) -> None:
    out = tmp_path / "figures"
    assert tool(plot, results.path, "--kind", "experiments", "--output", out).code == 0
    assert sorted(p.name for p in out.glob("*.svg")) == [
        "experiment-saturation.svg",
        "experiment-softmax.svg",
        "experiment-variance.svg",
        "experiment-worked-examples.svg",
    ]
    none = sample.results(sample.cell())
    assert all(fig is None for _, fig in plot_experiments.every(none))

"""The figure of the experiment linear shows the numbers of its rows."""

from typing import Any

import pytest
import sample
from attntools.experiments.experiment_linear import linear, title

GEMM = {1: [1.0, 0.9, 1.1, 1.0, 1.2, 0.8], 64: [2.0, 2.0, 2.1, 1.9, 2.0, 2.0]}


def timed(launch: int, d_in: int, d_out: int, tokens: int) -> dict[str, Any]:
    params = {"part": "time", "launch": launch, "d_in": d_in, "d_out": d_out, "tokens": tokens}
    ratio = GEMM[tokens][launch - 1] * (d_out / d_in)
    loops = {} if d_in == d_out == 64 else {"dot": [3e-6, 1e-6], "axpy": [1e-6, 4e-6]}
    return sample.experiment("linear", params, gemm=[ratio * 1e-6, 1e-6], **loops)


def init(d: int, begin: str, given: str, keys: float) -> dict[str, Any]:
    params = {"part": "init", "d": d, "init": begin, "input": given}
    return sample.experiment("linear", params, effective_keys=keys)


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    sizes = ((8, 8), (8, 64), (64, 8), (64, 64))
    return [timed(launch, *size, tokens) for launch in range(1, 7) for size in sizes
            for tokens in (1, 64)]  # fmt: skip


def test_speedups_of_square_weights_with_their_intervals(rows: list[Any]) -> None:
    gemm, dot, axpy, *_ = linear(sample.results(*rows)).axes
    one, many = gemm.containers
    assert (one.get_label(), many.get_label()) == ("1 token", "64 tokens")
    assert list(one.lines[0].get_xdata()) == [8, 64]
    assert list(one.lines[0].get_ydata()) == pytest.approx([1, 1])
    assert list(many.lines[0].get_ydata()) == pytest.approx([2, 2])
    assert one.lines[2][0].get_segments()[0][:, 1] == pytest.approx([0.8, 1.2])
    # Plain loops leave out the larger one.
    assert [list(c.lines[0].get_ydata()) for c in dot.containers] == [pytest.approx([3])] * 2
    assert [list(c.lines[0].get_ydata()) for c in axpy.containers] == [pytest.approx([0.25])] * 2
    assert {"1/4", "1/2", "1", "2"} <= {t.get_text() for t in axpy.get_yticklabels()}


def test_maps_have_every_width(rows: list[Any]) -> None:
    *_, first, second, hidden = linear(sample.results(*rows)).axes
    assert [first.get_title("left"), second.get_title("left")] == [
        "sgemm, 1 token", "sgemm, 64 tokens",
    ]  # fmt: skip
    assert [t.get_text() for t in first.texts] == ["1.00", "8.00", "0.12", "1.00"]
    assert [t.get_text() for t in first.get_yticklabels()] == ["8", "64"]
    assert not hidden.get_visible()
    one = [row for row in rows if row["params"]["tokens"] == 1]
    *_, first, second, _ = linear(sample.results(*one)).axes
    assert first.get_visible()
    assert not second.get_visible()


def test_keys_in_use_behind_fresh_weights(rows: list[Any]) -> None:
    begun = [
        init(d, begin, given, keys / d)
        for begin, keys in (("rand", 64), ("linear", 640))
        for given in ("normal", "uniform")
        for d in (8, 64)
    ]
    for file in (begun, [*rows, *begun]):
        ax = linear(sample.results(*file)).axes[-1]
        assert [list(line.get_ydata()) for line in ax.lines] == [[8, 1]] * 2 + [[80, 10]] * 2
        assert [line.get_linestyle() for line in ax.lines] == ["-", ":"] * 2
        assert [t.get_text() for t in ax.texts] == ["torch.rand, [0, 1)", "Linear, ±1/√d"]


def test_the_title_says_what_was_found(rows: list[Any]) -> None:
    begun = [init(64, "linear", "normal", 60.4), init(64, "rand", "normal", 1.2)]
    layout = (
        "Weights stored as nn.Linear's make sgemm up to 16 times as fast, dot products up to 3 "
        "times as fast, added rows up to 4 times as slow"
    )
    keys = "f 64 keys a row uses 60 with Linear's, 1.2 with torch.rand's fresh weights"
    assert title(rows, begun) == f"{layout}; o{keys}"
    assert title(rows, []) == layout
    assert title([], begun) == f"O{keys}"


def test_without_rows_there_is_no_figure() -> None:
    assert linear(sample.results(sample.cell())) is None
    equal = sample.experiment("linear", {"part": "equal", "d": 3}, difference=0)
    assert linear(sample.results(equal)) is None

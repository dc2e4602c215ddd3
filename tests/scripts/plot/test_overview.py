"""The overview: shares of the ceilings over the length, with the intervals of their times."""

from pathlib import Path

import pytest
import sample
from attntools.plot import overview, plot
from attntools.results.cells import Results
from attntools.results.results import read
from conftest import Tool
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

LENGTHS = (64, 128, 256)
LAUNCHES = [0.8e-3, 0.9e-3, 1e-3, 1e-3, 1.2e-3, 1.6e-3]  # median 1 ms, interval 0.8 to 1.6 ms


def decode(kernel: str, skv: int, share: float, **changes: object) -> sample.Row:
    problem = f"b=1,hq=8,hkv=2,sq=1,skv={skv},d=64,dtype=bf16"
    return sample.cell(
        LAUNCHES, kernel=kernel, problem=problem, case=f"decode-{skv}",
        fraction_of_bandwidth=share, **changes,
    )  # fmt: skip


def prefill(kernel: str, s: int, share: float, **changes: object) -> sample.Row:
    return sample.cell(LAUNCHES, kernel=kernel, s=s, fraction_of_fma=share, **changes)


def rows() -> list[sample.Row]:
    return [
        *(prefill("flash", s, s / 512) for s in LENGTHS),
        *(prefill("naive", s, 0.01) for s in LENGTHS),
        *(prefill("flash", s, 0.9, threads=2) for s in LENGTHS[:2]),  # two lengths: no group
        *(decode("split_kv", s, 0.6) for s in LENGTHS),
    ]


@pytest.fixture
def results() -> Results:
    return sample.results(*rows())


def lines(ax: Axes, colour: str) -> list[Line2D]:
    """What is drawn in a colour, but for the empty line that stands for it in the legend."""
    return [line for line in ax.lines if line.get_color() == colour and len(line.get_xdata())]


def texts(fig: Figure) -> list[str]:
    """The heading of a figure, from the title on."""
    return [text.get_text().replace("\n", " ") for text in fig.texts]


def colour_of(ax: Axes, label: str) -> str:
    return next(str(line.get_color()) for line in ax.lines if line.get_label() == label)


def test_each_panel_has_the_shares_of_its_cells(results: Results) -> None:
    left, right = overview.overview(results).axes
    flash = lines(left, colour_of(left, "flash"))[0]
    assert list(flash.get_xdata()) == [64, 128, 256]
    assert flash.get_ydata() == pytest.approx([12.5, 25, 50])
    naive = lines(left, colour_of(left, "naive"))[0]
    assert naive.get_ydata() == pytest.approx([1, 1, 1])
    split = lines(right, colour_of(right, "split_kv"))[0]
    assert split.get_ydata() == pytest.approx([60, 60, 60])
    assert left.get_ylim()[0] == 0
    assert left.get_ylim()[1] >= 100


def test_an_interval_is_that_of_the_time_upside_down(results: Results) -> None:
    _, right = overview.overview(results).axes
    interval = lines(right, colour_of(right, "split_kv"))[1]
    # 60 % at 1 ms: 37.5 % at the upper end, 1.6 ms, 75 % at the lower one, 0.8 ms.
    assert interval.get_ydata() == pytest.approx([37.5, 75])
    assert "hollow" not in texts(right.figure)[1]
    assert list(interval.get_xdata()) == [64, 64]


def test_a_point_without_interval_is_hollow() -> None:
    few = [decode("gemm", s, 0.3, time=sample.cell([1e-3] * 3)["time"]) for s in LENGTHS]
    file = sample.results(*rows(), *few)
    _, right = overview.overview(file).axes
    gemm, split = (lines(right, colour_of(right, name)) for name in ("gemm", "split_kv"))
    assert len(gemm) == 1 + 3  # the line and its points
    assert len(split) == 1 + 2 * 3  # and their intervals
    assert {point.get_markerfacecolor() for point in gemm[1:]} == {"white"}
    assert split[2].get_markerfacecolor() == split[2].get_color()
    assert "hollow: too few launches" in texts(right.figure)[1]


def test_the_largest_group_is_drawn_and_named() -> None:
    more = [prefill(k, s, 0.5, threads=2) for k in ("flash", "naive", "gemm") for s in LENGTHS]
    file = sample.results(*rows(), *more)
    left, right = overview.overview(file).axes
    assert left.get_xlabel().endswith("\nh=8, d=64, dtype=f32, 2 threads")
    assert right.get_xlabel().endswith("\nhq=8, hkv=2, d=64, dtype=bf16, 1 thread")


def test_a_kernel_with_two_variants_is_named_with_them() -> None:
    other = [prefill("flash", s, 0.7, isa="avx512") for s in LENGTHS]
    fig = overview.overview(sample.results(*rows(), *other))
    (legend,) = fig.legends
    assert sorted(text.get_text() for text in legend.get_texts()) == [
        "flash/avx2", "flash/avx512", "naive", "split_kv",
    ]  # fmt: skip


def test_the_kernels_that_lead_come_first(results: Results) -> None:
    halves = [overview.chosen(results, panel) for panel in overview.PANELS]
    assert overview.leaders(halves) == ["split_kv/avx2", "flash/avx2", "naive/avx2"]
    fig = overview.overview(results)
    assert texts(fig)[0] == (
        "flash reaches 50 % of the multiply-adds in prefill, split_kv reaches 60 % of the "
        "read bandwidth in decode"
    )


def test_labels_of_lengths_stay_apart() -> None:
    assert overview.ticks([128, 256, 1024]) == [128, 256, 512, 1024]
    assert overview.ticks([1, 64, 32768]) == [1, 4, 16, 64, 256, 1024, 4096, 16384]
    assert overview.ticks([100, 1000]) == [128, 256, 512, 1024]


def test_it_needs_both_halves(tool: Tool, tmp_path: Path) -> None:
    file = sample.write(tmp_path / "b", sample.session(), *rows()[:6])
    assert overview.overview(read(file)) is None
    outcome = tool(plot, file, "--kind", "overview")
    assert outcome.refused.startswith(f"plot: {file}: no data for overview")


def test_it_is_written_as_overview(tool: Tool, tmp_path: Path) -> None:
    file, out = sample.write(tmp_path / "a.jsonl", sample.session(), *rows()), tmp_path / "docs"
    outcome = tool(plot, file, "--kind", "overview", "--format", "svg", "--output", out)
    assert outcome.out.split() == [str(out / "overview.svg")]
    svg = (out / "overview.svg").read_text()
    assert "multiply-add ceiling" in svg
    assert "Test CPU" in svg

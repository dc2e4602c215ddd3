"""The figure of rivals: each against the fastest kernel of ours, case by case."""

from pathlib import Path

import pytest
import sample
from attntools.plot import plot, rivals, style
from attntools.results.cells import Results
from attntools.results.results import read
from conftest import Tool


def row(kernel: str, group: str, ms: float, **changes: object) -> sample.Row:
    return sample.cell(sample.alike(ms * 1e-3), kernel=kernel, group=group, **changes)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rows = [
        row("flash", "ours", 1.0, s=256),
        row("split_kv", "ours", 2.0, s=256),
        row("naive", "textbook", 0.5, s=256),
        row("torch", "rivals", 1.5, s=256),
        row("gemm", "rivals", 3.0, s=256, isa="avx2"),
        row("gemm", "rivals", 2.5, s=256, isa="avx512"),
        row("flash", "ours", 1.0, s=512),
        row("torch", "rivals", 0.8, s=512),
        row("flash", "ours", 1.0, s=512, threads=2),
        row("torch", "rivals", 2.0, s=512, threads=2, state="unavailable"),
        row("gemm", "rivals", 4.0, s=512, threads=2),
        row("torch", "rivals", 2.0, s=1024),  # ours is missing
    ]
    return sample.write(tmp_path / "a.jsonl", sample.session(), *rows)


@pytest.fixture
def results(path: Path) -> Results:
    return read(path)


def test_each_rival_against_the_fastest_of_ours(results: Results) -> None:
    found = {
        (a.ours.case, a.ours.identity.threads, a.rival.identity.variant): a
        for a in rivals.against_ours(results)
    }
    assert {key: (a.ours.identity.kernel, round(a.ratio, 6)) for key, a in found.items()} == {
        ("prefill-f32-s256-d64", 1, "torch/avx2"): ("flash", 1.5),
        ("prefill-f32-s256-d64", 1, "gemm/avx512"): ("flash", 2.5),
        ("prefill-f32-s512-d64", 1, "torch/avx2"): ("flash", 0.8),
        ("prefill-f32-s512-d64", 2, "gemm/avx2"): ("flash", 4.0),
    }
    assert all(a.lo <= a.ratio <= a.hi for a in found.values())


def test_the_figure_has_a_panel_a_thread_count(results: Results) -> None:
    one, two = rivals.rivals(results).axes
    points = sorted(
        (round(line.get_xdata()[0], 6), line.get_ydata()[0])
        for line in one.lines
        if line.get_marker() not in ("None", "", None) and len(line.get_xdata()) == 1
    )
    assert points == [(0.8, -1), (1.5, 0), (2.5, 0)]
    assert [t.get_text() for t in one.get_yticklabels()] == [
        "prefill-f32-s256-d64",
        "prefill-f32-s512-d64",
    ]
    assert (one.get_title(loc="left"), two.get_title(loc="left")) == ("1 thread", "2 threads")


def test_the_fastest_rival_has_its_look_and_the_rest_are_faint(results: Results) -> None:
    fig = rivals.rivals(results)
    one, _ = fig.axes
    colours = {
        line.get_xdata()[0]: line.get_color() for line in one.lines if len(line.get_xdata()) == 1
    }
    assert {round(x, 6): c for x, c in colours.items()} == {
        0.8: style.Look(7).colour, 1.5: style.Look(7).colour, 2.5: style.FAINT}  # fmt: skip
    assert sorted(t.get_text() for t in fig.legends[0].get_texts()) == ["gemm", "torch"]
    assert fig.texts[0].get_text().replace("\n", " ") == (
        "Ours are ahead of the fastest rival in 2 of 3 cells, behind in 1, by 1.50 times in the "
        "median"
    )


def test_of_too_many_cases_an_even_choice_is_drawn() -> None:
    rows = [
        row(k, g, 1.0, s=s)
        for s in range(1, 201)
        for k, g in (("flash", "ours"), ("gemm", "rivals"))
    ]
    fig = rivals.rivals(sample.results(*rows))
    names = [t.get_text() for t in fig.axes[0].get_yticklabels()]
    assert (len(names), names[0], names[-1]) == (45, "prefill-f32-s1-d64", "prefill-f32-s200-d64")
    assert "45 of 200 cases" in fig.texts[1].get_text().replace("\n", " ")
    assert fig.get_figheight() < 12


def ticks_over(ratio: float) -> tuple[list[float], tuple[float, float]]:
    """Ticks and ends of the axis where the slowest rival takes `ratio` times as long."""
    noisy = [ratio * x for x in (0.01, 1.0, 100.0)]
    slow = sample.cell([1e-3 * x for x in noisy], kernel="torch", group="rivals")
    ours = sample.cell([1e-3, 1e-3, 1e-3], kernel="flash", group="ours")
    results = sample.results(ours, slow)
    (ax,) = rivals.rivals(results).axes
    return list(ax.get_xticks()), ax.get_xlim()


def test_the_axis_goes_as_far_as_the_ratios() -> None:
    assert ticks_over(4.0) == ([1, 1.5, 2, 3, 5], (0.9, pytest.approx(5.2)))
    assert ticks_over(200.0) == ([1, 3, 10, 30, 100], (0.9, pytest.approx(260)))


def test_a_file_without_rivals_has_no_figure(tmp_path: Path, tool: Tool, path: Path) -> None:
    alone = sample.results(row("flash", "ours", 1.0))
    assert rivals.rivals(alone) is None
    outcome = tool(plot, path, "--kind", "rivals", "--output", tmp_path / "out", "--format", "png")
    assert outcome.code == 0
    assert (tmp_path / "out" / "rivals.png").stat().st_size > 1000

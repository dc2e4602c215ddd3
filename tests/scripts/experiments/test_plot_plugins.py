"""Figures of experiments whose kernels are plug-ins: of cells, and of the rows of older files."""

import numpy as np
import pytest
import sample
from attntools.experiments import experiment_layouts as layouts
from attntools.experiments import experiment_tiles as tiles


def older(name: str, cell: sample.Row, **params: object) -> sample.Row:
    """A cell as the row of an experiment that older programs wrote."""
    given = {key: cell[key] for key in ("kernel", "isa", "threads", "problem")}
    return sample.experiment(
        name, {**given, **params}, fraction_of_fma=cell["fraction_of_fma"], **cell["time"]
    )


def sizes() -> list[sample.Row]:
    """Three sizes of flash's blocks, and flash itself."""
    return [
        sample.cell([0.9e-3] + [t * 1e-3] * 6 + [1.2e-3], kernel=kernel, fraction_of_fma=share)
        for kernel, t, share in (("flash", 1, 0.85), ("flash_k32_q64", 1, 0.5),
                                 ("flash_k128_q32", 1, 0.8), ("flash_k128_q64", 1, 0.9))
    ]  # fmt: skip


def with_interval(cell: sample.Row) -> sample.Row:
    """The cell with an interval from 0.9 to 1.2 of its time."""
    cell["time"] |= {"median_s": 1e-3, "ci95_s": [0.9e-3, 1.2e-3]}
    return cell


@pytest.mark.parametrize("rows_of_experiment", [False, True])
def test_tiles_is_a_map_of_keys_by_queries(rows_of_experiment: bool) -> None:
    rows = [with_interval(cell) for cell in sizes()]
    if rows_of_experiment:
        rows = [older("tiles", cell, d=64) for cell in rows]
    results = sample.results(*rows, experiment="tiles")
    ax, _ = tiles.tiles(results).axes
    assert ax.get_title(loc="left") == "d = 64 (flash: 85.0)"
    (image,) = ax.images
    shown = np.asarray(image.get_array())
    assert np.isnan(shown[0, 0])
    assert (shown[0, 1], shown[1].tolist()) == (pytest.approx(80), [0, 0])  # 0.9 / 0.5; ties
    assert image.get_clim() == (0, pytest.approx(80))
    assert ax.figure.texts[0].get_text() == (
        "2 of 3 sizes tie at d = 64, others are up to 80 % slower"
    )
    assert {t.get_text(): t.get_weight() for t in ax.texts} == {
        "50.0\n±7.5": "normal",
        "80.0\n±12.0": "bold",
        "90.0\n±13.5": "bold",
    }
    assert [t.get_text() for t in ax.get_yticklabels()] == ["32", "128"]
    assert list(tiles.findings(results)) == [
        "At d = 64 the fastest of 3 sizes is 64 queries by 128 keys, 90.0 % of the multiply-add "
        "rate; the intervals of 2 (itself included) overlap its own.",
        "At d = 64 flash itself reaches 85.0 %.",
    ]


@pytest.mark.parametrize("rows_of_experiment", [False, True])
def test_layouts_has_a_point_each(rows_of_experiment: bool) -> None:
    """Rounds 1 and 2 take twice and three times as long, whatever the layout."""
    rounds = np.array([1e-3, 2e-3, 3e-3])
    rows = [
        sample.cell(list(rounds * t), kernel=f"{kernel}_{factor}_{i}")
        for kernel, factor, times in (("flash", "again", (1, 1, 1)),
                                      ("flash", "code", (1, 0.9, 1.2)),
                                      ("split_kv", "stack", (1, 1, 1.05)))
        for i, t in enumerate(times)
    ]  # fmt: skip
    if rows_of_experiment:
        rows = [older("layouts", cell, addresses="fixed") for cell in rows]
    flash, split = layouts.layouts(sample.results(*rows, experiment="layouts")).axes
    assert [ax.get_title(loc="left") for ax in (flash, split)] == ["flash/avx2", "split_kv/avx2"]
    points = [line for line in flash.lines if line.get_marker() == "o"]
    assert [list(line.get_xdata()) for line in points] == [
        pytest.approx([0, 0, 0]),
        pytest.approx([0, -10, 20]),
    ]
    assert [set(line.get_ydata()) for line in points] == [{0}, {-1}]
    assert [t.get_text() for t in flash.get_yticklabels()] == ["nothing", "code"]
    assert flash.get_xlim() == split.get_xlim() == pytest.approx((-22, 22))


def drawn(noise: float, seed: int) -> np.ndarray:
    """Six layouts in six rounds of noise, which all go up and down together."""
    random = np.random.default_rng(seed)
    return -6 + 0.1 * (np.arange(6) % 3) + noise * (random.random((6, 6)) - 0.5)


def test_a_spread_is_that_of_the_farthest_two() -> None:
    logs = drawn(0, 1)
    assert layouts.judge(logs, None).spread == pytest.approx(0, abs=1e-12)
    logs[1] += np.log(1.02)
    logs[4] -= np.log(1.01)
    logs[2, 3] += 1  # one launch of six was disturbed
    assert layouts.judge(logs, None).spread == pytest.approx(1.02 * 1.01 - 1, abs=1e-12)


def test_a_layout_that_is_slower_is_beyond_chance() -> None:
    again, moved = drawn(0.002, 1), drawn(0.002, 2)
    moved[5] += 0.02
    found = layouts.judge(moved, again)
    assert 0.018 < found.lo <= found.spread <= found.hi < 0.023
    assert found.chance < 0.01
    assert np.isnan(layouts.judge(again, None).chance)


def test_findings_name_what_moves() -> None:
    rows = [
        sample.cell(list(np.exp(times)), kernel=f"flash_{factor}_{i}")
        for factor, seed, slower in (("again", 1, 0.0), ("stack", 2, 0.0), ("code", 3, 0.05))
        for i, times in enumerate(drawn(0.002, seed) + slower * np.eye(1, 6).T)
    ]
    still = list(layouts.findings(sample.results(*rows[:12], experiment="layouts")))
    assert still[-1] == "flash/avx2: no layout moves its time beyond chance."
    nothing, stack, code, last = layouts.findings(sample.results(*rows, experiment="layouts"))
    assert nothing.startswith("flash/avx2, nothing: the farthest two of 6 layouts are 0.")
    assert "by chance" in stack
    assert "code: the farthest two of 6 layouts are 5." in code
    assert last.startswith("flash/avx2: its time moves with code; a gain of less may be")


def test_layouts_that_do_nothing_are_within_chance() -> None:
    """Of a hundred five are below 0.05: 0 to 12 but for one time in 500."""
    chances = [layouts.judge(drawn(0.01, 2 * i), drawn(0.01, 2 * i + 1)).chance for i in range(100)]
    assert sum(chance <= 0.05 for chance in chances) <= 12

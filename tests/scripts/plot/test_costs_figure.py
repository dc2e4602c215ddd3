"""The figure of what options cost: each case against the plain one of its size."""

import pytest
import sample
from attntools.plot import costs
from attntools.results.cells import Results


def row(case: str, ms: float, gflop: float, kernel: str = "flash", threads: int = 1) -> sample.Row:
    """A cell whose useful work is `gflop`."""
    medians = sample.alike(ms * 1e-3)
    made = sample.cell(medians, kernel=kernel, threads=threads, case=case)
    problem = made["problem"] + f",scale={1 + len(case)}"  # another identity for each case
    return made | {"problem": problem, "gflops": gflop / (ms * 1e-3)}


@pytest.fixture
def results() -> Results:
    rows = [
        row("mask-s64", 1.0, 1.0),
        row("mask-s64-window8", 0.5, 0.4),
        row("mask-s64-bias", 1.25, 1.0),
        row("mask-s64-bias-keys", 1.25, 0.8),
        row("mask-s640", 1.0, 1.0),
        row("mask-s64", 2.0, 1.0, kernel="gemm"),
        row("mask-s64-bias", 8.0, 1.0, kernel="gemm"),
        row("mask-s64-bias", 8.0, 1.0, kernel="naive"),  # no plain case
        row("mask-s64-bias", 1.0, 1.0, threads=2),
    ]
    return sample.results(*rows)


def test_shares_of_the_plain_case(results: Results) -> None:
    found = {(c.cell.case, c.cell.identity.kernel): c for c in costs.costs(results)}
    assert {key: (c.plain, round(c.share, 6)) for key, c in found.items()} == {
        ("mask-s64-window8", "flash"): ("mask-s64", 0.8),
        ("mask-s64-bias", "flash"): ("mask-s64", 0.8),
        ("mask-s64-bias-keys", "flash"): ("mask-s64", 0.64),
        ("mask-s64-bias", "gemm"): ("mask-s64", 0.25),
    }
    assert all(c.lo <= c.share <= c.hi for c in found.values())


def test_each_setting_has_its_own_plain_case() -> None:
    rows = [
        row(case, ms, 1.0) | {"setting": name} | sample.SETTINGS[name]
        for case, times in (("mask-s64", (1.0, 2.0)), ("mask-s64-bias", (1.25, 8.0)))
        for name, ms in zip(sample.SETTINGS, times, strict=True)
    ]
    found = costs.costs(sample.results(*rows))
    assert {c.cell.setting: round(c.share, 6) for c in found} == {"base": 0.8, "new": 0.25}


def test_the_figure_has_a_row_a_case(results: Results) -> None:
    (axes,) = costs.figure(results).axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["mask-s64-window8", "mask-s64-bias", "mask-s64-bias-keys"]
    points = [line for line in axes.lines if len(line.get_xdata()) == 1]
    assert sorted(round(float(line.get_xdata()[0]), 6) for line in points) == [25, 64, 80, 80]


def test_no_figure_without_a_plain_case() -> None:
    assert costs.figure(sample.results(row("mask-s64", 1.0, 1.0))) is None

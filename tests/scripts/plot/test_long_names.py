"""Long names of cases and series stay on the page; titles of few cells."""

import pytest
import sample
from attntools.plot import ceilings, speedup
from attntools.plot.plot import SESSION
from attntools.results.cells import Results


def row(kernel: str, ms: float, **changes: object) -> sample.Row:
    return sample.cell([ms * 1e-3] * 6, kernel=kernel, **changes)


def long_names() -> Results:
    """A problem without a name, and series whose environments are long."""
    problem = "b=1,hq=32,hkv=8,sq=1,skv=1024,d=128,dtype=bf16"
    rows = [
        row(kernel, ms, problem=problem, case="h32x8-sq1-skv1024-d128-bf16", threads=threads,
            environment=environment, fraction_of_fma=0.1 / ms)
        for threads in (1, 2)
        for kernel, ms in (("flash", 1.0), ("split_kv", 2.0))
        for environment in ("", "OMP_WAIT_POLICY=passive KMP_BLOCKTIME=0 GOMP_CPU_AFFINITY=0-1")
    ]  # fmt: skip
    return sample.results(*rows)


@pytest.mark.parametrize("name", ["ceiling", "roofline", "threads", "accuracy"])
def test_long_names_stay_within_the_page(name: str) -> None:
    fig = SESSION[name](long_names())
    fig.canvas.draw()
    names = [t.get_window_extent() for known in fig.legends for t in known.get_texts()]
    texts = [t.get_window_extent() for t in fig.texts]
    assert all(fig.bbox.x0 <= box.x0 < box.x1 <= fig.bbox.x1 for box in names + texts)
    assert not any(box.overlaps(text) for box in names for text in texts)


def test_a_shape_is_not_cut() -> None:
    (label,) = ceilings.figure(long_names()).axes[0].get_yticklabels()
    assert label.get_text() == "hq=32 hkv=8 sq=1 skv=1024 d=128 dtype=bf16"


def test_a_cut_shape_says_so() -> None:
    problem = f"b=1,hq=32,hkv=8,sq=1,skv=1024,d=128,dtype=bf16,mask=window{'9' * 40}"
    made = row("flash", 1.0, problem=problem, case=problem)
    file = sample.results(made)
    (label,) = ceilings.figure(file).axes[0].get_yticklabels()
    assert len(label.get_text()) == ceilings.MOST_LETTERS
    assert label.get_text().endswith("9…")


def test_titles_of_one_shape_have_no_median() -> None:
    made = row("flash", 1.0, fraction_of_fma=0.12)
    file = sample.results(made)
    drawn = [SESSION[name](file) for name in ("ceiling", "roofline")]
    assert "slopes: the highest and the lowest bandwidth" in drawn[1].texts[1].get_text()
    assert [fig.texts[0].get_text() for fig in drawn] == [
        "The best kernel reaches 12 % of the ceiling on 1 thread",
        "Roofline: the fastest kernel reaches 12 % of the roof",
    ]


@pytest.mark.parametrize(
    ("launches", "says"), [(1, "too few launches to tell"), (8, "no difference is shown")]
)
def test_ties_alone_are_no_difference(launches: int, says: str) -> None:
    """Medians of 1 and 2 ms, whose launches vary by as much."""
    rows = [
        sample.cell([ms * 1e-3 * x for x in ([1] if launches == 1 else loud)], kernel=k, s=s)
        for s in (64, 128)
        for k, ms, loud in (("flash", 1.0, [0.2, 5] * 4), ("gemm", 2.0, [5, 0.2] * 4))
    ]
    file = sample.results(*rows)
    assert (
        speedup.figure(file)
        .texts[0]
        .get_text()
        .startswith(f"Ours against gemm: {says} in 2 cells, ")
    )

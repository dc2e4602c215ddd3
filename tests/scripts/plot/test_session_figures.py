"""The figures that tell a session show the numbers of the file."""

import pytest
import sample
from attntools.plot import (
    accuracy,
    ceilings,
    kernel_looks,
    lengths,
    noise,
    scaling,
    shapes,
    speedup,
    style,
)
from attntools.plot.plot import SESSION
from attntools.results.cells import Cell, Results
from matplotlib.axes import Axes

LAUNCHES = [0.8, 0.9, 1.0, 1.0, 1.1, 1.6]  # the interval is from the least to the largest


def row(kernel: str, ms: float, **changes: object) -> sample.Row:
    return sample.cell([ms * 1e-3 * x for x in LAUNCHES], kernel=kernel, **changes)


def decode(kernel: str, skv: int, ms: float, dtype: str = "f32") -> sample.Row:
    problem = f"b=1,hq=8,hkv=2,sq=1,skv={skv},d=64" + (",dtype=bf16" if dtype == "bf16" else "")
    return row(
        kernel, ms, problem=problem, case=f"decode-{dtype}-s{skv}-g4-d64", threads=2,
        fraction_of_fma=0.01, fraction_of_bandwidth=0.5 / ms, gbytes_per_s=20 / ms,
    )  # fmt: skip


@pytest.fixture
def results() -> Results:
    rows = [
        *(row("flash", 1.0, s=s, fraction_of_fma=0.8) for s in (256, 512)),
        *(row("flash", 0.5, s=s, threads=2, fraction_of_fma=0.75) for s in (256, 512)),
        row("gemm", 1.5, s=256, fraction_of_fma=0.6),
        row("gemm", 0.8, s=512, fraction_of_fma=0.9),
        row("gemm", 0.75, s=256, threads=2, fraction_of_fma=0.5),
        *(decode("split_kv", skv, 1.0) for skv in (256, 512, 1024)),
        *(decode("gemm", skv, 2.0) for skv in (256, 512, 1024)),
        decode("split_kv", 256, 1.0, "bf16"),
        row("bad", 1.0, state="failed"),
    ]
    named = {k: v for k, v in rows[0].items() if k in ("case", "kernel", "isa", "threads")}
    twins = [{"type": "noise", "rounds": 6, "ratio": r, "detectable": d} | named
             for r, d in ((0.99, 0.05), (1.03, 0.1), (1.0, None))]  # fmt: skip
    return sample.results(*rows, *twins)


def points(ax: Axes, label: str) -> list[tuple[float, float]]:
    """Places of the marks of a series."""
    return [
        (round(float(x), 6), round(float(y), 6))
        for line in ax.lines if line.get_label() == label
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    ]  # fmt: skip


def titles(axes: list[Axes]) -> list[str]:
    return [ax.get_title(loc="left") for ax in axes]


@pytest.mark.parametrize(
    ("case", "problem", "kind", "dtype", "shape"),
    [
        ("gqa-bf16-h32x8-s64-causal", "s=64,dtype=bf16", "gqa", "bf16", "h32x8 s64 causal"),
        ("mask-bf16-t5-base", "s=64,dtype=bf16", "mask", "bf16", "t5 base"),
        ("b=2,hq=4,hkv=4,sq=9,skv=9,d=8", "b=2,hq=4,hkv=4,sq=9,skv=9,d=8", "prefill", "f32",
         "h=4 s=9 b=2 d=8"),
        ("b=1,hq=4,hkv=2,sq=1,skv=9,d=8", "b=1,hq=4,hkv=2,sq=1,skv=9,d=8", "decode", "f32",
         "hq=4 hkv=2 sq=1 skv=9 d=8"),
    ],
)  # fmt: skip
def test_words_for_a_case(case: str, problem: str, kind: str, dtype: str, shape: str) -> None:
    made = sample.cell(case=case, problem=problem)
    (cell,) = sample.results(made).timed
    assert (shapes.kind(cell), shapes.dtype(cell), shapes.shape(cell)) == (kind, dtype, shape)


def test_a_kernel_is_named_with_its_variant_where_a_case_has_two() -> None:
    rows = [sample.cell(isa=isa, kernel=k, s=s) for k, isa, s in (
        ("flash", "avx2", 64), ("flash", "avx512", 64), ("gemm", "avx2", 64), ("gemm", "avx512", 9)
    )]  # fmt: skip
    cells = sample.results(*rows).timed
    assert shapes.names(cells) == {
        "flash/avx2": "flash/avx2", "flash/avx512": "flash/avx512",
        "gemm/avx2": "gemm", "gemm/avx512": "gemm",
    }  # fmt: skip


def test_ceiling_is_that_which_limits_on_the_most_threads(results: Results) -> None:
    fig = ceilings.figure(results)
    assert titles(fig.axes) == ["prefill, f32", "decode, f32", "decode, bf16"]
    prefill, decoded, half = fig.axes
    assert [x for x, _ in points(prefill, "flash")] == [75, 75]
    assert [x for x, _ in points(prefill, "gemm")] == [50]
    assert [x for x, _ in points(decoded, "split_kv")] == [50, 50, 50]
    assert [x for x, _ in points(half, "split_kv")] == [50]
    assert [t.get_text() for t in prefill.get_yticklabels()] == ["s256 d64", "s512 d64"]
    spans = [segment[:, 0].tolist() for segment in prefill.collections[0].get_segments()]
    assert spans == [pytest.approx([46.875, 93.75])] * 2  # 75 % over 1.6, and over 0.8


def test_of_too_many_shapes_an_even_choice_is_drawn() -> None:
    assert shapes.thinned(list(range(10)), 4) == [0, 3, 6, 9]
    assert shapes.thinned([1, 2], 4) == [1, 2]


def test_types_with_other_shapes_have_a_panel_of_their_own() -> None:
    rows = [sample.cell(s=s) for s in (1, 2, 3)]
    rows += [
        sample.cell(problem=f"h=1,s={s},d=8,dtype=bf16", case=f"prefill-bf16-s{s}-d64")
        for s in (3, 8, 9)
    ]
    panels = ceilings.split(sample.results(*rows).timed, 99)
    assert [(list(p.cells), p.rows) for p in panels] == [
        (["f32"], ["s1 d64", "s2 d64", "s3 d64"]), (["bf16"], ["s3 d64", "s8 d64", "s9 d64"]),
    ]  # fmt: skip


def test_speedup_is_of_the_fastest_of_ours_over_gemm_sorted(results: Results) -> None:
    found = speedup.speedups(results)
    assert sorted((s.ours.case, s.ours.identity.threads, round(s.ratio, 6)) for s in found) == [
        ("decode-f32-s1024-g4-d64", 2, 2.0), ("decode-f32-s256-g4-d64", 2, 2.0),
        ("decode-f32-s512-g4-d64", 2, 2.0), ("prefill-f32-s256-d64", 1, 1.5),
        ("prefill-f32-s256-d64", 2, 1.5), ("prefill-f32-s512-d64", 1, 0.8),
    ]  # fmt: skip
    one, two = speedup.figure(results).axes
    assert titles([one, two]) == ["1 thread", "2 threads"]
    assert [t.get_text() for t in one.get_yticklabels()] == [
        "prefill-f32-s256-d64", "prefill-f32-s512-d64",
    ]  # fmt: skip
    assert one.get_xlabel() == "times as fast as gemm"


def test_speedup_is_over_the_fastest_rival() -> None:
    rows = [
        row("flash", 1.3, group="ours"),
        row("split_kv", 1.0, group="ours"), row("naive", 0.1, group="textbook"),
        row("gemm", 1.4, group="rivals"), row("torch", 1.2, group="rivals"),
        row("flash", 1.0, group="ours", s=64), row("torch", 3.0, group="rivals", s=64),
    ]  # fmt: skip
    file = sample.results(*rows)
    assert [(s.other.identity.kernel, round(s.ratio, 6)) for s in speedup.speedups(file)] == [
        ("torch", 1.2), ("torch", 3.0)
    ]  # fmt: skip
    (ax,) = speedup.figure(file).axes
    assert ax.get_xlabel() == "times as fast as the fastest rival"
    assert [t.get_text() for t in ax.get_yticklabels()] == [
        "prefill-f32-s64-d64 (torch)", "prefill-f32-s512-d64 (torch)",
    ]  # fmt: skip
    assert speedup.figure(sample.results(rows[0])) is None


def test_speedup_of_many_cases_is_a_distribution() -> None:
    """A histogram by verdict, and below it the quantiles of all cells and of each kind."""
    ratios = [0.5] * 20 + [1.0] * 30 + [2.0] * 40 + [4.0] * 10
    rows = [row("flash", 1.0, s=s) for s in range(1, 101)]
    rows += [row("gemm", r, s=s) for s, r in enumerate(ratios, 1)]
    fig = speedup.figure(sample.results(*rows))
    above, below = fig.axes
    heights: dict[str, float] = {}
    for bar in above.patches:
        colour = style.to_hex(bar.get_facecolor())
        heights[colour] = heights.get(colour, 0) + bar.get_height()
    slower, tie, faster = (style.to_hex(c) for c in speedup.VERDICTS.values())
    assert heights == {slower: 20, tie: 30, faster: 50}
    assert [t.get_text() for t in below.get_yticklabels()] == ["all, 100", "prefill, 100"]
    assert [list(line.get_xdata()) for line in below.lines[1:4]] == [
        pytest.approx([0.5, 4]), pytest.approx([1, 2]), pytest.approx([1.5])]  # fmt: skip
    assert fig.texts[0].get_text() == (
        "Ours against gemm: faster in 50 of 100 cells, slower in 20, 1.50 times as fast in the "
        "median"
    )
    assert above.texts[0].get_text().splitlines()[:2] == [
        "slowest against it:", "0.500 x  prefill-f32-s20-d64"]  # fmt: skip


def test_titles_say_what_was_found(results: Results) -> None:
    """Of the fixture's fastest kernels: 80, 90, 75, 75 and four times 50 % of the ceiling."""
    said = {name: SESSION[name](results).texts[0].get_text() for name in SESSION if name != "times"}
    assert said == {
        "ceiling": "The best kernel reaches 50 % of the ceiling in the median of 6 shapes, 50 "
        "to 75 %, on 2 threads",
        "speedup": "Ours against gemm: faster in 5 of 6 cells, slower in 1, 1.75 times as fast "
        "in the median",
        "roofline": "Roofline: the fastest kernel reaches 62 % of the roof in the median; "
        "decode-f32-s256-g4-d64 only 50 %",
        "decode": "Decode over the keys: split_kv is fastest in 3 of 3 cases, on 2 threads",
        "threads": "2 threads make flash 2.00, gemm 2.00 times as fast in the median case",
        "accuracy": "Accuracy against speed: the largest errors of flash reach 0.00400 of their "
        "bound",
        "noise": "Noise: believe no difference below 7.50 %",
    }


def test_times_are_per_pair() -> None:
    rows = [row("flash", s * s * 1e-6, s=s) for s in (64, 128, 256)]
    file = sample.results(*rows)
    (ax,) = lengths.times(file).axes
    assert titles([ax]) == ["prefill, f32, d64"]
    # 1 ns for S * S pairs of each of 8 heads
    assert points(ax, "flash") == [(64, 0.125), (128, 0.125), (256, 0.125)]
    assert ax.get_ylim()[0] == 0
    spans = [segment[:, 1].tolist() for segment in ax.collections[0].get_segments()]
    assert spans[0] == pytest.approx([0.1, 0.2])
    assert lengths.decode(file) is None


def test_decode_is_a_rate_below_the_bandwidth(results: Results) -> None:
    fig = lengths.decode(results)
    (ax,) = fig.axes
    assert titles([ax]) == ["decode, f32, g4 d64"]
    assert points(ax, "split_kv") == [(256, 20), (512, 20), (1024, 20)]
    assert points(ax, "gemm") == [(256, 10), (512, 10), (1024, 10)]
    (roof,) = [line for line in ax.lines if line.get_color() == "#222222"]
    assert list(roof.get_ydata()) == [40, 40, 40]
    spans = [segment[:, 1].tolist() for segment in ax.collections[0].get_segments()]
    assert spans[0] == pytest.approx([10 / 1.6, 10 / 0.8])


def test_more_threads_are_held_against_one(results: Results) -> None:
    assert scaling.speedups(results) == {
        "prefill": {("flash", 2): pytest.approx([2, 2]), ("gemm", 2): pytest.approx([2])}
    }
    (ax,) = scaling.figure(results).axes
    assert [t.get_text() for t in ax.texts] == ["2.00", "2.00"]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["flash", "gemm"]


def test_a_case_far_beyond_the_threads_is_an_arrow_at_the_end() -> None:
    gains = {64: 2, 128: 1.9, 256: 9}
    alone = [row("flash", 1, s=s) for s in gains]
    both = [row("flash", 1 / gain, s=s, threads=2) for s, gain in gains.items()]
    fig = scaling.figure(sample.results(*alone, *both))
    (ax,) = fig.axes
    assert ax.get_xlim() == (0, 1.25 * 3)
    (arrow,) = [line for line in ax.lines if line.get_marker() == ">"]
    assert (list(arrow.get_xdata()), ax.texts[0].get_text()) == ([3], "2.00")
    assert fig.texts[1].get_text().endswith("; arrow: 1 farther right, up to 9.0")


def test_accuracy_is_beside_the_fastest_of_the_case(results: Results) -> None:
    found = accuracy.points(results)
    assert list(found) == ["f32", "bf16"]
    assert sorted(x for x, _ in found["f32"]["gemm"]) == pytest.approx([1, 1.5, 1.5, 2, 2, 2])
    assert {y for _, y in found["f32"]["gemm"]} == {0.004}
    assert titles(accuracy.figure(results).axes) == ["f32", "bf16"]


def test_noise_is_of_twins_and_intervals(results: Results) -> None:
    found = noise.differences(results)
    assert found[noise.SAME] == pytest.approx([0, 1, 3])
    assert found[noise.SHOWN] == pytest.approx([5, 10])
    assert found[noise.WIDTH] == pytest.approx([40] * len(results.timed))
    fig = noise.figure(results)
    assert [t.get_text() for t in fig.legends[0].get_texts()] == [
        "twins differ by 1.00 %", "half an interval 40.0 %", "a difference is seen from 7.50 %",
    ]  # fmt: skip


def test_flags_are_counted() -> None:
    rows = [row("flash", 1.0, s=s, flags=flags) for s, flags in (
        (64, ["drift", "outliers"]), (128, ["drift"]), (256, []))]  # fmt: skip
    _, ax = noise.figure(sample.results(*rows)).axes
    assert [t.get_text() for t in ax.get_yticklabels()] == ["drift", "outliers"]
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([200 / 3, 100 / 3])


def test_looks_go_to_the_kernels_that_win(results: Results) -> None:
    def wins(cells: list[Cell]) -> list[str]:
        return [min(g, key=lambda c: c.median_s).identity.kernel for g in shapes.groups(cells)]

    assert sorted(wins(results.timed)) == ["flash"] * 3 + ["gemm"] + ["split_kv"] * 4
    assert list(kernel_looks.by_wins(results)) == ["split_kv", "flash", "gemm"]


def test_few_launches_are_no_disturbance_and_their_twins_no_limit() -> None:
    rows = [sample.cell([1e-3, 1.1e-3], s=s, flags=["no-interval", *more])
            for s, more in ((64, ["drift"]), (128, []))]  # fmt: skip
    named = {k: v for k, v in rows[0].items() if k in ("case", "kernel", "isa", "threads")}
    twins = {"type": "noise", "rounds": 2, "ratio": 1.01, "detectable": None} | named
    fig = noise.figure(sample.results(*rows, twins))
    assert fig.texts[0].get_text() == (
        "Noise: too few launches to say which differences to believe"
    )
    assert [t.get_text() for t in fig.axes[1].get_yticklabels()] == ["drift"]

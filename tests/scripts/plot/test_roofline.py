"""The roofline places cells by what they compute and read, and its labels do not collide."""

import itertools

import pytest
import sample
from attntools.plot import roofline
from attntools.results.cells import Results
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox


@pytest.fixture
def results() -> Results:
    rows = [
        sample.cell([time * s * 1e-6] * 8, s=s, kernel=kernel)
        for s in (64, 128, 256)
        for kernel, time in (("flash", 2.0), ("naive", 8.0))
    ]
    return sample.results(*rows)


def test_roofline_places_cells_by_flops_per_byte(results: Results) -> None:
    cell = results.timed[0]
    # 2*8*64*64*128 flops over 4*8*64*64*4 bytes
    assert roofline.intensity(cell) == pytest.approx(16)
    ax = roofline.figure(results).axes[0]
    flash = next(line for line in ax.lines if line.get_label() == "flash")
    assert flash.get_xdata()[0] == pytest.approx(16)
    assert flash.get_ydata()[0] == pytest.approx(cell.number("gflops"))


def test_the_roof_of_a_set_is_its_fastest_type() -> None:
    def row(kernel: str, rate: float, s: int) -> sample.Row:
        ceiling = {"fma_gflops": rate, "read_gbytes_per_s": 40.0}
        return sample.cell(kernel=kernel, isa="avx512_bf16", s=s, ceiling=ceiling)

    rows = [row("flash", 236.0, 64), row("split_kv", 118.0, 64), row("split_kv", 118.0, 128)]
    ax = roofline.figure(sample.results(*rows)).axes[0]
    assert [t.get_text() for t in ax.texts if "FLOP" in t.get_text()] == [
        "avx512_bf16: 236 GFLOP/s"
    ]


def texts_of(fig: Figure) -> list[tuple[str, Bbox]]:
    """What is written in the axes, and where."""
    fig.canvas.draw()
    texts = [t for ax in fig.axes for t in ax.texts if t.get_text()]
    return [(t.get_text(), Text.get_window_extent(t)) for t in texts]  # without its leader


def assert_apart(found: list[tuple[str, Bbox]]) -> None:
    for (first, one), (second, other) in itertools.combinations(found, 2):
        assert not one.overlaps(other), (first, second)


def with_ceilings(threads: int, s: int, isa: str, fma: float, read: float) -> sample.Row:
    row = sample.cell([1e-5 * s] * 8, s=s, threads=threads, isa=isa)
    return row | {"ceiling": {"fma_gflops": fma, "read_gbytes_per_s": read}}


@pytest.mark.parametrize(
    "rows",
    [
        [(1, 64, "avx2", 118.0, 40.0)],
        [(1, 64, "avx2", 118.0, 40.0), (1, 128, "avx2", 118.0, 40.5)],  # slopes side by side
        [(1, 64, isa, f, 90.0 / (i + 1)) for i, (isa, f) in enumerate(
            [("baseline", 60.0), ("avx2", 117.0), ("avx512", 118.0), ("avx512_bf16", 236.0)])],
        [(1, 64 << i, isa, f, 40.0) for i, (isa, f) in enumerate(
            [("avx2", 117.0), ("avx512", 217.0), ("avx512_bf16", 119.0), ("amx", 3100.0)])],
        [(n, s, "avx512_bf16", 236.0 * n, 1.1e3 / s) for n in (1, 2, 4) for s in (1, 64, 16384)],
    ],
)  # fmt: skip
def test_labels_of_a_roofline_do_not_collide(rows: list[tuple]) -> None:
    lines = [with_ceilings(*row) for row in rows]
    fig = roofline.figure(sample.results(*lines))
    found = texts_of(fig)
    labels = [(text, box) for text, box in found if text.endswith("/s")]
    panels = {f(row[0] for row in rows) for f in (min, max)}  # of three counts the outer two
    sets = {(row[0], row[2]) for row in rows if row[0] in panels}
    slopes = [len({row[4] for row in rows if row[0] == n} & set(ends(rows, n))) for n in panels]
    assert len(labels) == len(sets) + sum(slopes)
    assert_apart(found)
    for ax in fig.axes:
        for line in ax.lines:
            if line.get_marker() == "None":
                continue
            for x, y in ax.transData.transform(line.get_xydata()):
                for text, box in labels:
                    assert not box.padded(3).contains(x, y), text
    width, height = fig.canvas.get_width_height()
    assert all(0 <= b.x0 < b.x1 <= width and 0 <= b.y0 < b.y1 <= height for _, b in labels)


def test_roofline_without_a_ceiling_has_points() -> None:
    row = sample.cell(ceiling={"fma_gflops": None, "read_gbytes_per_s": None})
    fig = roofline.figure(sample.results(row))
    assert [text for text, _ in texts_of(fig)] == ["prefill-f32-s512-d64, flash 455 %"]
    assert len(fig.axes[0].lines) == 2  # the point, and the line from its name


def ends(rows: list[tuple], threads: int) -> tuple[float, float]:
    reads = [row[4] for row in rows if row[0] == threads]
    return min(reads), max(reads)


def test_of_each_kind_the_case_farthest_from_the_roof_is_named() -> None:
    decode = "b=1,hq=8,hkv=8,sq=1,skv=64,d=64"
    rows = [
        sample.cell([1e-6] * 8, s=64, fraction_of_fma=0.5),
        sample.cell([1e-6] * 8, s=128, fraction_of_fma=0.4),
        sample.cell([9e-6] * 8, s=128, fraction_of_fma=0.1, kernel="naive"),
        sample.cell(
            [1e-6] * 8,
            problem=decode,
            case="decode-f32-s64",
            fraction_of_fma=0.01,
            fraction_of_bandwidth=0.75,
        ),
    ]
    cells = sample.results(*rows).timed
    assert [text for text, _ in roofline.named(cells)] == [
        "prefill-f32-s128-d64, flash 40 %", "decode-f32-s64, flash 75 %",
    ]  # fmt: skip
    assert [text for text, _ in roofline.named(cells, ["s64-d"])] == [
        "prefill-f32-s64-d64, flash 50 %"
    ]

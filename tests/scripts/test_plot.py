"""Figures show the numbers of the file, in the same look everywhere, and are written whole."""

import itertools
from pathlib import Path

import numpy as np
import pytest
import sample
from attntools import figures, plot, style
from attntools.cells import Results
from attntools.results import read
from conftest import Tool
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox


@pytest.fixture
def results(tmp_path: Path) -> Results:
    rows = [
        sample.cell(
            sample.noisy(np.random.default_rng(s), t * 1e-6 * s, 8), s=s, threads=n, kernel=k
        )
        for s in (64, 128, 256)
        for k, n, t in (("flash", 1, 2.0), ("flash", 2, 1.0), ("naive", 1, 8.0))
    ]
    rows.append(sample.cell(kernel="broken", s=64, state="failed"))
    return read(sample.write(tmp_path / "a.jsonl", sample.session(), *rows))


def test_bars_are_the_medians_fastest_on_top(results: Results) -> None:
    fig = figures.bars(results, "prefill-f32-s64-d64")
    ax = fig.axes[0]
    medians = sorted(
        (c.median_s for c in results.timed if c.identity.threads == 1 and "sq=64" in c.problem),
        reverse=True,
    )
    assert [bar.get_width() for bar in ax.patches] == medians
    assert [t.get_text() for t in ax.get_yticklabels()] == ["naive/avx2", "flash/avx2"]
    assert figures.bars(results, "nothing") is None


def test_roofline_places_cells_by_flops_per_byte(results: Results) -> None:
    cell = results.timed[0]
    # 2*8*64*64*128 flops over 4*8*64*64*4 bytes
    assert figures.intensity(cell) == pytest.approx(16)
    ax = figures.roofline(results).axes[0]
    flash = next(line for line in ax.lines if line.get_label() == "flash/avx2")
    assert flash.get_xdata()[0] == pytest.approx(16)
    assert flash.get_ydata()[0] == pytest.approx(cell.number("gflops"))


def test_the_roof_of_a_set_is_its_fastest_type(tmp_path: Path) -> None:
    def row(kernel: str, rate: float, s: int) -> sample.Row:
        ceiling = {"fma_gflops": rate, "read_gbytes_per_s": 40.0}
        return sample.cell(kernel=kernel, isa="avx512_bf16", s=s, ceiling=ceiling)

    rows = [row("flash", 236.0, 64), row("split_kv", 118.0, 64), row("split_kv", 118.0, 128)]
    ax = figures.roofline(read(sample.write(tmp_path / "b", sample.session(), *rows))).axes[0]
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
        [(n, s, "avx512_bf16", 236.0 * n, 1.1e3 / s) for n in (1, 2, 4) for s in (1, 64, 16384)],
    ],
)  # fmt: skip
def test_labels_of_a_roofline_do_not_collide(tmp_path: Path, rows: list[tuple]) -> None:
    lines = [with_ceilings(*row) for row in rows]
    fig = figures.roofline(read(sample.write(tmp_path / "r", sample.session(), *lines)))
    found = texts_of(fig)
    labels = [(text, box) for text, box in found if text.endswith("/s")]
    panels = {row[0] for row in rows}
    sets = {(row[0], row[2]) for row in rows}
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


def test_roofline_without_a_ceiling_has_points(tmp_path: Path) -> None:
    row = sample.cell(ceiling={"fma_gflops": None, "read_gbytes_per_s": None})
    fig = figures.roofline(read(sample.write(tmp_path / "r", sample.session(), row)))
    assert texts_of(fig) == []
    assert len(fig.axes[0].lines) == 1


def ends(rows: list[tuple], threads: int) -> tuple[float, float]:
    reads = [row[4] for row in rows if row[0] == threads]
    return min(reads), max(reads)


def test_places_are_spread_in_order() -> None:
    assert style.spread([0.5, 0.1, 0.9], 0.2, 0, 1) == [0.5, 0.1, 0.9]
    assert style.spread([0.5, 0.5, 0.45], 0.25, 0, 1) == pytest.approx([0.7, 0.95, 0.45])
    assert style.spread([0.9, 0.95], 0.25, 0.125, 0.875) == pytest.approx([0.625, 0.875])
    assert style.lanes([0, 1, 2, 5], 3) == [0, 1, 2, 0]


def test_families_need_three_lengths(results: Results) -> None:
    assert list(figures.families(results)) == [
        "over S: hq=8, hkv=8, d=64, 1 thread",
        "over S: hq=8, hkv=8, d=64, 2 threads",
    ]


def test_what_was_measured_otherwise_is_a_series_of_its_own(tmp_path: Path) -> None:
    """Cells that differ in how they were measured only: never points of one line."""
    ways = {
        "flash/avx2": {"memory": "first-touch", "huge_pages": False},
        "flash/avx2 huge-pages": {"huge_pages": True},
        "flash/avx2 interleave": {"memory": "interleave"},
        "flash/avx2 none bind huge-pages cold": {
            "placement": "none", "memory": "bind", "huge_pages": True, "cache": "cold",
        },
    }  # fmt: skip
    rows = [
        sample.cell([n * 1e-3] * 8, s=s, **more)
        for n, more in enumerate(ways.values(), 1)
        for s in (64, 128, 256)
    ]
    file = read(sample.write(tmp_path / "m", sample.session(), *rows))
    (family,) = figures.families(file)
    drawn = figures.over_length(file, family).axes[1].lines
    assert {line.get_label(): len(line.get_xdata()) for line in drawn if line.get_marker() != "None"
            } == dict.fromkeys(ways, 3)  # fmt: skip
    ax = figures.bars(file, "prefill-f32-s64-d64").axes[0]
    assert [t.get_text() for t in ax.get_yticklabels()] == list(ways)[::-1]
    shown = [t.get_text() for t in figures.heat(file, 1).axes[0].get_xticklabels()]
    assert shown == sorted(ways)


def test_speed_up_is_over_one_thread(results: Results) -> None:
    ax = figures.thread_scaling(results).axes[0]
    flash = next(line for line in ax.lines if line.get_label() == "flash/avx2")
    assert flash.get_ydata() == pytest.approx([1, 2], rel=0.05)


def test_heat_map_marks_what_has_no_time(results: Results) -> None:
    ax = figures.heat(results, 1).axes[0]
    texts = [t.get_text() for t in ax.texts]
    assert texts[0] == "x"  # broken has no time anywhere; columns are in alphabetical order
    share = 100 * results.timed[0].number("fraction_of_fma")
    assert texts[1] == f"{share:.0f}"


def test_looks_are_told_apart_without_colour() -> None:
    looks = style.looks(f"k{i}" for i in range(20))
    assert len({(v.colour, v.marker) for v in looks.values()}) == 20
    assert len({v.marker for v in list(looks.values())[:7]}) == 7


def test_every_figure_is_written_whole(tool: Tool, results: Results, tmp_path: Path) -> None:
    out = tmp_path / "figures"
    outcome = tool(plot, results.path, "--output", out)
    assert outcome.code == 0
    names = sorted(p.name for p in out.iterdir())
    assert sorted(Path(line).name for line in outcome.out.split()) == names
    assert "roofline.svg" in names
    assert "bars-prefill-f32-s128-d64.png" in names
    assert "length-over-S-hq-8-hkv-8-d-64-1-thread.svg" in names
    assert (out / "roofline.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (out / "heat-1.svg").read_text()


def test_same_data_same_file(tool: Tool, results: Results, tmp_path: Path) -> None:
    for name in "ab":
        tool(plot, results.path, "--kind", "heat", "--format", "svg", "--output", tmp_path / name)
    assert (tmp_path / "a/heat-1.svg").read_bytes() == (tmp_path / "b/heat-1.svg").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--kind", "pie"], 4, "no kind 'pie'; there are roofline, heat,"),
        (["--format", "bmp"], 4, "no format 'bmp'; there are svg, png, pdf"),
        (["--output", "/dev/null/x"], 3, "Not a directory"),
    ],
)
def test_usage(tool: Tool, results: Results, arguments: list[str], code: int, message: str) -> None:
    outcome = tool(plot, results.path, *arguments)
    assert outcome.code == code
    assert message in outcome.err


def test_nothing_to_draw_is_said(tool: Tool, tmp_path: Path) -> None:
    path = sample.write(tmp_path / "a.jsonl", sample.session(), sample.cell(state="failed"))
    outcome = tool(plot, path)
    assert outcome.code == 4
    assert outcome.err.startswith(f"plot: {path}: no data for ")

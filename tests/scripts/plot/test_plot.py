"""Figures show the numbers of the file, in the same look everywhere, and are written whole."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import sample
from attntools.plot import figures, labels, plot, style
from attntools.results.cells import Results
from attntools.results.results import read
from conftest import Tool
from matplotlib.image import imread


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
    ratio = medians[0] / medians[1]
    assert fig.texts[0].get_text().replace("\n", " ") == (
        f"Fastest: flash {ratio:.2f} times as fast as the next on 1 thread, flash on 2 threads"
    )


def test_places_are_spread_in_order() -> None:
    assert labels.spread([0.5, 0.1, 0.9], 0.2, 0, 1) == [0.5, 0.1, 0.9]
    assert labels.spread([0.5, 0.5, 0.45], 0.25, 0, 1) == pytest.approx([0.7, 0.95, 0.45])
    assert labels.spread([0.9, 0.95], 0.25, 0.125, 0.875) == pytest.approx([0.625, 0.875])


def test_families_need_three_lengths(results: Results) -> None:
    assert list(figures.families(results)) == [
        "over S: hq=8, hkv=8, d=64, 1 thread",
        "over S: hq=8, hkv=8, d=64, 2 threads",
    ]


def test_what_was_measured_otherwise_is_a_series_of_its_own() -> None:
    """Cells that differ in how they were measured only: never points of one line."""
    ways = {
        "flash/avx2": {"memory": "first-touch", "huge_pages": False},
        "flash/avx2 huge-pages": {"huge_pages": True},
        "flash/avx2 interleave": {"memory": "interleave"},
        "flash/avx2 none bind huge-pages cold": {
            "placement": "none", "memory": "bind", "huge_pages": True, "cache": "cold",
        },
        "flash/avx2 A=1": {"environment": "A=1"},
    }  # fmt: skip
    rows = [
        sample.cell([n * 1e-3] * 8, s=s, **more)
        for n, more in enumerate(ways.values(), 1)
        for s in (64, 128, 256)
    ]
    file = sample.results(*rows)
    (family,) = figures.families(file)
    drawn = figures.over_length(file, family).axes[1].lines
    assert {line.get_label(): len(line.get_xdata()) for line in drawn if line.get_marker() != "None"
            } == dict.fromkeys(ways, 3)  # fmt: skip
    ax = figures.bars(file, "prefill-f32-s64-d64").axes[0]
    assert [t.get_text() for t in ax.get_yticklabels()] == list(ways)[::-1]
    shown = [
        t.get_text()
        for t in figures.heat(file, 1, ["prefill-f32-s64-d64"]).axes[0].get_xticklabels()
    ]
    assert shown == sorted(ways)


def test_heat_map_marks_what_has_no_time(results: Results) -> None:
    ((*cases,),) = figures.heat_pages(results, 1)
    assert cases == [f"prefill-f32-s{s}-d64" for s in (64, 128, 256)]
    ax = figures.heat(results, 1, cases).axes[0]
    texts = [t.get_text() for t in ax.texts]
    assert texts[0] == "x"  # broken has no time anywhere; columns are in alphabetical order
    share = 100 * results.timed[0].number("fraction_of_fma")
    assert texts[1] == f"{share:.0f}"


def test_a_long_heat_map_has_pages() -> None:
    rows = [sample.cell(s=s) for s in range(1, 48)]
    file = sample.results(*rows)
    assert [len(page) for page in figures.heat_pages(file, 1)] == [40, 7]
    assert [name for name, _ in plot.draw(file, ["heat"])] == ["heat-1", "heat-1-2"]


def test_a_session_is_told_in_at_most_eight_figures(
    tool: Tool, results: Results, tmp_path: Path
) -> None:
    out = tmp_path / "figures"
    outcome = tool(plot, results.path, "--output", out)
    assert outcome.code == 0
    told = ["ceiling", "roofline", "times", "threads", "accuracy", "noise"]
    written = [out / f"{name}.{form}" for name in told for form in ("svg", "png")]
    assert outcome.out.split() == [str(path) for path in written]  # no rival, no decode
    assert sorted(out.iterdir()) == sorted(written)
    assert len(plot.SESSION) == 8
    assert (out / "roofline.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (out / "ceiling.svg").read_text()


def test_figures_go_where_git_ignores_them(
    tool: Tool, results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not beside the file, which may be a committed one."""
    monkeypatch.chdir(tmp_path)
    outcome = tool(plot, results.path, "--kind", "ceiling", "--format", "svg")
    assert outcome.out.split() == ["figures/a/ceiling.svg"]


def test_commands_of_the_pages_leave_nothing_in_a_clone() -> None:
    """What README and docs write into the clone is ignored by git."""
    root = Path(__file__).resolve().parents[3]
    pages = [root / "README.md", root / "results" / "README.md", *(root / "docs").glob("*.md")]
    commands = [
        line
        for page in pages
        for line in page.read_text().replace("\\\n", "").splitlines()
        if line.startswith("    ")
    ]
    made = {name for line in commands for name in re.findall(r"--output (\w[^\s`]*)", line)}
    made |= {"figures/words"} if any("scripts/plot" in line for line in commands) else set()
    assert len(made) > 10
    check = ["git", "-C", str(root), "check-ignore", "--no-index", *sorted(made)]
    done = subprocess.run(check, capture_output=True, check=False, text=True)
    if done.returncode == 128:
        pytest.skip("no git repository")
    assert made - set(done.stdout.split()) == set()


def test_all_draws_every_kind(tool: Tool, results: Results, tmp_path: Path) -> None:
    out = tmp_path / "figures"
    assert tool(plot, results.path, "--all", "--format", "svg", "--output", out).code == 0
    names = {p.name for p in out.iterdir()}
    assert {"ceiling.svg", "bars-prefill-f32-s128-d64.svg", "heat-1.svg", "heat-2.svg",
            "length-over-S-hq-8-hkv-8-d-64-1-thread.svg"} <= names  # fmt: skip


def test_a_case_is_its_bars(tool: Tool, results: Results, tmp_path: Path) -> None:
    def drawn(*options: str) -> list[str]:
        outcome = tool(plot, results.path, "--format", "svg", "--output", tmp_path / "o", *options)
        assert outcome.code == 0
        return [Path(line).stem for line in outcome.out.split()]

    assert drawn("--case", "s64-,s256") == ["bars-prefill-f32-s64-d64", "bars-prefill-f32-s256-d64"]
    assert drawn("--case", "s64-", "--kind", "ceiling,times") == ["ceiling"]  # one length only


def test_no_picture_is_larger_than_2000_pixels(tmp_path: Path) -> None:
    rows = [
        sample.cell([s * 1e-6] * 8, s=s, kernel=kernel, threads=threads)
        for s in range(1, 126) for kernel in ("flash", "naive", "gemm", "online")
        for threads in (1, 2)
    ]  # fmt: skip
    file = sample.results(*rows)
    for name, fig in plot.draw(file, list(plot.SESSION)):
        (path,) = style.save(fig, tmp_path / name, ["png"])
        height, width = imread(path).shape[:2]
        assert max(height, width) <= 2000, name
        assert path.stat().st_size < 500_000, name


def test_same_data_same_file(tool: Tool, results: Results, tmp_path: Path) -> None:
    for name in "ab":
        tool(plot, results.path, "--kind", "heat", "--format", "svg", "--output", tmp_path / name)
    assert (tmp_path / "a/heat-1.svg").read_bytes() == (tmp_path / "b/heat-1.svg").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--kind", "pie"], 4, "no kind 'pie'; there are ceiling, speedup,"),
        (["--format", "bmp"], 4, "no format 'bmp'; there are svg, png, pdf"),
        (["--case", "nothing"], 4, "no case has nothing in its name"),
        (["--all", "--kind", "bars"], 4, "not allowed with"),
        (["--output", "/dev/null/x"], 3, "Not a directory"),
    ],
)
def test_usage(tool: Tool, results: Results, arguments: list[str], code: int, message: str) -> None:
    outcome = tool(plot, results.path, *arguments)
    assert outcome.code == code
    assert message in outcome.err


def test_nothing_to_draw_is_said(tool: Tool, tmp_path: Path) -> None:
    path = sample.write(tmp_path / "a.jsonl", sample.session(), sample.cell(state="failed"))
    assert tool(plot, path).refused.startswith(f"plot: {path}: no data for ")

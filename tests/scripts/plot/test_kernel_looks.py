"""A kernel has the same colour and mark in every figure, apart from the others' without colour."""

import sample
from attntools.experiments import experiment_costs
from attntools.plot import changes, costs, figures, kernel_looks, lengths, rivals, speedup, style
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

NAMES = ("naive", "split_kv", "flash", "mine")


def drawn(fig: Figure) -> dict[str, tuple[object, object]]:
    """Colour and mark of each series of a figure with its name."""
    return {
        line.get_label(): (line.get_color(), line.get_marker())
        for ax in fig.axes
        for line in ax.lines
        if not str(line.get_label()).startswith("_") and line.get_marker() not in ("None", "")
    }


def test_figures_of_one_file_and_of_another_agree() -> None:
    """Whichever kernels a file has, in whichever order, and whatever the figure shows."""
    few = [sample.cell(s=s, kernel=k) for s in (64, 128, 256) for k in NAMES[:2]]
    more = [sample.cell(s=s, kernel=k) for s in (64, 128, 256) for k in NAMES[::-1]]
    files = [sample.results(*rows, experiment="memory") for rows in (few, more)]
    (family,) = figures.families(files[1])
    found = [drawn(lengths.times(file)) for file in files]
    found.append(drawn(experiment_costs.memory(files[1])))
    by_series = drawn(figures.over_length(files[1], family))
    found.append({name.split("/")[0]: look for name, look in by_series.items()})
    assert [set(looks) for looks in found] == [{*NAMES[:2]}, {*NAMES}, {*NAMES}, {*NAMES}]
    for name in NAMES:
        assert len({looks[name] for looks in found if name in looks}) == 1
    assert found[1]["flash"] == (style.COLOURS[0], "o")
    bar = figures.bars(files[1], "prefill-f32-s64-d64").axes[0].patches
    blue = [patch for patch in bar if style.to_hex(patch.get_facecolor()) == "#0072b2"]
    assert len(blue) == 1


def test_rivals_and_options_have_the_kernels_colours() -> None:
    rows = [
        sample.cell(kernel="flash", group="ours", s=64),
        sample.cell([2e-3] * 8, kernel="gemm", group="rivals", s=64),
        sample.cell(kernel="flash", case="prefill-f32-s64-d64-alibi", s=65),
    ]
    file = sample.results(*rows)
    look = kernel_looks.looks(["gemm"])["gemm"]
    assert drawn(rivals.rivals(file)) == {"gemm": (look.colour, look.marker)}
    assert drawn(costs.figure(file)) == {"flash": (style.COLOURS[0], "o")}


def test_looks_are_told_apart_without_colour() -> None:
    first = kernel_looks.looks(kernel_looks.KERNELS[:12]).values()
    for part in ("colour", "marker", "line"):
        assert len({str(getattr(look, part)) for look in first}) == 12
    every = kernel_looks.looks(kernel_looks.KERNELS).values()
    assert len({(look.marker, str(look.line)) for look in every}) == len(kernel_looks.KERNELS)
    many = style.looks(f"k{i}" for i in range(144)).values()
    assert len({(look.marker, str(look.line)) for look in many}) == 144


def test_what_is_no_kernel_has_no_kernels_colour() -> None:
    """Thresholds, kinds of cases and verdicts; muted colours lie apart from all of kernels'."""
    apart = [
        max(abs(x - y) for x, y in zip(to_rgb(one), to_rgb(other), strict=True))
        for one in style.NEUTRAL
        for other in style.COLOURS
    ]
    assert min(apart) > 0.15
    rows = [
        sample.experiment("rescale", {"part": "count", "input": name, "threshold": t, "block": 64},
                          rescales=1)
        for name in ("normal", "layer0.")
        for t in (0, 8)
    ]  # fmt: skip
    cells = [sample.cell(kernel=k, group=g) for k, g in (("flash", "ours"), ("gemm", "rivals"))]
    file = sample.results(*cells, *rows)
    for found in (experiment_costs.rescale(file), speedup.figure(file)):
        (known,) = found.legends
        assert {line.get_color() for line in known.legend_handles} <= {*style.NEUTRAL}
    assert {look.colour for look in changes.looks().values()} < {*style.NEUTRAL, style.FAINT}
    assert {*speedup.VERDICTS.values()} < {*style.NEUTRAL, style.FAINT}


def test_kernels_that_no_table_has_do_not_share_a_look() -> None:
    names = [f"plugin_{i}" for i in range(len(style.COLOURS) ** 2 - len(kernel_looks.KERNELS))]
    looks = kernel_looks.looks([*names, *kernel_looks.KERNELS])
    assert len({(look.colour, look.marker) for look in looks.values()}) == len(looks)
    alone = kernel_looks.looks(["plugin_0"])["plugin_0"]
    assert (alone.colour, alone.marker) == (looks["plugin_0"].colour, looks["plugin_0"].marker)


def test_variants_have_the_kernels_mark_and_paler_colours() -> None:
    looks = kernel_looks.looks(["flash/avx512", "flash/avx2", "gemm/avx2"])
    assert list(looks) == ["flash/avx512", "flash/avx2", "gemm/avx2"]
    assert looks["flash/avx2"].colour == style.COLOURS[0]
    assert looks["flash/avx512"].colour == "#66aad1"  # three fifths of the way from white
    assert {looks[f"flash/{isa}"].marker for isa in ("avx2", "avx512")} == {"o"}
    assert looks["flash/avx2"].line != looks["flash/avx512"].line

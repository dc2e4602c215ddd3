"""Figures of experiments on exactness, time and memory show the numbers of their rows."""

import copy
import csv
from dataclasses import fields
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sample
from attntools.experiments import experiment_costs as costs
from attntools.experiments import experiment_distributed as distributed
from attntools.experiments import experiment_numerics as numerics
from attntools.experiments import experiment_scaling, fits
from attntools.results.cells import Results
from matplotlib.axes import Axes

DATA = Path(__file__).parents[2] / "data"


def results(name: str, *rows: tuple[sample.Row, sample.Row]) -> Results:
    """The rows of one experiment, as they are read back."""
    return sample.results(*(sample.experiment(name, params, **values) for params, values in rows))


def heading(ax: Axes) -> str:
    """The title of a panel's figure."""
    return ax.figure.texts[0].get_text().replace("\n", " ")


def timed(medians: list[float]) -> sample.Row:
    """Values of a measured cell."""
    middle = float(np.median(medians))
    ends = [min(medians), max(medians)] if len(medians) >= 6 else None
    return {"median_s": middle, "ci95_s": ends, "launch_medians_s": medians, "state": "ok"}


def test_error_growth_is_relative_and_beside_its_bound() -> None:
    rows = [
        ({"kernel": k, "input": i, "dtype": t, "s": s},
         {"rms": e * s, "output_rms": o, "bound_rms": 100 * s})
        for i, o in (("normal", 2.0), ("sink", 4.0)) for t in ("f32", "bf16")
        for k, e in (("naive", 1), ("flash", 3)) for s in (16, 32)
    ]  # fmt: skip
    axes = numerics.error_growth(results("error-growth", *rows)).axes
    titles = ["f32", "bf16", "f32 behind a sink", "bf16 behind a sink"]
    assert [ax.get_title(loc="left") for ax in axes] == titles
    lines = [[list(line.get_ydata()) for line in ax.lines] for ax in axes]
    assert lines[0] == [[8, 16], [24, 48], [800, 1600]]
    assert lines[2] == [[4, 8], [12, 24], [400, 800]]
    assert [line.get_label() for line in axes[0].lines[:2]] == ["naive", "flash"]


def test_overflow_says_from_which_logit_on_what_fails() -> None:
    rows = (
        ({"by": "plain", "dtype": "f32"}, {"up": 88.0, "down": 103.0, "most": 1e38}),
        ({"by": "naive", "dtype": "f32"}, {"up": None, "down": None, "most": 3e38}),
        ({"by": "flash", "dtype": "f16"}, {"up": None, "down": 2e38, "most": 2e38}),
    )
    (ax,) = numerics.overflow(results("overflow", *rows)).axes
    assert {text.get_position(): text.get_text() for text in ax.texts} == {
        (0, 0): "from 88.0 on",
        (0, 1): "never",
        (1, 2): "from 2·10³⁸ on",
        (1, 0): "not run", (1, 1): "not run", (0, 2): "not run",
    }  # fmt: skip
    assert heading(ax) == "Plain fails from a logit of 88.0 on; flash only at the end of a type"


def test_invariance_writes_the_differences() -> None:
    rows = (
        ({"kernel": "naive", "dtype": "f32", "problem": "decode", "change": "threads"},
         {"equal": True, "largest": 0}),
        ({"kernel": "naive", "dtype": "f32", "problem": "decode", "change": "ISA"},
         {"equal": False, "largest": 3e-7}),
    )  # fmt: skip
    (ax,) = numerics.invariance(results("invariance", *rows)).axes
    assert [(t.get_text(), t.get_position()) for t in ax.texts] == [
        ("same bits", (0, 0)),
        ("3·10⁻⁷", (1, 0)),
    ]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["naive, f32, decode"]
    assert heading(ax) == "Same bits whatever the threads; ISA: 1 of 1 differ"


def test_exp_degree_has_errors_and_times() -> None:
    rows = [
        ({"part": "error", "dtype": "f32", "degree": d},
         {"exp_error": 10.0**-d, "relative": 0.5**d})
        for d in (1, 2)
    ]  # fmt: skip
    rows += [({"part": "time", "degree": d}, {"seconds": d * 1e-9}) for d in (1, 2)]
    errors, times = numerics.exp_degree(results("exp-degree", *rows)).axes
    assert [list(line.get_ydata()) for line in errors.lines] == [[0.5, 0.25], [0.1, 0.01]]
    assert [bar.get_height() for bar in times.patches] == pytest.approx([1, 2])


def test_rescale_counts_and_ratios() -> None:
    counted = [
        ({"part": "count", "input": i, "threshold": t, "block": b}, {"rescales": 10 * t + b})
        for i in ("normal", "layer0.") for t in (0, 8) for b in (1, 64)
    ]  # fmt: skip
    times = [
        ({"part": "time", "kernel": "flash", "input": i}, {"ratio": r, "ci95": [r - 0.1, r + 0.1]})
        for i, r in (("ascending", 1.5), ("descending", 1.0))
    ]
    normal, real, order = costs.rescale(results("rescale", *counted, *times)).axes
    assert [list(line.get_ydata()) for line in normal.lines] == [[1, 64], [81, 144]]
    assert len(real.lines) == 2
    ratio, interval, one = order.lines
    assert list(ratio.get_xdata()) == [1.5]
    assert list(interval.get_xdata()) == [1.4, 1.6]
    assert list(one.get_xdata()) == [1, 1]


def test_orders_of_keys_are_set_against_gemm_and_descending_ones() -> None:
    """The machine is twice as slow with ascending keys, which gemm shows."""
    rows = [
        sample.cell(kernel=kernel, threads=1, case=given, input=given, medians=times)
        for given, slow in (("descending", 1.0), ("normal:1", 1.0), ("ascending", 2.0))
        for kernel, times in (
            ("gemm", [slow, 4 * slow] * 3),
            ("flash", [2 * slow, 8 * slow] * 3),
            ("online", [(3 if given == "ascending" else 2) * slow * x for x in (1, 4)] * 3),
        )
    ]
    file = sample.results(*rows, experiment="key-order")
    (ax,) = costs.key_order(file).axes
    points = [line.get_xdata()[0] for line in ax.lines if line.get_marker() != "None"]
    assert points == [1, 1, 1, 1.5]
    assert heading(ax) == "The order of keys changes the time of online"
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [
        "flash, normal", "flash, ascending", "online, normal", "online, ascending"]  # fmt: skip
    assert list(costs.key_order_findings(file)) == [
        f"With ascending keys {kernel} takes {x} times as long as with descending ones "
        f"(95 % interval {x} .. {x}), against gemm."
        for kernel, x in (("flash", "1.000"), ("online", "1.500"))
    ]
    alone = sample.cell(kernel="flash", threads=1, case="ascending", input="ascending")
    file = sample.results(alone, experiment="key-order")
    assert costs.key_order(file) is None


def test_memory_adds_operands_and_workspace() -> None:
    rows = [
        ({"kernel": "naive", "outputs": o, "s": s},
         {"workspace_bytes": 1e6, "operand_bytes": s * 1e6})
        for o in ("o", "o+weights") for s in (256, 512)
    ]  # fmt: skip
    alone, weights = costs.memory(results("memory", *rows)).axes
    assert list(alone.lines[0].get_ydata()) == [257, 513]
    assert list(weights.lines[0].get_xdata()) == [256, 512]


def test_memory_of_a_session_adds_what_its_problem_says() -> None:
    """One head of d = 64: operands and results take 4 (4 * 64 S) bytes, the weights 4 S^2."""
    rows = [
        sample.cell(s=s, threads=1, case=f"s{s}-{o}", workspace_bytes=w(s),
                    problem=f"b=1,hq=1,hkv=1,sq={s},skv={s},d=64" + (f",outputs={o}" if o else ""))
        for s in (256, 512, 1024) for o, w in (("", lambda _: 1e6), ("o+weights", lambda s: s * s))
    ]  # fmt: skip
    file = sample.results(*rows, experiment="memory")
    alone, weights = costs.memory(file).axes
    assert list(alone.lines[0].get_ydata()) == pytest.approx([1.262144, 1.524288, 2.048576])
    assert list(weights.lines[0].get_ydata()) == pytest.approx([0.589824, 1.835008, 6.291456])
    said = list(costs.memory_findings(file))
    assert said[0].startswith("Outputs o: memory of flash grows fastest, as S^0.35 (95 % interval")
    assert said[1].startswith("Outputs o+weights: memory of flash grows fastest, as S^1.71 (95 %")


def test_layer_shows_differences_from_its_file() -> None:
    rows = [
        ({"part": "real", "kernel": k}, {"difference": d, "tolerance": 1e-5})
        for k, d in (("naive", 2e-6), ("flash", 3e-5))
    ]
    (ax,) = costs.layer(results("layer", *rows)).axes
    assert [line.get_xdata()[0] for line in ax.lines[:2]] == pytest.approx([0.2, 3])
    assert heading(ax) == "Not the model's output: flash"
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["naive", "flash"]
    assert ax.get_xlim() == (0, pytest.approx(3.3))
    unknown = ({"part": "real", "kernel": "naive"}, {"difference": None, "tolerance": 0.0})
    assert costs.layer(results("layer", unknown)) is None


def test_layer_shows_shares_with_intervals() -> None:
    rows = [
        ({"part": "time", "d_model": 256, "s": s, "threads": 2},
         {"attention_share": share, "ci95": [share - 0.05, share + 0.1]})
        for s, share in ((64, 0.25), (128, 0.5))
    ]  # fmt: skip
    (ax,) = costs.layer(results("layer", *rows)).axes
    (container,) = ax.containers
    assert list(container.lines[0].get_ydata()) == [25, 50]
    (bars,) = container.lines[2]
    assert [s[:, 1].tolist() for s in bars.get_segments()] == [
        pytest.approx([20, 35]),
        pytest.approx([45, 60]),
    ]


def test_scaling_pairs_launches_of_the_same_round() -> None:
    base = {"kernel": "flash", "heads": 4, "d": 64, "threads": 1, "batch": 1}
    rows = [({**base, "part": "length", "s": s}, timed([s * 1e-6] * 6)) for s in (64, 128)]
    one, two = [1, 2, 3, 4, 5, 6, 7], [0.5, 1, 2, 2, 2.5, 6, 3.5]
    rows += [
        ({**base, "part": "threads", "s": 64, "threads": n}, timed([x * 1e-3 for x in medians]))
        for n, medians in ((1, one), (2, two))
    ]
    rows.append(({**base, "part": "batch", "s": 64, "batch": 4}, timed([8e-3, 8e-3])))
    length, threads, batch = experiment_scaling.scaling(results("scaling", *rows)).axes
    assert list(length.lines[0].get_ydata()) == pytest.approx([64e-6, 128e-6])
    (container,) = threads.containers
    assert list(container.lines[0].get_ydata()) == pytest.approx([1, 2])
    # Of seven ratios 2 2 1.5 2 2 1 2 the interval goes from the least to the largest.
    assert container.lines[2][0].get_segments()[1][:, 1].tolist() == pytest.approx([1, 2])
    assert list(batch.containers[0].lines[0].get_ydata()) == pytest.approx([2e-3])


def test_scaling_of_a_session_is_drawn_and_fitted() -> None:
    """Every case on every number of threads: which rows belong to which sweep is found."""
    rows = [
        sample.cell([1e-9 * s * s * b / n**0.5] * 6, s=s, threads=n, case=f"b{b}-s{s}",
                    problem=f"b={b},hq=4,hkv=4,sq={s},skv={s},d=64", group="ours")
        for b, s in ((1, 256), (1, 512), (1, 1024), (2, 512), (4, 512)) for n in (1, 2)
    ]  # fmt: skip
    file = sample.results(*rows, experiment="scaling")
    length, threads, batch = experiment_scaling.scaling(file).axes
    assert list(length.lines[0].get_xdata()) == [256, 512, 1024]
    assert list(length.lines[0].get_ydata()) == pytest.approx(
        [1e-9 * s**2 for s in (256, 512, 1024)]
    )
    (container,) = threads.containers
    assert list(container.lines[0].get_ydata()) == pytest.approx([1, 2**0.5])
    one = 1e-9 * 512**2 / 2**0.5
    assert list(batch.containers[0].lines[0].get_ydata()) == pytest.approx([one] * 3)
    said = list(experiment_scaling.findings(file))
    assert said[0].startswith(
        "Time of flash grows as S^2.00 (95 % interval 2.00 .. 2.00) from S = 256"
    )
    assert said[1] == "flash on 2 threads is 1.41 times as fast as on one: 71 % efficient."
    assert said[2].startswith("flash ran on 2 thread counts: not enough for Amdahl's law")
    assert said[3].startswith(
        "Time of flash grows as B^1.00 (95 % interval 1.00 .. 1.00) from B = 1"
    )


def test_fits_find_the_laws_they_are_given() -> None:
    n = np.array([1, 2, 3, 4, 6, 8.0])
    serial = fits.amdahl(n, 1 / (0.1 + 0.9 / n))
    assert (serial.value, serial.lo, serial.hi) == pytest.approx((0.1, 0.1, 0.1))
    contention, coherency = fits.scalability(n, n / (1 + 0.05 * (n - 1) + 0.002 * n * (n - 1)))
    assert (contention.value, coherency.value) == pytest.approx((0.05, 0.002))
    # Speed-ups that nearly follow them, by numpy.linalg.lstsq and scipy.stats.t.ppf.
    n, s = np.array([1, 2, 4, 8, 12, 16.0]), np.array([1, 1.9, 3.7, 6.4, 8.2, 9.1])
    serial, (contention, coherency) = fits.amdahl(n, s), fits.scalability(n, s)
    assert (serial.value, serial.hi - serial.value) == pytest.approx((0.04110391, 0.01199619), 1e-3)
    assert contention.value == pytest.approx(0.02071307, 1e-4)
    assert contention.value - contention.lo == pytest.approx(0.01193311, 1e-3)
    assert coherency.value == pytest.approx(0.00184755, 1e-4)
    assert coherency.hi - coherency.value == pytest.approx(0.00085818, 1e-3)
    # Three points off a line in the logarithm: by hand, slope 1, residuals -1/3 2/3 -1/3 of a.
    a = np.log(2) * 0.3
    fit = fits.power(np.array([1, 2, 4.0]), np.array([1, 2 * np.exp(a), 4.0]))
    half = 12.706 * (6 / 9) ** 0.5 * a / (2 * np.log(2) ** 2) ** 0.5
    assert (fit.value, fit.lo, fit.hi) == pytest.approx((1, 1 - half, 1 + half))
    assert fits.power(np.array([1, 2.0]), np.array([1, 2.0])) is None
    assert fits.power(np.array([1, 2, 4.0]), np.array([1, 0, 4.0])) is None


@pytest.mark.parametrize("older", [False, True])
def test_distributed_draws_the_model_beside_what_was_measured(older: bool) -> None:
    base = {"part": "measured", "s": 1024, "heads": 8, "d": 64, "network": "wire"}
    link = {"latency_s": 1e-3, "link_gbytes_per_s": 1.0}
    ring = {"ring": {**link, "places": [{"host": "a"}, {"host": "b"}]}}
    extra = {"extra": {**link, "hosts": 2}}
    rows = [({**base, "kernel": "flash", "ranks": 1, "threads": n}, {**timed([1.0]), "gflops": n})
            for n in (1, 2)]  # fmt: skip
    for ranks, median in ((1, 2.0), (2, 1.25), (4, 1.0)):
        said = ring if older else extra
        next(iter(said.values()))["sent_bytes"] = (ranks - 1) * 8 * 1024 * 8 * 64
        values = {**timed([median]), "gflops": 2 / median, **copy.deepcopy(said)}
        kernel, threads = ("ring", 1) if older else (f"ring_{ranks}", (ranks + 1) // 2)
        rows.append(({**base, "kernel": kernel, "ranks": ranks, "threads": threads}, values))
    measured, *predicted = distributed.distributed(results("distributed", *rows)).axes
    model, points = measured.lines[0], measured.lines[-1]
    assert list(points.get_ydata()) == [2.0, 1.25, 1.0]
    # 2 Gflop at 1 Gflop/s of a rank; of four ranks two compute at once, so that none is faster.
    assert list(model.get_ydata()) == pytest.approx([2, 1, 1])
    assert measured.get_title(loc="left") == "wire\nmodel within 20 %"
    assert [[line.get_label() for line in ax.lines] for ax in predicted] == [
        list(distributed.NETWORKS)] * 3  # fmt: skip
    assert heading(measured) == (
        "S = 1k over wire takes 2.00 s on 1, 1.25 s on 2, 1.00 s on 4 ranks; the model is at most "
        "20 % off"
    )


def test_distributed_of_a_session_has_its_model_by_hand() -> None:
    """Two ranks of a thread on one host, where a call of flash takes 1 s on either thread."""
    extra = {"ranks": 2, "hosts": 1, "latency_s": 0.01, "link_gbytes_per_s": 1.0, "overlap": 0.25,
             "sent_bytes": 80e6, "computing_s": 1.0, "slowest_computing_s": 1.05}  # fmt: skip
    problem = {"s": 1024, "problem": "b=1,hq=8,hkv=8,sq=1024,skv=1024,d=64,mask=causal"}
    one = {**extra, "ranks": 1, "sent_bytes": 0}
    rows = [sample.cell([2 / n] * 6, threads=n, gflops=n, **problem) for n in (1, 2)]
    rows += [
        sample.cell([2.5] * 6, kernel="ring_1", extra=one, gflops=0.8, **problem),
        sample.cell([1.25] * 6, kernel="ring_2", threads=2, extra=extra, gflops=1.6, **problem),
        sample.cell(kernel="ring_2", threads=1, state="unsupported", **problem),
    ]
    file = sample.results(*rows, experiment="distributed")
    said = list(distributed.findings(file))
    # Of 2 Gflop a rank computes two quarters at 1 Gflop/s; 40 MB take 10 + 40 ms between.
    assert said[:2] == [
        "S = 1024, ranks 1, 1 thr each, shared memory: 2.50 s, the model 2.00 s (-20.0 %).",
        "S = 1024, ranks 2, 1 thr each, shared memory: 1.25 s, the model 1.05 s (-16.0 %); "
        "hidden 25 % of the communication, allowed 0 %; the slowest rank computes 5.0 % longer "
        "than the mean.",
    ]
    assert len(said) == 2 + 2 * 3 * 3 + 1
    # 1.1259 Pflop at 64 Gflop/s are 16.777 ms in each of 1024 steps, 4.2 MB at 0.125 GB/s 33.604:
    # 17.180 of 34.394 s compute.
    assert said[11].startswith("Predicted for hosts 32 times as fast, 1 Gbit/s, S = 1M: 8 ranks ")
    assert said[11].endswith(", 1024 ranks 34.4 s (50.0 % efficient).")
    assert said[-1].startswith("The model is at most 20 % off what was measured.")
    panel, *predicted = distributed.distributed(file).axes
    assert panel.get_title(loc="left") == "shared memory\nmodel within 20 %"
    assert list(panel.lines[0].get_ydata()) == pytest.approx([2, 1.05])
    assert [ax.get_title(loc="left") for ax in predicted] == [
        f"predicted, S = {n}M" for n in (1, 4, 16)]  # fmt: skip


def test_distributed_has_the_model_of_the_table() -> None:
    """Times computed in fractions."""
    with (DATA / "ring-model.csv").open(newline="") as lines:
        table = list(csv.DictReader(lines))
    networks = {
        row["network"]: (float(row["bytes_per_s"]), float(row["latency_s"])) for row in table
    }
    assert networks == distributed.NETWORKS
    for row in table:
        call = {field.name: Fraction(row[field.name]) for field in fields(distributed.Call)}
        assert float(row["seconds"]) == float(distributed.Call(**call).seconds)
    first = table[2]  # by hand: 4 steps of 0.4 s, and under 3 of them 6.40005 s of a link
    assert (first["ranks"], first["seconds"]) == ("4", "19.60015")

"""The figure of the experiment distributed: kernel ring beside its model, and predictions."""

from dataclasses import dataclass
from math import ceil

from attntools.base.units import seconds
from attntools.experiments.experiment_rows import Row, rows_of, series
from attntools.plot import style
from attntools.plot.figures import origin, plain_log
from attntools.results.cells import Results
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

# Networks by a link's bytes a second and a message's seconds.  These and the model are as in
# model.c of the experiment; tests/data/ring-model.csv holds both to it.
NETWORKS = {
    "1 Gbit/s": (0.125e9, 50e-6),
    "10 Gbit/s": (1.25e9, 20e-6),
    "100 Gbit/s": (12.5e9, 3e-6),
}
LENGTHS = (1 << 20, 1 << 22, 1 << 24)
CLUSTERS = (8, 16, 32, 64, 128, 256, 512, 1024)
FASTER = 32  # times as fast as the host measured on: about 64 of its cores


@dataclass
class Call:
    """A call of kernel ring; as struct distributed_call of harness/experiments/distributed."""

    flops: float
    kv_bytes: float
    ranks: float
    turns: float
    flops_per_s: float
    latency_s: float = 0
    bytes_per_s: float = float("inf")
    by_cores: bool = False

    @property
    def computing(self) -> float:
        """Seconds of a step without its messages."""
        return self.flops / self.ranks**2 / self.flops_per_s * self.turns

    @property
    def seconds(self) -> float:
        """N steps of computing, under all but the last of which keys and values travel."""
        moving = self.latency_s + self.kv_bytes / self.ranks / self.bytes_per_s
        exposed = moving if self.by_cores else max(moving - self.computing, 0)
        return self.ranks * self.computing + (self.ranks - 1) * exposed


def is_ring(row: Row) -> bool:
    """Whether a row is of ranks: ring_2, or in older files ring."""
    return row["params"]["kernel"].split("_")[0] == "ring"


def threads_of_rank(row: Row) -> float:
    """The threads of each rank; a row of ring_2 has those of all ranks on the first host."""
    params, extra = row["params"], row["values"].get("extra")
    return (
        params["threads"] / ceil(params["ranks"] / extra["hosts"]) if extra else params["threads"]
    )


def flash_rate(rows: list[Row], like: Row, threads: float) -> tuple[float, int]:
    """Useful flop/s of a thread of flash on that many threads, or the most there are; that many."""
    found = {
        r["params"]["threads"]: r["values"]["gflops"]
        for r in rows
        if r["params"]["kernel"] == "flash"
        and all(r["params"][key] == like["params"][key] for key in ("s", "network"))
    }
    on = min((n for n in found if n >= threads), default=max(found))
    return 1e9 * found[on] / on, on


def call_of(rows: list[Row], row: Row) -> Call:
    """What the model needs of a row of kernel ring."""
    params, values = row["params"], row["values"]
    threads = params["ranks"] * threads_of_rank(row)
    rate, on = flash_rate(rows, row, threads)
    call = Call(
        flops=1e9 * values["gflops"] * values["median_s"],
        kv_bytes=8 * params["s"] * params["heads"] * params["d"],
        ranks=params["ranks"],
        turns=max(1, threads / on),
        flops_per_s=rate * threads_of_rank(row),
    )
    if params["ranks"] > 1:
        said = values.get("extra") or values["ring"]
        call.latency_s = said["latency_s"]
        call.bytes_per_s = 1e9 * said["link_gbytes_per_s"]
        hosts = said["hosts"] if "hosts" in said else len({p["host"] for p in said["places"]})
        call.by_cores = hosts == 1
    return call


def error(rows: list[Row], row: Row) -> float:
    """How far the model lies off a measured time, as a share of it."""
    return call_of(rows, row).seconds / row["values"]["median_s"] - 1


def _measured(ax: Axes, rows: list[Row], line: list[Row], look: style.Look, label: str) -> None:
    """Medians with intervals, and the model's times as a line."""
    line = sorted(line, key=lambda r: r["params"]["ranks"])
    ranks = [r["params"]["ranks"] for r in line]
    ax.plot(ranks, [call_of(rows, r).seconds for r in line], color=look.colour, ls=look.line, lw=1)
    for row in line:
        values = row["values"]
        lo, hi = values["ci95_s"] or (values["median_s"],) * 2
        ax.plot([row["params"]["ranks"]] * 2, [lo, hi], color=look.colour, lw=1)
    ax.plot(ranks, [r["values"]["median_s"] for r in line], ls="", marker=look.marker,
            color=look.colour, label=label)  # fmt: skip


def _predicted(ax: Axes, rows: list[Row], like: Row) -> None:
    """Efficiency over ranks, each a host of 32 times this one's rate, on named networks."""
    params = like["params"]
    rate, on = flash_rate(rows, like, float("inf"))
    looks = style.looks(NETWORKS)
    for network, (bytes_per_s, latency_s) in NETWORKS.items():
        for width, s in zip((0.8, 1.4, 2), LENGTHS, strict=True):
            share = []
            for ranks in CLUSTERS:
                call = Call(
                    flops=2 * params["d"] * s * (s + 1) * params["heads"],
                    kv_bytes=8 * s * params["heads"] * params["d"],
                    ranks=ranks,
                    turns=1,
                    flops_per_s=FASTER * rate * on,
                    latency_s=latency_s,
                    bytes_per_s=bytes_per_s,
                )
                share.append(100 * call.computing * ranks / call.seconds)
            ax.plot(CLUSTERS, share, color=looks[network].colour, lw=width,
                    label=network if s == LENGTHS[-1] else None)  # fmt: skip
    ax.set_title(f"predicted, hosts {FASTER} times as fast", fontsize=8)
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.set_xlabel("ranks; S = 1M, 4M, 16M by width")
    ax.set_ylabel("% of the time without messages")
    ax.set_ylim(0, 105)


def distributed(results: Results) -> Figure | None:
    """Measured times over ranks beside the model, a panel a network; and predictions."""
    every = [r for r in rows_of(results, "distributed") if r["values"]["median_s"] is not None]
    rings = [r for r in every if is_ring(r) and threads_of_rank(r) == 1]
    if not rings:
        return None
    networks = series(rings, "network")
    rows = (len(networks) + 2) // 2
    fig, axes = style.figure(rows, 2, height=3 * rows + 0.6)
    predicted = axes.pop(len(networks))
    looks = style.looks(sorted({r["params"]["s"] for r in rings}))
    for ax, (network, here) in zip(axes, networks.items(), strict=False):
        for s, line in series(here, "s").items():
            _measured(ax, every, line, looks[s], f"S = {s}")
        worst = max(abs(error(every, r)) for r in here)
        ax.set_title(f"{network}\nmodel (lines) within {100 * worst:.0f} %", fontsize=8)
        ax.set_xlabel("ranks of one thread")
        ax.set_xticks(sorted({r["params"]["ranks"] for r in here}))
        plain_log(ax, "y", seconds)
    _predicted(predicted, every, max(rings, key=lambda r: r["params"]["s"]))
    for empty in axes[len(networks) :]:
        empty.set_axis_off()
    style.legend(fig, [*axes, predicted])
    params = rings[0]["params"]
    style.source(fig, f"{params['heads']} heads, d = {params['d']}, causal · {origin(results)}")
    return fig

"""The experiment distributed: ranks of attnbench-ring beside a model, and what it predicts."""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from attntools.base.units import length, seconds, short_seconds
from attntools.experiments.experiment_rows import doubling, rows_of, series
from attntools.plot import style
from attntools.plot.figures import by, origin, plain_log
from attntools.results.cells import Results, Row
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Networks by a link's bytes a second and a message's seconds.
NETWORKS = {
    "1 Gbit/s": (0.125e9, 50e-6),
    "10 Gbit/s": (1.25e9, 20e-6),
    "100 Gbit/s": (12.5e9, 3e-6),
}
LENGTHS = (1 << 20, 1 << 22, 1 << 24)
CLUSTERS = (8, 16, 32, 64, 128, 256, 512, 1024)
PREDICTED = 3  # number of the first look of a predicted line: not those of measured ones
FASTER = 32  # times as fast as the host measured on: about 64 of its cores


@dataclass
class Call:
    """A call of N ranks: N steps of computing, under all but the last of which K and V travel."""

    flops: float  # useful, of all ranks
    kv_bytes: float  # K and V, of all ranks
    ranks: float
    turns: float  # ranks for each that computes at once, at least 1
    flops_per_s: float  # of a rank while it computes
    latency_s: float = 0  # of a message
    bytes_per_s: float = float("inf")  # of a link
    by_cores: bool = False  # all on one host: the cores that compute move the data, too

    @property
    def computing(self) -> float:
        """Seconds of a step without its messages."""
        return self.flops / self.ranks**2 / self.flops_per_s * self.turns

    @property
    def moving(self) -> float:
        """Seconds that the keys and values of a rank are under way to the next."""
        return self.latency_s + self.kv_bytes / self.ranks / self.bytes_per_s

    @property
    def exposed(self) -> float:
        """What of that computing does not hide."""
        return self.moving if self.by_cores else max(self.moving - self.computing, 0)

    @property
    def seconds(self) -> float:
        """The longer of computing and moving in each step; their sum by the same cores."""
        return self.ranks * self.computing + (self.ranks - 1) * self.exposed

    @property
    def efficiency(self) -> float:
        """The share of the time that remains without messages."""
        return self.computing * self.ranks / self.seconds


def measured(results: Results) -> list[Row]:
    """The rows with a time; a session's cells get the parameters that older rows have."""
    rows = [r for r in rows_of(results, "distributed") if r["values"]["median_s"] is not None]
    for row in rows:
        extra = row["values"].get("extra") or {}
        row["params"].setdefault("ranks", extra.get("ranks", 1))
    return rows


def network_of(row: Row) -> str:
    """What connects the ranks: in older rows' words; else whether there are several hosts."""
    hosts = (row["values"].get("extra") or {}).get("hosts", 1)
    return row["params"].get("network") or (f"{hosts:g} hosts" if hosts > 1 else "shared memory")


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
        and all(r["params"].get(k) == like["params"].get(k) for k in ("s", "problem", "network"))
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
        kv_bytes=0,
        ranks=params["ranks"],
        turns=max(1, threads / on),
        flops_per_s=rate * threads_of_rank(row),
    )
    if params["ranks"] > 1:
        said = values.get("extra") or values["ring"]
        call.kv_bytes = said["sent_bytes"] / (params["ranks"] - 1)  # all but the last step send all
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


def prediction(rows: list[Row], like: Row, faster: float, network: str, s: int, ranks: int) -> Call:
    """Causal f32 of that length; each rank a host so many times as fast as the one measured on."""
    params = like["params"]
    rate, on = flash_rate(rows, like, float("inf"))
    bytes_per_s, latency_s = NETWORKS[network]
    return Call(
        flops=2 * params["d"] * s * (s + 1) * params["heads"],
        kv_bytes=8 * s * params["heads"] * params["d"],
        ranks=ranks,
        turns=1,
        flops_per_s=faster * rate * on,
        latency_s=latency_s,
        bytes_per_s=bytes_per_s,
    )


def _predicted(ax: Axes, rows: list[Row], like: Row, s: int) -> None:
    """Efficiency over ranks, each a host of 32 times this one's rate, on named networks."""
    for number, network in enumerate(NETWORKS):
        calls = [prediction(rows, like, FASTER, network, s, ranks) for ranks in CLUSTERS]
        shares = [100 * call.efficiency for call in calls]
        look = style.Look(PREDICTED + number, style.NEUTRAL)
        ax.plot(CLUSTERS, shares, color=look.colour, ls=look.line, label=network)
    ax.set_title(f"predicted, S = {s >> 20}M", fontsize=8)
    doubling(ax, CLUSTERS, 4)
    ax.set_xlabel(f"hosts, each {FASTER} times as fast")
    ax.set_ylim(0, 105)


def findings(results: Results) -> Iterator[str]:
    """Each measured time beside the model's, and what the model says of clusters."""
    every = measured(results)
    rings = sorted(filter(is_ring, every), key=lambda r: (r["params"]["s"], r["params"]["ranks"]))
    for row in rings:
        yield _beside_model(every, row)
    if not rings:
        return
    like = max(rings, key=lambda r: r["params"]["s"])
    for faster in (1, FASTER):
        hosts = "like this one" if faster == 1 else f"{faster} times as fast"
        for network in NETWORKS:
            for s in LENGTHS:
                calls = [prediction(every, like, faster, network, s, n) for n in (8, 64, 1024)]
                yield (f"Predicted for hosts {hosts}, {network}, S = {s >> 20}M: " + ", ".join(
                    f"{c.ranks} ranks {seconds(c.seconds)} ({100 * c.efficiency:.1f} % efficient)"
                    for c in calls) + ".")  # fmt: skip
    worst = max(abs(error(every, row)) for row in rings)
    yield (f"The model is at most {100 * worst:.0f} % off what was measured.  Its predictions "
           "suppose that all links are used at once without disturbing each other.")  # fmt: skip


def _beside_model(rows: list[Row], row: Row) -> str:
    """A measured time, the model's, and the share of the communication that each hides."""
    params, values, call = row["params"], row["values"], call_of(rows, row)
    said = values.get("extra") or values.get("ring") or {}
    text = (f"S = {params['s']}, ranks {call.ranks:g}, {threads_of_rank(row):g} thr each, "
            f"{network_of(row)}: {seconds(values['median_s'])}, the model "
            f"{seconds(call.seconds)} ({100 * error(rows, row):+.1f} %)")  # fmt: skip
    if call.ranks > 1 and said.get("overlap") is not None:
        text += (f"; hidden {100 * said['overlap']:.0f} % of the communication, allowed "
                 f"{100 * (1 - call.exposed / call.moving):.0f} %")  # fmt: skip
    if call.ranks > 1 and said.get("computing_s"):
        slowest = 100 * (said["slowest_computing_s"] / said["computing_s"] - 1)
        text += f"; the slowest rank computes {slowest:.1f} % longer than the mean"
    return text + "."


def distributed(results: Results) -> Figure | None:
    """Measured times over ranks beside the model, a panel a network; and predictions."""
    every = measured(results)
    rings = [r for r in every if is_ring(r) and threads_of_rank(r) == 1]
    if not rings:
        return None
    networks = by(rings, network_of)
    columns = max(len(networks), len(LENGTHS))
    fig, axes = style.figure(2, columns, height=4.6, share_y=True)
    above, below = axes[:columns], axes[columns:]
    looks = style.looks(sorted({r["params"]["s"] for r in rings}))
    for ax, (network, here) in zip(above, networks.items(), strict=False):
        for s, line in series(here, "s").items():
            _measured(ax, every, line, looks[s], f"S = {length(s)}")
        worst = max(abs(error(every, r)) for r in here)
        ax.set_title(f"{textwrap.fill(network, 26)}\nmodel within {100 * worst:.0f} %", fontsize=8)
        ax.set_xlabel("ranks of one thread")
        ax.set_xticks(sorted({r["params"]["ranks"] for r in here}))
        plain_log(ax, "y", short_seconds)
    most = max(rings, key=lambda r: r["params"]["s"])
    for ax, s in zip(below, LENGTHS, strict=False):
        _predicted(ax, every, most, s)
    above[0].set_ylabel("time of a call")
    below[0].set_ylabel("% of the time computing")
    for empty in (*above[len(networks) :], *below[len(LENGTHS) :]):
        empty.remove()
    style.legend(fig, [above[0], below[0]], columns=6)
    params = rings[0]["params"]
    style.heading(fig, title(every, networks), f"{params['heads']} heads, d = {params['d']}, "
                  "causal. Above: marks are measured, with 95 % intervals, lines are the model. "
                  "Below: what it says of clusters, the rest of the time waits for messages.",
                  origin(results))  # fmt: skip
    return fig


def title(every: list[Row], networks: dict[str, list[Row]]) -> str:
    """The times of the longest call over ranks on the first network, and how far the model is."""
    network, here = next(iter(networks.items()))
    at = max(r["params"]["s"] for r in here)
    times = {r["params"]["ranks"]: r["values"]["median_s"] for r in here if r["params"]["s"] == at}
    said = ", ".join(f"{seconds(t)} on {n:g}" for n, t in sorted(times.items()))
    worst = max(abs(error(every, r)) for rows in networks.values() for r in rows)
    return (f"S = {length(at)} over {network} takes {said} ranks; the model is at most "
            f"{100 * worst:.0f} % off")  # fmt: skip

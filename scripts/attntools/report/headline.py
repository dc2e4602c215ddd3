"""A session in sentences: who is fastest, by how much, how near to the ceiling, how surely."""

import statistics
from collections import Counter
from collections.abc import Sequence

import numpy as np
from attntools.base.units import counted, digits, size
from attntools.compare.answer import passes
from attntools.compare.ranking import Ranked, rank
from attntools.plot import figures, noise, shapes, speedup
from attntools.results.cells import WRONG_STATES, Cell, Results

MOST_NAMES = 4  # of kernels or cases in a sentence

# What hypervisors are called by people, by the signature of their CPUID leaf.
HYPERVISORS = {
    "KVMKVMKVM": "KVM",
    "Microsoft Hv": "Hyper-V",
    "VMwareVMware": "VMware",
    "XenVMMXenVMM": "Xen",
    "TCGTCGTCGTCG": "QEMU's emulator",
}


def on_most_threads(results: Results) -> list[list[Ranked]]:
    """The rankings of the largest thread count, where there was a choice."""
    threads = shapes.most_threads(results.timed)
    ranked = [group for group in rank(results) if group[0].cell.identity.threads == threads]
    return [group for group in ranked if len(group) > 1]


def fastest(results: Results) -> str:
    """Which kernels win, in how many cases, in how many without a tie; empty without a choice."""
    choices = on_most_threads(results)
    groups = [group for group in choices if group[0].rank is not None]
    if not groups:
        return (
            "No kernel is called the fastest: too few launches for 95 % intervals."
            if choices
            else ""
        )
    labels = shapes.names(results.timed)
    winners = [
        min((r for r in group if r.rank is not None), key=lambda r: r.cell.median_s)
        for group in groups
    ]
    wins = Counter(labels[r.cell.identity.series] for r in winners)
    sure = Counter(
        labels[winner.cell.identity.series]
        for group, winner in zip(groups, winners, strict=True)
        if sum(r.rank == 1 for r in group) == 1
    )
    (first, count), *others = wins.most_common(MOST_NAMES)
    threads = figures.threads_title(groups[0][0].cell.identity.threads)
    cases = "case" if len(groups) == 1 else "cases"
    text = f"{first} is fastest in {count} of {len(groups)} {cases} on {threads}"
    text += f", in {sure[first]} of them without a tie"
    if others:
        text += "; " + ", ".join(f"{name} in {n}" for name, n in others)
    if len(groups) < len(choices):
        text += f"; {len(choices) - len(groups)} more have too few launches for 95 % intervals"
    return text + "."


def against_others(results: Results) -> str:
    """How many times as fast ours are as gemm or the rivals; empty without any."""
    if not results.timed:
        return ""
    threads = shapes.most_threads(results.timed)
    found = [s for s in speedup.speedups(results) if s.ours.identity.threads == threads]
    if not found:
        return ""
    found.sort(key=lambda s: s.ratio)
    low, high = found[0], found[-1]
    middle = statistics.median(s.ratio for s in found)
    text = f"Our fastest kernel is {digits(middle)} x as fast as {speedup.others(found)}"
    if len(found) == 1:
        return f"{text} ({low.ours.case})."
    return (
        f"{text} in the median of {len(found)} cases, from {digits(low.ratio)} x ({low.ours.case})"
        f" to {digits(high.ratio)} x ({high.ours.case})."
    )


def near_the_ceiling(results: Results) -> str:
    """Which share of the ceiling the fastest kernels reach; empty where none is known."""
    if not results.timed:
        return ""
    threads = shapes.most_threads(results.timed)
    best: list[tuple[float, Cell]] = []
    for group in shapes.groups(c for c in results.timed if c.identity.threads == threads):
        winner = min(group, key=lambda c: c.median_s)
        if shapes.share(winner) > 0:
            best.append((shapes.share(winner), winner))
    if not best:
        return ""
    low, high = np.quantile([share for share, _ in best], (0.25, 0.75))
    share, farthest = min(best, key=lambda item: item[0])
    return (
        f"The fastest kernel of a case reaches {low:.0f} to {high:.0f} % of the ceiling in the "
        f"middle half of the cases; farthest from it: {farthest.case}, {digits(share)} %."
    )


def wrong(results: Results) -> str:
    """Which cells are wrong; empty where none is."""
    found = [c for c in results.cells.values() if c.state in WRONG_STATES]
    if not found:
        return ""
    kernels = Counter(f"{c.identity.kernel} {c.state}" for c in found)
    named = ", ".join(f"{name} in {n}" for name, n in kernels.most_common(MOST_NAMES))
    return f"{len(found)} of {len(results.cells)} cells have no right result: {named}."


def sentences(results: Results) -> list[str]:
    """The headline."""
    models = [f"{text}." for text in passes(rank(results))]
    said = (fastest(results), against_others(results), near_the_ceiling(results), *models)
    return [text for text in said if text] or ["No cell of this file has a time."]


# ---- machine and trust, a line each --------------------------------------------------------------


def machine(results: Results) -> str:
    """What it was measured on."""
    about = results.sessions[0].machine
    parts = [
        f"{about.get('cpu', '?')}, {about.get('cores', '?')} cores,"
        f" {about.get('threads', '?')} threads",
        size(about["memory_bytes"]) if about.get("memory_bytes") else "",
        " ".join(about.get("isas", [])[1:]),
        f"under {HYPERVISORS.get(under, under)}" if (under := about.get("hypervisor")) else "",
    ]
    return ", ".join(part for part in parts if part)


def build(results: Results) -> str:
    """What was measured, and when."""
    first = results.sessions[0]
    more = f", {len(results.sessions)} sessions" if len(results.sessions) > 1 else ""
    return f"{first.build_text()}; {str(first.header.get('started', ''))[:10]}{more}"


def counts(results: Results) -> str:
    """How many cells, in which state, and how right they are."""
    states = Counter(c.state for c in results.cells.values() if c.state != "ok")
    errors = [e for c in results.right if (e := c.number("check.error_over_bound")) == e]
    parts = [f"{counted(len(results.cells), 'cell')}, {len(results.timed)} with a time"]
    parts += [f"{n} {state}" for state, n in states.most_common()]
    if errors:
        parts.append(f"largest error {digits(max(errors))} of its bound")
    return "; ".join(parts)


def _medians(found: dict[str, Sequence[float]], name: str) -> str:
    return f"{digits(statistics.median(found[name]))} %" if name in found else ""


def trust(results: Results) -> str:
    """What difference to believe, and what disturbed the session."""
    found = noise.differences(results)
    parts = []
    if noise.SAME in found:
        parts.append(f"a kernel and its twin differ by {_medians(found, noise.SAME)} in the median")
    if noise.SHOWN in found:
        parts.append(f"a difference of {_medians(found, noise.SHOWN)} would have been seen")
    if noise.WIDTH in found:
        parts.append(f"half an interval is {_medians(found, noise.WIDTH)}")
    few = sum(c.interval_s is None for c in results.timed)
    if few:
        parts.append(f"{counted(few, 'cell')} with too few launches for an interval")
    if not results.complete:
        parts.append("the session did not end")
    return "; ".join(parts) or "nothing is known of the noise"

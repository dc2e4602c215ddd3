"""A gate's outcome as Markdown, fit for a comment on a pull request."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp, expm1, isfinite

import numpy as np
from attntools.base import tables
from attntools.base.cli import Exit
from attntools.base.units import counted, digits, named, seconds
from attntools.compare.comparison import Verdict
from attntools.gate.gate_instructions import Counted
from attntools.gate.gate_instructions import table as table_of_counts
from attntools.gate.gating import Judged, standing, too_noisy
from attntools.results.cells import Identity, Row

HEAD = (
    "problem",
    "kernel/isa",
    "threads",
    "pairs",
    "base",
    "new",
    "change",
    "95 % interval",
    "could see",
    "",
)
NUMERIC = (False, False, True, True, True, True, True, True, True, False)

MOST_NAMED = 4  # variants in the heading
MOST_PERCENT = 2  # larger changes, as fractions, are factors: 149 x says more than +14766.0 %


@dataclass
class Outcome:
    """Everything that a gate found out."""

    base: str
    new: str
    pairs: int
    threshold: float
    machine: Row = field(default_factory=dict)
    build: str = ""  # of the new side
    shared: str = ""  # the build of both sides, where they are settings
    memory: str = ""  # how much of it was on huge pages
    judged: list[Judged] = field(default_factory=list)
    again: list[Judged] = field(default_factory=list)  # suspects on fresh pairs
    confirmed: list[Judged] = field(default_factory=list)  # those that were slower again
    counted: list[Counted] = field(default_factory=list)  # instead of judged
    causes: dict[Identity, list[str]] = field(default_factory=dict)
    wrong: dict[Identity, str] = field(default_factory=dict)
    base_wrong: dict[Identity, str] = field(default_factory=dict)
    new_only: list[Identity] = field(default_factory=list)
    base_only: list[Identity] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)  # about what is compared
    equal: bool = False  # the same program to the byte, and therefore not measured
    seconds: float = 0  # of the whole gate
    building_s: float = 0  # of these, for builds
    noise_limit: float = 0
    code: Exit = Exit.OK

    def headline(self) -> str:
        """One line."""
        if self.equal:
            return "base and new are the same program to the byte: nothing to measure"
        noisy = [j for j in self.standing() if too_noisy(j, self.noise_limit)]
        limit = f"{100 * self.noise_limit:.3g} %"
        said = {
            Exit.OK: self.no_regression(),
            Exit.REGRESSION: f"{self.slower()} of {self.cells()} cells "
            + ("take more instructions" if self.counted else "are slower"),
            Exit.WRONG_RESULT: f"{counted(len(self.wrong), 'cell')} with a wrong result",
            Exit.TOO_NOISY: f"undecided, too noisy to tell: a change of {limit} cannot be ruled "
            f"out in {len(noisy)} of {len(self.judged)} cells{seen_there(noisy)}",
            Exit.INCOMPARABLE: f"no base to compare with: {self.base_trouble()}",
            Exit.REMOVED: self.no_regression(),
        }.get(self.code, "")
        return f"{said}; {self.removed()}" if self.base_only else said

    def removed(self) -> str:
        """Which cells the new build lacks: nobody said that a kernel was removed or renamed."""
        labels = list(dict.fromkeys(i.label for i in self.base_only))
        names = named(labels, MOST_NAMED)
        return f"{counted(len(self.base_only), 'cell')} only in the base: {names}"

    def no_regression(self) -> str:
        """What was ruled out: with --noise-limit that may be less than the threshold asks for."""
        undecided = self.undecided()
        if not undecided:
            return f"no regression in {counted(self.cells(), 'cell')}"
        return (
            f"no regression of {100 * self.noise_limit:.3g} % in {counted(self.cells(), 'cell')}; "
            f"undecided above {100 * self.threshold:.3g} % in {len(undecided)} of them"
            f"{seen_there(undecided)}"
        )

    def standing(self) -> list[Judged]:
        """What is known of each cell in the end."""
        return standing(self.judged, self.again)

    def undecided(self) -> list[Judged]:
        """The cells that may be slower by more than the threshold."""
        return [j for j in self.standing() if too_noisy(j, self.threshold)]

    def cells(self) -> int:
        """How many cells were compared."""
        return len(self.judged) + len(self.counted)

    def slower(self) -> int:
        """How many of them are slower, confirmed (a count needs no confirmation)."""
        return len(self.confirmed) + sum(c.verdict is Verdict.SLOWER for c in self.counted)

    def base_trouble(self) -> str:
        """Why there is no base."""
        if self.base_wrong:
            return f"{counted(len(self.base_wrong), 'cell')} of the base with a wrong result"
        return "no cell has a time in both builds"

    def smallest(self) -> float:
        """The smallest effect that every cell would have shown, as a fraction; NaN: not known."""
        return expm1(least_seen(self.judged))


def least_seen(judged: Sequence[Judged]) -> float:
    """The smallest effect that every one of some cells would have shown, as a logarithm."""
    return float(np.max([j.detectable for j in judged])) if judged else float("nan")


def seen(judged: Sequence[Judged]) -> str:
    """What would have been seen in every one of some cells; empty where that is not known."""
    least = least_seen(judged)
    if not least > 0:
        return ""
    if expm1(least) < MOST_PERCENT:
        return f"; only a slow-down of {100 * expm1(least):.1f} % or more would have been seen"
    return f"; only what takes {times(least)} as long would have been seen"


def seen_there(judged: Sequence[Judged]) -> str:
    """As seen(), of the cells that the sentence has just named."""
    return f"{said} there" if (said := seen(judged)) else ""


def percent(log_ratio: float) -> str:
    """A logarithm of a ratio as a change, of large ones as a factor."""
    if not isfinite(log_ratio):
        return "-"
    large = expm1(log_ratio) >= MOST_PERCENT
    return times(log_ratio) if large else f"{100 * expm1(log_ratio):+.1f} %"


def times(log_ratio: float) -> str:
    """A logarithm of a ratio as a factor."""
    return f"{digits(exp(log_ratio))} x"


def cell_text(identity: Identity) -> str:
    """A cell in one line."""
    return f"`{identity.problem}` {identity.label}, {identity.threads} threads"


def verdict_text(judged: Judged, outcome: Outcome) -> str:
    """The final verdict: what did not come back on fresh pairs is no regression."""
    if judged.verdict is Verdict.SLOWER:
        confirmed = any(c.identity == judged.identity for c in outcome.confirmed)
        return "**SLOWER**, confirmed" if confirmed else "slower once, not confirmed"
    return judged.verdict.value


def _table(outcome: Outcome) -> str:
    order = {Verdict.SLOWER: 0, Verdict.UNCLEAR: 1, Verdict.FASTER: 2, Verdict.SAME: 3}
    rows = [
        (
            j.identity.problem,
            j.identity.label,
            str(j.identity.threads),
            str(j.pairs),
            seconds(j.base_s),
            seconds(j.new_s),
            percent(j.median),
            f"{percent(j.lo)} .. {percent(j.hi)}",
            percent(j.detectable),
            verdict_text(j, outcome),
        )
        for j in sorted(outcome.judged, key=lambda j: (order[j.verdict], -j.median))
    ]
    return tables.markdown(HEAD, rows, NUMERIC)


def _list(title: str, lines: Sequence[str]) -> list[str]:
    return [f"{title}\n", *(f"- {line}" for line in lines), ""] if lines else []


def _confirmed(outcome: Outcome) -> list[str]:
    return [
        f"{cell_text(c.identity)}: {percent(c.median)} on fresh pairs ({percent(c.lo)} .. "
        f"{percent(c.hi)}); {'; '.join(outcome.causes.get(c.identity, []))}"
        for c in outcome.confirmed
    ]


def _method(outcome: Outcome) -> str:
    """How the builds were compared, and on what."""
    machine = outcome.machine
    counts = sorted({j.pairs for j in outcome.judged}) or [outcome.pairs]
    several = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    how = f"{several} pairs of launches a cell" if outcome.judged else "no launches to compare"
    if outcome.counted:
        how = "instructions of one call, counted by callgrind,"
    builds = f" ({outcome.building_s:.0f} s of them for builds)" if outcome.building_s >= 1 else ""
    of_build = f" of `{outcome.shared}`" if outcome.shared else ""
    return (
        f"`{outcome.new}` against `{outcome.base}`{of_build}, {how} in {outcome.seconds:.0f} s"
        f"{builds} on {machine.get('cpu', 'an unknown machine')}, "
        f"{machine.get('cores', '?')} cores.\n"
    )


def _sensitivity(outcome: Outcome) -> list[str]:
    """What would have been seen."""
    if outcome.counted:
        return [f"Threshold {100 * outcome.threshold:.3g} %; counts are exact.\n"]
    if not outcome.judged:
        return []
    floors = [j.floor for j in outcome.judged if isfinite(j.floor)]
    here = f" (here up to {percent(max(floors)).lstrip('+')})" if floors else ""
    return [
        f"Threshold {100 * outcome.threshold:.3g} %, raised where launches of one build differ "
        f"by more{here}. {_power(outcome)} In the table "
        "base is the median of its launches, new the same with the median change of the pairs.\n",
    ]


def _power(outcome: Outcome) -> str:
    """Which slow-down would have been seen in every cell."""
    least = least_seen(outcome.judged)
    if isfinite(least):
        return (
            "The smallest slow-down that would have been seen in every cell (power 0.8): "
            f"**{percent(least).lstrip('+')}**."
        )
    fewest, cells = min(j.pairs for j in outcome.judged), len(outcome.judged)
    return f"No slow-down can be shown by {fewest} pairs where {cells} cells are judged together."


def _unconfirmed(outcome: Outcome) -> list[str]:
    return [
        f"{cell_text(j.identity)}: {percent(j.median)} on fresh pairs ({percent(j.lo)} .. "
        f"{percent(j.hi)}); {j.reason}"
        for j in outcome.again
        if j not in outcome.confirmed
    ]


def _undecided(outcome: Outcome) -> list[str]:
    return [
        f"{cell_text(j.identity)}: {percent(j.median)} ({percent(j.lo)} .. {percent(j.hi)}); "
        f"{j.reason}{seen([j])}"
        for j in outcome.undecided()
    ]


def no_answer(why: str) -> str:
    """The summary of a gate that could not compare: the reason, and what was printed below it."""
    first, *rest = why.splitlines()
    told = ["", "```", *(line.strip() for line in rest), "```"] if rest else []
    return "\n".join([f"### ❌ attnbench gate: {first}", *told]) + "\n"


def markdown(outcome: Outcome) -> str:
    """The whole summary."""
    icon = {Exit.OK: "✅", Exit.TOO_NOISY: "⚠️"}.get(outcome.code, "❌")
    doubtful = outcome.undecided() or outcome.base_only or outcome.doubts or outcome.equal
    icon = "⚠️" if outcome.code == Exit.OK and doubtful else icon
    lines = [f"### {icon} attnbench gate: {outcome.headline()}\n"]
    lines += [] if outcome.equal else [_method(outcome)]
    lines += [f"**{doubt[0].upper()}{doubt[1:]}.**\n" for doubt in outcome.doubts]
    lines += [f"{outcome.memory}.\n"] if outcome.memory else []
    lines += _sensitivity(outcome)
    lines += _list("Confirmed:", _confirmed(outcome))
    lines += _list("Slower once, but not confirmed:", _unconfirmed(outcome))
    lines += _list("Undecided:", _undecided(outcome))
    lines += _list("Wrong:", [f"{cell_text(i)}: {why}" for i, why in outcome.wrong.items()])
    lines += _list(
        "Wrong in the base:", [f"{cell_text(i)}: {why}" for i, why in outcome.base_wrong.items()]
    )
    lines += _list("Only in the new build:", [cell_text(i) for i in outcome.new_only])
    lines += _list("Only in the base:", [cell_text(i) for i in outcome.base_only])
    if outcome.cells():
        table = table_of_counts(outcome.counted) if outcome.counted else _table(outcome)
        lines += ["<details><summary>All cells</summary>\n", table, "</details>"]
    return "\n".join(lines).rstrip() + "\n"

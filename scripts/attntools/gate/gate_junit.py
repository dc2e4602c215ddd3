"""A gate's outcome as JUnit XML: one test per cell."""

from attntools.base.cli import Exit
from attntools.base.junit import Case, document
from attntools.compare.comparison import Verdict
from attntools.gate.gate_summary import Outcome, percent
from attntools.gate.gating import Judged, too_noisy
from attntools.results.cells import Identity


def _case(identity: Identity, outcome: str | None = None, message: str = "") -> Case:
    name = f"{identity.label} {identity.threads} threads"
    return Case(identity.problem, name, outcome=outcome, message=message)


def _judged(j: Judged, outcome: Outcome) -> Case:
    """A confirmed slow-down fails; a cell that may be slower has no answer, which is an error."""
    slower = any(c.identity == j.identity for c in outcome.confirmed)
    kind = "failure" if slower else "error" if too_noisy(j, outcome.noise_limit) else None
    told = f"{percent(j.median)} ({percent(j.lo)} .. {percent(j.hi)}); {j.reason}"
    case = _case(j.identity, kind, told)
    case.seconds = j.new_s
    return case


def junit(outcome: Outcome) -> str:
    """The whole file."""
    cases = [_judged(j, outcome) for j in outcome.standing()]
    for c in outcome.counted:
        kind = "failure" if c.verdict is Verdict.SLOWER else None
        cases.append(_case(c.identity, kind, f"{100 * (c.ratio - 1):+.3f} % instructions"))
    cases += [_case(i, "error", why) for i, why in outcome.wrong.items()]
    cases += [_case(i, "error", f"base: {why}") for i, why in outcome.base_wrong.items()]
    gone = "failure" if outcome.code is Exit.REMOVED else "skipped"
    cases += [_case(i, gone, "only in the base") for i in outcome.base_only]
    if outcome.equal:
        cases.append(Case("attnbench gate", "the comparison"))
    return document("attnbench gate", [(f"{outcome.new} against {outcome.base}", cases)])


def no_answer(why: str) -> str:
    """The file of a gate that could not compare."""
    case = Case("attnbench gate", "the comparison", outcome="error", message=why)
    return document("attnbench gate", [("attnbench gate", [case])])

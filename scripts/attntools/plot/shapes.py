"""What a reader calls a cell: its kind, its shape, its kernel, and its share of the ceiling."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import TypeVar

from attntools.results.cells import OURS, RIVALS, Cell, problem_fields

Item = TypeVar("Item")

# The baseline of files whose rows have no group yet: two library GEMMs and a softmax.
GEMM = "gemm"

# What a label leaves out of a problem that has no name.
USUAL = {"b": "1", "mask": "none", "dtype": "f32"}


def _words(cell: Cell) -> list[str]:
    """The name of a suite's case, split; empty where the case has no such name."""
    words = cell.case.split("-")
    return words if words[0].isalpha() and len(words) > 1 else []


def kind(cell: Cell) -> str:
    """First word of a suite's case (prefill, gqa, tiny, ...); of others what the lengths say."""
    words = _words(cell)
    if words:
        return words[0]
    fields = problem_fields(cell.problem)
    return "decode" if fields.get("sq") == "1" != fields.get("skv") else "prefill"


def dtype(cell: Cell) -> str:
    """Type of Q, K, V and O."""
    return problem_fields(cell.problem)["dtype"]


def shape(cell: Cell) -> str:
    """What tells a case from others of its kind and type: s512 d64 causal."""
    words = _words(cell)
    if words:
        return " ".join(word for i, word in enumerate(words[1:]) if i or word != dtype(cell))
    fields = problem_fields(cell.problem)
    for short, long in (("s", ("sq", "skv")), ("h", ("hq", "hkv"))):
        if long[0] in fields and fields[long[0]] == fields.get(long[1]):
            fields = {short: fields.pop(long[0]), **fields}
            fields.pop(long[1])
    if fields["dv"] == fields.get("d"):
        del fields["dv"]
    return " ".join(f"{k}={v}" for k, v in fields.items() if USUAL.get(k) != v)


def groups(cells: Iterable[Cell]) -> list[list[Cell]]:
    """The cells that compute the same on as many threads, one list each, in order."""
    found: dict[tuple[str, int], list[Cell]] = defaultdict(list)
    for cell in cells:
        found[cell.case, cell.identity.threads].append(cell)
    return list(found.values())


def names(cells: Iterable[Cell]) -> dict[str, str]:
    """Label of each series: the kernel, or with its variant where one case has two of it."""
    cells = list(cells)
    several = {
        kernel
        for group in groups(cells)
        for kernel, count in Counter(c.identity.kernel for c in group).items()
        if count > 1
    }
    found = {c.identity.series: c.identity for c in cells}
    return {s: s if i.kernel in several else i.kernel for s, i in found.items()}


# ---- the ceiling ---------------------------------------------------------------------------------


def share(cell: Cell) -> float:
    """Percent of the ceiling: of the multiply-adds or of the reads, whichever limits the cell."""
    known = [f for key in ("fraction_of_fma", "fraction_of_bandwidth")
             if (f := cell.number(key)) == f]  # fmt: skip
    return 100 * max(known, default=float("nan"))


# ---- ours and others -----------------------------------------------------------------------------


def is_rival(cell: Cell) -> bool:
    """Whether a kernel is other people's, which ours are held against."""
    return cell.group == RIVALS if cell.group else cell.identity.kernel == GEMM


def is_ours(cell: Cell) -> bool:
    """Whether a kernel is one of this project's; those of textbooks are not meant."""
    return cell.group == OURS if cell.group else cell.identity.kernel != GEMM


def most_threads(cells: Iterable[Cell]) -> int:
    """The largest thread count; 1 of no cells."""
    return max((c.identity.threads for c in cells), default=1)


def thinned(items: list[Item], most: int) -> list[Item]:
    """At most `most`, evenly chosen, in order."""
    if len(items) <= most:
        return items
    return [items[i * (len(items) - 1) // max(1, most - 1)] for i in range(most)]

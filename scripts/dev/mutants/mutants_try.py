"""Tries a mutant: whether it builds, whether `attnbench check` or a test of ctest notices it.

The mutant lies in a worktree of its own, below $XDG_CACHE_HOME/attnbench/mutants.  Each variant
whose code it changes becomes a plug-in, which the unbroken program checks as anybody's kernel: the
reference and the judge are never mutated.  What `check` passes is built into the tree, and the
tests of these kernels are run.  All in steps of some seconds, between which it can be interrupted.
"""

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field

from dev.mutants.mutants_find import Mutant
from dev.mutants.mutants_grounds import (
    BUILD,
    BUILD_S,
    OF_KERNELS,
    QUICK,
    RELEASED,
    SAME,
    SHARED,
    SURVIVED,
    Fate,
    Grounds,
    ended,
)
from dev.mutants.mutants_units import STATISTICS, Unit

# Who is asked first.  Variants for bf16 compute nothing else; the others compute all types.
FOR_BF16 = "avx512_bf16"
ISAS = ("avx512", FOR_BF16, "avx2", "baseline", "")

# Variants that get the whole suite: what all kernels share would be asked for a quarter of an hour.
MOST = 4

# Cases of one step.
CASES = 8

# The first of the steps that are minutes.
REBUILD = "rebuild"


@dataclass
class Passed:
    """The steps that a mutant has passed; the units whose code it does not change."""

    steps: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)


# A step returns what ended the mutant, or None.
Step = tuple[str, Callable[[], Fate | None]]


class Attempt:
    """The steps of one mutant."""

    def __init__(self, grounds: Grounds, mutant: Mutant, passed: Passed) -> None:
        """Steps in `passed` are done."""
        self.grounds, self.mutant, self.passed = grounds, mutant, passed
        self.made: set[str] = set()
        # The units of each kernel, in the order of ISAS.
        self.kernels: dict[str, list[Unit]] = {}
        units = grounds.runnable(reversed(mutant.units))
        for unit in sorted(units, key=lambda u: ISAS.index(u.isa)):
            self.kernels.setdefault(unit.kernel, []).append(unit)
        self.units = [unit for units in self.kernels.values() for unit in units]

    def apply(self) -> None:
        """Puts the mutant into the tree; the unbroken units are compiled before."""
        for unit in self.units:
            self.grounds.plain(unit)
        path = self.grounds.tree / self.mutant.file
        path.write_bytes(self.mutant.applied(path.read_bytes()))

    def quick(self, unit: Unit) -> Fate | None:
        """Compiles a unit and asks it QUICK."""
        wrong = self.grounds.compiled(unit, self.grounds.object(unit))
        if wrong:
            return Fate(BUILD, wrong)
        if not unit.isa or self.grounds.same(unit):
            return None
        # One after the other: one that hangs would do so in each.
        fates = (self.grounds.checked(unit, [case], "1") for case in QUICK)
        return next(filter(None, fates), None)

    def compile(self, unit: Unit) -> None:
        """Compiles a unit, and notes whether its code is the unbroken one."""
        wrong = self.grounds.compiled(unit, self.grounds.object(unit))
        assert not wrong
        self.made.add(unit.name)
        if self.grounds.same(unit):
            self.passed.same.append(unit.name)

    def released(self, unit: Unit) -> Fate | None:
        """Whether a compiler that takes its time makes the unbroken code of the unit."""
        self.grounds.restore()
        self.grounds.plain(unit, RELEASED)
        self.apply()
        wrong = self.grounds.compiled(unit, self.grounds.object(unit, RELEASED), RELEASED)
        assert not wrong
        if self.grounds.same(unit, RELEASED):
            self.passed.same.append(unit.name)
        return None

    def whole(self, unit: Unit, cases: Sequence[str]) -> Fate | None:
        """Some cases of the suite, of a plug-in that is made again where an earlier run had it."""
        if unit.name not in self.made:
            self.compile(unit)
        return self.grounds.checked(unit, cases, "all")

    def changed(self, units: Sequence[Unit]) -> Generator[Step, None, list[Unit]]:
        """Steps that compile units in turn; returns the first whose code is another, if any."""
        for unit in units:
            yield f"compile {unit.name}", lambda u=unit: self.compile(u)
            if unit.name not in self.passed.same:
                return [unit]
        return []

    def suite(self, unit: Unit) -> Iterator[Step]:
        """Steps that ask a unit all other cases of the suite."""
        special = unit.isa == FOR_BF16
        cases = [c for c in self.grounds.cases() if unit.isa and ("bf16" in c or not special)]
        for at in range(0, len(cases), CASES):
            some = cases[at : at + CASES]
            yield f"check {unit.name} {at}", lambda u=unit, c=some: self.whole(u, c)

    def rebuilt(self) -> Fate | None:
        """The test programs with the mutant."""
        command = ["cmake", "--build", self.grounds.build, "-j1", "--target"]
        code, said = ended([*command, *self.grounds.tests()], BUILD_S)
        return Fate(BUILD, said[-200:]) if code else None

    def steps(self) -> Iterator[Step]:
        """All of them, in order; which come later depends on those before."""
        for units in self.kernels.values():
            yield f"quick {units[0].name}", lambda u=units[0]: self.quick(u)
        judged: list[Unit] = []
        for units in self.kernels.values():
            judged += yield from self.changed(units)
        for units in self.kernels.values():
            special = [u for u in units if u.isa == FOR_BF16 and u not in judged]
            judged += yield from self.changed(special)
        for unit in judged[:1]:
            weakest = self.kernels[unit.kernel][-1]
            judged += yield from self.changed([weakest] if weakest not in judged else [])
        for unit in judged[:MOST]:
            yield from self.suite(unit)
        # One whose code differs is enough to make it a mutant.
        for unit in judged and self.units:
            if unit.name not in self.passed.same:
                yield f"release {unit.name}", lambda u=unit: self.released(u)
            if unit.name not in self.passed.same:
                break
        if len(self.passed.same) < len(self.units):
            yield from self.tests()

    def tests(self) -> Iterator[Step]:
        """Steps that run the tests of what the mutant reaches: kernels, or statistics."""
        yield REBUILD, self.rebuilt
        if self.mutant.file.startswith("harness/"):
            yield "ctest statistics", lambda: self.grounds.tested(f"^({'|'.join(STATISTICS)})$")
            return
        if not re.search(r"/(flash|split_kv)/", self.mutant.file):
            yield "ctest shared", lambda: self.grounds.tested(f"^kernels/({'|'.join(SHARED)})$")
        kernels = "|".join(sorted({unit.kernel for unit in self.units if unit.isa}))
        for name in OF_KERNELS if kernels else ():
            yield f"ctest {name}", lambda n=name: self.grounds.tested(f"^kernels/{n}/({kernels})/")

    def go_on(self, late: Callable[[], bool], before: str = "") -> Fate | None:
        """Takes the steps that are left, or those before one; None where it has no fate then."""
        self.apply()
        try:
            for name, step in self.steps():
                if name in self.passed.steps:
                    # The build folder may have been left with another mutant, or with none.
                    if name == REBUILD:
                        self.rebuilt()
                    continue
                if name == before:
                    return None
                fate = step()
                if fate:
                    return fate
                self.passed.steps.append(name)
                if late():
                    return None
        finally:
            self.grounds.restore()
        return Fate(SAME if len(self.passed.same) == len(self.units) else SURVIVED)

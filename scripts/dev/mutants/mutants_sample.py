"""Draws a sample of mutants in which each file and each operator has its share."""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence

from dev.mutants.mutants_find import Mutant


def _in_turn(mutants: Sequence[Mutant], draw: random.Random) -> Iterator[Mutant]:
    """The mutants of a file, one of each operator in turn."""
    kinds: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in mutants:
        kinds[mutant.operator].append(mutant)
    for kind in kinds.values():
        draw.shuffle(kind)
    while any(kinds.values()):
        waiting = [name for name in sorted(kinds) if kinds[name]]
        draw.shuffle(waiting)
        for name in waiting:
            yield kinds[name].pop()


def chosen(mutants: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
    """A sample in which each file has its share, two at least, as has any beginning of it."""
    draw = random.Random(seed)
    files: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in mutants:
        files[mutant.file].append(mutant)
    placed: list[tuple[float, str, Mutant]] = []
    for file in sorted(files):
        share = max(2, round(count * len(files[file]) / len(mutants)))
        share = min(share, len(files[file]))
        turn = _in_turn(files[file], draw)
        placed += [((k + draw.random()) / share, file, next(turn)) for k in range(share)]
    return [mutant for _, _, mutant in sorted(placed, key=lambda p: p[:2])]

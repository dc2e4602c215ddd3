"""tests/base/mutants.py finds mutants by their tokens; one that cannot be applied stops it."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("mutants", ROOT / "tests" / "base" / "mutants.py")
mutants = importlib.util.module_from_spec(spec)
sys.modules["mutants"] = mutants
spec.loader.exec_module(mutants)


def words(text: str) -> list[str]:
    """The tokens of a text, without where they stand."""
    return [token[0] for token in mutants.tokens(text)]


def mutant(old: str, new: str) -> "mutants.Mutant":
    """A mutant of some file."""
    return mutants.Mutant("stats.c", old, new, "stats")


def test_layout_and_comments_do_not_matter() -> None:
    source = "a = b[i - 1] /* x <= y */ +\n    c; // a = 0.5\nd = 0.5;\n"
    assert mutants.mutated(mutant("b[i-1] + c", "0"), source) == "a = 0; // a = 0.5\nd = 0.5;\n"
    assert mutants.mutated(mutant("= 0.5", "= 1"), source).endswith("\nd = 1;\n")


def test_tokens_are_whole() -> None:
    source = 'if (n <= most && s->n < 10) say("n < 1");'
    assert mutants.mutated(mutant("n < 10", "0"), source) == 'if (n <= most && s->0) say("n < 1");'
    for absent in ("n < 1", "s - > n", "< most", "mo"):
        with pytest.raises(SystemExit, match="stands 0 times"):
            mutants.mutated(mutant(absent, "0"), source)


def test_what_is_not_there_once_stops_the_run() -> None:
    for source, times in (("x = 2;", 0), ("x = 1; x = 1;", 2)):
        with pytest.raises(SystemExit, match=rf"stands {times} times, not once: stats\.c"):
            mutants.mutated(mutant("x = 1", "x = 3"), source)


def test_every_mutant_survives_a_new_layout_of_its_source() -> None:
    for each in mutants.MUTANTS:
        text = mutants.find(ROOT / "harness", each.file).read_text(encoding="utf-8")
        broken = mutants.mutated(each, text)
        assert words(broken) != words(text)
        assert words(mutants.mutated(each, "\n".join(words(text)))) == words(broken)

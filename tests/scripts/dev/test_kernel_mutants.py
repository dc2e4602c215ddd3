"""scripts/dev/mutate: what it finds in a file, a mutant's fate, how a journal goes on."""

import json
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import fake
import pytest
from attntools.base.cli import ToolError
from dev.mutants import mutants, mutants_find, mutants_grounds, mutants_units
from dev.mutants.mutants_find import Mutant, of_unit
from dev.mutants.mutants_grounds import Fate, Grounds
from dev.mutants.mutants_sample import chosen
from dev.mutants.mutants_try import Attempt, Passed
from dev.mutants.mutants_units import Unit

SOURCE = """\
#define TWICE(x) ((x) + (x))
static int least(int a, int b)
{
    return a < b ? a : b;
}
static _Bool any(const float *x, int n)
{
    for (int i = 0; i < n; i++)
        if (x[i] >= 2.5f && !n)
            return 1;
    return TWICE(n) == 0;
}
static void add(float *to, float a)
{
    *to += a * 0.0f;
    add(to, -a);
}
unsigned long masked(unsigned bits, int a)
{
    bits = bits << 3 & 0x3f800000u;
    return bits + (unsigned)least(a, 7);
}
"""

# Line, operator, before, after.
FOUND = """\
4 comparison < <=
4 comparison < >=
4 condition a<b !(a<b)
4 return a<b?a:b (a<b?a:b)+1
8 bound n (n)-1
8 comparison < <=
8 comparison < >=
8 constant 0 1
9 comparison >= <
9 comparison >= >
9 condition x[i]>=2.5f&&!n !(x[i]>=2.5f&&!n)
9 constant 2.5f (-2.5f)
9 constant 2.5f (2.5f*1.01f)
9 logical ! -
9 logical && ||
10 constant 1 0
10 constant 1 2
10 return 1 !(1)
11 comparison == !=
11 constant 0 1
11 return TWICE(n)==0 !(TWICE(n)==0)
15 arithmetic * /
15 arithmetic += -=
15 constant 0.0f 1.0f
15 statement *to+=a*0.0f -
16 logical - -
16 statement add(to,-a) -
20 arithmetic & |
20 arithmetic << >>
20 constant 0x3f800000u 0x3f800010u
20 constant 3 2
20 constant 3 4
20 statement bits=bits<<3&0x3f800000u -
21 arguments a,7 7,a
21 arithmetic + -
21 constant 7 6
21 constant 7 8
21 return bits+(unsigned)least(a,7) (bits+(unsigned)least(a,7))+1
"""


def found_in(folder: Path, text: str) -> list[Mutant]:
    """The mutants of a file of this text."""
    (folder / "a.c").write_text(text)
    return of_unit(folder / "a.c", [], folder, {"a.c"})


def tight(text: str) -> str:
    """Without spaces, so that it is one word."""
    return "".join(text.split()) or "-"


def test_operators_are_found_where_they_stand(tmp_path: Path) -> None:
    found = {
        (m.line, m.operator, tight(m.before), tight(m.after)) for m in found_in(tmp_path, SOURCE)
    }
    expected = {(int(line), *rest) for line, *rest in map(str.split, FOUND.splitlines())}
    assert found == expected


def test_a_mutant_is_one_edit(tmp_path: Path) -> None:
    text = SOURCE.encode()
    for mutant in found_in(tmp_path, SOURCE):
        line, column = SOURCE.splitlines()[mutant.line - 1], mutant.column - 1
        assert line[column:].startswith(mutant.before)
        broken = mutant.applied(text)
        end = mutant.offset + len(mutant.before)
        assert broken == text[: mutant.offset] + mutant.after.encode() + text[end:]
    with pytest.raises(ToolError, match=r"a\.c:\d+: `.*` does not stand there"):
        mutant.applied(b"\n" + text)


def test_what_a_macro_puts_together_is_left_out(tmp_path: Path) -> None:
    text = "#define F(n) int n(int a) { return a + 1; }\nF(one)\n#define K 3\nint k = K;\n"
    assert found_in(tmp_path, text) == []


def test_what_clang_cannot_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"libclang cannot read .*a\.c: use of undeclared"):
        found_in(tmp_path, "int f(void) { return nothing; }")


def test_a_unit_is_read_as_it_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutants_find, "builtin_headers", list)
    text = "#ifdef WIDE\nint w = 1;\n#endif\nint b = 0;\n"
    (tmp_path / "a.c").write_text(text)
    units = [
        Unit("k", isa, str(tmp_path / "a.c"), ("cc", *flags), str(tmp_path))
        for isa, flags in (("baseline", ()), ("avx2", ("-DWIDE",)))
    ]
    found = mutants_find.find(units, tmp_path, {"a.c"})
    assert [(m.line, m.after, m.units) for m in found] == [
        (2, "0", ("k/avx2",)),
        (2, "2", ("k/avx2",)),
        (4, "1", ("k/baseline", "k/avx2")),
    ]


def many(file: str, n: int) -> list[Mutant]:
    """Mutants of two operators in a file."""
    kinds = ("constant", "statement")
    return [Mutant(file, i, i, 1, "f", kinds[i % 8 == 0], "x", str(i)) for i in range(n)]


def test_each_file_has_its_share_of_any_beginning() -> None:
    all_of_them = many("large", 600) + many("small", 200) + many("tiny", 3)
    sample = chosen(all_of_them, 80, 7)
    assert sample == chosen(all_of_them, 80, 7) != chosen(all_of_them, 80, 8)
    for part, at_least in ((len(sample), 59), (len(sample) // 2, 28), (len(sample) // 4, 13)):
        beginning = [m.file for m in sample[:part]]
        assert beginning.count("large") >= at_least
        assert beginning.count("small") >= at_least // 4
    assert [m.file for m in sample].count("tiny") == 2
    # One of each operator in turn, although one is seven times as frequent.
    operators = [m.operator for m in sample if m.file == "small"]
    assert abs(operators.count("constant") - operators.count("statement")) <= 1


# Stand-ins.  An "object" is its source without spaces; a word in it says who is to notice.
COMPILE = """#!/bin/sh
case $* in *-O3*) folded=UNFOLDED ;; *) folded=- ;; esac
while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; [ "$1" = -c ] && source=$2; shift; done
grep -q NOBUILD "$source" && { echo "$source:1: error: no such thing"; exit 1; }
tr -d ' ' <"$source" | sed "s/$folded//" >"$out"
"""
PROGRAM = """#!/bin/sh
object=${3%.so}.o; rows=${15}
echo "$9" >>ASKED
case $(cat "$object") in
*SLOW*) sleep 60 ;;
*NOLOAD*)
    echo '{"type":"cell","case":"one","state":"unavailable","why":"no f64"}' >"$rows"
    exit 1 ;;
*WRONG*) case $9 in *later*) ;; *) exit 0 ;; esac
    echo '{"type":"cell","case":"one","state":"ok","why":null}' >"$rows"
    echo '{"type":"cell","case":"later","state":"failed","why":"off"}' >>"$rows"
    exit 1 ;;
esac
"""
CTEST = """#!/bin/sh
grep -q SUBTLE SOURCE || exit 0
case $4 in *values*) exit 0 ;; esac
echo " 1/2 Test  #7: kernels/relations/flash/avx2 ...   Passed    0.02 sec"
echo " 2/2 Test  #8: kernels/relations/flash/avx512 .***Failed    0.02 sec"
exit 8
"""


class StandIn(Grounds):
    """Grounds whose commands are scripts; `asked` counts the checks."""

    def __init__(self, folder: Path) -> None:
        self.place, self.tree = folder, folder / "tree"
        self.build, self.program = folder / "build", folder / "program"
        source = self.tree / "kernels/flash/x.c"
        source.parent.mkdir(parents=True)
        source.write_text("int x = 1;\n")
        (self.tree / "suites").mkdir()
        (self.tree / "suites/conformance.suite").write_text(
            "# x\none: h=1\nlater: h=1\nbf16: h=1\n"
        )
        subprocess.run(["git", "-C", self.tree, "init", "-q"], check=True)
        self.commit()
        asked = str(folder / "asked")
        for name, text in {"compile": COMPILE, "program": PROGRAM.replace("ASKED", asked),
                           "ctest": CTEST.replace("SOURCE", str(source)),
                           "cmake": "#!/bin/sh\n", "cc": "#!/bin/sh\n"}.items():  # fmt: skip
            fake.script(folder / name, text)
        command = (str(folder / "compile"),)
        self.isas = {"", "baseline", "avx2", "avx512", "avx512_bf16"}
        self.units = {
            f"flash/{isa}": Unit("flash", isa, str(source), command, str(folder))
            for isa in ("baseline", "avx2", "avx512", "avx512_bf16")
        }

    def commit(self) -> None:
        """All that the tree has now."""
        for command in ("add .", "-c user.name=a -c user.email=b commit -qm c"):
            subprocess.run(["git", "-C", self.tree, *command.split()], check=True)

    def asked(self) -> list[str]:
        """The cases of each check so far."""
        path = self.place / "asked"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def grounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """Stand-ins for all that a trial runs."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return StandIn(tmp_path)


HEAD = {"type": "mutants", "commit": "c", "seed": 1}


def becoming(after: str) -> Mutant:
    """A mutant of the stand-in's source."""
    units = ("flash/baseline", "flash/avx2", "flash/avx512", "flash/avx512_bf16")
    return Mutant("kernels/flash/x.c", 8, 1, 9, "f", "constant", "1", after, units)


@pytest.mark.parametrize(
    ("after", "fate"),
    [
        ("NOBUILD", Fate("build", "kernels/flash/x.c:1: error: no such thing")),
        ("WRONG", Fate("check", "flash/avx512 later: failed, off")),
        ("SUBTLE", Fate("ctest", "kernels/relations/flash/avx512")),
        (" 1", Fate("same code")),
        ("1UNFOLDED", Fate("same code")),
        ("2", Fate("survived")),
    ],
)
def test_a_fate_names_who_noticed(grounds: StandIn, after: str, fate: Fate) -> None:
    before = (grounds.tree / "kernels/flash/x.c").read_text()
    assert Attempt(grounds, becoming(after), Passed()).go_on(lambda: False) == fate
    assert (grounds.tree / "kernels/flash/x.c").read_text() == before


def test_a_mutant_that_cannot_be_loaded_has_no_fate(grounds: StandIn) -> None:
    with pytest.raises(ToolError, match="a mutant cannot be tried: no f64"):
        Attempt(grounds, becoming("NOLOAD"), Passed()).go_on(lambda: False)


@pytest.fixture
def unmade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Grounds that are not built, in a cache of their own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(Grounds, "make", lambda grounds, commit: None)
    monkeypatch.setattr(Grounds, "restore", lambda grounds: None)


@pytest.mark.usefixtures("unmade")
def test_units_are_those_of_this_machine_and_know_their_double(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = ["attn_kernel_tiled_avx2", "attn_kernel_tiled_avx2_f64", "attn_kernel_flash_avx2",
               "attn_kernel_tiled_avx512", "attention"]  # fmt: skip
    entries = [
        {"command": f"cc -o {name}.dir/a.o -c a.c", "file": "a.c", "directory": "/"}
        for name in (f"kernels/CMakeFiles/{name}" for name in objects)
    ]
    (tmp_path / "compile_commands.json").write_text(json.dumps(entries))
    found = mutants_units.units_of(tmp_path)
    assert {unit.name: unit.double for unit in found} == {
        "tiled/avx2": "attn_kernel_tiled_avx2_f64",
        "flash/avx2": "",
        "tiled/avx512": "",
        "a": "",
    }
    monkeypatch.setattr(mutants_grounds, "units_of", lambda build: found)
    listed = {
        "kernels": [{"isa": "avx2", "available": True}, {"isa": "avx512", "available": False}]
    }
    program = tmp_path / "attnbench/mutants/attnbench"
    fake.script(program, f"#!/bin/sh\necho '{json.dumps(listed)}'\n")
    grounds = Grounds("c")
    grounds.lock.close()
    runnable = grounds.runnable(["tiled/avx512", "tiled/avx2", "flash/avx2", "a", "gone"])
    assert [unit.name for unit in runnable] == ["tiled/avx2", "flash/avx2", "a"]


def test_a_plugin_holds_the_double_of_its_unit(grounds: StandIn) -> None:
    double = grounds.build / "kernels/CMakeFiles/attn_kernel_tiled_avx2_f64.dir/tiled/tiled.c.o"
    double.parent.mkdir(parents=True)
    double.touch()
    (grounds.place / "cc").write_text(f"#!/bin/sh\necho $* >{grounds.place}/linked\n")
    unit = grounds.units["flash/avx2"]
    for of, linked in ((unit, False), (replace(unit, double="attn_kernel_tiled_avx2_f64"), True)):
        grounds.plugin(of)
        assert (str(double) in (grounds.place / "linked").read_text()) == linked


def test_what_this_machine_cannot_run_is_left(grounds: StandIn) -> None:
    grounds.isas = {"", "avx2"}
    journal = mutants.Journal(grounds.place / "journal.jsonl", HEAD)
    some = [becoming("2"), replace(becoming("3"), units=("flash/avx512",))]
    assert not mutants.tried(grounds, some, journal, time.monotonic() + 600)
    assert [i[-1] for i in journal.done] == ["2"]


def test_the_suite_is_asked_of_the_variants_that_differ_most(grounds: StandIn) -> None:
    Attempt(grounds, becoming("2"), Passed()).go_on(lambda: False)
    quick, whole = mutants_grounds.QUICK, "one,later,bf16"
    # avx512, first in a hurry; that for bf16; the weakest.
    assert grounds.asked() == [*quick, whole, "bf16", whole]


def test_statistics_are_asked_of_their_tests_alone(grounds: StandIn, tmp_path: Path) -> None:
    source = grounds.tree / "harness/base/stats.c"
    source.parent.mkdir(parents=True)
    source.write_text("int x = 1;\n")
    grounds.commit()
    grounds.units["stats"] = Unit(
        "stats", "", str(source), grounds.units["flash/avx2"].command, str(tmp_path)
    )
    (tmp_path / "ctest").write_text(
        f"""#!/bin/sh
[ "$4" = '^({"|".join(mutants_units.STATISTICS)})$' ] || exit 0
grep -q SUBTLE {source} || exit 0
echo " 1/2 Test  #7: base/stats ......***Failed    0.02 sec"
exit 8
"""
    )
    for after, fate in (("SUBTLE", Fate("ctest", "base/stats")), ("2", Fate("survived"))):
        mutant = Mutant("harness/base/stats.c", 8, 1, 9, "f", "constant", "1", after, ("stats",))
        assert Attempt(grounds, mutant, Passed()).go_on(lambda: False) == fate
    assert grounds.asked() == []


def test_a_part_is_every_so_many_of_the_sample(capsys: pytest.CaptureFixture[str]) -> None:
    given, seven = ["--output", "x"], list(range(7))
    assert seven[mutants.arguments(given).part] == seven
    assert seven[mutants.arguments([*given, "--part", "2/3"]).part] == [1, 4]
    assert seven[mutants.arguments([*given, "--part", "1/3", "--first", "4"]).part] == [0, 3]
    for wrong in ("0/2", "3/2", "2", "1/0"):
        with pytest.raises(SystemExit):
            mutants.arguments([*given, "--part", wrong])
        assert f"--part {wrong}: not K/N with K from 1 to N" in capsys.readouterr().err


@pytest.mark.usefixtures("unmade")
def test_a_tree_that_was_removed_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def make(grounds: Grounds, commit: str) -> None:
        made.append(commit)
        (grounds.tree / ".git").mkdir(parents=True)

    monkeypatch.setattr(Grounds, "make", make)
    monkeypatch.setattr(mutants_grounds, "units_of", lambda build: [])
    monkeypatch.setattr(Grounds, "available", lambda grounds: set())
    for _ in range(2):
        Grounds("c").lock.close()
    assert made == ["c"]
    shutil.rmtree(tmp_path / "attnbench" / "mutants" / "tree")
    Grounds("c").lock.close()
    assert made == ["c", "c"]


def test_a_command_that_hangs_is_ended() -> None:
    assert mutants_grounds.ended(["sh", "-c", "echo begun; sleep 60"], 0.2) == (None, "")
    assert mutants_grounds.ended(["sh", "-c", "echo said; exit 3"], 60) == (3, "said\n")
    code, _ = mutants_grounds.ended(["python3", "-c", "bytearray(1 << 30)"], 60, memory=1 << 28)
    assert code == 1


def test_what_takes_minutes_comes_last(grounds: StandIn) -> None:
    path = grounds.place / "journal.jsonl"
    some = [becoming(after) for after in ("2", "3", "NOBUILD")]
    journal = mutants.Journal(path, HEAD)
    assert mutants.tried(grounds, some, journal, time.monotonic() + 600)
    told = [(r["id"][-1], r.get("fate") or r["passed"][-1]) for r in mutants.lines(path)[1:]]
    first, suite = "quick flash/avx512", "release flash/avx512"
    assert told == [
        ("2", first),
        ("3", first),
        ("D", "build"),
        ("2", suite),
        ("3", suite),
        ("2", "survived"),
        ("3", "survived"),
    ]
    assert not mutants.tried(grounds, [becoming("4")], journal, time.monotonic() - 1)
    assert mutants.tried(grounds, some, journal, time.monotonic() - 1)  # nothing is left


def test_what_computes_the_same_comes_after_the_others(grounds: StandIn) -> None:
    some = [becoming(after) for after in ("2", "3", "4")]
    journal = mutants.Journal(grounds.place / "journal.jsonl", HEAD)
    assert mutants.tried(grounds, some, journal, time.monotonic() + 600, {some[0].id})
    assert [i[-1] for i in journal.done] == ["3", "4", "2"]


def go(grounds: StandIn, path: Path, steps: int) -> bool:
    """Tries three mutants, for a number of steps."""
    left = iter([False] * steps)
    some = [becoming(after) for after in ("NOBUILD", "2", "WRONG")]
    journal = mutants.Journal(path, HEAD)
    for mutant in some:
        if mutant.id in journal.done:
            continue
        if not mutants.one(grounds, mutant, journal, lambda: next(left, True)):
            return False
    return True


def test_a_journal_goes_on_where_it_stopped(grounds: StandIn, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    assert not go(grounds, path, 1)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row.get("fate", row.get("passed")) for row in rows[1:]] == [
        "build",
        ["quick flash/avx512", "compile flash/avx512"],
    ]
    asked = len(grounds.asked())
    with path.open("a") as file:
        file.write('{"id": "cut o')  # as a kill leaves it
    assert go(grounds, path, 100)
    # The suite thrice; of WRONG till it fails.
    assert len(grounds.asked()) == asked + 3 + len(mutants_grounds.QUICK) + 1
    ended = {r["id"]: r["fate"] for r in mutants.lines(path) if "fate" in r}
    assert list(ended.values()) == ["build", "survived", "check"]
    with pytest.raises(ToolError, match="a journal of another sample"):
        mutants.Journal(path, HEAD | {"seed": 2})


def ended(number: int, fate: str) -> dict[str, str]:
    """A line of a journal."""
    known = {"by": "who", "before": "1", "after": "2"}
    return {"id": f"f.h:{number}:1:constant:2", "fate": fate, **known}


def test_the_report_counts_and_lists() -> None:
    fates = ["build", "check", "check", "check", "ctest", "same code", "survived", "survived"]
    rows = [{"type": "mutants"}, *(ended(i, fate) for i, fate in enumerate(fates))]
    rows += [{"id": "f.h:9:1:constant:2", "passed": ["quick flash/avx512"]}, {"id": rows[1]["id"]}]
    assert mutants.report(rows, {"f.h:6:1:constant:2": "only slower"}).splitlines() == [
        "mutants            8",
        "same machine code  1",
        "compute the same   1, by the reasons given",
        "die                5 of 7 (71.4 %)",
        "  by build         1",
        "  by check         3, 3 of 6 (50.0 %) of those that compile",
        "  by ctest alone   1",
        "survive            1",
        "not done yet       1, which passed some steps and count as alive",
        "passed check, died by who: f.h:4:1 `1` became `2`",
        "survived who: f.h:7:1 `1` became `2`",
    ]


def test_its_tests_are_there() -> None:
    """Each program of ctest that it names has a source."""
    tests = Path(mutants_grounds.__file__).parents[3] / "tests"
    names = [f"kernels/{x}" for x in mutants_grounds.OF_KERNELS + mutants_grounds.SHARED]
    for name in [*names, *mutants_units.STATISTICS]:
        folder, _, test = name.partition("/")
        assert (tests / folder / f"test_{test}.c").is_file(), name

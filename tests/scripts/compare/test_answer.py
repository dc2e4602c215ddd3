"""The sentence on a case: the program's words, and no more than its rows support."""

from pathlib import Path

import pytest
import sample
from attntools.compare import answer, compare
from attntools.compare.answer import Answer
from attntools.compare.ranking import rank
from attntools.report import headline
from attntools.results.results import read

DATA = Path(__file__).parents[2] / "data"
LINES = [
    line for line in (DATA / "answers.txt").read_text().splitlines() if not line.startswith("#")
]
NAN = float("nan")


def parsed(line: str) -> Answer:
    """An answer from a line of the file."""
    variant, threads, time, half, launches, bound, share, others, ties, *rest = line.split("|")
    following, ratio, apart, choice, regret, choice_ties, doubts = rest
    return Answer(
        variant, int(threads), time, float(half or NAN), int(launches), bool(half), bound,
        float(share or NAN), int(others), ties, following, float(ratio or NAN), int(apart or 0),
        choice, float(regret or NAN), bool(choice_ties), doubts,
    )  # fmt: skip


@pytest.mark.parametrize(("line", "text"), zip(LINES[::2], LINES[1::2], strict=True))
def test_words_are_those_of_the_program(line: str, text: str) -> None:
    assert answer.sentence(parsed(line)) == text


def test_ties_are_those_of_the_program() -> None:
    """Intervals of these rows overlap, as the machine grew slower; round by round one is behind."""
    results = read(DATA / "rounds.jsonl")
    (group,) = rank(results)
    text = answer.sentence(answer.answer_of(group))
    assert text[text.index(";") :] == results.sessions[0].header["says"]


def said(*rows: sample.Row) -> str:
    (group,) = rank(sample.results(*rows))
    return answer.sentence(answer.answer_of(group))


def test_next_and_choice_are_told_round_by_round() -> None:
    text = said(
        sample.cell(
            sample.alike(1e-3), bound_by="compute", fraction_of_fma=0.8, flags=["steal", "drift"]
        ),
        sample.cell(sample.alike(1.5e-3), kernel="tiled", chosen=True),
        sample.cell(sample.alike(3e-3), kernel="naive"),
    )
    assert text == (
        "flash/avx2 on 1 thread, 1.00 ms +-0.10 %: 80 % of what the multiply-adds allow, compute "
        "bound; 1.50 x tiled/avx2, the next; no tie; the library chooses tiled/avx2, 1.50 x as "
        "long; uncertain: steal"
    )


def test_a_regret_is_at_least_1() -> None:
    """Round by round a choice may be ahead of what has the lowest median."""
    text = said(
        sample.cell([1e-3, 1e-3, 2e-3, 2e-3, 3e-3, 3e-3]),
        sample.cell([0.9e-3, 0.9e-3, 2.1e-3, 2.1e-3, 2.9e-3, 2.9e-3], kernel="tiled", chosen=True),
    )
    assert text.endswith(
        "tie with tiled/avx2; the library chooses tiled/avx2, 1.00 x as long, a tie"
    )


def test_five_launches_side_by_side_have_a_rank_and_no_interval() -> None:
    slower = [1.5 * x for x in sample.alike(1e-3, 5)]
    text = said(sample.cell(sample.alike(1e-3, 5)), sample.cell(slower, kernel="tiled"))
    assert text == "flash/avx2 on 1 thread, 1.00 ms; 1.50 x tiled/avx2, the next; no tie"


def test_one_launch_ranks_nothing() -> None:
    text = said(
        sample.cell([1e-3], bound_by="bandwidth", fraction_of_bandwidth=0.7,
                    fraction_of_bandwidth_in_place=0.9),
        sample.cell([2e-3], kernel="tiled", chosen=True),
    )  # fmt: skip
    assert text == (
        "flash/avx2 on 1 thread, 1.00 ms: 90 % of what reading K and V allows, bandwidth bound; "
        "1 launch, too few to rank it; the library chooses tiled/avx2, 2.00 x as long, without an "
        "interval"
    )


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """Two cases: the choice is the fastest in one, behind in the other."""
    return sample.write(
        tmp_path / "b.jsonl",
        sample.session(),
        sample.cell(sample.alike(1e-3), chosen=True, bound_by="compute"),
        sample.cell(sample.alike(2e-3), kernel="tiled"),
        sample.cell(sample.alike(1e-4), s=64, kernel="tiled"),
        sample.cell(sample.alike(1.2e-4), s=64, chosen=True),
    )


def test_compare_says_it_in_every_form(
    session: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    case = "prefill-f32-s64-d64"
    text = "tiled/avx2 on 1 thread, 100 us +-0.10 %; 1.20 x flash/avx2, the next; no tie; the "
    choices = "the library's choice is the fastest, or tied with it, in 1 of 2; time over the "
    assert compare.run([str(session)]) == 0
    piped = capsys.readouterr().out
    assert f"\n{case}: {text}library chooses flash/avx2, 1.20 x as long\n" in piped
    assert f"\n{choices}fastest's: median 1.10, worst flash/avx2, 1.20 x as long as " in piped
    assert compare.run([str(session), "--format", "markdown"]) == 0
    marked = capsys.readouterr().out
    assert f"\n- {case}: {text}" in marked
    assert "| GFLOP/s | bound by | slower by |" in marked
    chosen = [line for line in marked.splitlines() if line.endswith("| the library's choice |")]
    assert ["flash/avx2" in line for line in chosen] == [True, True]
    assert "slower\nby: than the first, the median of the ratios round by round" in marked
    assert compare.run([str(session), "--format", "csv"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.endswith(",note,bound_by,share,chosen")
    assert [row.split(",")[-1] for row in rows] == ["True", "False", "False", "True"]
    for width in (80, 160):
        monkeypatch.setenv("COLUMNS", str(width))
        assert compare.run([str(session)]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= width
        assert ("bound by" in lines[0]) == (width == 160)
        assert lines[0].endswith("  note") == (width == 160)
        at = lines.index(f"{case}, 1 thread")
        below = width == 80  # where it has no room beside the row of flash
        assert "flash/avx2" in lines[at + 2]
        assert lines[at + 2 + below].endswith("  the library's choice")
        said = at + 3 + below
        assert lines[said].startswith("  tiled/avx2 on 1 thread, 100 us +-0.10 %; 1.20 x")


def test_a_pass_of_a_model_takes_the_fastest_kernels_times_the_layers(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Of two cases in a pass of nine layers, on one thread both, on two threads one."""

    def of(layers: int, without: str | None = None) -> sample.Row:
        return {"passes": [{"name": "m-decode-64", "layers": layers, "of": 9, "without": without}]}

    path = sample.write(
        tmp_path / "a.jsonl",
        sample.session(),
        sample.cell(sample.alike(1e-3), **of(3)),
        sample.cell(sample.alike(2e-3), kernel="tiled", **of(3)),
        sample.cell(sample.alike(3e-3), s=64, kernel="tiled", **of(6)),
        sample.cell([4e-3], threads=2, **of(3, "2 layers of delta net")),
    )
    said = (
        "m-decode-64 on 1 thread: attention takes 21.0 ms +-0.10 % in 9 layers (3 x "
        "prefill-f32-s512-d64 by flash/avx2 + 6 x prefill-f32-s64-d64 by tiled/avx2)",
        "m-decode-64 on 2 threads: attention takes more than 12.0 ms in 3 layers (3 x "
        "prefill-f32-s512-d64 by flash/avx2); 6 more of 9 layers have no time; without 2 layers "
        "of delta net, which compute no softmax over keys",
    )
    for form in ("text", "markdown"):
        assert compare.run([str(path), "--format", form]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line for line in lines if line.startswith("m-decode-64")] == list(said)
    assert headline.sentences(read(path))[-2:] == [f"{text}." for text in said]

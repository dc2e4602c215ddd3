"""The page of a folder of experiments: questions, figures, findings, commands."""

import json
from pathlib import Path

import pytest
import sample
from attntools.experiments.plot_experiments import FIGURES
from attntools.report import report
from attntools.report.page_experiments import ASKED, sections
from conftest import Tool
from pages import Page

ROOT = Path(__file__).resolve().parents[3]

README = """# What was found

## layer

![share](experiment-layer.svg)

Attention takes `half` of it,
at S = 64 & <more>.

Second paragraph.

## memory

Never shown: there is no file of it.
"""


def layer_rows(share: float) -> list[sample.Row]:
    return [
        sample.experiment(
            "layer",
            {"part": "time", "s": s, "d_model": 256, "threads": 2},
            attention_share=share,
            ci95=[share - 0.1, share + 0.1],
        )
        for s in (64, 128)
    ]


def test_a_file_of_experiments_alone(tool: Tool, folder: Path, tmp_path: Path) -> None:
    """It has no cells: a page of a session would be empty tables."""
    out = tmp_path / "page.html"
    assert tool(report, folder / "layer.jsonl", "--output", out).code == 0
    text = out.read_text()
    assert "attnbench: what the experiments show" in text
    assert "Attention takes <code>half</code> of it" in text
    assert "data-state" not in text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files, one with two experiments of which one is unknown and one has no figure's rows."""
    where = tmp_path / "mine"
    where.mkdir()
    (where / "README.md").write_text(README)
    command = ["attnbench", "experiment", "layer", "--output", "/home/me/layer.jsonl"]
    sample.write(where / "layer.jsonl", sample.session(command=command), *layer_rows(0.5))
    sample.write(
        where / "b.jsonl",
        sample.session(command=["attnbench", "experiment", "all"]),
        sample.experiment("future", {"d": 1}, x=2),
        sample.experiment("softmax", {"part": "published"}, weights=[1]),
    )
    return where


def test_each_experiment_is_a_section(tool: Tool, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    assert tool(report, "--experiments", folder, "--output", out).code == 0
    text = out.read_text()
    page = Page(text)
    assert page.outside == []
    asked = {e["name"]: e for e in json.loads(ASKED.read_text())}
    # In the order of the program's list; what it does not know is last, by its name.
    assert page.headings == [
        "attnbench: what the experiments show",
        asked["softmax"]["question"],
        asked["layer"]["question"],
        "future",
    ]
    assert page.alts == [f"layer: {FIGURES['layer'].__doc__.splitlines()[0]}"]
    assert [" ".join(text.split()) for text in page.said] == [
        "3 questions about attention, and what was measured.",
        "Attention takes half of it, at S = 64 & <more>.",
        "Second paragraph.",
    ]
    assert "<code>half</code>" in text
    assert "&lt;more&gt;" in text
    assert "Never shown" not in text
    assert " ".join(asked["layer"]["method"].split()) in text.replace("&#39;", "'")
    assert "<code>attnbench experiment layer --output layer.jsonl</code>" in text
    assert "/home/" not in text
    for anchor in ("layer", "b-softmax", "b-future"):
        assert f'<a href="#{anchor}">' in text
        assert f'<h2 id="{anchor}">' in text


def test_numbers_of_the_file_are_in_its_figure(tool: Tool, folder: Path) -> None:
    before, after = (
        (sample.write(folder / "layer.jsonl", sample.session(), *layer_rows(share)),
         Page(tool(report, "--experiments", folder, "--output", "-").out).sources)
        for share in (0.5, 0.8)
    )  # fmt: skip
    assert before[1] != after[1]


@pytest.mark.long
def test_the_committed_folder_is_a_page(tool: Tool) -> None:
    outcome = tool(report, "--experiments", ROOT / "results/experiments", "--output", "-")
    assert outcome.code == 0
    page = Page(outcome.out)
    assert len(outcome.out) < 1_500_000
    files = list((ROOT / "results/experiments").glob("*.jsonl"))
    assert len(page.headings) == 1 + len(files)
    heads = list((ROOT / "results/experiments").glob("experiment-words-*.svg"))
    assert len(page.alts) == len(files) + len(heads)
    assert all(page.alts)
    assert outcome.out.count('<div class="found">') == len(files)


def test_what_a_file_lacks_is_said(tool: Tool, folder: Path) -> None:
    file = folder / "layer.jsonl"
    file.write_text(file.read_text() + '{"type": "exp')
    outcome = tool(report, "--experiments", folder, "--output", "-")
    assert outcome.code == 0
    assert f"{file}:" in outcome.err
    assert "unfinished last line" in outcome.err


def test_sections_of_markdown() -> None:
    text = "# a\n\n## b\n\none\ntwo\n\n![x](y)\n\n## c\n"
    assert sections(text) == {"b": "<p>one\ntwo</p>\n", "c": ""}


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a `b <c>` & `d", "<p>a <code>b &lt;c&gt;</code> &amp; `d</p>"),
        ("[a.csv](a.csv) by [0, 1) (b)", "<p>a.csv by [0, 1) (b)</p>"),
        ("<b>bold</b>", "<p>&lt;b&gt;bold&lt;/b&gt;</p>"),
        ("- **x** y\n", "<ul>\n<li><strong>x</strong> y</li>\n</ul>"),
        ("    run --s 64 < x\n", "<pre><code>run --s 64 &lt; x\n</code></pre>"),
    ],
)
def test_what_was_found_is_marked_up(text: str, html: str) -> None:
    assert sections(f"## a\n\n{text}")["a"].strip() == html


def test_tables_of_what_was_found_are_tables() -> None:
    found = sections("## a\n\n- b:\n\n  | S | time |\n  |---|---:|\n  | 64 | 2 ms |\n")["a"]
    assert '<th style="text-align:right">time</th>' in found
    assert "<td>64</td>" in found


def test_bad_input_is_one_message(tool: Tool, tmp_path: Path, folder: Path) -> None:
    out = tmp_path / "out.html"

    def refused(*arguments: object) -> str:
        outcome = tool(report, *arguments, "--output", out)
        assert outcome.code == 4
        assert not out.exists()
        return outcome.err

    empty = tmp_path / "empty"
    empty.mkdir()
    assert refused("--experiments", empty) == (f"report: {empty}: has no results files (*.jsonl)\n")
    nothing, file = tmp_path / "nothing", folder / "layer.jsonl"
    assert refused("--experiments", nothing) == (
        f"report: {nothing}: is no folder of results files\n"
    )
    assert "takes files, or --experiments and a folder" in refused()
    assert "takes files, or --experiments and a folder" in refused(file, "--experiments", folder)
    cells = sample.write(empty / "cells.jsonl", sample.session(), sample.cell())
    assert refused("--experiments", empty) == (
        f"report: {empty}: none of its files has a row of an experiment\n"
    )
    cells.write_text("no results\n")
    assert refused("--experiments", empty).startswith(f"report: {cells}:1: ")
    cells.write_bytes(b"")
    assert refused("--experiments", empty) == f"report: {cells}: is empty\n"
    cells.unlink()
    broken = sample.experiment("layer", {"part": "time"}, nothing=1)
    sample.write(empty / "broken.jsonl", sample.session(), broken)
    assert refused("--experiments", empty) == (
        f"report: {empty / 'broken.jsonl'}: rows of the experiment layer lack what its figure "
        "shows (KeyError: 'attention_share')\n"
    )
